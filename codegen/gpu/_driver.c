/* Loads and launches GPU kernels through the driver API.
 *
 * The driver's library is opened when a Driver is made, so this builds without any
 * header of CUDA or HIP and is imported on machines without a GPU. CUDA and HIP stand
 * behind one table of functions; where they differ (contexts, attributes, error
 * strings) small functions hide it.
 *
 * A Function is a kernel in memory of one device. A launch table (see _launch.h) holds
 * the launches of one native run. Its words are all of 64 bits: the driver reads each
 * argument through a pointer to its word, and as many bytes as the kernel declares, so
 * i32 and i64 arguments look the same here (the processor is little-endian).
 *
 * Source: CUDA Driver API, sections 6.6 to 6.23; HIP runtime API, module management.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../runtime/_launch.h"

#define MAX_DEVICES 64
#define MAX_ARGUMENTS 256
/* What every function may take without asking. */
#define PLAIN_SHARED_BYTES (48 << 10)
#define MAX_GRID INT32_MAX
#define GRID_OUT_OF_RANGE 0xffffffff
#define CUDA_MAX_DYNAMIC_SHARED_BYTES 8

/* The functions of a driver that both name alike, each with its CUDA and HIP name. */
typedef struct {
    int (*initialize)(unsigned flags);
    int (*device_count)(int *count);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*load_module)(void **module, const void *image);
    int (*unload_module)(void *module);
    int (*get_function)(void **function, void *module, const char *name);
    int (*function_attribute)(int *value, int attribute, void *function);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                  void *stream, void **arguments, void **extra);
    int (*occupancy)(int *blocks, void *function, int threads, size_t shared);
    /* CUDA only */
    int (*retain_context)(void **context, int device);
    int (*current_context)(void **context);
    int (*set_context)(void *context);
    int (*set_function_attribute)(void *function, int attribute, int value);
    int (*cuda_error_string)(int code, const char **text);
    /* HIP only */
    int (*current_device)(int *device);
    int (*set_device)(int device);
    const char *(*hip_error_string)(int code);
} Api;

enum backend { CUDA, HIP, BACKENDS };
static const char *const backend_names[BACKENDS] = {"cuda", "hip"};
static const char *const libraries[BACKENDS] = {"libcuda.so.1", "libamdhip64.so"};

#define ENTRY(field, cuda, hip) {offsetof(Api, field), {cuda, hip}}
static const struct {
    size_t offset;
    const char *names[BACKENDS]; /* NULL: this one has no such function */
} entries[] = {
    ENTRY(initialize, "cuInit", "hipInit"),
    ENTRY(device_count, "cuDeviceGetCount", "hipGetDeviceCount"),
    ENTRY(device_attribute, "cuDeviceGetAttribute", "hipDeviceGetAttribute"),
    ENTRY(load_module, "cuModuleLoadData", "hipModuleLoadData"),
    ENTRY(unload_module, "cuModuleUnload", "hipModuleUnload"),
    ENTRY(get_function, "cuModuleGetFunction", "hipModuleGetFunction"),
    ENTRY(function_attribute, "cuFuncGetAttribute", "hipFuncGetAttribute"),
    ENTRY(launch, "cuLaunchKernel", "hipModuleLaunchKernel"),
    ENTRY(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
          "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"),
    ENTRY(retain_context, "cuDevicePrimaryCtxRetain", NULL),
    ENTRY(current_context, "cuCtxGetCurrent", NULL),
    ENTRY(set_context, "cuCtxSetCurrent", NULL),
    ENTRY(set_function_attribute, "cuFuncSetAttribute", NULL),
    ENTRY(cuda_error_string, "cuGetErrorString", NULL),
    ENTRY(current_device, NULL, "hipGetDevice"),
    ENTRY(set_device, NULL, "hipSetDevice"),
    ENTRY(hip_error_string, NULL, "hipGetErrorString"),
};

/* Facts of a device by name, and the numbers that CUDA and HIP give them. */
static const struct {
    const char *name;
    int numbers[BACKENDS];
} facts[] = {
    {"multiprocessors", {16, 63}},
    {"clock_khz", {13, 5}},
    {"memory_clock_khz", {36, 60}},
    {"memory_bus_bits", {37, 59}},
    {"l2_bytes", {38, 19}},
    {"shared_bytes_per_block", {97, 74}},
    {"shared_bytes_per_multiprocessor", {81, 76}},
    {"threads_per_block", {1, 56}},
    {"threads_per_multiprocessor", {39, 57}},
    {"registers_per_multiprocessor", {82, 72}},
    {"warp_size", {10, 87}},
    {"major", {75, 23}},
    {"minor", {76, 61}},
};

