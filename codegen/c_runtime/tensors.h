/* Tensors while a program runs, and those that a file holds. */
#ifndef GIRIH_C_RUNTIME_TENSORS_H
#define GIRIH_C_RUNTIME_TENSORS_H

#include <stdatomic.h>

#include "container.h"

#define MOST_DIMS 16

/* Memory that tensors share; it is freed with the last of them. */
typedef struct {
    atomic_size_t users;
    size_t size;
    char *bytes;
    void *owner; /* where the memory is not girih's: who has it, and what frees it */
    void (*release)(void *owner);
} memory_t;

/* A tensor: its dtype is that of DLPack, `code | bits << 8`. */
typedef struct {
    memory_t *memory; /* NULL: the memory is somebody else's */
    char *begin, *end; /* of its memory */
    char *data;        /* of its storage, which `offset` counts from */
    int64_t offset;    /* in elements */
    int32_t dtype, dims;
    int64_t sizes[MOST_DIMS], strides[MOST_DIMS];
    bool is_set;
} tensor_t;

/* Bytes of one element; 0 where there is no such dtype. */
int64_t dtype_bytes(int64_t dtype);

/* The dtypes by number, and the number of one that is there. */
#define DTYPE_COUNT 20
int32_t dtype_numbered(int number);
int dtype_number(int32_t dtype);

/* The dtype of a name of torch or of safetensors, or 0. */
int32_t dtype_named(const char *name);
const char *dtype_name(int32_t dtype);

/* The first element. */
char *tensor_start(const tensor_t *tensor);

/* How many bytes lie from the first element to the end of the last; false where int64
 * does not hold it, or a size or stride is negative. */
bool tensor_span(const tensor_t *tensor, int64_t *bytes);

bool tensor_is_empty(const tensor_t *tensor);

/* Whether all elements lie in the memory of the tensor. */
bool tensor_is_inside(const tensor_t *tensor);

/* Gives a tensor fresh memory for its dtype, sizes and strides. */
bool tensor_allocate(tensor_t *tensor, girih_error *error);
void tensor_release(tensor_t *tensor);

/* Copies elements; both have the same dtype and sizes. */
void tensor_copy(const tensor_t *to, const tensor_t *from);

/* Whether strides that matter differ: those of dims with more than one element. */
bool tensor_has_other_strides(const tensor_t *tensor, const int64_t *strides);

/* A weight of a package, and what it was when the package was made. */
typedef struct {
    const char *name;
    tensor_t tensor, original;
    bool is_written;
} weight_t;

/* Reads the table of weights. */
bool weights_read(const container_t *container, weight_t **weights, size_t *count,
                  girih_error *error);

#endif
