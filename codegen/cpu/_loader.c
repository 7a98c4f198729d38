/* Loads relocatable ELF objects into this process: loader_core.c for Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "loader_core.h"

static bool
import_address(void *imports, const char *name, uint64_t *address)
{
    PyObject *number = PyDict_GetItemString(imports, name);
    *address = number == NULL ? 0 : PyLong_AsUnsignedLongLong(number);
    return !PyErr_Occurred();
}

static bool
export_address(void *table, const char *name, uint64_t address)
{
    PyObject *number = PyLong_FromUnsignedLongLong(address);
    bool done = number != NULL && PyDict_SetItemString(table, name, number) == 0;
    Py_XDECREF(number);
    return done;
}

static const char capsule_name[] = "girih.codegen.cpu._loader.code";

static void
unload(PyObject *capsule)
{
    mapping_t *mapping = PyCapsule_GetPointer(capsule, capsule_name);
    unload_object(mapping);
    PyMem_Free(mapping);
}

/* The owner of a mapping; takes the mapping over, and frees it on failure. */
static PyObject *
make_owner(mapping_t *mapping)
{
    mapping_t *kept = PyMem_Malloc(sizeof(*kept));
    PyObject *owner = NULL;
    if (kept != NULL) {
        *kept = *mapping;
        owner = PyCapsule_New(kept, capsule_name, unload);
    } else
        PyErr_NoMemory();
    if (owner == NULL) {
        unload_object(mapping);
        PyMem_Free(kept);
    }
    return owner;
}

static void
set_exception(const load_error_t *error)
{
    if (PyErr_Occurred())
        return;
    if (error->number == 0)
        PyErr_Format(PyExc_ValueError, "%s", error->text);
    else {
        errno = error->number;
        PyErr_SetFromErrno(PyExc_OSError);
    }
}

static PyObject *
load_buffer(const Py_buffer *buffer, PyObject *imports)
{
    PyObject *table = PyDict_New(), *owner = NULL;
    imports_t from = {import_address, imports};
    exports_t to = {export_address, table};
    mapping_t mapping;
    load_error_t error;
    if (table == NULL)
        return NULL;
    if (load_object(buffer->buf, (size_t)buffer->len, &from, &to, &mapping, &error))
        owner = make_owner(&mapping);
    else
        set_exception(&error);
    if (owner == NULL) {
        Py_DECREF(table);
        return NULL;
    }
    return Py_BuildValue("NN", owner, table);
}

static PyObject *
load(PyObject *module, PyObject *args)
{
    Py_buffer buffer;
    PyObject *imports;

    if (!PyArg_ParseTuple(args, "y*O!", &buffer, &PyDict_Type, &imports))
        return NULL;
    PyObject *result = load_buffer(&buffer, imports);
    PyBuffer_Release(&buffer);
    return result;
}

static PyMethodDef methods[] = {
    {"load", load, METH_VARARGS,
     "load(data, symbols) -> (owner, addresses)\n\n"
     "Load an object file. symbols: addresses of the functions that it calls; others\n"
     "are looked up in the process. addresses: of its global symbols, valid as long\n"
     "as owner lives. Raises ValueError for objects that cannot be loaded."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "girih.codegen.cpu._loader",
    .m_doc = "Loads relocatable objects into this process.",
    .m_size = 0,
    .m_methods = methods,
};

PyMODINIT_FUNC
PyInit__loader(void)
{
    return PyModuleDef_Init(&definition);
}
