/* Arithmetic on sizes. */
#include "_program.h"

static int64_t floor_divide(int64_t lhs, int64_t rhs) {
    int64_t quotient = lhs / rhs;
    return lhs % rhs != 0 && (lhs < 0) != (rhs < 0) ? quotient - 1 : quotient;
}

int compute_size(int64_t opcode, int64_t *registers, const int64_t **at) {
    int64_t *destination = &registers[*(*at)++];
    int64_t lhs = registers[*(*at)++], rhs = registers[*(*at)++];
    if (rhs == 0 &&
        (opcode == OP_FLOORDIV || opcode == OP_CEILDIV || opcode == OP_MOD)) {
        PyErr_SetString(PyExc_ZeroDivisionError,
                        "division by zero in the size of a tensor");
        return -1;
    }
    switch (opcode) {
    case OP_ADD: *destination = lhs + rhs; break;
    case OP_SUB: *destination = lhs - rhs; break;
    case OP_MUL: *destination = lhs * rhs; break;
    case OP_FLOORDIV: *destination = floor_divide(lhs, rhs); break;
    case OP_CEILDIV: *destination = -floor_divide(-lhs, rhs); break;
    case OP_MOD: *destination = lhs - rhs * floor_divide(lhs, rhs); break;
    case OP_MAX: *destination = lhs > rhs ? lhs : rhs; break;
    default: *destination = lhs < rhs ? lhs : rhs; break;
    }
    return 0;
}
