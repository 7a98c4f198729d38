/* What guards take for the same value, and how they find values of dicts by place. */
#include "_guards.h"

/* Numbers of NumPy show their memory: `==` of theirs takes -0.0 for 0.0. */
static int equal_memory(PyObject *value, PyObject *expected) {
    Py_buffer a, b;
    if (PyObject_GetBuffer(value, &a, PyBUF_SIMPLE) < 0) {
        PyErr_Clear();
        return 1;
    }
    if (PyObject_GetBuffer(expected, &b, PyBUF_SIMPLE) < 0) {
        PyBuffer_Release(&a);
        PyErr_Clear();
        return 1;
    }
    int same = a.len == b.len && memcmp(a.buf, b.buf, a.len) == 0;
    PyBuffer_Release(&a);
    PyBuffer_Release(&b);
    return same;
}

int girih_equal_values(PyObject *value, PyObject *expected) {
    if (value == expected) return 1;
    if (Py_TYPE(value) != Py_TYPE(expected)) return 0;
    if (PyFloat_CheckExact(value)) {  /* bitwise: tells -0.0 from 0.0, and NaN is itself */
        double a = PyFloat_AS_DOUBLE(value), b = PyFloat_AS_DOUBLE(expected);
        return memcmp(&a, &b, sizeof a) == 0;
    }
    if (PyComplex_CheckExact(value)) {  /* both parts, in the same way */
        Py_complex a = PyComplex_AsCComplex(value), b = PyComplex_AsCComplex(expected);
        return memcmp(&a, &b, sizeof a) == 0;
    }
    int same = PyObject_RichCompareBool(value, expected, Py_EQ);
    if (same != 1 || !PyObject_CheckBuffer(value)) return same;
    return equal_memory(value, expected);
}

PyObject *girih_key_at(PyObject *dict, Py_ssize_t index) {
    if (!PyDict_CheckExact(dict) && !PyODict_CheckExact(dict)) return NULL;
    PyObject *keys = PyObject_GetIter(dict), *key = NULL;
    for (Py_ssize_t i = 0; keys && i <= index; i++) {
        Py_XDECREF(key);
        key = PyIter_Next(keys);
        if (!key) break;
    }
    Py_XDECREF(keys);
    return key;
}

PyObject *girih_value_at(PyObject *dict, Py_ssize_t index) {
    PyObject *key = girih_key_at(dict, index);
    if (!key) return NULL;
    PyObject *value = Py_XNewRef(PyDict_GetItemWithError(dict, key));
    Py_DECREF(key);
    return value;
}
