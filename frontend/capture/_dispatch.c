/* The compiled callable.
 *
 * A call binds its arguments as Python would, tries the cache entries (guards, then the
 * compiled code), and asks `miss` for a new entry when none fits. Whatever cannot be
 * bound, or must not be compiled, calls the function itself, so that Python raises its
 * own errors. */
#include "_frame.h"
#include <structmember.h>

enum { STACK_SLOTS = 64, STACK_LOCALS = 24 };

/* ---- entries ------------------------------------------------------------------ */

static PyObject *Entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *guards, *call, *again = Py_None;
    Py_ssize_t single;
    if (!PyArg_ParseTuple(args, "O!On|O", &Guards_Type, &guards, &call, &single, &again))
        return NULL;
    Entry *self = (Entry *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->guards = (Guards *)Py_NewRef(guards);
    self->call = Py_NewRef(call);
    self->again = Py_NewRef(again);
    self->single = single;
    return (PyObject *)self;
}

static int Entry_traverse(Entry *self, visitproc visit, void *arg) {
    Py_VISIT(self->guards);
    Py_VISIT(self->call);
    Py_VISIT(self->again);
    Py_VISIT(self->backend);
    return 0;
}

static int Entry_clear(Entry *self) {
    Py_CLEAR(self->guards);
    Py_CLEAR(self->call);
    Py_CLEAR(self->again);
    Py_CLEAR(self->backend);
    return 0;
}

static void Entry_dealloc(Entry *self) {
    PyObject_GC_UnTrack(self);
    Entry_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef Entry_members[] = {
    {"guards", T_OBJECT, offsetof(Entry, guards), READONLY, "The guards of this entry."},
    {"call", T_OBJECT, offsetof(Entry, call), READONLY, "Called with the slots."},
    {"single", T_PYSSIZET, offsetof(Entry, single), READONLY,
     "If not negative: only that item of the result is returned."},
    {"backend", T_OBJECT, offsetof(Entry, backend), 0,
     "The backend that the stance forces where it may be used; without one: any."},
    {NULL},
};

PyTypeObject Entry_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "girih.frontend.capture._frame.Entry",
    .tp_basicsize = sizeof(Entry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Entry(guards, call, single, again=None): compiled code and when it may be used.",
    .tp_new = Entry_new,
    .tp_dealloc = (destructor)Entry_dealloc,
    .tp_traverse = (traverseproc)Entry_traverse,
    .tp_clear = (inquiry)Entry_clear,
    .tp_members = Entry_members,
};

/* ---- running an entry --------------------------------------------------------- */

static PyObject *single_item(PyObject *outputs, Py_ssize_t index) {
    if (!outputs) return NULL;
    PyObject *item = NULL;
    if (PyTuple_Check(outputs) && index < PyTuple_GET_SIZE(outputs))
        item = Py_NewRef(PyTuple_GET_ITEM(outputs, index));
    else if (PyList_Check(outputs) && index < PyList_GET_SIZE(outputs))
        item = Py_NewRef(PyList_GET_ITEM(outputs, index));
    else
        item = PySequence_GetItem(outputs, index);
    Py_DECREF(outputs);
    return item;
}

/* Compiled code runs unwatched: it is the backend's, not the user's. */
static PyObject *call_entry(Entry *entry, PyObject **slots, Py_ssize_t count) {
    Dispatcher *outer = girih_active;
    girih_active = NULL;
    PyObject *result = PyObject_Vectorcall(entry->call, slots, (size_t)count, NULL);
    girih_active = outer;
    return entry->single >= 0 ? single_item(result, entry->single) : result;
}

/* girih_again where `again` says that the call can run as it was; else NULL, with the
 * exception that `call` raised. */
static PyObject *after_failure(Entry *entry) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback) PyException_SetTraceback(error, traceback);
    PyObject *answer = PyObject_CallOneArg(entry->again, error);
    int repeats = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    if (!repeats) {
        PyErr_Restore(type, error, traceback);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return repeats < 0 ? NULL : Py_NewRef(girih_again);
}

/* The result; NULL without an exception when the guards fail; girih_again when the call
 * has to run as it was. */
