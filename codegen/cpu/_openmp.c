/* The OpenMP entry points that LLVM emits: openmp_core.c for Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "openmp_core.h"

static PyObject *
symbols(PyObject *module, PyObject *unused)
{
    bind_openmp();
    PyObject *table = PyDict_New();
    for (const openmp_entry_t *entry = openmp_entries; table && entry->name; entry++) {
        PyObject *address = PyLong_FromVoidPtr(entry->address);
        if (!address || PyDict_SetItemString(table, entry->name, address) < 0)
            Py_CLEAR(table);
        Py_XDECREF(address);
    }
    return table;
}

static PyObject *
runtime_path(PyObject *module, PyObject *unused)
{
    bind_openmp();
    if (openmp_path() == NULL)
        Py_RETURN_NONE;
    return PyUnicode_DecodeFSDefault(openmp_path());
}

static PyMethodDef methods[] = {
    {"symbols", symbols, METH_NOARGS,
     "symbols() -> dict[str, int]\n\nThe addresses of the __kmpc_* entry points."},
    {"runtime_path", runtime_path, METH_NOARGS,
     "runtime_path() -> str | None\n\nThe OpenMP runtime in use; None: regions run "
     "serially, because none is loaded in this process."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "girih.codegen.cpu._openmp",
    .m_doc = "OpenMP entry points for compiled code, over the loaded runtime.",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__openmp(void)
{
    return PyModuleDef_Init(&definition);
}
