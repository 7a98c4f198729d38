/* A driver library whose kernels are functions of the test: see emulated_device.py.
 *
 * A module's image is the number of a kernel, as text; a function's handle is that
 * number plus one. Launches go to the function that the test has set. */
#include <stdint.h>
#include <stdlib.h>

typedef int (*Launcher)(int64_t kernel, int64_t grid, void **arguments);

Launcher launcher;
char message[512]; /* why the last launch was refused */

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    return *value = attribute, device;
}
int cuModuleLoadData(void **module, const void *image) {
    return *module = (void *)(intptr_t)(atoll(image) + 1), 0;
}
int cuModuleUnload(void *module) { return module == NULL; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    return *function = module, name == NULL;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
    return *value = attribute, function == NULL;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
    return function == NULL || attribute < 0 || value < 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function,
                                                int threads, size_t shared) {
    return *blocks = 2048 / threads, function == NULL || shared > (228 << 10);
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    return *context = (void *)1, device;
}
int cuCtxGetCurrent(void **context) { return *context = (void *)1, 0; }
int cuCtxSetCurrent(void *context) { return context != (void *)1; }
int cuGetErrorString(int code, const char **text) {
    return *text = code == 719 ? message : "a bad argument", 0;
}
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z,
                   unsigned shared, void *stream, void **arguments, void **extra) {
    if (extra != NULL || grid_y * grid_z * block_y * block_z != 1) return 1;
    if (block_x > 1024 || shared > (228 << 10) || stream != NULL) return 1;
    return launcher((intptr_t)function - 1, grid_x, arguments);
}