static PyObject *try_entry(Entry *entry, PyObject *function, PyObject *const *locals,
                           Py_ssize_t count) {
    PyObject *stack[STACK_SLOTS], **slots = stack, *result = NULL;
    Py_ssize_t slot_count = Guards_slot_count(entry->guards);
    if (slot_count > STACK_SLOTS) {
        slots = PyMem_Malloc((size_t)slot_count * sizeof(PyObject *));
        if (!slots) return PyErr_NoMemory();
    }
    if (Guards_evaluate(entry->guards, function, locals, count, slots) == 1) {
        result = call_entry(entry, slots, slot_count);
        if (!result && entry->again != Py_None && PyErr_ExceptionMatches(PyExc_Exception))
            result = after_failure(entry);
        for (Py_ssize_t i = 0; i < slot_count; i++) Py_XDECREF(slots[i]);
    }
    if (slots != stack) PyMem_Free(slots);
    return result;
}

/* ---- trying and missing ------------------------------------------------------- */

static PyObject *locals_tuple(PyObject *const *locals, Py_ssize_t count) {
    PyObject *tuple = PyTuple_New(count);
    if (!tuple) return NULL;
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(locals[i]));
    return tuple;
}

static PyObject *call_miss(Dispatcher *self, PyObject *function, PyObject *const *locals,
                           Py_ssize_t count) {
    PyObject *tuple = locals_tuple(locals, count);
    if (!tuple) return NULL;
    Dispatcher *outer = girih_active;
    girih_active = NULL;
    PyObject *entry = PyObject_CallFunctionObjArgs(self->miss, self, function, tuple, NULL);
    girih_active = outer;
    Py_DECREF(tuple);
    return entry;
}

/* Whether the stance allows the entry: code of another backend does not count. */
static int is_of_stance(Entry *entry) {
    return !entry->backend || entry->backend == girih_backend;
}

static PyObject *run_entries(Dispatcher *self, PyObject *function, PyObject *const *locals,
                             Py_ssize_t count) {
    PyObject *entries = Py_NewRef(self->entries), *result = NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(entries); i++) {
        PyObject *entry = Py_NewRef(PyList_GET_ITEM(entries, i));
        if (is_of_stance((Entry *)entry)) result = try_entry((Entry *)entry, function, locals, count);
        if (result && i) {  /* most recent first */
            PyObject *front = PyList_GetSlice(entries, i, i + 1);
            if (front && PyList_GET_SIZE(front) && PyList_GET_ITEM(front, 0) == entry)
                if (PyList_SetSlice(entries, i, i + 1, NULL) == 0) PyList_Insert(entries, 0, entry);
            Py_XDECREF(front);
        }
        Py_DECREF(entry);
        if (result || PyErr_Occurred()) break;
    }
    Py_DECREF(entries);
    if (result || PyErr_Occurred()) return result;
    PyObject *entry = call_miss(self, function, locals, count);
    if (!entry || entry == Py_None) {
        Py_XDECREF(entry);
        return NULL;
    }
    result = try_entry((Entry *)entry, function, locals, count);
    Py_DECREF(entry);
    return result;
}

PyObject *Dispatcher_run(Dispatcher *self, PyObject *function, PyObject *const *locals,
                         Py_ssize_t count) {
    PyObject *result = run_entries(self, function, locals, count);
    if (result == girih_again) Py_CLEAR(result);
    return result;
}

/* ---- binding arguments -------------------------------------------------------- */

/* The parts of a code object that binding needs. */
typedef struct {
    Py_ssize_t positional, positional_only, named, total;
    int has_varargs, has_varkw;
} Signature;

static Signature signature_of(PyObject *function) {
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    Signature s = {
        .positional = code->co_argcount,
        .positional_only = code->co_posonlyargcount,
        .named = code->co_argcount + code->co_kwonlyargcount,
        .has_varargs = (code->co_flags & CO_VARARGS) != 0,
        .has_varkw = (code->co_flags & CO_VARKEYWORDS) != 0,
    };
    s.total = s.named + s.has_varargs + s.has_varkw;
    return s;
}

