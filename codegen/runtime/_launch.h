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

#endif
