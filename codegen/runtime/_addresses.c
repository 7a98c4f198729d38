/* Where tensors are, and who uses their memory, without calls of torch.
 *
 * A recorded graph reads and writes fixed addresses, so each call asks of each input
 * whether it is where it was: hundreds of parameters, 50 ns for each call of
 * `data_ptr`, 3 ns here. girih is not built with torch's headers: addresses.py finds out
 * where these words lie, tries that on tensors, and says so with `set_layout`; without
 * it nothing here is used. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "structmember.h"

static struct {
    PyTypeObject *tensor;   /* torch.Tensor */
    Py_ssize_t impl;        /* in the Python object: the TensorImpl */
    Py_ssize_t storage;     /* in the TensorImpl: the StorageImpl */
    Py_ssize_t offset;      /* in the TensorImpl: elements from the storage's start */
    Py_ssize_t data;        /* in the StorageImpl: its memory */
    Py_ssize_t references;  /* in the StorageImpl: 32 bits, the strong references */
} layout;

static const char *pointer_at(const char *base, Py_ssize_t offset) {
    return *(const char *const *)(base + offset);
}

typedef struct {
    const char *data;
    int64_t offset;
} Place;

/* False where it is no tensor, or one without memory. */
static bool find_place(PyObject *object, Place *place) {
    if (!PyObject_TypeCheck(object, layout.tensor)) return false;
    const char *impl = pointer_at((const char *)object, layout.impl);
    const char *storage = impl == NULL ? NULL : pointer_at(impl, layout.storage);
    if (storage == NULL) return false;
    place->data = pointer_at(storage, layout.data);
    place->offset = *(const int64_t *)(impl + layout.offset);
    return true;
}

static bool needs_layout(void) {
    if (layout.tensor != NULL) return false;
    PyErr_SetString(PyExc_RuntimeError, "girih bug: the layout of tensors is not set");
    return true;
}

/* --- Pins: inputs that have to be where they were --- */

typedef struct {
    Py_ssize_t position;
    Place place;
} Pin;

typedef struct {
    PyObject_VAR_HEAD
    Pin pins[];
} Pins;

static int read_pin(Pin *pin, PyObject *const *inputs, Py_ssize_t count, PyObject *at) {
    pin->position = PyLong_AsSsize_t(at);
    if (pin->position == -1 && PyErr_Occurred()) return -1;
    if (pin->position < 0 || pin->position >= count ||
        !find_place(inputs[pin->position], &pin->place)) {
        PyErr_SetString(PyExc_ValueError, "girih bug: expected positions of tensors");
        return -1;
    }
    return 0;
}

static PyObject *pins_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *inputs, *positions;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &inputs, &PyTuple_Type,
                          &positions) ||
        needs_layout())
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(positions);
    Pins *self = (Pins *)type->tp_alloc(type, count);
    for (Py_ssize_t i = 0; self != NULL && i < count; i++)
        if (read_pin(&self->pins[i], ((PyTupleObject *)inputs)->ob_item,
                     PyTuple_GET_SIZE(inputs), PyTuple_GET_ITEM(positions, i)) < 0)
            Py_CLEAR(self);
    return (PyObject *)self;
}

static bool pins_hold(const Pins *self, PyObject *inputs) {
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) {
        const Pin *pin = &self->pins[i];
        Place place;
        if (pin->position >= PyTuple_GET_SIZE(inputs) ||
            !find_place(PyTuple_GET_ITEM(inputs, pin->position), &place) ||
            place.data != pin->place.data || place.offset != pin->place.offset)
            return false;
    }
    return true;
}

static PyObject *pins_holds(PyObject *self, PyObject *inputs) {
    if (!PyTuple_Check(inputs))
        return PyErr_Format(PyExc_TypeError, "expected a tuple of inputs");
    return PyBool_FromLong(pins_hold((Pins *)self, inputs));
}

/* --- Loans: memory that may be written again when nobody else has it --- */

typedef struct {
    const char *storage, *data;
    uint32_t references;
} Loan;

typedef struct {
    PyObject_VAR_HEAD
    Loan loans[];
} Loans;

static PyObject *loans_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *items;
    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &items) || needs_layout())
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    Loans *self = (Loans *)type->tp_alloc(type, count);
    for (Py_ssize_t i = 0; self != NULL && i < count; i++) {
        unsigned long long storage;
        unsigned references;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(items, i), "KI", &storage, &references)) {
            Py_CLEAR(self);
            break;
        }
        const char *address = (const char *)(uintptr_t)storage;
        self->loans[i] = (Loan){address, pointer_at(address, layout.data), references};
    }
    return (PyObject *)self;
}