/* Facts of a function: CUDA and HIP agree on these numbers. */
static const struct {
    const char *name;
    int number;
} function_facts[] = {
    {"max_threads", 0}, {"shared_bytes", 1}, {"local_bytes", 3}, {"registers", 4}};

typedef struct {
    PyObject_HEAD
    Api api;
    enum backend backend;
    int devices;
    /* Primary contexts, retained at first use and for good: torch keeps them too. */
    void *contexts[MAX_DEVICES];
} Driver;

typedef struct {
    PyObject_HEAD
    Driver *driver;
    PyObject *name;
    void *module, *handle;
    int device;
    unsigned shared_bytes;
} Function;

typedef struct {
    PyTypeObject *driver_type, *function_type;
} State;

/* --- errors and contexts --- */

static const char *error_text(const Driver *driver, int code) {
    const char *text = NULL;
    if (driver->backend == HIP)
        text = driver->api.hip_error_string(code);
    else
        driver->api.cuda_error_string(code, &text);
    return text == NULL ? "unknown error" : text;
}

/* Whether a call succeeded; else an exception says what failed. */
static bool succeeded(const Driver *driver, int code, const char *what) {
    if (code == 0) return true;
    PyErr_Format(PyExc_RuntimeError, "%s failed: %s (%s error %d)", what,
                 error_text(driver, code), backend_names[driver->backend], code);
    return false;
}

/* The context or device that was current before ours became it. */
typedef struct {
    void *context;
    int device;
    bool changed;
} Previous;

static int enter_device(const Driver *driver, int device, Previous *previous) {
    int code;
    previous->changed = false;
    if (driver->backend == HIP) {
        code = driver->api.current_device(&previous->device);
        if (code != 0 || previous->device == device) return code;
        code = driver->api.set_device(device);
    } else {
        code = driver->api.current_context(&previous->context);
        if (code != 0 || previous->context == driver->contexts[device]) return code;
        code = driver->api.set_context(driver->contexts[device]);
    }
    previous->changed = code == 0;
    return code;
}

static void leave_device(const Driver *driver, const Previous *previous) {
    if (!previous->changed) return;
    if (driver->backend == HIP)
        driver->api.set_device(previous->device);
    else
        driver->api.set_context(previous->context);
}

static bool check_device(Driver *driver, int device) {
    if (device < 0 || device >= driver->devices) {
        PyErr_Format(PyExc_ValueError, "expected a device below %d, got %d",
                     driver->devices, device);
        return false;
    }
    if (driver->backend == HIP || driver->contexts[device] != NULL) return true;
    return succeeded(driver,
                     driver->api.retain_context(&driver->contexts[device], device),
                     "taking the device's context");
}

/* --- Driver --- */

static bool find_entries(Driver *driver, void *library, const char *path) {
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        const char *name = entries[i].names[driver->backend];
        void *address = name == NULL ? NULL : dlsym(library, name);
        if (name != NULL && address == NULL) {
            PyErr_Format(PyExc_OSError, "%s has no function %s", path, name);
            return false;
        }
        memcpy((char *)&driver->api + entries[i].offset, &address, sizeof address);
    }
    return true;
}

