/* Validation of a program, once, before its first call. */
#include "_program.h"

#define ITEM_MAX_DEPTH 8

/* Walks the code once: afterwards no instruction can leave its arrays. Any failure is a
 * bug of the assembler. */
typedef struct {
    Program *program;
    const int64_t *at, *end;
    const char *problem;
} Reader;

static int64_t read_word(Reader *reader, int64_t low, int64_t high,
                         const char *problem) {
    if (reader->problem != NULL) return low;
    if (reader->at == reader->end)
        reader->problem = "a whole instruction";
    else if (*reader->at < low || *reader->at >= high)
        reader->problem = problem;
    return reader->problem == NULL ? *reader->at++ : low;
}

static void read_number(Reader *reader) {
    if (reader->at == reader->end)
        reader->problem = "a whole instruction";
    else
        reader->at++;
}

static void read_constant(Reader *reader, int64_t low) {
    read_word(reader, low, PyTuple_GET_SIZE(reader->program->constants),
              "the index of a constant");
}

static void read_register(Reader *reader) {
    read_word(reader, 0, reader->program->registers, "the index of a register");
}

static void read_destination(Reader *reader, int64_t none) {
    if (none && reader->at < reader->end && *reader->at == -1)
        reader->at++;
    else
        read_word(reader, reader->program->inputs, reader->program->values,
                  "a value that is no input");
}

static int64_t read_count(Reader *reader) {
    int64_t count = read_word(reader, 0, reader->end - reader->at, "a count");
    /* The spare word in front is vectorcall's, see call_items. */
    if (count + 1 > reader->program->arguments) reader->program->arguments = count + 1;
    return count;
}

static void read_item(Reader *reader, int depth) {
    int64_t word = read_word(reader, 0, INT64_MAX, "an item"),
            index = word >> ITEM_KIND_BITS;
    int64_t kind = word & ((1 << ITEM_KIND_BITS) - 1);
    int64_t limits[] = {PyTuple_GET_SIZE(reader->program->constants),
                        reader->program->values, reader->program->registers,
                        reader->end - reader->at + 1, reader->end - reader->at + 1};
    if (reader->problem != NULL) return;
    if (kind > ITEM_LIST || index >= limits[kind] || depth > ITEM_MAX_DEPTH)
        reader->problem = "an item";
    else if (kind >= ITEM_TUPLE)
        for (int64_t i = 0; i < index && reader->problem == NULL; i++)
            read_item(reader, depth + 1);
}

static void read_items(Reader *reader, int64_t count) {
    for (int64_t i = 0; i < count && reader->problem == NULL; i++) read_item(reader, 0);
}

static void read_run(Reader *reader) {
    read_word(reader, 1, INT64_MAX, "the address of a function");
    int64_t events = read_word(reader, 0, PyTuple_GET_SIZE(reader->program->constants),
                               "the index of a constant");
    read_word(reader, 0, 2, "0 or 1");
    int64_t words = 0;
    for (int list = 0; list < 2; list++) {
        int64_t count = read_count(reader);
        for (int64_t i = 0; i < count && reader->problem == NULL; i++)
            read_register(reader);
        words += count;
    }
    if (words > reader->program->arguments) reader->program->arguments = words;
    if (reader->problem != NULL) return;
    PyObject *descriptions = PyTuple_GET_ITEM(reader->program->constants, events);
    if (!PyTuple_Check(descriptions) || PyTuple_GET_SIZE(descriptions) == 0)
        reader->problem = "a tuple of descriptions of events";
}

static void read_launch(Reader *reader) {
    int64_t index = read_word(reader, 0, PyTuple_GET_SIZE(reader->program->constants),
                              "the index of a constant");
    read_constant(reader, 0);
    read_register(reader);
    int64_t count = read_count(reader);
    for (int64_t i = 0; i < count && reader->problem == NULL; i++)
        read_register(reader);
    if (reader->problem != NULL) return;
    PyObject *table = PyTuple_GET_ITEM(reader->program->constants, index);
    const LaunchTable *launches =
        PyCapsule_IsValid(table, LAUNCH_TABLE_NAME)
            ? PyCapsule_GetPointer(table, LAUNCH_TABLE_NAME)
            : NULL;
    if (launches == NULL || launches->words > count)
        reader->problem = "a launch table and all its words";
}

static void read_call(Reader *reader, int64_t opcode) {
    if (opcode == OP_CALL)
        read_destination(reader, 1);
    else
        read_register(reader);
    read_constant(reader, 0);
    if (opcode == OP_CALL) {
        read_constant(reader, -1);
        read_constant(reader, -1);
    }
    read_items(reader, read_count(reader));
}

static void read_unpack(Reader *reader) {
    read_word(reader, 0, reader->program->values, "the index of a value");
    int64_t count = read_count(reader);
    for (int64_t i = 0; i < count && reader->problem == NULL; i++)
        read_destination(reader, 1);
}

static void read_disjoint(Reader *reader) {
    int64_t words = 2 * (read_count(reader) + read_count(reader));
    for (int64_t i = 0; i < words && reader->problem == NULL; i++)
        read_register(reader);
}

static void read_layout(Reader *reader) {
    read_destination(reader, 0);
    read_constant(reader, 0);
    read_constant(reader, 0);
    read_item(reader, 0);
}

static int64_t read_instruction(Reader *reader) {
    int64_t opcode = read_word(reader, 0, OP_RETURN + 1, "an opcode");
    switch (opcode) {
    case OP_CALL:
    case OP_CALL_INT: read_call(reader, opcode); break;
    case OP_LOAD_INT:
        read_register(reader);
        read_word(reader, 0, reader->program->values, "the index of a value");
        break;
    case OP_LOAD_NUMBER:
        read_register(reader);
        read_register(reader);
        read_word(reader, 0, reader->program->values, "the index of a value");
        read_word(reader, 0, 2, "0 or 1");
        break;
    case OP_UNPACK: read_unpack(reader); break;
    case OP_LAYOUT: read_layout(reader); break;
    case OP_ALIGNED:
        read_register(reader);
        read_destination(reader, 0);
        read_word(reader, 0, reader->program->values, "the index of a value");
        read_constant(reader, -1);
        read_constant(reader, 0);
        break;
    case OP_CONSTANT:
        read_register(reader);
        read_number(reader);
        break;
    case OP_WORKSPACE:
        read_register(reader);
        read_register(reader);
        break;
    case OP_RUN: read_run(reader); break;
    case OP_LAUNCH: read_launch(reader); break;
    case OP_DISJOINT: read_disjoint(reader); break;
    case OP_RELEASE: read_number(reader); break;
    case OP_FREE: read_destination(reader, 0); break;
    case OP_RETURN: read_item(reader, 0); break;
    default:
        read_register(reader);
        read_register(reader);
        read_register(reader);
        break;
    }
    return opcode;
}

int validate_program(Program *program) {
    Reader reader = {.program = program,
                     .at = program->code,
                     .end = program->code + program->length};
    int64_t opcode = -1;
    program->arguments = 1;
    while (reader.problem == NULL && opcode != OP_RETURN)
        opcode = read_instruction(&reader);
    if (reader.problem == NULL && reader.at != reader.end)
        reader.problem = "RETURN at the end only";
    if (reader.problem == NULL) return 0;
    PyErr_Format(PyExc_ValueError, "girih bug: expected %s at word %zd of the program",
                 reader.problem, (Py_ssize_t)(reader.at - program->code));
    return -1;
}
