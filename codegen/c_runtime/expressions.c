/* Expressions of symbolic sizes, as girih/packaging/sizes.py writes them. */
#include "expressions.h"

#include <string.h>

enum operation {
    ADD, MULTIPLY, MAXIMUM, MINIMUM, AND, OR, /* of any number of operands */
    FLOOR, CEILING, REMAINDER, EQUAL, UNEQUAL, LESS, AT_MOST, MORE, AT_LEAST, /* of two */
    NOT, /* of one */
    OPERATIONS
};

static const char *const names[OPERATIONS] = {
    "+", "*", "max", "min", "and", "or", "//", "ceildiv", "%",
    "==", "!=", "<", "<=", ">", ">=", "not"};

static enum operation operation_of(const json_t *expression) {
    const json_t *name = expression->first;
    if (expression->kind != JSON_LIST || name == NULL || name->kind != JSON_TEXT)
        return OPERATIONS;
    for (int i = 0; i < OPERATIONS; i++)
        if (strcmp(names[i], name->text) == 0) return (enum operation)i;
    return OPERATIONS;
}

static int index_of(const json_t *symbols, const char *name) {
    int number = 0;
    for (const json_t *each = symbols->first; each != NULL; each = each->next, number++)
        if (strcmp(each->key, name) == 0) return number;
    return -1;
}

bool expression_is_valid(const json_t *expression, const json_t *symbols) {
    if (expression->kind == JSON_INTEGER) return true;
    if (expression->kind == JSON_TEXT) return index_of(symbols, expression->text) >= 0;
    enum operation operation = operation_of(expression);
    if (operation == OPERATIONS) return false;
    size_t operands = expression->count - 1;
    size_t wanted = operation == NOT ? 1 : operation >= FLOOR ? 2 : operands;
    if (operands != wanted || operands == 0) return false;
    for (const json_t *each = expression->first->next; each != NULL; each = each->next)
        if (!expression_is_valid(each, symbols)) return false;
    return true;
}

static bool divide(enum operation operation, int64_t lhs, int64_t rhs, int64_t *value) {
    if (rhs == 0 || (lhs == INT64_MIN && rhs == -1)) return false;
    int64_t quotient = lhs / rhs, rest = lhs % rhs;
    if (operation == CEILING)
        *value = quotient + (rest != 0 && (rest < 0) == (rhs < 0));
    else if (operation == FLOOR)
        *value = quotient - (rest != 0 && (rest < 0) != (rhs < 0));
    else
        *value = rest != 0 && (rest < 0) != (rhs < 0) ? rest + rhs : rest;
    return true;
}

static bool combine(enum operation operation, int64_t lhs, int64_t rhs, int64_t *value) {
    switch (operation) {
    case ADD: return !__builtin_add_overflow(lhs, rhs, value);
    case MULTIPLY: return !__builtin_mul_overflow(lhs, rhs, value);
    case MAXIMUM: *value = lhs > rhs ? lhs : rhs; return true;
    case MINIMUM: *value = lhs < rhs ? lhs : rhs; return true;
    case AND: *value = lhs && rhs; return true;
    case OR: *value = lhs || rhs; return true;
    case EQUAL: *value = lhs == rhs; return true;
    case UNEQUAL: *value = lhs != rhs; return true;
    case LESS: *value = lhs < rhs; return true;
    case AT_MOST: *value = lhs <= rhs; return true;
    case MORE: *value = lhs > rhs; return true;
    case AT_LEAST: *value = lhs >= rhs; return true;
    default: return divide(operation, lhs, rhs, value);
    }
}

bool expression_value(const json_t *expression, const json_t *symbols,
                      const int64_t *sizes, int64_t *value) {
    if (expression->kind == JSON_INTEGER) {
        *value = expression->number;
        return true;
    }
    if (expression->kind == JSON_TEXT) {
        *value = sizes[index_of(symbols, expression->text)];
        return true;
    }
    enum operation operation = operation_of(expression);
    const json_t *each = expression->first->next;
    int64_t found, next;
    if (!expression_value(each, symbols, sizes, &found)) return false;
    if (operation == NOT || operation == AND || operation == OR) found = found != 0;
    if (operation == NOT) found = !found;
    while ((each = each->next) != NULL)
        if (!expression_value(each, symbols, sizes, &next) ||
            !combine(operation, found, next, &found))
            return false;
    *value = found;
    return true;
}
