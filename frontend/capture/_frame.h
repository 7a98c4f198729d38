/* Shared by the files of girih.frontend.capture._frame:
 *   _guards.c    the guard tree: evaluated per call, also fetches the graph's inputs
 *   _guard_tree.c  makes it from its description
 *   _guard_values.c  says which values are the same
 *   _tensors.c   guards on tensors
 *   _dispatch.c  the compiled callable: binds arguments, tries the cache entries
 *   _tail.c      tail calls: how a segment that ends at a graph break goes on
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
extern PyTypeObject Tail_Type;

/* Evaluates the guards of one call. On success (1) `slots` holds new references to
 * the fetched values; on failure (0) nothing is held and no exception is set. -1 is an
 * exception that the handler of a signal raised. */
int Guards_evaluate(Guards *self, PyObject *function, PyObject *const *locals,
                    Py_ssize_t count, PyObject **slots);
Py_ssize_t Guards_slot_count(Guards *self);

typedef struct {
    PyObject_HEAD
    Guards *guards;
    PyObject *call;     /* called with the slots */
    PyObject *again;    /* None, or called with an exception that `call` raised */
    PyObject *backend;  /* NULL, or what `girih_backend` has to be */
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

/* What a segment returns that ends at a graph break. */
typedef struct {
    PyObject_HEAD
    PyObject *function;  /* a Python function with positional parameters only */
    PyObject *args;      /* tuple, one item for each parameter */
    PyObject *key;       /* of its dispatcher among the callees; usually its code */
    int plain;           /* it is called as it is, not through its dispatcher */
} Tail;

/* The dispatcher whose plain frames are watched on this thread, or NULL. */
extern _Thread_local Dispatcher *girih_active;

/* Code whose next frame on this thread runs as it was, without being offered again. */
extern _Thread_local PyObject *girih_skipped;

/* Where the arguments of that call are held: its frame drops them once it has its own, so
 * that the caller keeps nothing alive that the function is done with. */
extern _Thread_local PyObject **girih_handed_over;

/* What compiled code returns that failed before it had changed anything. */
extern PyObject *girih_again;

/* Not 0: every dispatcher calls its function as it was, unwatched. */
extern int girih_forced_eager;

/* The backend that the stance forces, or None. Entries of another one are passed over. */
extern PyObject *girih_backend;

/* Tries the entries, then `miss`, for bound locals. Returns the result, or NULL with an
 * exception, or NULL without one when the frame has to run as it was. */
PyObject *Dispatcher_run(Dispatcher *self, PyObject *function, PyObject *const *locals,
                         Py_ssize_t count);

/* Calls `function` as it was, with callees watched by `self`. */
PyObject *girih_call_plain(Dispatcher *self, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames);

/* Runs what `result` asks for while it is a Tail (consumed); `owner` has the callees. */
PyObject *girih_run_tails(Dispatcher *owner, PyObject *result);

/* Calls any function as it was, with callees watched by `owner`. `held`, if not NULL, holds
 * the arguments; it may be cleared. */
PyObject *girih_call_watched(Dispatcher *owner, PyObject *function, PyObject *const *args,
                             size_t nargsf, PyObject *kwnames, PyObject **held);

/* What `owner` made of a callee (borrowed): a Dispatcher, None or False; NULL on errors. */
PyObject *girih_callee(Dispatcher *owner, PyObject *key, PyObject *function);

#endif