/* Memory that was resized by its user is never free again. */
static bool is_back(const Loan *loan) {
    const void *count = loan->storage + layout.references;
    return __atomic_load_n((const uint32_t *)count, __ATOMIC_ACQUIRE) ==
               loan->references &&
           pointer_at(loan->storage, layout.data) == loan->data;
}

static PyObject *loans_out(PyObject *self, PyObject *Py_UNUSED(arguments)) {
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < Py_SIZE(self); i++) {
        if (is_back(&((Loans *)self)->loans[i])) continue;
        PyObject *number = PyLong_FromSsize_t(i);
        if (number == NULL || PyList_Append(found, number) < 0) Py_CLEAR(found);
        Py_XDECREF(number);
    }
    return found;
}

static PyObject *loans_are_back(PyObject *self, PyObject *Py_UNUSED(arguments)) {
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++)
        if (!is_back(&((Loans *)self)->loans[i])) Py_RETURN_FALSE;
    Py_RETURN_TRUE;
}

/* --- Spans: copies of memory --- */

typedef struct {
    Py_ssize_t bytes, itemsize;
} Span;

typedef struct {
    PyObject_VAR_HEAD
    Span spans[];
} Spans;

/* cuMemcpyDtoDAsync */
typedef int (*copy_function)(uintptr_t target, uintptr_t source, size_t bytes,
                             void *stream);

static PyObject *spans_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *items;
    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &items) || needs_layout())
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    Spans *self = (Spans *)type->tp_alloc(type, count);
    for (Py_ssize_t i = 0; self != NULL && i < count; i++) {
        Span *span = &self->spans[i];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(items, i), "nn", &span->bytes,
                              &span->itemsize))
            Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static bool find_start(PyObject *list, Py_ssize_t index, Py_ssize_t itemsize,
                       uintptr_t *start) {
    Place place;
    if (index >= PyList_GET_SIZE(list) ||
        !find_place(PyList_GET_ITEM(list, index), &place)) {
        PyErr_SetString(PyExc_ValueError, "girih bug: expected a tensor for each span");
        return false;
    }
    *start = (uintptr_t)place.data + (uintptr_t)(place.offset * itemsize);
    return true;
}

static PyObject *spans_copy(PyObject *object, PyObject *args) {
    const Spans *self = (const Spans *)object;
    unsigned long long function, stream;
    PyObject *targets, *sources;
    if (!PyArg_ParseTuple(args, "KKO!O!", &function, &stream, &PyList_Type, &targets,
                          &PyList_Type, &sources))
        return NULL;
    copy_function copy = (copy_function)(uintptr_t)function;
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) {
        const Span *span = &self->spans[i];
        uintptr_t target, source;
        if (!find_start(targets, i, span->itemsize, &target) ||
            !find_start(sources, i, span->itemsize, &source))
            return NULL;
        if (span->bytes == 0) continue;
        int code;
        Py_BEGIN_ALLOW_THREADS
        code = copy(target, source, (size_t)span->bytes, (void *)(uintptr_t)stream);
        Py_END_ALLOW_THREADS
        if (code != 0)
            return PyErr_Format(PyExc_RuntimeError,
                                "copying memory on the device failed: error %d", code);
    }
    Py_RETURN_NONE;
}

/* --- the module --- */

