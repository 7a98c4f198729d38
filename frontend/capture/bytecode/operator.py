"""Operators, comparisons and tests.

Source: https://docs.python.org/3.12/library/dis.html#opcode-UNARY_NEGATIVE
"""

from __future__ import annotations

import operator

from girih.frontend.capture.bytecode.table import opcode

_SYMBOLS = {
    "+": operator.add,
    "&": operator.and_,
    "//": operator.floordiv,
    "<<": operator.lshift,
    "@": operator.matmul,
    "*": operator.mul,
    "%": operator.mod,
    "|": operator.or_,
    "**": operator.pow,
    ">>": operator.rshift,
    "-": operator.sub,
    "/": operator.truediv,
    "^": operator.xor,
}
_COMPARISONS = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}


@opcode("BINARY_OP")
def _binary_op(tracer, frame, instruction):
    left, right = frame.pop_many(2)
    symbol = instruction.argrepr
    in_place = symbol.endswith("=")
    function = _SYMBOLS[symbol.removesuffix("=")]
    frame.push(tracer.binary(function, left, right, in_place))


@opcode("COMPARE_OP", until=(3, 12))
def _compare_op(tracer, frame, instruction):
    left, right = frame.pop_many(2)
    frame.push(tracer.compare(_COMPARISONS[instruction.argval], left, right))


@opcode("COMPARE_OP", since=(3, 13))
def _compare_op_and_test(tracer, frame, instruction):
    left, right = frame.pop_many(2)
    found = tracer.compare(_COMPARISONS[instruction.argval], left, right)
    is_test = instruction.arg & 16
    frame.push(tracer.constant(found.truth(tracer)) if is_test else found)


@opcode("IS_OP")
def _is_op(tracer, frame, instruction):
    left, right = frame.pop_many(2)
    same = tracer.identical(left, right)
    frame.push(tracer.constant(same is (instruction.arg == 0)))


@opcode("CONTAINS_OP")
def _contains_op(tracer, frame, instruction):
    item, container = frame.pop_many(2)
    found = container.contains(tracer, item)
    frame.push(tracer.constant(found is (instruction.arg == 0)))


@opcode("UNARY_NEGATIVE")
def _unary_negative(tracer, frame, instruction):
    frame.push(tracer.unary(operator.neg, frame.pop()))


@opcode("UNARY_POSITIVE", until=(3, 11))
def _unary_positive(tracer, frame, instruction):
    frame.push(tracer.unary(operator.pos, frame.pop()))


@opcode("UNARY_INVERT")
def _unary_invert(tracer, frame, instruction):
    frame.push(tracer.unary(operator.invert, frame.pop()))


@opcode("UNARY_NOT")
def _unary_not(tracer, frame, instruction):
    frame.push(tracer.constant(not frame.pop().truth(tracer)))
