/* Operators of torch, called without Python.
 *
 * libtorch_cpu has C functions whose signatures do not change. One calls an operator by
 * name: arguments and results are words of 64 bits on a stack, which it takes over.
 *
 * Source: torch/csrc/stable and torch/csrc/inductor/aoti_torch/c/shim.h of PyTorch.
 */
#define _GNU_SOURCE
#include "operators.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"

#define LIBRARY "libtorch_cpu.so"

typedef void *handle_t; /* a tensor of torch */

/* Functions return 0, or another number and then an exception is noted. */
static struct {
    uint64_t (*version)(void);
    int (*call)(const char *, const char *, uint64_t *, uint64_t);
    int (*from_blob)(void *, int64_t, const int64_t *, const int64_t *, int64_t, int32_t,
                     int32_t, int32_t, handle_t *);
    int (*delete)(handle_t);
    int (*is_defined)(handle_t, bool *);
    int (*data)(handle_t, void **);
    int (*dim)(handle_t, int64_t *);
    int (*sizes)(handle_t, int64_t **);
    int (*strides)(handle_t, int64_t **);
    int (*dtype)(handle_t, int32_t *);
    int (*layout)(handle_t, int32_t *);
    int (*device)(handle_t, int32_t *);
    int (*offset)(handle_t, int64_t *);
    int (*bytes)(handle_t, int64_t *);
    int (*new_list)(size_t, void **);
    int (*append)(void *, uint64_t);
    int (*new_text)(const char *, size_t, void **);
    int (*new_some)(uint64_t **);
    int (*addmm)(handle_t, handle_t, handle_t, handle_t, double, double);
    int (*baddbmm)(handle_t, handle_t, handle_t, handle_t, double, double);
    const char *(*what)(void);
} torch;

