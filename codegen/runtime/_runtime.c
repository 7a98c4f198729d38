/* Runs launch programs: see _program.h for what they are made of. */
#include "_events.h"
#include "_program.h"
#include "_ranges.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "structmember.h"

#define WORKSPACE_ALIGNMENT 64
/* What kernels on devices may assume: their widest loads take as many bytes. */
#define POINTER_ALIGNMENT 16
/* What glibc itself keeps at most before it returns memory to the system. */
#define KEPT_BYTES_LIMIT (32 << 20)
#define FRAME_STACK_WORDS 256

typedef void (*native_function)(void **pointers, int64_t *symbols, RunStatus *status);

typedef struct {
    Program *program;
    PyObject *const *inputs;
    PyObject **values; /* values[i - inputs], owned */
    int64_t *registers;
    int64_t *scratch; /* arguments of the running CALL or RUN */
    void *workspace;
    int64_t workspace_bytes;
    PyObject *maker; /* of events; NULL where nobody watches */
    PyObject *result;
} Frame;

/* The largest workspace up to the limit stays for the next call of any program: fresh
 * memory costs a page fault for each 4 KiB, more than kernels need to fill it. A call
 * that needs more frees it first, so that the two are never alive together. The GIL
 * guards it. */
static struct {
    void *memory;
    int64_t bytes;
} kept;

static void release_kept(void) {
    free(kept.memory);
    kept.memory = NULL;
    kept.bytes = 0;
}

/* --- items --- */

static PyObject *value_of(const Frame *frame, int64_t index) {
    PyObject *value = index < frame->program->inputs
                          ? frame->inputs[index]
                          : frame->values[index - frame->program->inputs];
    if (value == NULL)
        PyErr_Format(PyExc_SystemError, "girih bug: value %lld read when empty",
                     (long long)index);
    return value;
}

static PyObject *build_item(const Frame *frame, const int64_t **at);

static PyObject *build_sequence(const Frame *frame, const int64_t **at, Py_ssize_t size,
                                int is_tuple) {
    PyObject *sequence = is_tuple ? PyTuple_New(size) : PyList_New(size);
    for (Py_ssize_t i = 0; sequence != NULL && i < size; i++) {
        PyObject *item = build_item(frame, at);
        if (item == NULL)
            Py_CLEAR(sequence);
        else if (is_tuple)
            PyTuple_SET_ITEM(sequence, i, item);
        else
            PyList_SET_ITEM(sequence, i, item);
    }
    return sequence;
}

/* A new reference to the object that the item at `*at` describes; `*at` moves behind
 * the item. */
static PyObject *build_item(const Frame *frame, const int64_t **at) {
    int64_t word = *(*at)++, index = word >> ITEM_KIND_BITS;
    switch (word & ((1 << ITEM_KIND_BITS) - 1)) {
    case ITEM_CONSTANT:
        return Py_NewRef(PyTuple_GET_ITEM(frame->program->constants, index));
    case ITEM_VALUE: return Py_XNewRef(value_of(frame, index));
    case ITEM_REGISTER: return PyLong_FromLongLong(frame->registers[index]);
    case ITEM_TUPLE: return build_sequence(frame, at, index, 1);
    default: return build_sequence(frame, at, index, 0);
    }
}

/* --- calls of Python objects --- */

