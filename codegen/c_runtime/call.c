/* Calls of entry points. */
#include <stdlib.h>
#include <string.h>

#include "package.h"

size_t girih_input_count(const girih_entry *entry) { return entry->leaf_count; }

size_t girih_output_count(const girih_entry *entry) { return entry->output_count; }

const char *girih_input_name(const girih_entry *entry, size_t number) {
    return number < entry->leaf_count ? entry->leaves[number].name : NULL;
}

/* --- results --- */

typedef struct {
    DLManagedTensor managed;
    tensor_t tensor;
} result_t;

static void free_result(DLManagedTensor *managed) {
    result_t *result = managed->manager_ctx;
    tensor_release(&result->tensor);
    free(result);
}

/* Takes a tensor over, which is its own. */
static DLManagedTensor *managed(const tensor_t *tensor, girih_error *error) {
    result_t *result = calloc(1, sizeof(*result));
    if (result == NULL) {
        fail_memory(error);
        return NULL;
    }
    result->tensor = *tensor;
    DLTensor *found = &result->managed.dl_tensor;
    found->data = tensor_start(&result->tensor);
    found->device.device_type = kDLCPU;
    found->ndim = tensor->dims;
    found->dtype.code = (uint8_t)(tensor->dtype & 0xff);
    found->dtype.bits = (uint8_t)(tensor->dtype >> 8);
    found->dtype.lanes = 1;
    found->shape = result->tensor.sizes;
    found->strides = result->tensor.strides;
    result->managed.manager_ctx = result;
    result->managed.deleter = free_result;
    return &result->managed;
}

/* A result whose memory nobody else has: that of arguments and weights is copied. */
static DLManagedTensor *result_of(const tensor_t *tensor, girih_error *error) {
    tensor_t own = *tensor;
    if (tensor->memory != NULL) {
        atomic_fetch_add(&own.memory->users, 1);
    } else {
        if (!tensor_allocate(&own, error)) return NULL;
        tensor_copy(&own, tensor);
    }
    DLManagedTensor *found = managed(&own, error);
    if (found == NULL) tensor_release(&own);
    return found;
}

static bool make_results(const girih_entry *entry, const tensor_t *inputs,
                         const tensor_t *results, DLManagedTensor **out,
                         girih_error *error) {
    for (size_t i = 0; i < entry->output_count; i++) {
        const source_t *output = &entry->outputs[i];
        const tensor_t *tensor = &results[output->number];
        if (output->kind == FROM_INPUT) tensor = &inputs[output->number];
        if (output->kind == FROM_WEIGHT)
            tensor = &entry->package->weights[output->number].tensor;
        out[i] = result_of(tensor, error);
        if (out[i] != NULL) continue;
        while (i-- > 0) {
            out[i]->deleter(out[i]);
            out[i] = NULL;
        }
        return false;
    }
    return true;
}

/* --- a call --- */

static bool run(const girih_entry *entry, const tensor_t *inputs, tensor_t *given,
                tensor_t *results, DLManagedTensor **out, girih_error *error) {
    const program_t *program = &entry->program;
    for (size_t i = 0; i < entry->given_count; i++) {
        const source_t *source = &entry->given[i];
        given[i] = source->kind == FROM_INPUT
                       ? inputs[source->number]
                       : entry->package->weights[source->number].tensor;
        /* The memory is not the program's: it is not shared with results. */
        given[i].memory = NULL;
    }
    if (!program_run(program, given, results, entry->where, error)) return false;
    bool done = make_results(entry, inputs, results, out, error);
    for (int64_t i = 0; i < program->results; i++) tensor_release(&results[i]);
    return done;
}

static bool call(const girih_entry *entry, DLManagedTensor *const *in,
                 DLManagedTensor **out, girih_error *error) {
    size_t leaves = entry->leaf_count;
    size_t count = leaves + entry->given_count + (size_t)entry->program.results;
    tensor_t *tensors = malloc((count + 1) * sizeof(tensor_t));
    if (tensors == NULL) return fail_memory(error);
    for (size_t i = 0; i < count; i++) tensors[i].is_set = false;
    bool done = arguments_read(entry, in, tensors, error);
    if (done) {
        tensor_t *given = tensors + leaves, *results = given + entry->given_count;
        if (entry->uses_state) pthread_mutex_lock(&entry->package->mutex);
        done = run(entry, tensors, given, results, out, error);
        if (entry->uses_state) pthread_mutex_unlock(&entry->package->mutex);
    }
    for (size_t i = 0; i < leaves; i++) tensor_release(&tensors[i]);
    free(tensors);
    return done;
}

int girih_call(const girih_entry *entry, DLManagedTensor *const *in, size_t n,
               DLManagedTensor **out, size_t m, girih_error *error) {
    girih_error own;
    if (error == NULL) error = &own;
    error->code = GIRIH_OK;
    for (size_t i = 0; i < m; i++) out[i] = NULL; /* also after an error */
    if (entry == NULL)
        fail(error, GIRIH_ERROR_ARGUMENT, "there is no entry point");
    else if (n != entry->leaf_count || m != entry->output_count)
        fail(error, GIRIH_ERROR_ARGUMENT,
             "%s: expected %zu inputs and %zu outputs, got %zu and %zu", entry->where,
             entry->leaf_count, entry->output_count, n, m);
    else
        call(entry, in, out, error);
    return error->code;
}
