/* Tensors while a program runs. */
#include "tensors.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT ((size_t)64)

#define DTYPE(code, bits) ((code) | (bits) << 8)

static const struct {
    const char *torch, *safetensors;
    int32_t dtype;
} dtypes[] = {
    {"bfloat16", "BF16", DTYPE(4, 16)},      {"bool", "BOOL", DTYPE(6, 8)},
    {"complex128", "C128", DTYPE(5, 128)},   {"complex32", "C32", DTYPE(5, 32)},
    {"complex64", "C64", DTYPE(5, 64)},      {"float16", "F16", DTYPE(2, 16)},
    {"float32", "F32", DTYPE(2, 32)},        {"float64", "F64", DTYPE(2, 64)},
    {"float8_e4m3fn", "F8_E4M3", DTYPE(10, 8)},
    {"float8_e4m3fnuz", "F8_E4M3FNUZ", DTYPE(11, 8)},
    {"float8_e5m2", "F8_E5M2", DTYPE(12, 8)},
    {"float8_e5m2fnuz", "F8_E5M2FNUZ", DTYPE(13, 8)},
    {"int16", "I16", DTYPE(0, 16)},          {"int32", "I32", DTYPE(0, 32)},
    {"int64", "I64", DTYPE(0, 64)},          {"int8", "I8", DTYPE(0, 8)},
    {"uint16", "U16", DTYPE(1, 16)},         {"uint32", "U32", DTYPE(1, 32)},
    {"uint64", "U64", DTYPE(1, 64)},         {"uint8", "U8", DTYPE(1, 8)},
};
#define DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))
_Static_assert(DTYPES == DTYPE_COUNT, "all dtypes have numbers");

int32_t dtype_numbered(int number) { return dtypes[number].dtype; }

int dtype_number(int32_t dtype) {
    int number = 0;
    while (number < DTYPE_COUNT - 1 && dtypes[number].dtype != dtype) number++;
    return number;
}

int64_t dtype_bytes(int64_t dtype) {
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == dtype) return dtype >> 11;
    return 0;
}

int32_t dtype_named(const char *name) {
    for (size_t i = 0; i < DTYPES; i++)
        if (!strcmp(dtypes[i].torch, name) || !strcmp(dtypes[i].safetensors, name))
            return dtypes[i].dtype;
    return 0;
}

const char *dtype_name(int32_t dtype) {
    for (size_t i = 0; i < DTYPES; i++)
        if (dtypes[i].dtype == dtype) return dtypes[i].torch;
    return "another dtype";
}

char *tensor_start(const tensor_t *tensor) {
    return tensor->data + tensor->offset * dtype_bytes(tensor->dtype);
}

bool tensor_span(const tensor_t *tensor, int64_t *bytes) {
    int64_t last = 0;
    bool is_empty = false;
    for (int i = 0; i < tensor->dims; i++) {
        int64_t size = tensor->sizes[i], stride = tensor->strides[i], step;
        if (size < 0 || stride < 0) return false;
        is_empty |= size == 0;
        if (size != 0 && (__builtin_mul_overflow(size - 1, stride, &step) ||
                          __builtin_add_overflow(last, step, &last)))
            return false;
    }
    *bytes = 0;
    return is_empty || (!__builtin_add_overflow(last, 1, &last) &&
                        !__builtin_mul_overflow(last, dtype_bytes(tensor->dtype), bytes));
}

bool tensor_is_empty(const tensor_t *tensor) {
    for (int i = 0; i < tensor->dims; i++)
        if (tensor->sizes[i] == 0) return true;
    return false;
}

bool tensor_is_inside(const tensor_t *tensor) {
    int64_t span, start, item = dtype_bytes(tensor->dtype);
    if (!tensor_span(tensor, &span)) return false;
    if (span == 0) return true;
    int64_t room = tensor->end - tensor->data, before = tensor->begin - tensor->data;
    if (__builtin_mul_overflow(tensor->offset, item, &start) || start < before)
        return false;
    return start <= room && span <= room - start;
}

bool tensor_allocate(tensor_t *tensor, girih_error *error) {
    int64_t span;
    if (!tensor_span(tensor, &span) || span > INT64_MAX / 2)
        return fail(error, GIRIH_ERROR_MEMORY, "a tensor has sizes that are too large");
    size_t size = ((size_t)span + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    memory_t *memory = calloc(1, sizeof(*memory));
    char *bytes = aligned_alloc(ALIGNMENT, size);
    if (memory == NULL || bytes == NULL) {
        free(memory);
        free(bytes);
        return fail_memory(error);
    }
    atomic_init(&memory->users, 1);
    memory->size = size;
    memory->bytes = bytes;
    tensor->memory = memory;
    tensor->begin = tensor->data = bytes;
    tensor->end = bytes + size;
    tensor->offset = 0;
    tensor->is_set = true;
    return true;
}

void tensor_release(tensor_t *tensor) {
    memory_t *memory = tensor->is_set ? tensor->memory : NULL;
    tensor->is_set = false;
    tensor->memory = NULL;
    if (memory == NULL || atomic_fetch_sub(&memory->users, 1) != 1) return;
    if (memory->release != NULL) memory->release(memory->owner);
    free(memory->bytes);
    free(memory);
}

static bool is_row_major(const tensor_t *tensor) {
    int64_t wanted = 1;
    for (int i = tensor->dims - 1; i >= 0; i--) {
        if (tensor->sizes[i] != 1 && tensor->strides[i] != wanted) return false;
        wanted *= tensor->sizes[i];
    }
    return true;
}

static void copy_dims(const tensor_t *to, const tensor_t *from, int dim, char *target,
                      const char *source, size_t item) {
    if (dim == to->dims) {
        memmove(target, source, item);
        return;
    }
    for (int64_t i = 0; i < to->sizes[dim]; i++)
        copy_dims(to, from, dim + 1, target + i * to->strides[dim] * (int64_t)item,
                  source + i * from->strides[dim] * (int64_t)item, item);
}

void tensor_copy(const tensor_t *to, const tensor_t *from) {
    int64_t span, item = dtype_bytes(to->dtype);
    if (tensor_span(to, &span) && span == 0) return;
    if (is_row_major(to) && is_row_major(from))
        memmove(tensor_start(to), tensor_start(from), (size_t)span);
    else
        copy_dims(to, from, 0, tensor_start(to), tensor_start(from), (size_t)item);
}

bool tensor_has_other_strides(const tensor_t *tensor, const int64_t *strides) {
    for (int i = 0; i < tensor->dims; i++)
        if (tensor->sizes[i] > 1 && tensor->strides[i] != strides[i]) return true;
    return false;
}
