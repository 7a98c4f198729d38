/* Runs a launch program without Python. */
#include "frame.h"

#include <stdlib.h>
#include <string.h>

#include "../runtime/_ranges.h"

#define ALIGNMENT ((size_t)64)
/* What glibc itself keeps at most before it returns memory to the system. */
#define KEPT_BYTES_LIMIT ((size_t)32 << 20)

const tensor_t *value_of(const frame_t *frame, int64_t index) {
    const program_t *program = frame->program;
    const tensor_t *value = index < program->inputs
                                ? &frame->inputs[index]
                                : &frame->values[index - program->inputs];
    if (value->is_set) return value;
    fail(frame->error, GIRIH_ERROR_PACKAGE, "%s: girih bug: a value is read when empty",
         frame->where);
    return NULL;
}

tensor_t *target_of(const frame_t *frame, int64_t index) {
    tensor_t *target = &frame->values[index - frame->program->inputs];
    tensor_release(target);
    return target;
}

/* --- sizes --- */

static bool step_divide(frame_t *frame, int64_t instruction, int64_t lhs, int64_t rhs,
                        int64_t *result) {
    if (rhs == 0 || (lhs == INT64_MIN && rhs == -1))
        return fail(frame->error, GIRIH_ERROR_ARGUMENT,
                    "%s: division by zero in the size of a tensor", frame->where);
    int64_t quotient = lhs / rhs, rest = lhs % rhs;
    bool signs_differ = (lhs < 0) != (rhs < 0);
    if (instruction == C_FLOORDIV)
        *result = quotient - (rest != 0 && signs_differ);
    else if (instruction == C_CEILDIV)
        *result = quotient + (rest != 0 && !signs_differ);
    else
        *result = rest != 0 && signs_differ ? rest + rhs : rest;
    return true;
}

static bool step_arithmetic(frame_t *frame, int64_t instruction, const int64_t **at) {
    int64_t *result = &frame->registers[*(*at)++];
    int64_t lhs = frame->registers[*(*at)++], rhs = frame->registers[*(*at)++];
    bool is_too_large = false;
    switch (instruction) {
    case C_ADD: is_too_large = __builtin_add_overflow(lhs, rhs, result); break;
    case C_SUB: is_too_large = __builtin_sub_overflow(lhs, rhs, result); break;
    case C_MUL: is_too_large = __builtin_mul_overflow(lhs, rhs, result); break;
    case C_MAX: *result = lhs > rhs ? lhs : rhs; break;
    case C_MIN: *result = lhs < rhs ? lhs : rhs; break;
    default: return step_divide(frame, instruction, lhs, rhs, result);
    }
    return !is_too_large || fail(frame->error, GIRIH_ERROR_ARGUMENT,
                                 "%s: the size of a tensor is too large", frame->where);
}

static bool step_size(frame_t *frame, int64_t instruction, const int64_t **at) {
    int64_t *result = &frame->registers[*(*at)++];
    const tensor_t *value = value_of(frame, *(*at)++);
    int64_t dim = *(*at)++;
    if (value == NULL) return false;
    if (dim >= value->dims)
        return fail(frame->error, GIRIH_ERROR_PACKAGE, "%s: girih bug: there is no dim",
                    frame->where);
    *result = (instruction == C_SIZE ? value->sizes : value->strides)[dim];
    return true;
}

static bool step_address(frame_t *frame, int64_t instruction, const int64_t **at) {
    int64_t *result = &frame->registers[*(*at)++];
    const tensor_t *value = value_of(frame, *(*at)++);
    if (value == NULL) return false;
    *result = instruction == C_OFFSET ? value->offset
                                      : (int64_t)(intptr_t)tensor_start(value);
    return true;
}

/* --- tensors --- */

static void read_dims(const frame_t *frame, tensor_t *tensor, const int64_t **at) {
    tensor->dims = (int32_t) * (*at)++;
    for (int i = 0; i < tensor->dims; i++)
        tensor->sizes[i] = frame->registers[*(*at)++];
    for (int i = 0; i < tensor->dims; i++)
        tensor->strides[i] = frame->registers[*(*at)++];
}

