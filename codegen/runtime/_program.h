/* The launch program of one compiled graph: its data and its instructions.
 *
 * A Program is an immutable array of instructions over two register files: `values`
 * (tensors, Python objects) and `registers` (int64: sizes, pointers, results of
 * arithmetic on sizes). Everything that torch does (allocate, view, ATen calls) is one
 * instruction, CALL: a vectorcall of a constant callable. Generated code is called by
 * RUN. A call keeps all its state in a frame of its own, so a Program may run in
 * several threads at once.
 *
 * assembler.py writes the instructions, _validate.c checks them, _runtime.c runs them.
 */
#ifndef GIRIH_CODEGEN_RUNTIME_PROGRAM_H
#define GIRIH_CODEGEN_RUNTIME_PROGRAM_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "_launch.h"

/* An instruction is its opcode and the int64 words that are listed here. */
enum opcode {
    /* dst, callable, keywords, event, n, n items: values[dst] = callable(items). A dst of
     * -1 drops the result; keywords is the constant tuple of names, or -1; event is the
     * constant that describes the call, or -1. */
    OP_CALL,
    OP_CALL_INT, /* dst, callable, n, n items: registers[dst] = int(callable(items)) */
    OP_LOAD_INT, /* dst, value: registers[dst] = int(values[value]) */
    /* dst, bits, value, is_float: registers[bits] = the number values[value], a double or
     * an int64, and registers[dst] = its address. A finite number that is no float32
     * fails the check: eager refuses some uses of it. */
    OP_LOAD_NUMBER,
    OP_UNPACK,   /* value, n, n destinations: each takes one result; -1 skips it */
    /* value, stride, repair, item: values[value] = repair(values[value], item) unless
     * stride(values[value]) == item */
    OP_LAYOUT,
    /* dst, kept, value, repair, address: registers[dst] = address(values[value]); where
     * that is no multiple of 16, values[kept] = repair(values[value]) and its address
     * instead, or the check fails where repair is -1 */
    OP_ALIGNED,
    OP_CONSTANT, /* dst, number */
    OP_ADD,      /* dst, lhs, rhs; the same for the seven that follow */
    OP_SUB,
    OP_MUL,
    OP_FLOORDIV,
    OP_CEILDIV,
    OP_MOD,
    OP_MAX,
    OP_MIN,
    /* dst, size: the address of registers[size] bytes of scratch, until OP_RELEASE */
    OP_WORKSPACE,
    OP_RELEASE, /* kept: whether the scratch may stay for the next call */
    /* address, events, unlock, n, n pointers, m, m symbols: calls generated code with
     * the registers named; unlock = 1 releases the GIL meanwhile. `events` is a constant
     * tuple with a description of each launch. */
    OP_RUN,
    /* table, event, stream, n, n words: launches what the constant `table` holds
     * (_launch.h) on the stream in a register; the words are registers too. The constant
     * `event` describes them. */
    OP_LAUNCH,
    /* n, m, n + m pairs of registers (pointer, bytes): the check fails if one of the
     * first n ranges overlaps any other range */
    OP_DISJOINT,
    OP_FREE,  /* value: drops the reference */
    OP_RETURN /* item: ends the call */
};

/* An item is one word `kind | index << ITEM_KIND_BITS`. */
enum item_kind {
    ITEM_CONSTANT,
    ITEM_VALUE,
    ITEM_REGISTER, /* as a Python int */
    ITEM_TUPLE,    /* of the `index` items that follow */
    ITEM_LIST
};
#define ITEM_KIND_BITS 3

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *constants; /* tuple */
    PyObject *fallback;  /* called with why, and the inputs, after a failed check */
    PyObject *owner;     /* keeps the generated code linked */
    PyObject *event;     /* describes a call to profilers, or None */
    int64_t *code;
    Py_ssize_t length, inputs, values, registers;
    Py_ssize_t arguments; /* most words that one CALL or RUN needs; set by validation */
    Py_ssize_t kernels, launches, externs, workspace_bytes; /* for reports */
} Program;

/* Runs one of OP_ADD to OP_MIN: 0, or -1 with an exception set. */
int compute_size(int64_t opcode, int64_t *registers, const int64_t **at);

/* Checks that no instruction can leave its arrays: 0, or -1 with an exception set. */
int validate_program(Program *program);

/* Adds opcodes and kinds of items to the module: 0, or -1 with an exception set. */
int add_words(PyObject *module);

#endif
