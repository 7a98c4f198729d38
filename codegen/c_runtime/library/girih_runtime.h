/* Runs packages of `girih.package` from C and C++, without Python.
 *
 * Functions return GIRIH_OK or another code, and then a text in `error`, which may be
 * NULL. Several threads may use a package: calls of an entry point share nothing, unless
 * the package has state (what its programs write from call to call). Calls that use the
 * state wait for one another.
 *
 * docs/from-c.md of girih has an example.
 */
#ifndef GIRIH_RUNTIME_H
#define GIRIH_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors are those of DLPack, whose layout in memory is fixed. This is the part of it
 * that is used here, where DLPack's own header is not installed.
 *
 * Source: https://dmlc.github.io/dlpack/latest/c_api.html */
#ifndef DLPACK_VERSION
#ifndef DLPACK_MAJOR_VERSION

enum { kDLCPU = 1 };
enum { kDLInt, kDLUInt, kDLFloat, kDLBfloat = 4, kDLComplex, kDLBool };

typedef struct {
    int32_t device_type;
    int32_t device_id;
} DLDevice;

typedef struct {
    uint8_t code; /* kDLFloat and so on */
    uint8_t bits; /* of one element */
    uint16_t lanes;
} DLDataType;

typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: row-major */
    uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

#endif
#endif

#define GIRIH_VERSION "0.1.0"

enum {
    GIRIH_OK = 0,
    GIRIH_ERROR_FILE,     /* the file can't be read */
    GIRIH_ERROR_PACKAGE,  /* it is no package, damaged, or of another version */
    GIRIH_ERROR_TARGET,   /* it has no code for this processor, or not of that name */
    GIRIH_ERROR_OPERATOR, /* it calls what this process does not have, as torch's */
    GIRIH_ERROR_ARGUMENT, /* an argument is wrong: its dtype, a size, a name */
    GIRIH_ERROR_CHECK,    /* an index is out of range, or memory overlaps */
    GIRIH_ERROR_MEMORY    /* there is no memory left */
};

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

typedef struct girih_package girih_package;
typedef struct girih_entry girih_entry;

typedef struct {
    int code;
    char text[1020];
} girih_error;

/* The text of an error; "" after a call that succeeded. */
const char *girih_error_text(const girih_error *error);

/* Has packages call operators of torch, as convolutions are: without Python, through
 * torch's library. `path` is `libtorch_cpu.so`, or the folder with it, such as
 * `site-packages/torch/lib`. It is loaded once and stays. Without this call, and with
 * NULL, torch is found where the process has it or the system looks for libraries. */
int girih_use_torch(const char *path, girih_error *error);

/* Loads a file: all of its bytes are checked before any of its code runs. The checks
 * find damage and no malice, so load only what you would run. `target` is the name of a
 * processor in the file, or NULL for the one that uses most of this processor. */
int girih_load(const char *path, const char *target, girih_package **package,
               girih_error *error);

/* Frees a package. No call may be running. Results of calls stay. NULL is allowed. */
void girih_free(girih_package *package);

/* Gives the state the values that it has in the file. */
int girih_reset(girih_package *package, girih_error *error);

/* The processor that the code was made for. */
const char *girih_target(const girih_package *package);

/* How many entry points there are, and their names. NULL where there is none. */
size_t girih_entry_count(const girih_package *package);
const char *girih_entry_name(const girih_package *package, size_t number);

/* The entry point of a name; NULL is the name of one that stands alone. It lives as long
 * as the package. GIRIH_ERROR_OPERATOR: it can't run here, the text says why. */
int girih_entry_point(const girih_package *package, const char *name,
                      const girih_entry **entry, girih_error *error);

/* The tensors among the arguments of an entry point, in order, and among its results.
 * Names are those of the packaged function's arguments. */
size_t girih_input_count(const girih_entry *entry);
size_t girih_output_count(const girih_entry *entry);
const char *girih_input_name(const girih_entry *entry, size_t number);

/* Calls an entry point.
 *
 * `in` are its `n` inputs. They stay the caller's; those that the program writes are
 * written. `out` gets its `m` outputs. They share no memory with inputs or the package:
 * `out[i]->deleter(out[i])` frees one. After an error `out` is all NULL. */
int girih_call(const girih_entry *entry, DLManagedTensor *const *in, size_t n,
               DLManagedTensor **out, size_t m, girih_error *error);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
