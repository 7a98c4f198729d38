/* Conversions of 16-bit floats: half_core.c for Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "half_core.h"

static PyObject *
symbols(PyObject *module, PyObject *unused)
{
    PyObject *table = PyDict_New();
    for (const half_entry_t *entry = half_entries; table && entry->name; entry++) {
        PyObject *address = PyLong_FromVoidPtr(entry->address);
        if (!address || PyDict_SetItemString(table, entry->name, address) < 0)
            Py_CLEAR(table);
        Py_XDECREF(address);
    }
    return table;
}

static PyMethodDef methods[] = {
    {"symbols", symbols, METH_NOARGS,
     "symbols() -> dict[str, int]\n\nThe addresses of the conversions, by LLVM's names."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "girih.codegen.cpu._half",
    .m_doc = "Conversions of 16-bit floats for processors that have none.",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__half(void)
{
    return PyModuleDef_Init(&definition);
}