static bool step_empty(frame_t *frame, const int64_t **at) {
    tensor_t *target = target_of(frame, *(*at)++);
    target->dtype = (int32_t) * (*at)++;
    read_dims(frame, target, at);
    return tensor_allocate(target, frame->error);
}

static bool step_view(frame_t *frame, const int64_t **at) {
    int64_t destination = *(*at)++;
    const tensor_t *base = value_of(frame, *(*at)++);
    int64_t offset = frame->registers[*(*at)++], is_absolute = *(*at)++;
    tensor_t view;
    if (base == NULL) return false;
    view = *base;
    read_dims(frame, &view, at);
    view.offset = is_absolute ? offset : (int64_t)((uint64_t)base->offset + (uint64_t)offset);
    if (!tensor_is_inside(&view))
        return fail(frame->error, GIRIH_ERROR_CHECK,
                    "%s: a view lies outside of its tensor", frame->where);
    if (view.memory != NULL) atomic_fetch_add(&view.memory->users, 1);
    *target_of(frame, destination) = view;
    return true;
}

static bool step_copy(frame_t *frame, const int64_t **at) {
    const tensor_t *to = value_of(frame, *(*at)++), *from = value_of(frame, *(*at)++);
    if (to == NULL || from == NULL) return false;
    bool is_same = to->dtype == from->dtype && to->dims == from->dims;
    for (int i = 0; is_same && i < to->dims; i++) is_same = to->sizes[i] == from->sizes[i];
    if (!is_same)
        return fail(frame->error, GIRIH_ERROR_PACKAGE,
                    "%s: girih bug: a copy of another kind", frame->where);
    tensor_copy(to, from);
    return true;
}

/* Gives what an operator made the strides for which the kernels were compiled. */
static bool step_layout(frame_t *frame, const int64_t **at) {
    int64_t index = *(*at)++, dims = *(*at)++;
    const tensor_t *value = value_of(frame, index);
    int64_t strides[MOST_DIMS];
    for (int64_t i = 0; i < dims; i++) strides[i] = frame->registers[*(*at)++];
    if (value == NULL) return false;
    if (dims != value->dims)
        return fail(frame->error, GIRIH_ERROR_PACKAGE,
                    "%s: girih bug: an operator made another number of dims",
                    frame->where);
    if (tensor_is_empty(value) || !tensor_has_other_strides(value, strides)) return true;
    tensor_t other = *value;
    memcpy(other.strides, strides, (size_t)dims * sizeof(int64_t));
    if (!tensor_allocate(&other, frame->error)) return false;
    tensor_copy(&other, value);
    *target_of(frame, index) = other;
    return true;
}

/* --- memory and generated code --- */

static void release_scratch(frame_t *frame, bool may_be_kept) {
    char *memory = frame->scratch;
    frame->scratch = NULL;
    if (memory != NULL && may_be_kept && *(size_t *)(void *)memory <= KEPT_BYTES_LIMIT)
        memory = atomic_exchange(frame->program->kept, memory);
    free(memory);
}

