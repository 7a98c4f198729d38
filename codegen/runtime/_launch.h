/* What a launch program knows of kernels on a device: a table that launches them.
 *
 * codegen/gpu/_driver.c makes tables, as capsules of this name that own them. The table
 * of one host.native launches all its kernels, one after another, on one stream. */
#ifndef GIRIH_CODEGEN_RUNTIME_LAUNCH_H
#define GIRIH_CODEGEN_RUNTIME_LAUNCH_H

#include <stdint.h>

#define LAUNCH_TABLE_NAME "girih.launch_table"

typedef struct LaunchTable LaunchTable;
struct LaunchTable {
    int64_t words; /* how many of them `launch` reads */
    /* Launches everything: 0, or a code that `raise` understands. `words` holds
     * pointers, symbols and grids. Needs no GIL, and never waits for the device. */
    int64_t (*launch)(const LaunchTable *table, int64_t *words, int64_t stream);
    /* Sets the Python exception of a code. */
    void (*raise)(const LaunchTable *table, int64_t code);
};

#define DEVICE_CALL_NAME "girih.device_call"

/* What a table may call instead of launching a kernel: a library's function that puts
 * work on a stream. A capsule of this name owns it. */
typedef struct DeviceCall DeviceCall;
struct DeviceCall {
    int arguments; /* how many words it takes */
    const char *name;
    /* 0, or the library's error. The device is current; needs no GIL. */
    int (*call)(const DeviceCall *call, const int64_t *words, void *stream);
};

#endif
