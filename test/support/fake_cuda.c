/* A driver library that records what it is asked: tests load it as libcuda. */
#include <stdint.h>
#include <string.h>

#define MAX_RECORDS 64
#define ARGUMENTS 6

typedef struct {
    int64_t function, stream, arguments[ARGUMENTS];
    int64_t grid, threads, shared, context;
} Record;

Record records[MAX_RECORDS];
int record_count, unloaded, asked_shared, fail_with;
int argument_count; /* as many are read: the driver would know from the kernel */
static void *current = (void *)1;
static intptr_t functions;

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGetCount(int *count) { return *count = 2, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    return *value = 1000 * device + attribute, 0;
}
int cuModuleLoadData(void **module, const void *image) {
    if (memcmp(image, "bad", 3) == 0) return 200;
    return *module = (void *)image, 0;
}
int cuModuleUnload(void *module) { return unloaded += module != 0, 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
    return *function = (void *)(++functions + 0 * (name - (char *)module)), 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
    return *value = attribute + (function == 0), 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value) {
    return asked_shared = value + 0 * attribute, function == 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function,
                                                int threads, size_t shared) {
    return *blocks = 2048 / threads + (int)(shared * 0), function == 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) {
    return *context = (void *)(intptr_t)(100 + device), 0;
}
int cuCtxGetCurrent(void **context) { return *context = current, 0; }
int cuCtxSetCurrent(void *context) { return current = context, 0; }
int cuGetErrorString(int code, const char **text) {
    return *text = code == 700 ? "an illegal address" : "some error", 0;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                   unsigned by, unsigned bz, unsigned shared, void *stream,
                   void **arguments, void **extra) {
    Record *record = &records[record_count++ % MAX_RECORDS];
    if (fail_with != 0 || extra != 0) return fail_with;
    *record = (Record){.function = (intptr_t)function, .stream = (intptr_t)stream,
                       .grid = (int64_t)gx * gy * gz, .threads = (int64_t)bx * by * bz,
                       .shared = shared, .context = (intptr_t)current};
    for (int i = 0; i < argument_count; i++) record->arguments[i] = *(int64_t *)arguments[i];
    return 0;
}
