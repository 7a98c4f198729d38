/* Loads and launches GPU kernels through the driver API.
 *
 * The driver's library is opened when a Driver is made, so this builds without any
 * header of CUDA or HIP and is imported on machines without a GPU. CUDA and HIP stand
 * behind one table of functions; where they differ (contexts, attributes, error
 * strings) small functions hide it.
 *
 * A Function is a kernel in memory of one device. Launch tables are in _table.c.
 *
 * Source: the manuals of the CUDA Driver API and of the HIP runtime API.
 */
#include "_driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* What every function may take without asking. */
#define PLAIN_SHARED_BYTES (48 << 10)
#define CUDA_MAX_DYNAMIC_SHARED_BYTES 8

const char *const backend_names[BACKENDS] = {"cuda", "hip"};
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

/* --- errors and contexts --- */

const char *error_text(const Driver *driver, int code) {
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

int enter_device(const Driver *driver, int device, Previous *previous) {
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

void leave_device(const Driver *driver, const Previous *previous) {
    if (!previous->changed) return;
    if (driver->backend == HIP)
        driver->api.set_device(previous->device);
    else
        driver->api.set_context(previous->context);
}

bool check_device(Driver *driver, int device) {
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

/* --- the module --- */

static PyMethodDef driver_methods[] = {
    {"facts", driver_facts, METH_O,
     "facts(device)\n--\n\nNumbers that a device has, by name."},
    {"load", driver_load, METH_VARARGS,
     "load(device, image, name, shared_bytes)\n--\n\nThe Function of this name in a "
     "cubin or hsaco."},
    {"table", driver_table, METH_VARARGS,
     "table(device, launches, words)\n--\n\nA launch table. Each launch is (function, "
     "word of the grid, threads, words of the arguments), or (capsule of a library's "
     "function, words of the arguments); -1 is a null pointer."},
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
    {"launch", launch_words, METH_VARARGS,
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
