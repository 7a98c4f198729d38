/* Tensors of a call: checked, and laid out as the program reads them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "expressions.h"
#include "package.h"

typedef struct {
    const girih_entry *entry;
    tensor_t *tensors;
    int64_t *sizes; /* of the symbols, in their order */
    girih_error *error;
} arguments_t;

#define REFUSE(arguments, format, ...)                                                 \
    fail((arguments)->error, GIRIH_ERROR_ARGUMENT, "%s: " format,                      \
         (arguments)->entry->where, __VA_ARGS__)

static bool value_of(const arguments_t *arguments, const json_t *expression,
                     int64_t *value) {
    return expression_value(expression, arguments->entry->symbols, arguments->sizes,
                            value) ||
           REFUSE(arguments, "%s", "a size that is computed from others is too large");
}

/* --- one tensor --- */

static bool check_kind(const arguments_t *arguments, const leaf_t *leaf,
                       const DLManagedTensor *given) {
    if (given == NULL) return REFUSE(arguments, "%s must be a tensor, got NULL", leaf->name);
    const DLTensor *tensor = &given->dl_tensor;
    int32_t dtype = tensor->dtype.code | tensor->dtype.bits << 8;
    if (tensor->device.device_type != kDLCPU)
        return REFUSE(arguments, "%s must be on the cpu", leaf->name);
    if (dtype != leaf->dtype || tensor->dtype.lanes != 1)
        return REFUSE(arguments, "%s must be %s, got %s", leaf->name,
                      dtype_name(leaf->dtype), dtype_name(dtype));
    if (tensor->ndim != leaf->dims)
        return REFUSE(arguments, "%s must have %d dims, got %d", leaf->name,
                      (int)leaf->dims, (int)tensor->ndim);
    if (leaf->dims > 0 && tensor->shape == NULL)
        return REFUSE(arguments, "%s has no sizes", leaf->name);
    return true;
}

static bool read_tensor(const arguments_t *arguments, const leaf_t *leaf,
                        const DLTensor *given, tensor_t *tensor) {
    int64_t step = 1, span, item = dtype_bytes(leaf->dtype);
    *tensor = (tensor_t){.dtype = leaf->dtype, .dims = leaf->dims, .is_set = true};
    for (int i = leaf->dims - 1; i >= 0; i--) {
        tensor->sizes[i] = given->shape[i];
        tensor->strides[i] = given->strides != NULL ? given->strides[i] : step;
        int64_t size = given->shape[i] > 1 ? given->shape[i] : 1;
        if (__builtin_mul_overflow(step, size, &step))
            return REFUSE(arguments, "%s is too large", leaf->name);
        /* A size of 1 has no next element: some give any stride for it. */
        if (tensor->sizes[i] <= 1) tensor->strides[i] = 1;
    }
    if (!tensor_span(tensor, &span))
        return REFUSE(arguments, "%s has sizes or strides that are negative or too large",
                      leaf->name);
    char *data = (char *)given->data + (given->data == NULL ? 0 : given->byte_offset);
    if (data == NULL && span != 0)
        return REFUSE(arguments, "%s has no memory", leaf->name);
    int64_t alignment = item > 8 ? 8 : item;
    if ((uintptr_t)data % (uintptr_t)alignment != 0)
        return REFUSE(arguments, "%s must begin at a multiple of %" PRId64 " bytes",
                      leaf->name, alignment);
    tensor->data = tensor->begin = data;
    tensor->end = data + span;
    return true;
}

/* --- sizes --- */

static bool bind_symbol(const arguments_t *arguments, const leaf_t *leaf, int dim,
                        const char *name, int64_t size) {
    int number = 0;
    const json_t *symbol = arguments->entry->symbols->first;
    for (; strcmp(symbol->key, name) != 0; symbol = symbol->next) number++;
    int64_t *known = &arguments->sizes[number], least = 0, most = 0;
    if (*known >= 0) return true;
    json_count(symbol, "min", &least);
    bool has_most = json_count(symbol, "max", &most) && most != 0;
    if (size < least || (has_most && size > most)) {
        if (!has_most)
            return REFUSE(arguments, "%s.size(%d) must be from %" PRId64 " on, got %" PRId64,
                          leaf->name, dim, least, size);
        return REFUSE(arguments,
                      "%s.size(%d) must be from %" PRId64 " to %" PRId64 ", got %" PRId64,
                      leaf->name, dim, least, most, size);
    }
    *known = size;
    return true;
}