static PyObject *call_items(Frame *frame, int64_t callable, int64_t keywords,
                            int64_t count, const int64_t **at) {
    PyObject *constants = frame->program->constants;
    /* One spare word in front, as PY_VECTORCALL_ARGUMENTS_OFFSET promises to the
     * callee. */
    PyObject **arguments = (PyObject **)frame->scratch + 1;
    PyObject *result = NULL;
    int64_t built = 0;
    while (built < count && (arguments[built] = build_item(frame, at)) != NULL) built++;
    if (built == count) {
        PyObject *names = keywords < 0 ? NULL : PyTuple_GET_ITEM(constants, keywords);
        size_t positional =
            (size_t)(count - (names == NULL ? 0 : PyTuple_GET_SIZE(names)));
        result =
            PyObject_Vectorcall(PyTuple_GET_ITEM(constants, callable), arguments,
                                positional | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
    }
    while (built > 0) Py_DECREF(arguments[--built]);
    return result;
}

static int store_int(Frame *frame, int64_t destination, PyObject *object) {
    if (object == NULL) return -1;
    int64_t number = PyLong_AsLongLong(object);
    frame->registers[destination] = number;
    return number == -1 && PyErr_Occurred() ? -1 : 0;
}

static void store_value(Frame *frame, int64_t destination, PyObject *object) {
    if (destination < 0)
        Py_DECREF(object);
    else
        Py_XSETREF(frame->values[destination - frame->program->inputs], object);
}

static int step_call(Frame *frame, const int64_t **at) {
    int64_t destination = *(*at)++, callable = *(*at)++, keywords = *(*at)++,
            description = *(*at)++, count = *(*at)++;
    PyObject *event = open_event_of(frame->maker, frame->program->constants, description);
    PyObject *result = call_items(frame, callable, keywords, count, at);
    close_event(event);
    if (result == NULL) return -1;
    store_value(frame, destination, result);
    return 0;
}

static int step_call_int(Frame *frame, const int64_t **at) {
    int64_t destination = *(*at)++, callable = *(*at)++, count = *(*at)++;
    PyObject *result = call_items(frame, callable, -1, count, at);
    int failed = store_int(frame, destination, result);
    Py_XDECREF(result);
    return failed;
}

static int step_load_int(Frame *frame, const int64_t **at) {
    int64_t destination = *(*at)++, value = *(*at)++;
    return store_int(frame, destination, value_of(frame, value));
}

/* 1 where the number is left to eager. */
static int step_load_number(Frame *frame, const int64_t **at) {
    int64_t destination = *(*at)++, bits = *(*at)++, value = *(*at)++;
    int64_t is_float = *(*at)++;
    int64_t *place = &frame->registers[bits];
    frame->registers[destination] = (int64_t)(intptr_t)place;
    if (!is_float) return store_int(frame, bits, value_of(frame, value));
    PyObject *object = value_of(frame, value);
    double number = object == NULL ? -1.0 : PyFloat_AsDouble(object);
    if (number == -1.0 && PyErr_Occurred()) return -1;
    memcpy(place, &number, sizeof number);
    return isfinite(number) && fabs(number) > FLT_MAX;
}

static int step_unpack(Frame *frame, const int64_t **at) {
    int64_t value = *(*at)++, count = *(*at)++;
    PyObject *object = value_of(frame, value);
    PyObject *items =
        object == NULL
            ? NULL
            : PySequence_Fast(object, "expected several results of an ATen call");
    if (items == NULL) return -1;
    if (PySequence_Fast_GET_SIZE(items) != count) {
        PyErr_Format(PyExc_SystemError,
                     "girih bug: expected %lld results of an ATen call, got %zd",
                     (long long)count, PySequence_Fast_GET_SIZE(items));
        Py_DECREF(items);
        return -1;
    }
    for (int64_t i = 0; i < count; i++, (*at)++)
        if (**at >= 0)
            store_value(frame, **at, Py_NewRef(PySequence_Fast_GET_ITEM(items, i)));
    Py_DECREF(items);
    return 0;
}

/* Generated code reads a tensor with the strides that the compiler was told: ATen's
 * result is checked once. */
static int step_layout(Frame *frame, const int64_t **at) {
    int64_t index = *(*at)++, stride = *(*at)++, repair = *(*at)++;
    PyObject *constants = frame->program->constants, *value = value_of(frame, index),
             *expected = NULL, *actual = NULL;
    int equal = -1;
    if (value == NULL || (expected = build_item(frame, at)) == NULL) return -1;
    if ((actual = PyObject_CallOneArg(PyTuple_GET_ITEM(constants, stride), value)) !=
        NULL)
        equal = PyObject_RichCompareBool(actual, expected, Py_EQ);
    if (equal == 0) {
        PyObject *arguments[] = {value, expected};
        PyObject *repaired = PyObject_Vectorcall(PyTuple_GET_ITEM(constants, repair),
                                                 arguments, 2, NULL);
        if (repaired != NULL)
            store_value(frame, index, repaired);
        else
            equal = -1;
    }
    Py_DECREF(expected);
    Py_XDECREF(actual);
    return equal < 0 ? -1 : 0;
}

static int read_address(int64_t *address, PyObject *callable, PyObject *value) {
    PyObject *number = PyObject_CallOneArg(callable, value);
    if (number == NULL) return -1;
    *address = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return *address == -1 && PyErr_Occurred() ? -1 : 0;
}

/* 1 where memory that must not be replaced is not aligned. */
static int step_aligned(Frame *frame, const int64_t **at) {
    int64_t destination = *(*at)++, kept = *(*at)++, index = *(*at)++;
    int64_t repair = *(*at)++, address = *(*at)++;
    PyObject *constants = frame->program->constants, *value = value_of(frame, index);
    PyObject *callable = PyTuple_GET_ITEM(constants, address);
    int64_t *result = &frame->registers[destination];
    if (value == NULL || read_address(result, callable, value) < 0) return -1;
    if (*result % POINTER_ALIGNMENT == 0) return 0;
    if (repair < 0) return 1;
    PyObject *repaired = PyObject_CallOneArg(PyTuple_GET_ITEM(constants, repair), value);
    if (repaired == NULL) return -1;
    int failed = read_address(result, callable, repaired);
    store_value(frame, kept, repaired);
    return failed;
}

/* --- memory and generated code --- */

static void release_workspace(Frame *frame, int64_t may_be_kept) {
    int64_t bytes = frame->workspace_bytes;
    if (frame->workspace == NULL) return;
    if (may_be_kept && bytes <= KEPT_BYTES_LIMIT && bytes > kept.bytes) {
        release_kept();
        kept.memory = frame->workspace;
        kept.bytes = bytes;
    } else {
        free(frame->workspace);
    }
    frame->workspace = NULL;
}

static int step_workspace(Frame *frame, const int64_t **at) {
    int64_t destination = *(*at)++, bytes = frame->registers[*(*at)++];
    release_workspace(frame, 1);
    bytes = (bytes + WORKSPACE_ALIGNMENT) & ~(int64_t)(WORKSPACE_ALIGNMENT - 1);
    if (kept.bytes >= bytes) {
        frame->workspace = kept.memory;
        frame->workspace_bytes = kept.bytes;
        kept.memory = NULL;
        kept.bytes = 0;
    } else {
        release_kept();
        frame->workspace = aligned_alloc(WORKSPACE_ALIGNMENT, (size_t)bytes);
        frame->workspace_bytes = bytes;
    }
    frame->registers[destination] = (int64_t)(intptr_t)frame->workspace;
    if (frame->workspace != NULL) return 0;
    PyErr_NoMemory();
    return -1;
}

/* The status that generated code reports: 0, or 1 when a check failed. */
static int32_t step_run(Frame *frame, const int64_t **at) {
    native_function run = (native_function)(intptr_t)*(*at)++;
    int64_t events = *(*at)++;
    int64_t unlock = *(*at)++, pointers = *(*at)++, words = 0;
    for (int64_t i = 0; i < pointers; i++)
        frame->scratch[words++] = frame->registers[*(*at)++];
    int64_t symbols = *(*at)++;
    for (int64_t i = 0; i < symbols; i++)
        frame->scratch[words++] = frame->registers[*(*at)++];
    RunStatus status = {0};
    if (frame->maker != NULL)
        watch_run(&status, frame->maker,
                  PyTuple_GET_ITEM(frame->program->constants, events));
    if (unlock) status.state = PyEval_SaveThread();
    run((void **)frame->scratch, frame->scratch + pointers, &status);
    if (unlock) PyEval_RestoreThread(status.state);
    close_event(status.event);
    return status.failed;
}

/* Launching holds no GIL: where the device's queue is full, the driver waits. */
static int step_launch(Frame *frame, const int64_t **at) {
    PyObject *capsule = PyTuple_GET_ITEM(frame->program->constants, *(*at)++);
    const LaunchTable *table = PyCapsule_GetPointer(capsule, LAUNCH_TABLE_NAME);
    int64_t description = *(*at)++;
    int64_t stream = frame->registers[*(*at)++], count = *(*at)++;
    for (int64_t i = 0; i < count; i++)
        frame->scratch[i] = frame->registers[*(*at)++];
    PyObject *event = open_event_of(frame->maker, frame->program->constants, description);
    PyThreadState *state = PyEval_SaveThread();
    int64_t code = table->launch(table, frame->scratch, stream);
    PyEval_RestoreThread(state);
    close_event(event);
    if (code == 0) return 0;
    table->raise(table, code);
    return -1;
}

/* 1 where a check of the ranges of arguments fails, -1 without memory. */
static int step_disjoint(Frame *frame, const int64_t **at) {
    int64_t written = *(*at)++, count = written + *(*at)++;
    Range local[32], *ranges = local;
    if (count > 32) ranges = PyMem_Malloc((size_t)count * sizeof(Range));
    if (ranges == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t start = frame->registers[*(*at)++];
        int64_t bytes = frame->registers[*(*at)++];
        ranges[i] = (Range){start, start + bytes, i < written};
    }
    int overlap = written_ranges_overlap(ranges, count);
    if (ranges != local) PyMem_Free(ranges);
    return overlap;
}

/* --- a call --- */

/* The last four leave the call to the fallback, which gets the name. */
enum outcome { CALL_FAILED = -1, CALL_RETURNED, CALL_CHECK_FAILED, CALL_NUMBER,
               CALL_OVERLAP, CALL_ALIGNMENT };

static const char *const outcomes[] = {"", "kernel check", "number", "overlap",
                                       "alignment"};

static enum outcome execute(Frame *frame) {
    const int64_t *at = frame->program->code;
    for (;;) {
        int64_t opcode = *at++;
        PyObject **slot;
        int failed = 0;
        switch (opcode) {
        case OP_CALL: failed = step_call(frame, &at); break;
        case OP_CALL_INT: failed = step_call_int(frame, &at); break;
        case OP_LOAD_INT: failed = step_load_int(frame, &at); break;
        case OP_LOAD_NUMBER:
            failed = step_load_number(frame, &at);
            if (failed == 1) return CALL_NUMBER;
            break;
        case OP_UNPACK: failed = step_unpack(frame, &at); break;
        case OP_LAYOUT: failed = step_layout(frame, &at); break;
        case OP_ALIGNED:
            failed = step_aligned(frame, &at);
            if (failed == 1) return CALL_ALIGNMENT;
            break;
        case OP_CONSTANT:
            frame->registers[at[0]] = at[1];
            at += 2;
            break;
        case OP_WORKSPACE: failed = step_workspace(frame, &at); break;
        case OP_RELEASE: release_workspace(frame, *at++); break;
        case OP_RUN:
            if (step_run(frame, &at) != 0) return CALL_CHECK_FAILED;
            break;
        case OP_LAUNCH: failed = step_launch(frame, &at); break;
        case OP_DISJOINT:
            failed = step_disjoint(frame, &at);
            if (failed == 1) return CALL_OVERLAP;
            break;
        case OP_FREE:
            slot = &frame->values[*at++ - frame->program->inputs];
            Py_CLEAR(*slot);
            break;
        case OP_RETURN:
            frame->result = build_item(frame, &at);
            return frame->result == NULL ? CALL_FAILED : CALL_RETURNED;
        default: failed = compute_size(opcode, frame->registers, &at); break;
        }
        if (failed) return CALL_FAILED;
    }
}

static void clear_frame(Frame *frame) {
    Py_ssize_t owned = frame->program->values - frame->program->inputs;
    for (Py_ssize_t i = 0; i < owned; i++) Py_CLEAR(frame->values[i]);
    release_workspace(frame, 1);
}

/* The fallback gets the reason, then the inputs. */
static PyObject *call_fallback(Program *program, PyObject *const *inputs,
                               enum outcome outcome) {
    if (program->fallback == Py_None)
        return PyErr_Format(PyExc_RuntimeError,
                            "a check of a program without a fallback failed: %s",
                            outcomes[outcome]);
    PyObject *reason = PyUnicode_InternFromString(outcomes[outcome]);
    PyObject *arguments = reason == NULL ? NULL : PyTuple_New(1 + program->inputs);
    if (arguments == NULL) {
        Py_XDECREF(reason);
        return NULL;
    }
    PyTuple_SET_ITEM(arguments, 0, reason);
    for (Py_ssize_t i = 0; i < program->inputs; i++)
        PyTuple_SET_ITEM(arguments, 1 + i, Py_NewRef(inputs[i]));
    PyObject *result = PyObject_Call(program->fallback, arguments, NULL);
    Py_DECREF(arguments);
    return result;
}

static PyObject *call_with_memory(Program *program, PyObject *const *inputs,
                                  int64_t *memory) {
    Py_ssize_t owned = program->values - program->inputs;
    Frame frame = {.program = program,
                   .inputs = inputs,
                   .values = (PyObject **)memory,
                   .registers = memory + owned,
                   .scratch = memory + owned + program->registers};
    memset(memory, 0, (size_t)owned * sizeof(PyObject *));
    frame.maker = event_maker();
    PyObject *event = open_event(frame.maker, program->event);
    enum outcome outcome = execute(&frame);
    close_event(event);
    Py_XDECREF(frame.maker);
    clear_frame(&frame);
    return outcome >= CALL_CHECK_FAILED ? call_fallback(program, inputs, outcome)
                                        : frame.result;
}

static PyObject *call_program(PyObject *self, PyObject *const *inputs, size_t flags,
                              PyObject *names) {
    Program *program = (Program *)self;
    Py_ssize_t given = PyVectorcall_NARGS(flags);
    if (given != program->inputs || (names != NULL && PyTuple_GET_SIZE(names) != 0))
        return PyErr_Format(
            PyExc_TypeError,
            "expected %zd positional inputs and no keywords, got %zd and %zd",
            program->inputs, given,
            names == NULL ? (Py_ssize_t)0 : PyTuple_GET_SIZE(names));
    Py_ssize_t words =
        program->values - program->inputs + program->registers + program->arguments;
    int64_t stack[FRAME_STACK_WORDS];
    if (words <= FRAME_STACK_WORDS) return call_with_memory(program, inputs, stack);
    int64_t *memory = PyMem_Malloc((size_t)words * sizeof(int64_t));
    if (memory == NULL) return PyErr_NoMemory();
    PyObject *result = call_with_memory(program, inputs, memory);
    PyMem_Free(memory);
    return result;
}

/* --- the type --- */

static int copy_code(Program *program, Py_buffer *code) {
    if (code->len % (Py_ssize_t)sizeof(int64_t) != 0) {
        PyErr_SetString(PyExc_ValueError,
                        "girih bug: expected code in words of 64 bits");
        return -1;
    }
    program->length = code->len / (Py_ssize_t)sizeof(int64_t);
    program->code = PyMem_Malloc((size_t)code->len + 1);
    if (program->code == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(program->code, code->buf, (size_t)code->len);
    return validate_program(program);
}

static PyObject *program_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"code",      "constants", "inputs",          "values",
                            "registers", "fallback",  "owner",           "kernels",
                            "launches",  "externs",   "workspace_bytes", "event",
                            NULL};
    Program *program = (Program *)type->tp_alloc(type, 0);
    PyObject *constants = NULL, *fallback = Py_None, *owner = Py_None, *event = Py_None;
    Py_buffer code = {0};
    if (program == NULL) return NULL;
    int parsed = PyArg_ParseTupleAndKeywords(
        args, kwargs, "y*O!nnn|$OOnnnnO", names, &code, &PyTuple_Type, &constants,
        &program->inputs, &program->values, &program->registers, &fallback, &owner,
        &program->kernels, &program->launches, &program->externs,
        &program->workspace_bytes, &event);
    program->vectorcall = call_program;
    program->constants = Py_XNewRef(constants);
    program->fallback = Py_NewRef(fallback);
    program->owner = Py_NewRef(owner);
    program->event = Py_NewRef(event);
    if (parsed && (program->inputs < 0 || program->values < program->inputs ||
                   program->registers < 0)) {
        PyErr_SetString(PyExc_ValueError,
                        "girih bug: expected 0 <= inputs <= values and 0 <= registers");
        parsed = 0;
    }
    if (parsed && copy_code(program, &code) < 0) parsed = 0;
    if (code.obj != NULL) PyBuffer_Release(&code);
    if (!parsed) Py_CLEAR(program);
    return (PyObject *)program;
}

