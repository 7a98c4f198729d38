/* Operators of torch, which C calls through the C functions of libtorch_cpu. */
#ifndef GIRIH_C_RUNTIME_OPERATORS_H
#define GIRIH_C_RUNTIME_OPERATORS_H

#include "errors.h"

#define MOST_OPERANDS 64 /* arguments of an operator, and results */

/* How an argument of C_CALL is written: its kind, and the words that are listed here. */
enum argument {
    T_NONE,
    T_TENSOR, /* value */
    T_INT,    /* register: an integer, a bool, or the number of a dtype or the like */
    T_FLOAT,  /* the bits of a double */
    T_TEXT,   /* text */
    T_DTYPE,  /* dtype */
    T_CPU,    /* the device */
    T_SOME,   /* an argument: of a parameter that may be None */
    T_LIST    /* n, n arguments */
};

/* Finds torch in this process, or else where the system looks for libraries.
 *
 * `made_with` is the version of torch that the package names. Returns NULL, or why no
 * operator can be called. */
const char *torch_problem(const char *made_with);

#endif