static bool open_driver(Driver *driver, const char *path) {
    if (path == NULL) path = libraries[driver->backend];
    /* Never closed: drivers leave threads and handlers behind. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        PyErr_Format(PyExc_OSError, "the %s driver cannot be loaded: %s",
                     backend_names[driver->backend], dlerror());
        return false;
    }
    if (!find_entries(driver, library, path)) return false;
    if (!succeeded(driver, driver->api.initialize(0), "starting the driver") ||
        !succeeded(driver, driver->api.device_count(&driver->devices),
                   "counting devices"))
        return false;
    if (driver->devices > MAX_DEVICES) driver->devices = MAX_DEVICES;
    return true;
}

static PyObject *driver_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"backend", "library", NULL};
    const char *backend, *path = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|z", names, &backend, &path))
        return NULL;
    int number = strcmp(backend, "hip") == 0 ? HIP : CUDA;
    if (strcmp(backend, backend_names[number]) != 0)
        return PyErr_Format(PyExc_ValueError, "expected cuda or hip, got %s", backend);
    Driver *driver = (Driver *)type->tp_alloc(type, 0);
    if (driver == NULL) return NULL;
    driver->backend = (enum backend)number;
    if (!open_driver(driver, path)) Py_CLEAR(driver);
    return (PyObject *)driver;
}

static void plain_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static bool add_fact(PyObject *found, const char *name, int value) {
    PyObject *number = PyLong_FromLong(value);
    int failed = number == NULL || PyDict_SetItemString(found, name, number) < 0;
    Py_XDECREF(number);
    return !failed;
}

static PyObject *driver_facts(PyObject *self, PyObject *argument) {
    Driver *driver = (Driver *)self;
    int device = (int)PyLong_AsLong(argument);
    if (PyErr_Occurred() || !check_device(driver, device)) return NULL;
    PyObject *found = PyDict_New();
    for (size_t i = 0; found != NULL && i < sizeof(facts) / sizeof(facts[0]); i++) {
        int value = 0, number = facts[i].numbers[driver->backend];
        if (!succeeded(driver, driver->api.device_attribute(&value, number, device),
                       "reading a device's attribute") ||
            !add_fact(found, facts[i].name, value))
            Py_CLEAR(found);
    }
    return found;
}

static bool load_function(Function *function, const void *image) {
    Driver *driver = function->driver;
    const Api *api = &driver->api;
    const char *name = PyUnicode_AsUTF8(function->name);
    if (name == NULL) return false;
    if (!succeeded(driver, api->load_module(&function->module, image),
                   "loading a kernel") ||
        !succeeded(driver,
                   api->get_function(&function->handle, function->module, name),
                   "finding a kernel"))
        return false;
    if (driver->backend == HIP || function->shared_bytes <= PLAIN_SHARED_BYTES)
        return true;
    return succeeded(driver,
                     api->set_function_attribute(function->handle,
                                                 CUDA_MAX_DYNAMIC_SHARED_BYTES,
                                                 (int)function->shared_bytes),
                     "asking for a kernel's shared memory");
}

static PyObject *driver_load(PyObject *self, PyObject *args) {
    Driver *driver = (Driver *)self;
    int device;
    Py_buffer image;
    PyObject *name;
    unsigned shared_bytes;
    if (!PyArg_ParseTuple(args, "iy*UI", &device, &image, &name, &shared_bytes))
        return NULL;
    State *state = PyType_GetModuleState(Py_TYPE(self));
    Function *function = NULL;
    Previous previous;
    if (check_device(driver, device))
        function =
            (Function *)state->function_type->tp_alloc(state->function_type, 0);
    if (function != NULL) {
        function->driver = (Driver *)Py_NewRef(self);
        function->name = Py_NewRef(name);
        function->device = device;
        function->shared_bytes = shared_bytes;
        if (!succeeded(driver, enter_device(driver, device, &previous),
                       "making a device current")) {
            Py_CLEAR(function);
        } else {
            bool loaded = load_function(function, image.buf);
            leave_device(driver, &previous);
            if (!loaded) Py_CLEAR(function);
        }
    }
    PyBuffer_Release(&image);
    return (PyObject *)function;
}

/* --- Function --- */

/* Errors are left out: at the end of a process the driver may be gone already. */
static void function_dealloc(PyObject *self) {
    Function *function = (Function *)self;
    Previous previous;
    if (function->module != NULL &&
        enter_device(function->driver, function->device, &previous) == 0) {
        function->driver->api.unload_module(function->module);
        leave_device(function->driver, &previous);
    }
    Py_CLEAR(function->driver);
    Py_CLEAR(function->name);
    plain_dealloc(self);
}

static PyObject *function_get_facts(PyObject *self, PyObject *Py_UNUSED(none)) {
    Function *function = (Function *)self;
    Driver *driver = function->driver;
    PyObject *found = PyDict_New();
    size_t count = sizeof(function_facts) / sizeof(function_facts[0]);
    for (size_t i = 0; found != NULL && i < count; i++) {
        int value = 0, number = function_facts[i].number;
        if (!succeeded(driver,
                       driver->api.function_attribute(&value, number, function->handle),
                       "reading a kernel's attribute") ||
            !add_fact(found, function_facts[i].name, value))
            Py_CLEAR(found);
    }
    return found;
}

static PyObject *function_occupancy(PyObject *self, PyObject *argument) {
    Function *function = (Function *)self;
    Driver *driver = function->driver;
    int threads = (int)PyLong_AsLong(argument), blocks = 0;
    Previous previous;
    if (PyErr_Occurred()) return NULL;
    int code = enter_device(driver, function->device, &previous);
    if (code == 0) {
        code = driver->api.occupancy(&blocks, function->handle, threads,
                                     function->shared_bytes);
        leave_device(driver, &previous);
    }
    return succeeded(driver, code, "asking for a kernel's occupancy")
               ? PyLong_FromLong(blocks)
               : NULL;
}

/* --- launch tables --- */

typedef struct {
    Function *function;
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

static unsigned launch_one(const Table *table, const Launch *launch, int64_t *words,
                           void *stream) {
    void *arguments[MAX_ARGUMENTS];
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
    PyObject *name = table->launches[code >> 32].function->name;
    uint32_t error = (uint32_t)code;
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

static bool read_launch(const Table *table, Launch *launch, PyObject *item,
                        PyTypeObject *function_type) {
    PyObject *function, *arguments;
    long long grid;
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

static PyObject *driver_table(PyObject *self, PyObject *args) {
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

static PyObject *launch(PyObject *Py_UNUSED(module), PyObject *args) {
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

/* --- the module --- */

static PyMethodDef driver_methods[] = {
    {"facts", driver_facts, METH_O,
     "facts(device)\n--\n\nNumbers that a device has, by name."},
    {"load", driver_load, METH_VARARGS,
     "load(device, image, name, shared_bytes)\n--\n\nThe Function of this name in a "
     "cubin or hsaco."},
    {"table", driver_table, METH_VARARGS,
     "table(device, launches, words)\n--\n\nA launch table. Each launch is (function, "
     "word of the grid, threads, words of the arguments); -1 is a null pointer."},
    {NULL}};

static PyMethodDef function_methods[] = {
    {"facts", function_get_facts, METH_NOARGS,
     "facts()\n--\n\nRegisters and memory that the kernel takes, by name."},
    {"occupancy", function_occupancy, METH_O,
     "occupancy(threads)\n--\n\nHow many programs of so many threads a "
     "multiprocessor runs at a time."},
    {NULL}};

static PyType_Slot driver_slots[] = {
    {Py_tp_new, driver_new},
    {Py_tp_dealloc, plain_dealloc},
    {Py_tp_methods, driver_methods},
    {Py_tp_doc, "Driver(backend, library=None)\n--\n\nThe driver of cuda or hip."},
    {0, NULL}};
static PyType_Slot function_slots[] = {
    {Py_tp_dealloc, function_dealloc},
    {Py_tp_methods, function_methods},
    {Py_tp_doc, "A kernel in the memory of a device; unloaded when it dies."},
    {0, NULL}};

static PyType_Spec driver_spec = {.name = "girih.codegen.gpu._driver.Driver",
                                  .basicsize = sizeof(Driver),
                                  .flags =
                                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                                  .slots = driver_slots};
static PyType_Spec function_spec = {.name = "girih.codegen.gpu._driver.Function",
                                    .basicsize = sizeof(Function),
                                    .flags = Py_TPFLAGS_DEFAULT |
                                             Py_TPFLAGS_IMMUTABLETYPE |
                                             Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                    .slots = function_slots};

static int module_exec(PyObject *module) {
    State *state = PyModule_GetState(module);
    state->driver_type =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &driver_spec, NULL);
    state->function_type =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &function_spec, NULL);
    if (state->driver_type == NULL || state->function_type == NULL) return -1;
    return PyModule_AddType(module, state->driver_type) < 0 ||
                   PyModule_AddType(module, state->function_type) < 0
               ? -1
               : 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
    State *state = PyModule_GetState(module);
    Py_VISIT(state->driver_type);
    Py_VISIT(state->function_type);
    return 0;
}

static int module_clear(PyObject *module) {
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->driver_type);
    Py_CLEAR(state->function_type);
    return 0;
}

static PyMethodDef module_methods[] = {
    {"launch", launch, METH_VARARGS,
     "launch(table, words, stream)\n--\n\nLaunches what a table holds, for tests and "
     "measurements."},
    {NULL}};
static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};
static struct PyModuleDef module_definition = {PyModuleDef_HEAD_INIT,
                                               .m_name = "_driver",
                                               .m_doc = "Loads and launches kernels.",
                                               .m_size = sizeof(State),
                                               .m_methods = module_methods,
                                               .m_slots = module_slots,
                                               .m_traverse = module_traverse,
                                               .m_clear = module_clear};

PyMODINIT_FUNC PyInit__driver(void) { return PyModuleDef_Init(&module_definition); }
