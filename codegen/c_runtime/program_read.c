/* Validation of a program, once, before its first call. */
#include <string.h>

#include "operators.h"
#include "program.h"

typedef struct {
    program_t *program;
    const int64_t *at, *end;
    const char *problem;
} reader_t;

static int64_t read_word(reader_t *reader, int64_t low, int64_t high,
                         const char *problem) {
    if (reader->problem != NULL) return low;
    if (reader->at == reader->end)
        reader->problem = "a whole instruction";
    else if (*reader->at < low || *reader->at >= high)
        reader->problem = problem;
    return reader->problem == NULL ? *reader->at++ : low;
}

static void read_any(reader_t *reader) {
    if (reader->problem == NULL && reader->at == reader->end)
        reader->problem = "a whole instruction";
    if (reader->problem == NULL) reader->at++;
}

static void read_register(reader_t *reader) {
    read_word(reader, 0, reader->program->registers, "a register");
}

static void read_registers(reader_t *reader, int64_t count) {
    for (int64_t i = 0; i < count && reader->problem == NULL; i++) read_register(reader);
}

static void read_value(reader_t *reader) {
    read_word(reader, 0, reader->program->values, "a value");
}

static void read_target(reader_t *reader) {
    read_word(reader, reader->program->inputs, reader->program->values,
              "a value that is no input");
}

static int64_t read_count(reader_t *reader) {
    return read_word(reader, 0, reader->end - reader->at, "a count");
}

static void read_dims(reader_t *reader) {
    read_registers(reader, 2 * read_word(reader, 0, MOST_DIMS + 1, "a count of dims"));
}

static void read_run(reader_t *reader) {
    read_word(reader, 0, (int64_t)reader->program->function_count, "a function");
    int64_t words = 0;
    for (int list = 0; list < 2; list++) {
        int64_t count = read_count(reader);
        read_registers(reader, count);
        words += count;
    }
    if (words > reader->program->arguments) reader->program->arguments = words;
}

static void read_disjoint(reader_t *reader) {
    int64_t pairs = read_count(reader);
    pairs += read_count(reader);
    read_registers(reader, 2 * pairs);
}

static void read_dtype(reader_t *reader) {
    int64_t dtype = read_word(reader, 1, 1 << 24, "a dtype");
    if (reader->problem == NULL && dtype_bytes(dtype) == 0) reader->problem = "a dtype";
}

static void read_empty(reader_t *reader) {
    read_target(reader);
    read_dtype(reader);
    read_dims(reader);
}

static void read_view(reader_t *reader) {
    read_target(reader);
    read_value(reader);
    read_register(reader);
    read_word(reader, 0, 2, "0 or 1");
    read_dims(reader);
}

static void read_text(reader_t *reader) {
    read_word(reader, 0, (int64_t)reader->program->text_count, "a text");
}

/* Reads an argument; `depth` bounds what a file can ask of the stack of this thread. */
static void read_argument(reader_t *reader, int depth) {
    int64_t kind = read_word(reader, 0, T_LIST + 1, "a kind of argument"), count = 0;
    if (reader->problem != NULL) return;
    switch (kind) {
    case T_TENSOR: read_value(reader); break;
    case T_INT: read_register(reader); break;
    case T_FLOAT: read_any(reader); break;
    case T_TEXT: read_text(reader); break;
    case T_DTYPE: read_dtype(reader); break;
    case T_SOME: count = 1; break;
    case T_LIST: count = read_count(reader); break;
    default: break;
    }
    if (count > 0 && depth == 4) reader->problem = "arguments that are nested less";
    for (int64_t i = 0; i < count && reader->problem == NULL; i++)
        read_argument(reader, depth + 1);
}

static void read_call(reader_t *reader) {
    read_text(reader);
    read_text(reader);
    int64_t results = read_word(reader, 0, MOST_OPERANDS + 1, "a count of results");
    for (int64_t i = 0; i < results && reader->problem == NULL; i++)
        if (reader->at != reader->end && *reader->at == -1)
            reader->at++;
        else
            read_target(reader);
    int64_t arguments = read_word(reader, 0, MOST_OPERANDS + 1, "a count of arguments");
    for (int64_t i = 0; i < arguments && reader->problem == NULL; i++)
        read_argument(reader, 0);
}

static int64_t read_instruction(reader_t *reader) {
    int64_t instruction = read_word(reader, 0, C_RETURN + 1, "an instruction");
    switch (instruction) {
    case C_CONSTANT:
        read_register(reader);
        read_any(reader);
        break;
    case C_SIZE:
    case C_STRIDE:
        read_register(reader);
        read_value(reader);
        read_word(reader, 0, MOST_DIMS, "a dim");
        break;
    case C_OFFSET:
    case C_POINTER:
        read_register(reader);
        read_value(reader);
        break;
    case C_EMPTY: read_empty(reader); break;
    case C_VIEW: read_view(reader); break;
    case C_COPY:
        read_value(reader);
        read_value(reader);
        break;
    case C_WORKSPACE: read_registers(reader, 2); break;
    case C_RELEASE: read_word(reader, 0, 2, "0 or 1"); break;
    case C_RUN: read_run(reader); break;
    case C_DISJOINT: read_disjoint(reader); break;
    case C_LAYOUT:
        read_target(reader);
        read_registers(reader, read_word(reader, 0, MOST_DIMS + 1, "a count of dims"));
        break;
    case C_CALL: read_call(reader); break;
    case C_FREE: read_target(reader); break;
    case C_RETURN:
        for (int64_t i = 0; i < reader->program->results; i++) read_value(reader);
        break;
    default: read_registers(reader, 3); break;
    }
    return instruction;
}

const char *program_read(program_t *program, const void *bytes, size_t size,
                         size_t functions) {
    const int64_t *words = bytes;
    int64_t length = (int64_t)(size / sizeof(int64_t)), instruction = -1;
    if (size % sizeof(int64_t) != 0 || length < 5 || memcmp(bytes, PROGRAM_MAGIC, 8))
        return "a program of this version";
    program->code = words + 5;
    program->length = (size_t)length - 5;
    program->inputs = words[1];
    program->values = words[2];
    program->registers = words[3];
    program->results = words[4];
    program->function_count = functions;
    if (program->inputs < 0 || program->inputs > 1 << 20 ||
        program->values < program->inputs ||
        program->values - program->inputs > length || program->registers < 0 ||
        program->registers > length || program->results < 0 || program->results > length)
        return "counts that fit its instructions";
    reader_t reader = {program, program->code, words + length, NULL};
    while (reader.problem == NULL && instruction != C_RETURN)
        instruction = read_instruction(&reader);
    if (reader.problem == NULL && reader.at != reader.end)
        reader.problem = "its return at the end";
    return reader.problem;
}
