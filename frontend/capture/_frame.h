/* Shared by the four files of girih.frontend.capture._frame:
 *   _guards.c    the guard tree: evaluated per call, also fetches the graph's inputs
 *   _guard_tree.c  makes it from its description
 *   _dispatch.c  the compiled callable: binds arguments, tries the cache entries
 *   _frame.c     the module and the PEP 523 hook for frames that run as they were
 * Plain CPython API; no torch headers, so one binary serves every torch. */
#ifndef GIRIH_FRAME_H
#define GIRIH_FRAME_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct Guards Guards;

extern PyTypeObject Guards_Type;
extern PyTypeObject Entry_Type;
extern PyTypeObject Dispatcher_Type;

/* Evaluates the guards of one call. On success (1) `slots` holds new references to
 * the fetched values; on failure (0) nothing is held and no exception is set. */
int Guards_evaluate(Guards *self, PyObject *function, PyObject *const *locals,
                    Py_ssize_t count, PyObject **slots);
Py_ssize_t Guards_slot_count(Guards *self);

typedef struct {
    PyObject_HEAD
    Guards *guards;
    PyObject *call;     /* called with the slots */
    Py_ssize_t single;  /* >= 0: the result is that item of what `call` returns */
} Entry;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function;   /* the Python function that is compiled */
    PyObject *entries;    /* list of Entry, most recent first */
    PyObject *miss;       /* miss(function, locals) -> Entry or None */
    PyObject *admit;      /* admit(function) -> Dispatcher or None, for callees */
    PyObject *callees;    /* dict: code object -> Dispatcher or None */
    PyObject *varnames;
    PyObject *dict;
    PyObject *weakreflist;
} Dispatcher;

/* The dispatcher whose plain frames are watched on this thread, or NULL. */
extern _Thread_local Dispatcher *girih_active;

/* Tries the entries, then `miss`, for bound locals. Returns the result, or NULL with an
 * exception, or NULL without one when the frame has to run as it was. */
PyObject *Dispatcher_run(Dispatcher *self, PyObject *function, PyObject *const *locals,
                         Py_ssize_t count);

/* Calls `function` as it was, with callees watched by `self`. */
PyObject *girih_call_plain(Dispatcher *self, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames);

#endif