/* 1 bound, 0 not bindable (the call itself will say why), -1 error. */
static int bind_positional(const Signature *s, PyObject *const *args, Py_ssize_t count,
                           PyObject **locals) {
    Py_ssize_t direct = count < s->positional ? count : s->positional;
    for (Py_ssize_t i = 0; i < direct; i++) locals[i] = Py_NewRef(args[i]);
    if (!s->has_varargs) return count <= s->positional;
    PyObject *rest = PyTuple_New(count - direct);
    if (!rest) return -1;
    for (Py_ssize_t i = direct; i < count; i++)
        PyTuple_SET_ITEM(rest, i - direct, Py_NewRef(args[i]));
    locals[s->named] = rest;
    return 1;
}

static Py_ssize_t index_of_name(const Signature *s, PyObject *varnames, PyObject *name) {
    for (Py_ssize_t i = s->positional_only; i < s->named; i++)
        if (PyTuple_GET_ITEM(varnames, i) == name) return i;
    for (Py_ssize_t i = s->positional_only; i < s->named; i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(varnames, i), name) == 0) return i;
    return -1;
}

static int bind_keywords(const Signature *s, PyObject *varnames, PyObject *kwnames,
                         PyObject *const *values, PyObject **locals) {
    PyObject *extra = NULL;
    if (s->has_varkw && !(extra = locals[s->total - 1] = PyDict_New())) return -1;
    Py_ssize_t count = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        Py_ssize_t index = index_of_name(s, varnames, name);
        if (index < 0) {
            if (!extra) return 0;
            if (PyDict_SetItem(extra, name, values[k]) < 0) return -1;
        } else if (locals[index]) {
            return 0;
        } else {
            locals[index] = Py_NewRef(values[k]);
        }
    }
    return 1;
}

static int bind_defaults(const Signature *s, PyObject *function, PyObject *varnames,
                         PyObject **locals) {
    PyObject *defaults = PyFunction_GET_DEFAULTS(function);
    PyObject *keyword_defaults = PyFunction_GET_KW_DEFAULTS(function);
    Py_ssize_t first = s->positional - (defaults ? PyTuple_GET_SIZE(defaults) : 0);
    for (Py_ssize_t i = 0; i < s->named; i++) {
        if (locals[i]) continue;
        PyObject *value = NULL;
        if (i < s->positional) {
            if (i >= first && defaults) value = PyTuple_GET_ITEM(defaults, i - first);
        } else if (keyword_defaults) {
            value = PyDict_GetItemWithError(keyword_defaults, PyTuple_GET_ITEM(varnames, i));
        }
        if (!value) return 0;
        locals[i] = Py_NewRef(value);
    }
    return 1;
}

static int bind(Dispatcher *self, const Signature *s, PyObject *const *args, Py_ssize_t count,
                PyObject *kwnames, PyObject **locals) {
    int bound = bind_positional(s, args, count, locals);
    if (bound == 1) bound = bind_keywords(s, self->varnames, kwnames, args + count, locals);
    if (bound == 1) bound = bind_defaults(s, self->function, self->varnames, locals);
    return bound;
}

/* ---- the call ----------------------------------------------------------------- */

static PyObject *call_bound(Dispatcher *self, const Signature *s, PyObject *const *args,
                            size_t nargsf, PyObject *kwnames) {
    PyObject *stack[STACK_LOCALS], **locals = stack, *result = NULL;
    if (s->total > STACK_LOCALS) {
        locals = PyMem_Malloc((size_t)s->total * sizeof(PyObject *));
        if (!locals) return PyErr_NoMemory();
    }
    memset(locals, 0, (size_t)s->total * sizeof(PyObject *));
    int bound = bind(self, s, args, PyVectorcall_NARGS(nargsf), kwnames, locals);
    if (bound == 1) result = Dispatcher_run(self, self->function, locals, s->total);
    for (Py_ssize_t i = 0; i < s->total; i++) Py_XDECREF(locals[i]);
    if (locals != stack) PyMem_Free(locals);
    return result;
}

static PyObject *Dispatcher_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                                       PyObject *kwnames) {
    Dispatcher *self = (Dispatcher *)callable;
    PyObject *result = NULL;
    Py_INCREF(self);
    Signature s = signature_of(self->function);
    if (girih_forced_eager)
        ;
    else if (PyVectorcall_NARGS(nargsf) == s.total && s.total == s.positional && !kwnames)
        result = Dispatcher_run(self, self->function, args, s.total);
    else
        result = call_bound(self, &s, args, nargsf, kwnames);
    if (!result && !PyErr_Occurred())
        result = girih_call_plain(self, args, nargsf, kwnames);
    result = girih_run_tails(self, result);
    Py_DECREF(self);
    return result;
}

