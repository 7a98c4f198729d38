/* A launch program without Python: the part `cprogram.bin` of a package.
 *
 * The part is words of 64 bits, little-endian: PROGRAM_MAGIC, and how many inputs,
 * values, registers and results there are; then instructions. Values are tensors, the
 * first of which are the inputs; registers are numbers. docs/package-format.md
 * describes it, girih/packaging/c_programs.py writes it.
 */
#ifndef GIRIH_C_RUNTIME_PROGRAM_H
#define GIRIH_C_RUNTIME_PROGRAM_H

#include "tensors.h"

#define PROGRAM_MAGIC "girihc 2" /* eight bytes: a name, and the version */

/* An instruction is its number and the words that are listed here. */
enum instruction {
    C_CONSTANT, /* register, number */
    C_ADD,      /* register, lhs, rhs: registers; the same for the seven that follow */
    C_SUB,
    C_MUL,
    C_FLOORDIV,
    C_CEILDIV,
    C_MOD,
    C_MAX,
    C_MIN,
    C_SIZE,    /* register, value, dim */
    C_OFFSET,  /* register, value: its offset in its storage, in elements */
    C_POINTER, /* register, value: the address of its first element */
    C_EMPTY,   /* value, dtype, n, n registers of sizes, n of strides: a fresh tensor */
    /* value, base, register, absolute, n, n registers of sizes, n of strides: a tensor in
     * the memory of another one; the offset in the register counts from the storage
     * where `absolute` is 1, and else from the other tensor. */
    C_VIEW,
    C_COPY,      /* target, source: values */
    C_WORKSPACE, /* register, size: the address of registers[size] bytes of scratch */
    C_RELEASE,   /* kept: ends the use of the scratch, which may stay for other calls */
    C_RUN,       /* function, n, n pointers, m, m numbers: calls generated code */
    /* n, m, n + m pairs of registers (pointer, bytes): the check fails if one of the
     * first n ranges overlaps any other range */
    C_DISJOINT,
    C_STRIDE, /* register, value, dim */
    /* value, n, n registers of strides: the value is copied to these strides unless it
     * has them */
    C_LAYOUT,
    /* name, overload, n, n values or -1, m, m arguments (operators.h): calls an operator
     * of torch; the first two are texts */
    C_CALL,
    C_FREE,  /* value */
    C_RETURN /* the values of the results: ends the call */
};

/* What generated code gets as its third argument. It sets `failed`. Where `before` is
 * not NULL, it is called before each launch: that is for profilers, and never here. */
typedef struct {
    int32_t failed;
    void (*before)(void);
    void *rest[4];
} status_t;

typedef void (*function_t)(void **pointers, int64_t *numbers, status_t *status);

typedef _Atomic(void *) scratch_t;

typedef struct {
    const int64_t *code;
    size_t length;
    int64_t inputs, values, registers, results;
    int64_t arguments; /* most words that one C_RUN needs */
    const function_t *functions;
    size_t function_count;
    const char **texts; /* names of operators, and arguments */
    size_t text_count;
    scratch_t *kept; /* scratch memory that waits for the next call */
} program_t;

/* Checks that no instruction leaves its arrays; returns NULL or what is wrong. */
const char *program_read(program_t *program, const void *bytes, size_t size,
                         size_t functions);

/* Runs a program. `results` are its own; release them. `where` begins messages. */
bool program_run(const program_t *program, const tensor_t *inputs, tensor_t *results,
                 const char *where, girih_error *error);

#endif
