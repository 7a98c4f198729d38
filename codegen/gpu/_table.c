/* Launch tables: the launches of one native run, ready for the driver.
 *
 * The words that a table is launched with are all of 64 bits: the driver reads each
 * argument through a pointer to its word, and as many bytes as the kernel declares, so
 * i32 and i64 arguments look the same here (the processor is little-endian). */
#include "_driver.h"

#include "../runtime/_launch.h"

#define MAX_ARGUMENTS 512 /* of 8 bytes: what CUDA takes */
#define MAX_GRID INT32_MAX
#define GRID_OUT_OF_RANGE 0xffffffff

typedef struct {
    Function *function;     /* or else */
    PyObject *owner;        /* of */
    const DeviceCall *call; /* a library's function */
    int64_t grid; /* which word holds the number of programs */
    unsigned threads;
    int count;
    int *arguments; /* which word each is; -1 for a null pointer */
} Launch;

typedef struct {
    LaunchTable base;
    Driver *driver;
    int device;
    Py_ssize_t count;
    Launch launches[];
} Table;

static int64_t null_word;

static unsigned call_library(const Launch *launch, const int64_t *words, void *stream) {
    int64_t given[MAX_ARGUMENTS];
    for (int i = 0; i < launch->count; i++) {
        int word = launch->arguments[i];
        given[i] = word < 0 ? 0 : words[word];
    }
    return (unsigned)launch->call->call(launch->call, given, stream);
}

static unsigned launch_one(const Table *table, const Launch *launch, int64_t *words,
                           void *stream) {
    void *arguments[MAX_ARGUMENTS];
    if (launch->call != NULL) return call_library(launch, words, stream);
    int64_t grid = words[launch->grid];
    if (grid == 0) return 0; /* nothing to compute; drivers refuse empty grids */
    if (grid < 0 || grid > MAX_GRID) return GRID_OUT_OF_RANGE;
    for (int i = 0; i < launch->count; i++) {
        int word = launch->arguments[i];
        arguments[i] = word < 0 ? &null_word : &words[word];
    }
    return (unsigned)table->driver->api.launch(
        launch->function->handle, (unsigned)grid, 1, 1, launch->threads, 1, 1,
        launch->function->shared_bytes, stream, arguments, NULL);
}

/* The code has the driver's error in its low half, and which launch failed above. */
static int64_t launch_all(const LaunchTable *base, int64_t *words, int64_t stream) {
    const Table *table = (const Table *)base;
    Previous previous;
    unsigned code = (unsigned)enter_device(table->driver, table->device, &previous);
    Py_ssize_t i = 0;
    if (code == 0) {
        while (i < table->count) {
            code = launch_one(table, &table->launches[i], words,
                              (void *)(intptr_t)stream);
            if (code != 0) break;
            i++;
        }
        leave_device(table->driver, &previous);
    }
    return code == 0 ? 0 : (int64_t)code | (int64_t)i << 32;
}

static void raise_launch_error(const LaunchTable *base, int64_t code) {
    const Table *table = (const Table *)base;
    const Launch *launch = &table->launches[code >> 32];
    uint32_t error = (uint32_t)code;
    if (launch->call != NULL) {
        PyErr_Format(PyExc_RuntimeError, "%s failed with status %u", launch->call->name,
                     error);
        return;
    }
    PyObject *name = launch->function->name;
    if (error == GRID_OUT_OF_RANGE)
        PyErr_Format(PyExc_RuntimeError,
                     "the kernel %U needs more programs than a grid can have", name);
    else
        PyErr_Format(PyExc_RuntimeError, "launching the kernel %U failed: %s (%s error "
                     "%d)", name, error_text(table->driver, (int)error),
                     backend_names[table->driver->backend], (int)error);
}

static void free_table(Table *table) {
    for (Py_ssize_t i = 0; i < table->count; i++) {
        Py_XDECREF(table->launches[i].function);
        Py_XDECREF(table->launches[i].owner);
        PyMem_Free(table->launches[i].arguments);
    }
    Py_XDECREF(table->driver);
    PyMem_Free(table);
}

static void free_capsule(PyObject *capsule) {
    free_table(PyCapsule_GetPointer(capsule, LAUNCH_TABLE_NAME));
}

static bool read_arguments(const Table *table, Launch *launch, PyObject *arguments) {
    Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    if (count > MAX_ARGUMENTS) {
        PyErr_Format(PyExc_ValueError, "expected at most %d arguments, got %zd",
                     MAX_ARGUMENTS, count);
        return false;
    }
    launch->arguments = PyMem_Calloc((size_t)count + 1, sizeof(int));
    if (launch->arguments == NULL) return PyErr_NoMemory(), false;
    launch->count = (int)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        long word = PyLong_AsLong(PyTuple_GET_ITEM(arguments, i));
        if (word == -1 && PyErr_Occurred()) return false;
        if (word < -1 || word >= table->base.words) {
            PyErr_SetString(PyExc_ValueError, "girih bug: expected the index of a word");
            return false;
        }
        launch->arguments[i] = (int)word;
    }
    return true;
}

