/* The PEP 523 hook and the module.
 *
 * Compiled code is reached through Dispatcher, which needs no hook. The hook serves the
 * frames that run as they were: while one does, the Python functions it calls are offered
 * to the dispatcher's `admit`, so that they are captured on their own. It is installed
 * only meanwhile. */
#include "_frame.h"

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#include <internal/pycore_frame.h>

_Thread_local Dispatcher *girih_active = NULL;
_Thread_local PyObject *girih_skipped = NULL;
_Thread_local PyObject **girih_handed_over = NULL;
int girih_forced_eager = 0;
PyObject *girih_backend = NULL;
PyObject *girih_again = NULL;

static Py_ssize_t watchers = 0;
static _PyFrameEvalFunction next_eval = NULL;

/* ---- differences between CPython versions -------------------------------------- */

#if PY_VERSION_HEX < 0x030C0000

#define FRAME_CODE(frame) ((frame)->f_code)
#define FRAME_FUNCTION(frame) ((PyObject *)(frame)->f_func)

/* The caller clears the frame. */
static void leave_frame(PyThreadState *thread, struct _PyInterpreterFrame *frame) {}

#else

#if PY_VERSION_HEX < 0x030D0000
#define FRAME_CODE(frame) ((frame)->f_code)
#else
#define FRAME_CODE(frame) ((PyCodeObject *)(frame)->f_executable)
#endif
#define FRAME_FUNCTION(frame) ((frame)->f_funcobj)

#if PY_VERSION_HEX >= 0x030D0000
extern void _PyEval_FrameClearAndPop(PyThreadState *, struct _PyInterpreterFrame *);
static void leave_frame(PyThreadState *thread, struct _PyInterpreterFrame *frame) {
    _PyEval_FrameClearAndPop(thread, frame);
}
#else
/* 3.12 exports nothing that clears a frame. Ours never ran: no frame object, no stack,
 * no namespace; only the arguments, the function and the code are held. The frame lies
 * on the thread's data stack, maybe as the first thing of a chunk. */
static void leave_frame(PyThreadState *thread, struct _PyInterpreterFrame *frame) {
    int count = frame->stacktop;
    frame->stacktop = 0;
    for (int i = 0; i < count; i++) Py_XDECREF(frame->localsplus[i]);
    Py_XDECREF(frame->frame_obj);
    Py_XDECREF(frame->f_locals);
    Py_DECREF(frame->f_funcobj);
    Py_DECREF(frame->f_code);
    PyObject **base = (PyObject **)frame;
    _PyStackChunk *chunk = thread->datastack_chunk;
    if (base != &chunk->data[0]) {
        thread->datastack_top = base;
        return;
    }
    _PyStackChunk *previous = chunk->previous;
    thread->datastack_top = &previous->data[previous->top];
    thread->datastack_chunk = previous;
    thread->datastack_limit = (PyObject **)(((char *)previous) + previous->size);
    PyObjectArenaAllocator arena;
    PyObject_GetArenaAllocator(&arena);
    arena.free(arena.ctx, chunk, chunk->size);
}
#endif

#endif

/* ---- the hook ------------------------------------------------------------------- */

static PyObject *evaluate_as_it_was(PyThreadState *thread, struct _PyInterpreterFrame *frame,
                                    int throwing) {
    _PyFrameEvalFunction evaluate = next_eval ? next_eval : _PyEval_EvalFrameDefault;
    return evaluate(thread, frame, throwing);
}

PyObject *girih_callee(Dispatcher *owner, PyObject *key, PyObject *function) {
    PyObject *found = PyDict_GetItemWithError(owner->callees, key);
    if (found || PyErr_Occurred()) return found;
    Dispatcher *outer = girih_active;
    girih_active = NULL;
    PyObject *made = PyObject_CallOneArg(owner->admit, function);
    girih_active = outer;
    if (!made) return NULL;
    int stored = PyDict_SetItem(owner->callees, key, made);
    Py_DECREF(made);
    return stored < 0 ? NULL : made;
}

enum { UNSUPPORTED_FLAGS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE };

static int is_plain_function_frame(PyCodeObject *code, PyObject *function) {
    return (code->co_flags & UNSUPPORTED_FLAGS) == 0 && (code->co_flags & CO_OPTIMIZED) &&
           function && PyFunction_Check(function);
}

static PyObject *evaluate_unwatched(PyThreadState *thread, struct _PyInterpreterFrame *frame,
                                    int throwing) {
    Dispatcher *outer = girih_active;
    girih_active = NULL;
    PyObject *result = evaluate_as_it_was(thread, frame, throwing);
    girih_active = outer;
    return result;
}

/* The result of a callee's compiled code, or NULL: without an exception the frame has to
 * run as it was. */
static PyObject *run_callee(Dispatcher *owner, Dispatcher *callee, PyCodeObject *code,
                            PyObject *function, PyObject **locals) {
    Py_ssize_t count = code->co_argcount + code->co_kwonlyargcount +
                       ((code->co_flags & CO_VARARGS) != 0) +
                       ((code->co_flags & CO_VARKEYWORDS) != 0);
    Py_INCREF(callee);
    PyObject *result = Dispatcher_run(callee, function, locals, count);
    Py_DECREF(callee);
    /* What goes on has the arguments that it needs, and may be to give them up. */
    if (result && Py_IS_TYPE(result, &Tail_Type))
        for (Py_ssize_t i = 0; i < count; i++) Py_CLEAR(locals[i]);
    return girih_run_tails(owner, result);
}