static PyObject *Dispatcher_get(PyObject *self, PyObject *instance, PyObject *owner) {
    if (!instance || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

static PyObject *Dispatcher_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *function, *miss, *admit;
    if (!PyArg_ParseTuple(args, "O!OO", &PyFunction_Type, &function, &miss, &admit)) return NULL;
    Dispatcher *self = (Dispatcher *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->vectorcall = Dispatcher_vectorcall;
    self->function = Py_NewRef(function);
    self->miss = Py_NewRef(miss);
    self->admit = Py_NewRef(admit);
    self->varnames = PyCode_GetVarnames((PyCodeObject *)PyFunction_GET_CODE(function));
    self->entries = PyList_New(0);
    self->callees = PyDict_New();
    if (!self->varnames || !self->entries || !self->callees) Py_CLEAR(self);
    return (PyObject *)self;
}

static int Dispatcher_traverse(Dispatcher *self, visitproc visit, void *arg) {
    Py_VISIT(self->function);
    Py_VISIT(self->entries);
    Py_VISIT(self->miss);
    Py_VISIT(self->admit);
    Py_VISIT(self->callees);
    Py_VISIT(self->varnames);
    Py_VISIT(self->dict);
    return 0;
}

static int Dispatcher_clear(Dispatcher *self) {
    Py_CLEAR(self->function);
    Py_CLEAR(self->entries);
    Py_CLEAR(self->miss);
    Py_CLEAR(self->admit);
    Py_CLEAR(self->callees);
    Py_CLEAR(self->varnames);
    Py_CLEAR(self->dict);
    return 0;
}

static void Dispatcher_dealloc(Dispatcher *self) {
    PyObject_GC_UnTrack(self);
    if (self->weakreflist) PyObject_ClearWeakRefs((PyObject *)self);
    Dispatcher_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef Dispatcher_members[] = {
    {"function", T_OBJECT, offsetof(Dispatcher, function), READONLY, "The plain function."},
    {"entries", T_OBJECT, offsetof(Dispatcher, entries), READONLY, "Most recent first."},
    {"callees", T_OBJECT, offsetof(Dispatcher, callees), READONLY, "Code -> dispatcher or None."},
    {"__dictoffset__", T_PYSSIZET, offsetof(Dispatcher, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Dispatcher, weakreflist), READONLY, NULL},
    {NULL},
};

/*
 * A subclass may describe __get__ in Python, which TorchDynamo asks for, and calls of
 * methods still bind in C. With the flag they don't even make a bound method.
 */
static PyObject *Dispatcher_init_subclass(PyObject *class, PyObject *unused) {
    PyTypeObject *type = (PyTypeObject *)class;
    type->tp_descr_get = Dispatcher_get;
    type->tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
    PyType_Modified(type);
    Py_RETURN_NONE;
}

static PyMethodDef Dispatcher_methods[] = {
    {"__init_subclass__", Dispatcher_init_subclass, METH_NOARGS | METH_CLASS, NULL},
    {NULL},
};

static PyGetSetDef Dispatcher_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL},
};

PyTypeObject Dispatcher_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "girih.frontend.capture._frame.Dispatcher",
    .tp_basicsize = sizeof(Dispatcher),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_BASETYPE,
    .tp_doc = "Dispatcher(function, miss, admit): a compiled callable.",
    .tp_new = Dispatcher_new,
    .tp_dealloc = (destructor)Dispatcher_dealloc,
    .tp_traverse = (traverseproc)Dispatcher_traverse,
    .tp_clear = (inquiry)Dispatcher_clear,
    .tp_members = Dispatcher_members,
    .tp_getset = Dispatcher_getset,
    .tp_methods = Dispatcher_methods,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Dispatcher, vectorcall),
    .tp_dictoffset = offsetof(Dispatcher, dict),
    .tp_weaklistoffset = offsetof(Dispatcher, weakreflist),
    .tp_descr_get = Dispatcher_get,
};
