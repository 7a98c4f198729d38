/* Events of a profiler: see _events.h. */
#include "_events.h"

/* The flag is looked up with each call of a program: some ns. The GIL guards all. */
static struct {
    PyObject *module; /* dict of a module */
    PyObject *flag;   /* name in it */
    PyObject *maker;
    PyObject *observer; /* goes before the module's */
} watcher;

PyObject *event_maker(void) {
    if (watcher.observer != NULL) return Py_NewRef(watcher.observer);
    if (watcher.module == NULL) return NULL;
    PyObject *flag = PyDict_GetItemWithError(watcher.module, watcher.flag);
    return flag == Py_True ? Py_NewRef(watcher.maker) : NULL;
}

PyObject *open_event(PyObject *maker, PyObject *description) {
    if (maker == NULL || description == Py_None) return NULL;
    PyObject *event = PyObject_CallOneArg(maker, description);
    PyObject *entered = event == NULL ? NULL : PyObject_CallMethod(event, "__enter__", NULL);
    if (entered == NULL) {
        PyErr_WriteUnraisable(maker);
        Py_CLEAR(event);
    }
    Py_XDECREF(entered);
    return event;
}

void close_event(PyObject *event) {
    if (event == NULL) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *left =
        PyObject_CallMethod(event, "__exit__", "OOO", Py_None, Py_None, Py_None);
    if (left == NULL) PyErr_WriteUnraisable(event);
    Py_XDECREF(left);
    Py_DECREF(event);
    PyErr_Restore(type, value, traceback);
}

static void before_launch(RunStatus *status, int64_t launch) {
    if (status->state != NULL) PyEval_RestoreThread(status->state);
    close_event(status->event);
    status->event = open_event_of(status->maker, status->descriptions, launch);
    if (status->state != NULL) status->state = PyEval_SaveThread();
}

void watch_run(RunStatus *status, PyObject *maker, PyObject *descriptions) {
    status->maker = maker;
    status->descriptions = descriptions;
    if (PyTuple_GET_SIZE(descriptions) > 1)
        status->before = before_launch;
    else
        before_launch(status, 0);
}

/* --- functions of the module --- */

static PyObject *watch_flag(PyObject *Py_UNUSED(module), PyObject *arguments) {
    PyObject *dict, *flag, *maker;
    if (!PyArg_ParseTuple(arguments, "O!UO", &PyDict_Type, &dict, &flag, &maker))
        return NULL;
    Py_XSETREF(watcher.module, Py_NewRef(dict));
    Py_XSETREF(watcher.flag, Py_NewRef(flag));
    Py_XSETREF(watcher.maker, Py_NewRef(maker));
    PyUnicode_InternInPlace(&watcher.flag);
    Py_RETURN_NONE;
}

static PyObject *set_observer(PyObject *Py_UNUSED(module), PyObject *observer) {
    PyObject *before = watcher.observer == NULL ? Py_None : watcher.observer;
    watcher.observer = observer == Py_None ? NULL : Py_NewRef(observer);
    return before == Py_None ? Py_NewRef(before) : before;
}

PyMethodDef event_methods[] = {
    {"watch_flag", watch_flag, METH_VARARGS,
     PyDoc_STR("watch_flag(namespace, name, maker)\n--\n\nHas programs open events "
               "while namespace[name] is True.")},
    {"set_observer", set_observer, METH_O,
     PyDoc_STR("set_observer(maker)\n--\n\nHas programs open events of this maker, or "
               "of none; returns the one before.")},
    {NULL, NULL, 0, NULL}};
