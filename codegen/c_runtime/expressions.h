/* Expressions of symbolic sizes. */
#ifndef GIRIH_C_RUNTIME_EXPRESSIONS_H
#define GIRIH_C_RUNTIME_EXPRESSIONS_H

#include "json.h"

/* Checks what a manifest says: a number, one of the symbols, or an operator with its
 * operands. */
bool expression_is_valid(const json_t *expression, const json_t *symbols);

/* What it is for some sizes, which stand in the order of the symbols. False where int64
 * does not hold it, or something is divided by zero. */
bool expression_value(const json_t *expression, const json_t *symbols,
                      const int64_t *sizes, int64_t *value);

#endif
