/* The OpenMP entry points that LLVM emits; needs no Python. */
#ifndef GIRIH_CODEGEN_CPU_OPENMP_CORE_H
#define GIRIH_CODEGEN_CPU_OPENMP_CORE_H

typedef struct {
    const char *name;
    void *address;
} openmp_entry_t;

/* The `__kmpc_*` functions; the last entry has no name. */
extern const openmp_entry_t openmp_entries[];

/* Looks for an OpenMP runtime in the process, unless one was found before. */
void bind_openmp(void);

/* The runtime in use; NULL: regions run serially. */
const char *openmp_path(void);

#endif