static bool bind_symbols(const arguments_t *arguments, const leaf_t *leaf,
                         const tensor_t *tensor) {
    int dim = 0;
    for (const json_t *each = leaf->sizes->first; each != NULL; each = each->next, dim++)
        if (each->kind == JSON_TEXT &&
            !bind_symbol(arguments, leaf, dim, each->text, tensor->sizes[dim]))
            return false;
    return true;
}

static bool check_sizes(const arguments_t *arguments, const leaf_t *leaf,
                        const tensor_t *tensor) {
    int dim = 0;
    for (const json_t *each = leaf->sizes->first; each != NULL; each = each->next, dim++) {
        int64_t wanted;
        if (!value_of(arguments, each, &wanted)) return false;
        if (tensor->sizes[dim] != wanted)
            return REFUSE(arguments, "%s.size(%d) must be %" PRId64 ", got %" PRId64,
                          leaf->name, dim, wanted, tensor->sizes[dim]);
    }
    return true;
}

static bool is_same(const tensor_t *one, const tensor_t *other) {
    return one->data == other->data && !tensor_has_other_strides(one, other->strides);
}

static bool check_guards(const arguments_t *arguments) {
    const json_t *guards = arguments->entry->guards;
    int number = 0;
    for (const json_t *each = guards->first; each != NULL; each = each->next, number++) {
        int64_t holds;
        if (!value_of(arguments, each, &holds)) return false;
        if (!holds)
            return REFUSE(arguments, "guard %d on sizes does not hold", number);
    }
    return true;
}

/* --- layout --- */

/* Gives a tensor the strides for which the program was compiled. */
static bool lay_out(const arguments_t *arguments, const leaf_t *leaf, tensor_t *tensor) {
    tensor_t wanted = *tensor;
    int dim = 0;
    int64_t span;
    for (const json_t *each = leaf->strides->first; each; each = each->next, dim++)
        if (!value_of(arguments, each, &wanted.strides[dim])) return false;
    bool is_other = tensor_has_other_strides(tensor, wanted.strides);
    tensor_span(tensor, &span);
    if (!is_other || span == 0) {
        memcpy(tensor->strides, wanted.strides, sizeof(wanted.strides));
        return true;
    }
    if (leaf->is_repeated || leaf->is_written)
        return REFUSE(arguments, "%s must have the strides of the example", leaf->name);
    if (!tensor_allocate(&wanted, arguments->error)) return false;
    tensor_copy(&wanted, tensor);
    *tensor = wanted;
    return true;
}

static bool check_all(const arguments_t *arguments, DLManagedTensor *const *in) {
    const girih_entry *entry = arguments->entry;
    tensor_t *tensors = arguments->tensors;
    for (size_t i = 0; i < entry->leaf_count; i++) {
        const leaf_t *leaf = &entry->leaves[i];
        if (!check_kind(arguments, leaf, in[i]) ||
            !read_tensor(arguments, leaf, &in[i]->dl_tensor, &tensors[i]) ||
            !bind_symbols(arguments, leaf, &tensors[i]))
            return false;
    }
    for (size_t i = 0; i < entry->leaf_count; i++) {
        const leaf_t *leaf = &entry->leaves[i];
        if (!check_sizes(arguments, leaf, &tensors[i])) return false;
        if (leaf->same_as >= 0 && !is_same(&tensors[i], &tensors[leaf->same_as]))
            return REFUSE(arguments, "%s must be the same tensor as %s", leaf->name,
                          entry->leaves[leaf->same_as].name);
    }
    if (!check_guards(arguments)) return false;
    for (size_t i = 0; i < entry->leaf_count; i++)
        if (!lay_out(arguments, &entry->leaves[i], &tensors[i])) return false;
    return true;
}

bool arguments_read(const girih_entry *entry, DLManagedTensor *const *in,
                    tensor_t *tensors, girih_error *error) {
    size_t symbols = entry->symbols->count;
    arguments_t arguments = {.entry = entry, .tensors = tensors, .error = error};
    arguments.sizes = malloc((symbols + 1) * sizeof(int64_t));
    if (arguments.sizes == NULL) return fail_memory(error);
    for (size_t i = 0; i < symbols; i++) arguments.sizes[i] = -1;
    bool done = check_all(&arguments, in);
    free(arguments.sizes);
    return done;
}