static int program_traverse(PyObject *self, visitproc visit, void *arg) {
    Program *program = (Program *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(program->constants);
    Py_VISIT(program->fallback);
    Py_VISIT(program->owner);
    Py_VISIT(program->event);
    return 0;
}

/* Cycles through the fallback are broken here; `constants` and `owner` stay usable
 * until the object dies. */
static int program_clear(PyObject *self) {
    Program *program = (Program *)self;
    Py_XSETREF(program->fallback, Py_NewRef(Py_None));
    return 0;
}

static void program_dealloc(PyObject *self) {
    Program *program = (Program *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(program->constants);
    Py_CLEAR(program->fallback);
    Py_CLEAR(program->owner);
    Py_CLEAR(program->event);
    PyMem_Free(program->code);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMemberDef program_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Program, vectorcall), READONLY, NULL},
    {"inputs", T_PYSSIZET, offsetof(Program, inputs), READONLY,
     "number of positional inputs"},
    {"kernels", T_PYSSIZET, offsetof(Program, kernels), READONLY,
     "number of distinct kernels"},
    {"launches", T_PYSSIZET, offsetof(Program, launches), READONLY,
     "number of kernel launches of one call"},
    {"externs", T_PYSSIZET, offsetof(Program, externs), READONLY,
     "number of ATen calls of one call"},
    {"workspace_bytes", T_PYSSIZET, offsetof(Program, workspace_bytes), READONLY,
     "bytes of the shared workspace, -1 where they depend on the sizes of the inputs"},
    {"owner", T_OBJECT, offsetof(Program, owner), READONLY,
     "what keeps the generated code alive"},
    {"event", T_OBJECT, offsetof(Program, event), READONLY,
     "what describes a call to profilers, or None"},
    {"fallback", T_OBJECT, offsetof(Program, fallback), READONLY,
     "called when a check of a kernel fails"},
    {NULL}};

