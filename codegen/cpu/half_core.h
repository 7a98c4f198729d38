/* Conversions of 16-bit floats; needs no Python. */
#ifndef GIRIH_CODEGEN_CPU_HALF_CORE_H
#define GIRIH_CODEGEN_CPU_HALF_CORE_H

typedef struct {
    const char *name;
    void *address;
} half_entry_t;

/* The conversions, by LLVM's names; the last entry has no name. */
extern const half_entry_t half_entries[];

#endif