static const struct {
    const char *name;
    void *function; /* the address of a pointer to a function */
} functions[] = {
    {"aoti_torch_abi_version", &torch.version},
    {"torch_call_dispatcher", &torch.call},
    {"aoti_torch_create_tensor_from_blob", &torch.from_blob},
    {"aoti_torch_delete_tensor_object", &torch.delete},
    {"aoti_torch_is_defined", &torch.is_defined},
    {"aoti_torch_get_data_ptr", &torch.data},
    {"aoti_torch_get_dim", &torch.dim},
    {"aoti_torch_get_sizes", &torch.sizes},
    {"aoti_torch_get_strides", &torch.strides},
    {"aoti_torch_get_dtype", &torch.dtype},
    {"aoti_torch_get_layout", &torch.layout},
    {"aoti_torch_get_device_type", &torch.device},
    {"aoti_torch_get_storage_offset", &torch.offset},
    {"aoti_torch_get_storage_size", &torch.bytes},
    {"torch_new_list_reserve_size", &torch.new_list},
    {"torch_list_push_back", &torch.append},
    {"torch_new_string_handle", &torch.new_text},
    {"torch_new_stable_ivalue", &torch.new_some},
    {"aoti_torch_cpu_addmm_out", &torch.addmm},
    {"aoti_torch_cpu_baddbmm_out", &torch.baddbmm},
    {"torch_exception_get_what_without_backtrace", &torch.what},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static struct {
    pthread_mutex_t mutex;
    bool is_bound;
    int32_t dtypes[DTYPE_COUNT]; /* torch's number of each */
    char problem[400];
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* --- finding torch --- */

static bool bind_dtypes(void *library) {
    for (int i = 0; i < DTYPE_COUNT; i++) {
        char name[64];
        int32_t (*number)(void);
        snprintf(name, sizeof(name), "aoti_torch_dtype_%s", dtype_name(dtype_numbered(i)));
        *(void **)&number = dlsym(library, name);
        if (number == NULL) return false;
        state.dtypes[i] = number();
    }
    return true;
}

static void bind(void *library) {
    for (size_t i = 0; i < FUNCTIONS; i++) {
        *(void **)functions[i].function = dlsym(library, functions[i].name);
        if (*(void **)functions[i].function != NULL) continue;
        snprintf(state.problem, sizeof(state.problem), "torch has no function %s here",
                 functions[i].name);
        return;
    }
    state.is_bound = bind_dtypes(library);
}

/* Keeps the library, which ends with the process. */
static void find(const char *path) {
    void *library = RTLD_DEFAULT;
    state.problem[0] = '\0';
    if (path == NULL && dlsym(library, functions[0].name) != NULL) {
        bind(library);
        return;
    }
    library = dlopen(path == NULL ? LIBRARY : path, RTLD_NOW | RTLD_GLOBAL);
    if (library != NULL)
        bind(library);
    else
        snprintf(state.problem, sizeof(state.problem), "%.380s", dlerror());
}

int girih_use_torch(const char *path, girih_error *error) {
    girih_error own;
    char file[4096];
    if (error == NULL) error = &own;
    error->code = GIRIH_OK;
    if (path != NULL && strstr(path, ".so") == NULL) {
        snprintf(file, sizeof(file), "%.4000s/%s", path, LIBRARY);
        path = file;
    }
    pthread_mutex_lock(&state.mutex);
    if (!state.is_bound) find(path);
    if (!state.is_bound)
        fail(error, GIRIH_ERROR_OPERATOR, "torch can't be used: %s", state.problem);
    pthread_mutex_unlock(&state.mutex);
    return error->code;
}

const char *torch_problem(const char *made_with) {
    static _Thread_local char text[sizeof(state.problem) + 200];
    unsigned major = 0, minor = 0;
    girih_error error;
    if (girih_use_torch(NULL, &error) != GIRIH_OK) {
        snprintf(text, sizeof(text), "%.400s. Call girih_use_torch before girih_load",
                 error.text);
        return text;
    }
    uint64_t here = torch.version();
    unsigned here_major = (unsigned)(here >> 56), here_minor = here >> 48 & 0xff;
    sscanf(made_with, "%u.%u", &major, &minor);
    if (major == here_major && minor == here_minor) return NULL;
    snprintf(text, sizeof(text), "it was made with torch %.60s, here is %u.%u", made_with,
             here_major, here_minor);
    return text;
}

/* --- arguments --- */

/* What a call holds: its tensors, so that results in their memory are found. */
typedef struct {
    frame_t *frame;
    const int64_t **at;
    const char *name;
    const tensor_t *tensors[MOST_OPERANDS];
    int count;
} call_t;

static bool fail_call(const call_t *call) {
    return fail(call->frame->error, GIRIH_ERROR_OPERATOR, "%s: %s: %.700s",
                call->frame->where, call->name, torch.what());
}

static bool tensor_to_torch(call_t *call, const tensor_t *tensor, handle_t *handle) {
    int32_t dtype = state.dtypes[dtype_number(tensor->dtype)];
    if (call->count < MOST_OPERANDS) call->tensors[call->count++] = tensor;
    return torch.from_blob(tensor_start(tensor), tensor->dims, tensor->sizes,
                           tensor->strides, 0, dtype, 0, -1, handle) == 0 ||
           fail_call(call);
}

static bool read_argument(call_t *call, uint64_t *word);

static bool read_list(call_t *call, uint64_t *word) {
    int64_t count = *(*call->at)++;
    void *list;
    if (torch.new_list((size_t)count, &list)) return fail_call(call);
    for (int64_t i = 0; i < count; i++) {
        uint64_t item;
        if (!read_argument(call, &item)) return false;
        if (torch.append(list, item)) return fail_call(call);
    }
    *word = (uint64_t)(uintptr_t)list;
    return true;
}

static bool read_some(call_t *call, uint64_t *word) {
    uint64_t *some;
    if (torch.new_some(&some)) return fail_call(call);
    *word = (uint64_t)(uintptr_t)some;
    return read_argument(call, some);
}

/* Reads an argument as a word for the stack. What it made is the operator's: after an
 * error, which is a bug or the want of memory, it stays. */
static bool read_argument(call_t *call, uint64_t *word) {
    const frame_t *frame = call->frame;
    int64_t kind = *(*call->at)++;
    handle_t handle = NULL;
    *word = 0;
    switch (kind) {
    case T_TENSOR: {
        const tensor_t *tensor = value_of(frame, *(*call->at)++);
        if (tensor == NULL || !tensor_to_torch(call, tensor, &handle)) return false;
        break;
    }
    case T_INT: *word = (uint64_t)frame->registers[*(*call->at)++]; return true;
    case T_FLOAT: *word = (uint64_t) * (*call->at)++; return true;
    case T_TEXT: {
        const char *text = frame->program->texts[*(*call->at)++];
        if (torch.new_text(text, strlen(text), &handle)) return fail_call(call);
        break;
    }
    case T_DTYPE:
        *word = (uint64_t)state.dtypes[dtype_number((int32_t) * (*call->at)++)];
        return true;
    case T_CPU: *word = UINT32_MAX; return true; /* no index, and 0 above it */
    case T_SOME: return read_some(call, word);
    case T_LIST: return read_list(call, word);
    default: return true;
    }
    *word = (uint64_t)(uintptr_t)handle;
    return true;
}

/* --- results --- */

static void delete_handle(void *handle) { torch.delete(handle); }

/* Gives a result that lies in the memory of an argument that memory. */
static bool share_memory(const call_t *call, tensor_t *result) {
    for (int i = 0; i < call->count; i++) {
        const tensor_t *tensor = call->tensors[i];
        if (result->data < tensor->begin || result->data >= tensor->end) continue;
        result->memory = tensor->memory;
        result->begin = tensor->begin;
        result->end = tensor->end;
        if (result->memory != NULL) atomic_fetch_add(&result->memory->users, 1);
        return true;
    }
    return false;
}

static bool describe(handle_t handle, tensor_t *result) {
    void *data;
    int64_t dims, bytes, *sizes, *strides;
    int32_t dtype, layout, device;
    if (torch.data(handle, &data) || torch.dim(handle, &dims) ||
        torch.sizes(handle, &sizes) || torch.strides(handle, &strides) ||
        torch.dtype(handle, &dtype) || torch.layout(handle, &layout) ||
        torch.device(handle, &device) || torch.offset(handle, &result->offset) ||
        torch.bytes(handle, &bytes))
        return false;
    int number = 0;
    while (number < DTYPE_COUNT && state.dtypes[number] != dtype) number++;
    if (number == DTYPE_COUNT || dims > MOST_DIMS || layout != 0 || device != 0)
        return false;
    result->dtype = dtype_numbered(number);
    result->dims = (int32_t)dims;
    memcpy(result->sizes, sizes, (size_t)dims * sizeof(int64_t));
    memcpy(result->strides, strides, (size_t)dims * sizeof(int64_t));
    result->data = (char *)data - result->offset * dtype_bytes(result->dtype);
    result->begin = result->data;
    result->end = result->data + bytes;
    result->is_set = true;
    return true;
}

/* Takes a result over. */
static bool take_result(const call_t *call, handle_t handle, tensor_t *result) {
    memory_t *memory = calloc(1, sizeof(*memory));
    *result = (tensor_t){0};
    if (memory == NULL || !describe(handle, result)) {
        bool is_full = memory == NULL;
        result->is_set = false;
        free(memory);
        torch.delete(handle);
        return is_full ? fail_memory(call->frame->error)
                       : fail(call->frame->error, GIRIH_ERROR_OPERATOR,
                              "%s: %s made a tensor of another kind than strided ones on "
                              "the cpu",
                              call->frame->where, call->name);
    }
    if (share_memory(call, result)) {
        torch.delete(handle);
        free(memory);
        return true;
    }
    atomic_init(&memory->users, 1);
    memory->owner = handle;
    memory->release = delete_handle;
    result->memory = memory;
    return true;
}

/* The results of a call, without those that were not asked for, which are no tensors.
 * A destination of -1 is not used. */
static bool take_results(const call_t *call, const uint64_t *stack,
                         const int64_t *destinations, int64_t count) {
    bool done = true;
    for (int64_t i = 0, used = 0; i < count; i++) {
        handle_t handle = (handle_t)(uintptr_t)stack[i];
        bool is_defined = false;
        tensor_t result;
        if (handle == NULL) continue;
        torch.is_defined(handle, &is_defined);
        int64_t destination = is_defined ? destinations[used++] : -1;
        if (destination < 0 || !done) {
            torch.delete(handle);
            continue;
        }
        done = take_result(call, handle, &result);
        if (done) *target_of(call->frame, destination) = result;
    }
    return done;
}

/* --- products, whose factors are Scalars, which the stack has no place for --- */

static bool call_product(const call_t *call, const uint64_t *stack, int64_t destination,
                         bool is_batched) {
    int (*product)(handle_t, handle_t, handle_t, handle_t, double, double) =
        is_batched ? torch.baddbmm : torch.addmm;
    const tensor_t *lhs = call->tensors[1], *rhs = call->tensors[2];
    handle_t out = NULL, operands[3];
    tensor_t result = {.dtype = lhs->dtype, .dims = lhs->dims};
    double factors[2];
    memcpy(operands, stack, sizeof(operands));
    memcpy(factors, stack + 3, sizeof(factors));
    memcpy(result.sizes, lhs->sizes, sizeof(result.sizes));
    result.sizes[result.dims - 1] = rhs->sizes[result.dims - 1];
    for (int64_t i = result.dims - 1, step = 1; i >= 0; i--) {
        result.strides[i] = step;
        step *= result.sizes[i] > 1 ? result.sizes[i] : 1;
    }
    bool done = tensor_allocate(&result, call->frame->error);
    if (done) {
        call_t own = {.frame = call->frame, .name = call->name};
        done = tensor_to_torch(&own, &result, &out);
    }
    if (done && product(out, operands[0], operands[1], operands[2], factors[0], factors[1]))
        done = fail_call(call);
    if (out != NULL) torch.delete(out);
    for (int i = 0; i < 3; i++) torch.delete(operands[i]);
    if (done && destination >= 0)
        *target_of(call->frame, destination) = result;
    else
        tensor_release(&result);
    return done;
}

bool step_call(frame_t *frame, const int64_t **at) {
    uint64_t stack[MOST_OPERANDS];
    const char *name = frame->program->texts[*(*at)++];
    const char *overload = frame->program->texts[*(*at)++];
    int64_t results = *(*at)++;
    const int64_t *destinations = *at;
    *at += results;
    int64_t arguments = *(*at)++;
    call_t call = {.frame = frame, .at = at, .name = name};
    for (int64_t i = 0; i < arguments; i++)
        if (!read_argument(&call, &stack[i])) return false;
    bool is_batched = strcmp(name, "aten::baddbmm") == 0;
    if ((is_batched || strcmp(name, "aten::addmm") == 0) && overload[0] == '\0')
        return call.count == 3 && call.tensors[1]->dims == call.tensors[2]->dims &&
               arguments == 5 && results == 1 && call.tensors[1]->dims > 1
                   ? call_product(&call, stack, destinations[0], is_batched)
                   : fail(frame->error, GIRIH_ERROR_PACKAGE,
                          "%s: girih bug: %s has other operands", frame->where, name);
    if (torch.call(name, overload, stack, torch.version())) return fail_call(&call);
    return take_results(&call, stack, destinations, results);
}
