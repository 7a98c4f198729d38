/* Loads relocatable ELF objects; needs no Python. */
#ifndef GIRIH_CODEGEN_CPU_LOADER_CORE_H
#define GIRIH_CODEGEN_CPU_LOADER_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory of a loaded object. */
typedef struct {
    unsigned char *base;
    size_t size;
} mapping_t;

/* Says where the functions are that an object calls. `address` sets 0 where it does not
 * know a name, which is looked up in the process then; it returns false to give up. */
typedef struct {
    bool (*address)(void *context, const char *name, uint64_t *address);
    void *context;
} imports_t;

/* Takes the global symbols of an object; returns false to give up. */
typedef struct {
    bool (*found)(void *context, const char *name, uint64_t address);
    void *context;
} exports_t;

/* Why an object was not loaded. The text is empty where a callback gave up. */
typedef struct {
    int number; /* errno of a call of the system, or 0 */
    char text[256];
} load_error_t;

/* Checks and maps an object, puts addresses into it, and names its symbols. */
bool load_object(const void *data, size_t size, const imports_t *imports,
                 const exports_t *exports, mapping_t *mapping, load_error_t *error);

/* Unmaps what `load_object` mapped. */
void unload_object(mapping_t *mapping);

#endif
