/* The weights of a package: a safetensors file, and a table of views of its tensors. */
#include "tensors.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const container_t *container;
    const json_t *table; /* of tensors, by name */
    size_t data, size;   /* where their bytes begin in the file, and how many there are */
    girih_error *error;
} source_t;

static bool wrong(const source_t *source, const char *what, const char *name) {
    return fail(source->error, GIRIH_ERROR_PACKAGE,
                "%.300s is no package of girih: %s '%.100s'", source->container->path,
                what, name);
}

static json_document_t *open_tensors(source_t *source) {
    const part_t *part =
        container_part(source->container, "weights.safetensors", source->error);
    const char *problem;
    uint64_t size = 0;
    if (part == NULL) return NULL;
    const char *bytes = source->container->bytes + part->offset;
    for (size_t i = 0; i < 8 && part->size >= 8; i++)
        size |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    if (part->size < 8 || size > part->size - 8) {
        wrong(source, "the table of tensors is cut off in", part->name);
        return NULL;
    }
    json_document_t *document = json_read(bytes + 8, (size_t)size, &problem);
    if (document == NULL) {
        wrong(source, "the table of tensors has", problem);
        return NULL;
    }
    source->table = json_root(document);
    source->data = part->offset + 8 + (size_t)size;
    source->size = part->size - 8 - (size_t)size;
    return document;
}

/* Reads integers that are not negative; false for another list. */
static bool read_counts(const json_t *list, int64_t *numbers, size_t most,
                        size_t *count) {
    if (list == NULL || list->kind != JSON_LIST || list->count > most) return false;
    *count = 0;
    for (const json_t *each = list->first; each != NULL; each = each->next) {
        if (each->kind != JSON_INTEGER || each->number < 0) return false;
        numbers[(*count)++] = each->number;
    }
    return true;
}

/* Where a stored tensor lies in its part, and how many elements it has. */
static bool find_stored(const source_t *source, const char *name, int32_t *dtype,
                        int64_t *begin, int64_t *elements) {
    const json_t *entry = json_object(source->table, name);
    const char *kind = json_text(entry, "dtype");
    int64_t shape[64], ends[2], bytes;
    size_t dims, count;
    if (entry == NULL || kind == NULL || (*dtype = dtype_named(kind)) == 0 ||
        !read_counts(json_list(entry, "shape"), shape, 64, &dims) ||
        !read_counts(json_list(entry, "data_offsets"), ends, 2, &count) || count != 2)
        return wrong(source, "it has no tensor", name);
    *elements = 1;
    for (size_t i = 0; i < dims; i++)
        if (__builtin_mul_overflow(*elements, shape[i], elements))
            return wrong(source, "too large is the tensor", name);
    if (__builtin_mul_overflow(*elements, dtype_bytes(*dtype), &bytes) ||
        ends[0] > ends[1] || (size_t)ends[1] > source->size || ends[1] - ends[0] != bytes)
        return wrong(source, "outside of the file lies the tensor", name);
    *begin = ends[0];
    return true;
}

static bool read_weight(const source_t *source, const json_t *place, weight_t *weight) {
    const char *stored = json_text(place, "tensor");
    tensor_t tensor = {.is_set = true};
    size_t dims, count;
    int64_t begin = 0, elements = 0, offset;
    weight->name = place->key;
    if (stored == NULL || !json_count(place, "offset", &offset) ||
        !json_bool(place, "written", &weight->is_written) ||
        !read_counts(json_list(place, "sizes"), tensor.sizes, MOST_DIMS, &dims) ||
        !read_counts(json_list(place, "strides"), tensor.strides, MOST_DIMS, &count) ||
        dims != count)
        return wrong(source, "wrong numbers has the weight", place->key);
    if (!find_stored(source, stored, &tensor.dtype, &begin, &elements)) return false;
    tensor.dims = (int32_t)dims;
    tensor.offset = offset;
    tensor.begin = tensor.data = source->container->bytes + source->data + begin;
    tensor.end = tensor.begin + elements * dtype_bytes(tensor.dtype);
    if (!tensor_is_inside(&tensor) ||
        (uintptr_t)tensor.data % ((uintptr_t)dtype_bytes(tensor.dtype)) != 0)
        return wrong(source, "outside of its tensor lies the weight", place->key);
    weight->tensor = weight->original = tensor;
    /* The original is only read. */
    weight->original.data = weight->original.begin =
        (char *)(uintptr_t)source->container->original + source->data + begin;
    weight->original.end = weight->original.begin + (tensor.end - tensor.begin);
    return true;
}

bool weights_read(const container_t *container, weight_t **weights, size_t *count,
                  girih_error *error) {
    source_t source = {.container = container, .error = error};
    const json_t *table = json_object(container->manifest, "weights");
    if (table == NULL) return wrong(&source, "its manifest has no", "weights");
    json_document_t *document = open_tensors(&source);
    if (document == NULL) return false;
    *weights = calloc(table->count + 1, sizeof(weight_t));
    bool done = *weights != NULL || fail_memory(error);
    for (const json_t *each = table->first; done && each != NULL; each = each->next) {
        done = read_weight(&source, each, &(*weights)[*count]);
        *count += done;
    }
    json_free(document);
    return done;
}
