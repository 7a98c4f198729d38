/* A package that is loaded. */
#ifndef GIRIH_C_RUNTIME_PACKAGE_H
#define GIRIH_C_RUNTIME_PACKAGE_H

#include <pthread.h>

#include "../cpu/loader_core.h"
#include "program.h"

/* An argument that is a tensor. */
typedef struct {
    const char *name;
    int32_t dtype, dims;
    const json_t *sizes, *strides; /* expressions */
    bool is_written, is_repeated;  /* whether several elements may be one in memory */
    int64_t same_as;               /* the input that is the same tensor, or -1 */
} leaf_t;

/* Where something is found: the number of an input, a result, or a weight. */
typedef struct {
    enum { FROM_INPUT, FROM_RESULT, FROM_WEIGHT } kind;
    size_t number;
} source_t;

struct girih_entry {
    girih_package *package;
    const char *name;
    char where[400];  /* what messages begin with */
    char refusal[1000]; /* why it can't run here, or "" */
    leaf_t *leaves;
    size_t leaf_count;
    const json_t *symbols, *guards;
    source_t *given, *outputs;
    size_t given_count, output_count;
    program_t program;
    function_t *functions;
    const char **texts;
    mapping_t code;
    bool uses_state;
};

struct girih_package {
    container_t container;
    const char *target;
    weight_t *weights;
    size_t weight_count;
    girih_entry *entries;
    size_t entry_count;
    pthread_mutex_t mutex; /* guards the state */
    bool has_mutex;
    scratch_t kept;
};

/* Sets the error of a manifest that is wrong; returns false. */
bool wrong_manifest(const girih_package *package, girih_error *error, const char *what);

/* Reads how an entry point is called. `written` is what the manifest says of it, and
 * `program` what it says of its program. */
bool signature_read(girih_entry *entry, const json_t *written, const json_t *program,
                    girih_error *error);

/* Reads the program of an entry point and links its code. One that can't run in this
 * process has a refusal then. `written` is what the manifest says of it. */
bool code_read(girih_entry *entry, const json_t *written, girih_error *error);

/* Checks the tensors of a call, and lays them out as the program reads them. The
 * tensors are to be released. */
bool arguments_read(const girih_entry *entry, DLManagedTensor *const *in,
                    tensor_t *tensors, girih_error *error);

#endif