static bool read_call(const Table *table, Launch *launch, PyObject *item) {
    PyObject *owner, *arguments;
    if (!PyArg_ParseTuple(item, "OO!", &owner, &PyTuple_Type, &arguments)) return false;
    launch->call = PyCapsule_GetPointer(owner, DEVICE_CALL_NAME);
    if (launch->call == NULL) return false;
    launch->owner = Py_NewRef(owner);
    if (launch->call->arguments == PyTuple_GET_SIZE(arguments))
        return read_arguments(table, launch, arguments);
    PyErr_Format(PyExc_ValueError, "girih bug: expected %d arguments of %s, got %zd",
                 launch->call->arguments, launch->call->name,
                 PyTuple_GET_SIZE(arguments));
    return false;
}

static bool read_launch(const Table *table, Launch *launch, PyObject *item,
                        PyTypeObject *function_type) {
    PyObject *function, *arguments;
    long long grid;
    if (PyTuple_Check(item) && PyTuple_GET_SIZE(item) == 2)
        return read_call(table, launch, item);
    if (!PyArg_ParseTuple(item, "O!LIO!", function_type, &function, &grid,
                          &launch->threads, &PyTuple_Type, &arguments))
        return false;
    launch->function = (Function *)Py_NewRef(function);
    launch->grid = grid;
    if (grid < 0 || grid >= table->base.words) {
        PyErr_SetString(PyExc_ValueError, "girih bug: expected the index of a grid");
        return false;
    }
    if (launch->function->driver != table->driver ||
        launch->function->device != table->device) {
        PyErr_SetString(PyExc_ValueError,
                        "girih bug: expected kernels of the table's device");
        return false;
    }
    return read_arguments(table, launch, arguments);
}

PyObject *driver_table(PyObject *self, PyObject *args) {
    State *state = PyType_GetModuleState(Py_TYPE(self));
    PyObject *items;
    int device;
    Py_ssize_t words;
    if (!PyArg_ParseTuple(args, "iO!n", &device, &PyTuple_Type, &items, &words) ||
        !check_device((Driver *)self, device))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    if (count == 0) {
        PyErr_SetString(PyExc_ValueError, "girih bug: expected launches");
        return NULL;
    }
    Table *table = PyMem_Calloc(1, sizeof(Table) + (size_t)count * sizeof(Launch));
    if (table == NULL) return PyErr_NoMemory();
    table->base = (LaunchTable){words, launch_all, raise_launch_error};
    table->driver = (Driver *)Py_NewRef(self);
    table->device = device;
    table->count = count;
    PyObject *capsule = NULL;
    Py_ssize_t i = 0;
    while (i < count && read_launch(table, &table->launches[i],
                                    PyTuple_GET_ITEM(items, i), state->function_type))
        i++;
    if (i == count) capsule = PyCapsule_New(table, LAUNCH_TABLE_NAME, free_capsule);
    if (capsule == NULL) free_table(table);
    return capsule;
}

static bool read_words(PyObject *items, int64_t *words) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        words[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(items, i));
        if (words[i] == -1 && PyErr_Occurred()) return false;
    }
    return true;
}

PyObject *launch_words(PyObject *Py_UNUSED(module), PyObject *args) {
    PyObject *capsule, *items;
    long long stream;
    if (!PyArg_ParseTuple(args, "OO!L", &capsule, &PyTuple_Type, &items, &stream))
        return NULL;
    LaunchTable *table = PyCapsule_GetPointer(capsule, LAUNCH_TABLE_NAME);
    if (table == NULL) return NULL;
    if (PyTuple_GET_SIZE(items) < table->words)
        return PyErr_Format(PyExc_ValueError, "expected %lld words, got %zd",
                            (long long)table->words, PyTuple_GET_SIZE(items));
    int64_t *words = PyMem_Calloc((size_t)PyTuple_GET_SIZE(items) + 1, sizeof(int64_t));
    if (words == NULL) return PyErr_NoMemory();
    int64_t code = 0;
    bool are_read = read_words(items, words);
    if (are_read && (code = table->launch(table, words, stream)) != 0)
        table->raise(table, code);
    PyMem_Free(words);
    return are_read && code == 0 ? Py_NewRef(Py_None) : NULL;
}
