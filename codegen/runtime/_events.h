/* Events of a profiler around a call, and around each launch of generated code.
 *
 * Who watches says so: torch's profiler, by a flag of a Python module, or an observer
 * that was set. It gives a callable from the description of an event to a context
 * manager. The descriptions are constants of the program, which it does not read. */
#ifndef GIRIH_CODEGEN_RUNTIME_EVENTS_H
#define GIRIH_CODEGEN_RUNTIME_EVENTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* What generated code gets as its third argument. It sets `failed`. Where `before` is
 * not NULL, a function of several launches calls it before each of them. */
typedef struct RunStatus RunStatus;
struct RunStatus {
    int32_t failed;
    void (*before)(RunStatus *status, int64_t launch);
    /* The rest is for `before`. */
    PyObject *maker;        /* borrowed; NULL where nobody watches */
    PyObject *descriptions; /* tuple, one for each launch; borrowed */
    PyObject *event;        /* the one that is open; owned */
    PyThreadState *state;   /* where the GIL is released */
};

/* What makes events, as a new reference; NULL where nobody watches. */
PyObject *event_maker(void);

/* Opens an event, as a new reference. NULL without a maker, where the description is
 * None, and after a failure, which is written to stderr: a profile is not worth a
 * call. */
PyObject *open_event(PyObject *maker, PyObject *description);

/* The same with a description in a tuple; NULL where its index is negative. */
static inline PyObject *open_event_of(PyObject *maker, PyObject *descriptions,
                                      int64_t index) {
    if (maker == NULL || index < 0) return NULL;
    return open_event(maker, PyTuple_GET_ITEM(descriptions, index));
}

/* Closes an event, and drops it. The exception that is set, if one is, stays. */
void close_event(PyObject *event);

/* Has a run of generated code open events. */
void watch_run(RunStatus *status, PyObject *maker, PyObject *descriptions);

extern PyMethodDef event_methods[];

#endif