static bool step_workspace(frame_t *frame, const int64_t **at) {
    int64_t *result = &frame->registers[*(*at)++], bytes = frame->registers[*(*at)++];
    release_scratch(frame, true);
    if (bytes < 0 || bytes > INT64_MAX / 2) return fail_memory(frame->error);
    size_t size = ((size_t)bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    char *memory = atomic_exchange(frame->program->kept, NULL);
    if (memory == NULL || *(size_t *)(void *)memory < size) {
        free(memory);
        memory = aligned_alloc(ALIGNMENT, size + ALIGNMENT);
        if (memory == NULL) return fail_memory(frame->error);
        *(size_t *)(void *)memory = size;
    }
    frame->scratch = memory;
    *result = (int64_t)(intptr_t)(memory + ALIGNMENT);
    return true;
}

static bool step_run(frame_t *frame, const int64_t **at) {
    function_t function = frame->program->functions[*(*at)++];
    int64_t words = 0, pointers = *(*at)++;
    while (words < pointers) frame->arguments[words++] = frame->registers[*(*at)++];
    int64_t numbers = *(*at)++;
    while (words < pointers + numbers)
        frame->arguments[words++] = frame->registers[*(*at)++];
    status_t status = {0};
    function((void **)(void *)frame->arguments, frame->arguments + pointers, &status);
    return !status.failed ||
           fail(frame->error, GIRIH_ERROR_CHECK,
                "%s: an index is out of range, or the data fails another check of a "
                "kernel",
                frame->where);
}

static bool step_disjoint(frame_t *frame, const int64_t **at) {
    int64_t written = *(*at)++, count = written + *(*at)++;
    Range *ranges = malloc(((size_t)count + 1) * sizeof(Range));
    if (ranges == NULL) return fail_memory(frame->error);
    for (int64_t i = 0; i < count; i++) {
        int64_t start = frame->registers[*(*at)++], bytes = frame->registers[*(*at)++];
        int64_t end = (int64_t)((uint64_t)start + (uint64_t)bytes);
        ranges[i] = (Range){start, end, i < written};
    }
    int overlap = written_ranges_overlap(ranges, count);
    free(ranges);
    return !overlap || fail(frame->error, GIRIH_ERROR_CHECK,
                            "%s: an argument that is written shares memory with another "
                            "one, or with itself",
                            frame->where);
}

/* --- a call --- */

static bool step_return(frame_t *frame, const int64_t *at, tensor_t *results) {
    for (int64_t i = 0; i < frame->program->results; i++) {
        const tensor_t *value = value_of(frame, at[i]);
        if (value == NULL) {
            while (i > 0) tensor_release(&results[--i]);
            return false;
        }
        results[i] = *value;
        if (value->memory != NULL) atomic_fetch_add(&value->memory->users, 1);
    }
    return true;
}

static bool execute(frame_t *frame, tensor_t *results) {
    const int64_t *at = frame->program->code;
    for (bool done = true; done;) {
        int64_t instruction = *at++;
        switch (instruction) {
        case C_CONSTANT:
            frame->registers[at[0]] = at[1];
            at += 2;
            break;
        case C_SIZE:
        case C_STRIDE: done = step_size(frame, instruction, &at); break;
        case C_OFFSET:
        case C_POINTER: done = step_address(frame, instruction, &at); break;
        case C_EMPTY: done = step_empty(frame, &at); break;
        case C_VIEW: done = step_view(frame, &at); break;
        case C_COPY: done = step_copy(frame, &at); break;
        case C_WORKSPACE: done = step_workspace(frame, &at); break;
        case C_RELEASE: release_scratch(frame, *at++ != 0); break;
        case C_RUN: done = step_run(frame, &at); break;
        case C_DISJOINT: done = step_disjoint(frame, &at); break;
        case C_LAYOUT: done = step_layout(frame, &at); break;
        case C_CALL: done = step_call(frame, &at); break;
        case C_FREE: target_of(frame, *at++); break;
        case C_RETURN: return step_return(frame, at, results);
        default: done = step_arithmetic(frame, instruction, &at); break;
        }
    }
    return false;
}

bool program_run(const program_t *program, const tensor_t *inputs, tensor_t *results,
                 const char *where, girih_error *error) {
    size_t owned = (size_t)(program->values - program->inputs);
    size_t words = (size_t)(program->registers + program->arguments);
    char *memory = malloc(owned * sizeof(tensor_t) + (words + 1) * sizeof(int64_t));
    if (memory == NULL) return fail_memory(error);
    frame_t frame = {.program = program, .inputs = inputs, .where = where, .error = error};
    frame.values = (tensor_t *)(void *)memory;
    frame.registers = (int64_t *)(void *)(memory + owned * sizeof(tensor_t));
    frame.arguments = frame.registers + program->registers;
    for (size_t i = 0; i < owned; i++) frame.values[i].is_set = false;
    memset(frame.registers, 0, words * sizeof(int64_t));
    bool done = execute(&frame, results);
    for (size_t i = 0; i < owned; i++) tensor_release(&frame.values[i]);
    release_scratch(&frame, true);
    free(memory);
    return done;
}