static PyObject *evaluate_frame(PyThreadState *thread, struct _PyInterpreterFrame *frame,
                                int throwing) {
    Dispatcher *owner = girih_active;
    PyCodeObject *code = FRAME_CODE(frame);
    PyObject *function = FRAME_FUNCTION(frame);
    if (!owner || throwing || !is_plain_function_frame(code, function))
        return evaluate_as_it_was(thread, frame, throwing);
    if (girih_skipped == (PyObject *)code) {
        girih_skipped = NULL;
        if (girih_handed_over) {
            PyObject **held = girih_handed_over;
            girih_handed_over = NULL;
            Py_CLEAR(*held);
        }
        return evaluate_as_it_was(thread, frame, throwing);
    }
    PyObject *callee = girih_callee(owner, (PyObject *)code, function), *result = NULL;
    if (callee == Py_False || girih_forced_eager)
        return evaluate_unwatched(thread, frame, throwing);
    if (callee && PyObject_TypeCheck(callee, &Dispatcher_Type))
        result = run_callee(owner, (Dispatcher *)callee, code, function, frame->localsplus);
    if (!result && !PyErr_Occurred()) return evaluate_as_it_was(thread, frame, throwing);
    leave_frame(thread, frame);
    return result;
}

/* Another tool's hook that was there before keeps working beneath ours. */
static void watch(void) {
    if (watchers++) return;
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    next_eval = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate_frame);
}

static void unwatch(void) {
    if (--watchers) return;
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate_frame)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, next_eval);
}

PyObject *girih_call_watched(Dispatcher *owner, PyObject *function, PyObject *const *args,
                             size_t nargsf, PyObject *kwnames, PyObject **held) {
    Dispatcher *outer = girih_active;
    PyObject *skipped = girih_skipped, **handed_over = girih_handed_over;
    watch();
    girih_active = owner;
    girih_skipped = PyFunction_GET_CODE(function);
    girih_handed_over = held;
    PyObject *result = PyObject_Vectorcall(function, args, nargsf, kwnames);
    girih_skipped = skipped;
    girih_handed_over = handed_over;
    girih_active = outer;
    unwatch();
    return result;
}

PyObject *girih_call_plain(Dispatcher *self, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames) {
    if (self->admit == Py_None || girih_forced_eager) {
        Dispatcher *outer = girih_active;
        girih_active = NULL;
        PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, kwnames);
        girih_active = outer;
        return result;
    }
    PyObject *code = PyFunction_GET_CODE(self->function);
    if (PyDict_SetItem(self->callees, code, Py_None) < 0) return NULL;
    return girih_call_watched(self, self->function, args, nargsf, kwnames, NULL);
}

/* ---- the module ------------------------------------------------------------------ */

static PyObject *is_watching(PyObject *module, PyObject *ignored) {
    return PyBool_FromLong(watchers > 0);
}

static PyObject *force_eager(PyObject *module, PyObject *flag) {
    int forced = PyObject_IsTrue(flag), before = girih_forced_eager;
    if (forced < 0) return NULL;
    girih_forced_eager = forced;
    return PyBool_FromLong(before);
}

static PyObject *force_backend(PyObject *module, PyObject *backend) {
    PyObject *before = girih_backend;
    girih_backend = Py_NewRef(backend);
    return before;
}

/* Calls anything with nothing below it watched. */
static PyObject *call_unwatched(PyObject *module, PyObject *const *args, Py_ssize_t count,
                                PyObject *kwnames) {
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "call_unwatched() needs a callable");
        return NULL;
    }
    Dispatcher *outer = girih_active;
    girih_active = NULL;
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, (size_t)count - 1, kwnames);
    girih_active = outer;
    return result;
}

/* Raises an exception with the traceback it has; adds no Python frame to it. */
static PyObject *raise_again(PyObject *module, PyObject *error) {
    if (!PyExceptionInstance_Check(error)) {
        PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
        return NULL;
    }
    PyErr_Restore(Py_NewRef(Py_TYPE(error)), Py_NewRef(error), PyException_GetTraceback(error));
    return NULL;
}

static PyMethodDef methods[] = {
    {"force_eager", force_eager, METH_O,
     "force_eager(flag) -> before: every compiled callable calls its function plainly."},
    {"force_backend", force_backend, METH_O,
     "force_backend(backend) -> before: entries of other backends are passed over."},
    {"call_unwatched", (PyCFunction)(void (*)(void))call_unwatched,
     METH_FASTCALL | METH_KEYWORDS,
     "call_unwatched(callable, *args, **kwargs): nothing it calls is captured."},
    {"raise_again", raise_again, METH_O, "Raises an exception with its own traceback."},
    {"is_watching", is_watching, METH_NOARGS, "Whether the frame hook is installed."},
    {NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "girih.frontend.capture._frame",
    .m_doc = "Guards, compiled callables and the frame hook.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__frame(void) {
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    if (PyModule_AddType(module, &Guards_Type) < 0 || PyModule_AddType(module, &Entry_Type) < 0 ||
        PyModule_AddType(module, &Dispatcher_Type) < 0 || PyModule_AddType(module, &Tail_Type) < 0)
        Py_CLEAR(module);
    if (module && !girih_backend) girih_backend = Py_NewRef(Py_None);
    if (module && !girih_again) girih_again = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
    if (module && PyModule_AddObjectRef(module, "AGAIN", girih_again) < 0) Py_CLEAR(module);
    return module;
}
