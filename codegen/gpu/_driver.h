/* Drivers, and kernels that they loaded: what _driver.c and _table.c share. */
#ifndef GIRIH_CODEGEN_GPU_DRIVER_H
#define GIRIH_CODEGEN_GPU_DRIVER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#define MAX_DEVICES 64

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
extern const char *const backend_names[BACKENDS];

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

/* The context or device that was current before ours became it. */
typedef struct {
    void *context;
    int device;
    bool changed;
} Previous;

/* Makes a device current: 0, or the driver's error. Contexts of the Driver must be
 * there: see check_device. */
int enter_device(const Driver *driver, int device, Previous *previous);
void leave_device(const Driver *driver, const Previous *previous);

/* Whether the device exists and its context is there; else an exception is set. */
bool check_device(Driver *driver, int device);

/* What the driver says of an error. */
const char *error_text(const Driver *driver, int code);

/* Methods for launch tables. */
PyObject *driver_table(PyObject *self, PyObject *args);
PyObject *launch_words(PyObject *module, PyObject *args);

#endif