static PyType_Slot program_slots[] = {
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_traverse, program_traverse},
    {Py_tp_clear, program_clear},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, program_members},
    {Py_tp_doc, "Program(code, constants, inputs, values, registers, *, fallback=None, "
                "owner=None, kernels=0, launches=0, externs=0, workspace_bytes=0, event=None)\n--\n\nA compiled graph: "
                "call it with the input tensors."},
    {0, NULL}};

static PyType_Spec program_spec = {.name = "girih.codegen.runtime._runtime.Program",
                                   .basicsize = sizeof(Program),
                                   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                            Py_TPFLAGS_HAVE_VECTORCALL |
                                            Py_TPFLAGS_IMMUTABLETYPE,
                                   .slots = program_slots};

/* --- the module --- */

static PyObject *release_memory(PyObject *Py_UNUSED(module),
                                PyObject *Py_UNUSED(arguments)) {
    release_kept();
    Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
    {"release_memory", release_memory, METH_NOARGS,
     PyDoc_STR("release_memory()\n--\n\nFrees the workspace that is kept for the next "
               "call.")},
    {NULL, NULL, 0, NULL}};

static int module_exec(PyObject *module) {
    if (add_words(module) < 0) return -1;
    PyObject *type = PyType_FromModuleAndSpec(module, &program_spec, NULL);
    int failed = PyModule_AddFunctions(module, event_methods) < 0 || type == NULL || PyModule_AddObjectRef(module, "Program", type) < 0;
    Py_XDECREF(type);
    return failed ? -1 : 0;
}

static PyModuleDef_Slot module_slots[] = {{Py_mod_exec, module_exec}, {0, NULL}};
static struct PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, .m_name = "_runtime", .m_doc = "Runs launch programs.",
    .m_methods = module_methods, .m_slots = module_slots};

PyMODINIT_FUNC PyInit__runtime(void) { return PyModuleDef_Init(&module_definition); }
