/* Tail calls: how a segment that ends at a graph break goes on.
 *
 * Compiled code returns a Tail instead of calling what comes next, so that the stack does
 * not grow with every trip of a loop that has a break in it. */
#include "_frame.h"
#include <structmember.h>

#define SIGNATURE "Tail(function, args, plain, key=function.__code__)"

static PyObject *Tail_vectorcall(PyObject *type, PyObject *const *args, size_t nargsf,
                                 PyObject *kwnames) {
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (count < 3 || count > 4 || kwnames || !PyFunction_Check(args[0]) ||
        !PyTuple_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, SIGNATURE);
        return NULL;
    }
    int plain = PyObject_IsTrue(args[2]);
    if (plain < 0) return NULL;
    Tail *self = PyObject_GC_New(Tail, &Tail_Type);
    if (!self) return NULL;
    self->function = Py_NewRef(args[0]);
    self->args = Py_NewRef(args[1]);
    self->key = Py_NewRef(count == 4 ? args[3] : PyFunction_GET_CODE(args[0]));
    self->plain = plain;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static PyObject *Tail_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    if (kwargs && PyDict_GET_SIZE(kwargs)) {
        PyErr_SetString(PyExc_TypeError, SIGNATURE);
        return NULL;
    }
    return Tail_vectorcall((PyObject *)type, ((PyTupleObject *)args)->ob_item,
                           (size_t)PyTuple_GET_SIZE(args), NULL);
}

static int Tail_traverse(Tail *self, visitproc visit, void *arg) {
    Py_VISIT(self->function);
    Py_VISIT(self->args);
    Py_VISIT(self->key);
    return 0;
}

static int Tail_clear(Tail *self) {
    Py_CLEAR(self->function);
    Py_CLEAR(self->args);
    Py_CLEAR(self->key);
    return 0;
}

static void Tail_dealloc(Tail *self) {
    PyObject_GC_UnTrack(self);
    Tail_clear(self);
    PyObject_GC_Del(self);
}

static PyMemberDef Tail_members[] = {
    {"function", T_OBJECT, offsetof(Tail, function), READONLY, "What is called."},
    {"args", T_OBJECT, offsetof(Tail, args), READONLY, "Its arguments."},
    {"key", T_OBJECT, offsetof(Tail, key), READONLY, "Of its dispatcher among the callees."},
    {"plain", T_INT, offsetof(Tail, plain), READONLY, "Called as it is."},
    {NULL},
};

PyTypeObject Tail_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "girih.frontend.capture._frame.Tail",
    .tp_basicsize = sizeof(Tail),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = SIGNATURE ": what is to be called instead of returning.",
    .tp_new = Tail_new,
    .tp_vectorcall = Tail_vectorcall,
    .tp_dealloc = (destructor)Tail_dealloc,
    .tp_traverse = (traverseproc)Tail_traverse,
    .tp_clear = (inquiry)Tail_clear,
    .tp_members = Tail_members,
};

/* The dispatcher's result; NULL without an exception where the function has to run. */
static PyObject *run_compiled(Dispatcher *owner, Tail *tail) {
    PyObject *callee = girih_callee(owner, tail->key, tail->function);
    if (!callee || !PyObject_TypeCheck(callee, &Dispatcher_Type)) return NULL;
    Py_INCREF(callee);
    PyObject *result = Dispatcher_run((Dispatcher *)callee, tail->function,
                                      ((PyTupleObject *)tail->args)->ob_item,
                                      PyTuple_GET_SIZE(tail->args));
    Py_DECREF(callee);
    return result;
}

static PyObject *run_tail(Dispatcher *owner, Tail *tail) {
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(tail->function);
    /* A tail that was called has given its arguments away. */
    if (!tail->args || code->co_argcount != PyTuple_GET_SIZE(tail->args)) {
        PyErr_SetString(PyExc_SystemError, "girih bug: arguments of a tail call");
        return NULL;
    }
    if (!tail->plain && !girih_forced_eager) {
        PyObject *result = run_compiled(owner, tail);
        if (result || PyErr_Occurred()) return result;
    }
    return girih_call_watched(owner, tail->function, ((PyTupleObject *)tail->args)->ob_item,
                              (size_t)PyTuple_GET_SIZE(tail->args), NULL, &tail->args);
}

PyObject *girih_run_tails(Dispatcher *owner, PyObject *result) {
    while (result && Py_IS_TYPE(result, &Tail_Type)) {
        Tail *tail = (Tail *)result;
        result = run_tail(owner, tail);
        Py_DECREF(tail);
    }
    return result;
}
