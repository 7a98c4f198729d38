/* A running program: what its instructions read and write. */
#ifndef GIRIH_C_RUNTIME_FRAME_H
#define GIRIH_C_RUNTIME_FRAME_H

#include "program.h"

typedef struct {
    const program_t *program;
    const tensor_t *inputs;
    tensor_t *values;   /* values[i - inputs] */
    int64_t *registers;
    int64_t *arguments; /* of the running C_RUN */
    char *scratch;      /* its size stands in front of it, in ALIGNMENT bytes */
    const char *where;
    girih_error *error;
} frame_t;

/* A value, or NULL with an error. */
const tensor_t *value_of(const frame_t *frame, int64_t index);

/* The place of a value, which is empty then. */
tensor_t *target_of(const frame_t *frame, int64_t index);

/* Runs C_CALL. */
bool step_call(frame_t *frame, const int64_t **at);

#endif