static void free_object(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef pins_methods[] = {
    {"hold", pins_holds, METH_O,
     PyDoc_STR("hold(inputs)\n--\n\nWhether all are where they were.")},
    {NULL, NULL, 0, NULL}};

static PyMethodDef loans_methods[] = {
    {"are_back", loans_are_back, METH_NOARGS,
     PyDoc_STR("are_back()\n--\n\nWhether nobody else has any of the memory.")},
    {"out", loans_out, METH_NOARGS,
     PyDoc_STR("out()\n--\n\nNumbers of the loans that somebody else has.")},
    {NULL, NULL, 0, NULL}};

static PyMethodDef spans_methods[] = {
    {"copy", spans_copy, METH_VARARGS,
     PyDoc_STR("copy(function, stream, targets, sources)\n--\n\nCopies from each tensor "
               "of one list to that of the other, from the first element on.")},
    {NULL, NULL, 0, NULL}};

static PyType_Slot pins_slots[] = {
    {Py_tp_new, pins_new},
    {Py_tp_dealloc, free_object},
    {Py_tp_methods, pins_methods},
    {Py_tp_doc, "Pins(inputs, positions)\n--\n\nWhere some inputs are."},
    {0, NULL}};

static PyType_Slot loans_slots[] = {
    {Py_tp_new, loans_new},
    {Py_tp_dealloc, free_object},
    {Py_tp_methods, loans_methods},
    {Py_tp_doc, "Loans(items)\n--\n\nStorages, each with its address and the number of "
                "references that are not of others. They must stay alive."},
    {0, NULL}};

static PyType_Slot spans_slots[] = {
    {Py_tp_new, spans_new},
    {Py_tp_dealloc, free_object},
    {Py_tp_methods, spans_methods},
    {Py_tp_doc, "Spans(items)\n--\n\nMemory to copy, each its bytes and those of an "
                "element."},
    {0, NULL}};

static PyType_Spec pins_spec = {.name = "girih.codegen.runtime._addresses.Pins",
                                .basicsize = sizeof(Pins),
                                .itemsize = sizeof(Pin),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                .slots = pins_slots};

static PyType_Spec loans_spec = {.name = "girih.codegen.runtime._addresses.Loans",
                                 .basicsize = sizeof(Loans),
                                 .itemsize = sizeof(Loan),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                 .slots = loans_slots};

static PyType_Spec spans_spec = {.name = "girih.codegen.runtime._addresses.Spans",
                                 .basicsize = sizeof(Spans),
                                 .itemsize = sizeof(Span),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                 .slots = spans_slots};

static PyObject *set_layout(PyObject *Py_UNUSED(module), PyObject *args) {
    PyTypeObject *tensor;
    Py_ssize_t impl, storage, offset, data, references;
    if (!PyArg_ParseTuple(args, "O!nnnnn", &PyType_Type, &tensor, &impl, &storage,
                          &offset, &data, &references))
        return NULL;
    Py_INCREF(tensor); /* for good */
    layout.tensor = tensor;
    layout.impl = impl;
    layout.storage = storage;
    layout.offset = offset;
    layout.data = data;
    layout.references = references;
    Py_RETURN_NONE;
}

/* --- Contents: small tensors whose elements have to be what they were --- */

PyDoc_STRVAR(same_bytes_doc,
             "same_bytes(places, content)\n--\n\nWhether the bytes at some places, one "
             "after another, are these. places: pairs of address and count, as 64-bit "
             "integers.");

static PyObject *same_bytes(PyObject *self, PyObject *args) {
    const char *places, *content;
    Py_ssize_t size, length;
    if (!PyArg_ParseTuple(args, "y#y#", &places, &size, &content, &length)) return NULL;
    while (size >= 16) {
        uint64_t address, count;
        memcpy(&address, places, 8);
        memcpy(&count, places + 8, 8);
        if (count > (uint64_t)length) break;
        if (memcmp((const void *)(uintptr_t)address, content, count) != 0)
            Py_RETURN_FALSE;
        content += count, length -= (Py_ssize_t)count, places += 16, size -= 16;
    }
    if (size == 0 && length == 0) Py_RETURN_TRUE;
    PyErr_SetString(PyExc_ValueError, "girih bug: places and content differ in length");
    return NULL;
}

static PyMethodDef module_methods[] = {
    {"same_bytes", same_bytes, METH_VARARGS, same_bytes_doc},
    {"set_layout", set_layout, METH_VARARGS,
     PyDoc_STR("set_layout(tensor, impl, storage, offset, data, references)\n--\n\n"
               "Says where the words of a tensor lie, in bytes.")},
    {NULL, NULL, 0, NULL}};

static int add_type(PyObject *module, PyType_Spec *spec, const char *name) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    int failed = type == NULL || PyModule_AddObjectRef(module, name, type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

static int module_exec(PyObject *module) {
    if (add_type(module, &pins_spec, "Pins") < 0) return -1;
    if (add_type(module, &loans_spec, "Loans") < 0) return -1;
    return add_type(module, &spans_spec, "Spans");
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};
static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_addresses", .m_methods = module_methods,
    .m_doc = "Where tensors are, and who uses their memory.", .m_slots = module_slots};

PyMODINIT_FUNC PyInit__addresses(void) { return PyModuleDef_Init(&module_definition); }
