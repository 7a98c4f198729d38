"""Arithmetic, comparisons, selections: neutral operands, constants, nested pairs.

Only what is exact for every value is rewritten: x + 0.0 stays (-0.0 + 0.0 is 0.0), so
does x - x (NaN), but x - 0.0, x * 1 and x / 1 go.
"""

from math import inf

from girih.dialects import graph
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import rule_name
from girih.dialects.traits import ELEMENTWISE, Role
from girih.passes.canonicalize_graph.numbers import (
    FOLDABLE,
    compute,
    is_negative_zero,
    is_power_of_two,
)
from girih.passes.canonicalize_graph.rules import Simplifier, canonicalizes
from girih.passes.fuse.shapes import broadcast_shapes

_ELEMENTWISE = tuple(
    cls.SHORT_NAME for cls in graph.ops_with(ELEMENTWISE, role=Role.PRIMITIVE)
)


def _name(op: ir.OpView) -> str:
    return rule_name(op)


def _element(value: ir.Value) -> str:
    return str(value.type.element_type)


def _is_float(value: ir.Value) -> bool:
    return ty.is_float(value.type.element_type)


def _is_integer(value: ir.Value) -> bool:
    return ty.is_integer(value.type.element_type)


@canonicalizes(*sorted(FOLDABLE))
def fold_numbers(op, b: Simplifier) -> ir.Value | None:
    """An op on numbers is a number."""
    numbers = [b.number(operand) for operand in op.operands]
    if any(number is None for number in numbers):
        return None
    value = compute(_name(op), _element(op.operands[0]), *numbers)
    return None if value is None else b.filled(value, op.y.type)


@canonicalizes(*_ELEMENTWISE)
def read_before_broadcast(op, b: Simplifier) -> ir.Value | None:
    """Operands that another one broadcasts anyway are read as they were before.

    The operands change in place, so that the op stays where it is.
    """
    operands = list(op.operands)
    if len(operands) < 2:
        return None
    narrow = [_narrowed(operand, b) for operand in operands]
    if narrow == operands:
        return None
    shape = ty.shape_of(op.results[0].type)
    for position, value in enumerate(narrow):
        if value == operands[position]:
            continue
        rest = [*operands[:position], value, *operands[position + 1 :]]
        if broadcast_shapes(ty.shape_of(v.type) for v in rest) == shape:
            op.operation.operands[position] = value
            operands = rest
    return None


def _narrowed(value: ir.Value, b: Simplifier) -> ir.Value:
    broadcast = b.producer(value, "broadcast_to")
    if broadcast is not None:
        return broadcast.operands[0]
    filled = b.producer(value, "full")
    if filled is not None:
        return b.constant(b.number(value), value.type.element_type)
    return value


def _with_number(op, b: Simplifier):
    """Returns ``(x, number)`` of a commutative op of which one operand is a number."""
    for x, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if (number := b.number(other)) is not None:
            return x, number
    return None


@canonicalizes("add")
def drop_zero_of_sum(op, b: Simplifier) -> ir.Value | None:
    """x + 0 is x for integers; for floats only x + -0.0."""
    match _with_number(op, b):
        case x, number if number == 0 and (
            not _is_float(x) or is_negative_zero(number)
        ):
            return b.broadcast(x, op.y.type)
    return None


@canonicalizes("sub")
def drop_zero_of_difference(op, b: Simplifier) -> ir.Value | None:
    """x - 0 is x."""
    number = b.number(op.rhs)
    if number is None or number != 0 or is_negative_zero(number):
        return None
    return b.broadcast(op.lhs, op.y.type)


@canonicalizes("mul")
def drop_unit_factor(op, b: Simplifier) -> ir.Value | None:
    """x * 1 is x, x * -1 is -x."""
    match _with_number(op, b):
        case x, number if number == 1:
            return b.broadcast(x, op.y.type)
        case x, number if number == -1:
            return b.broadcast(b.op("neg", x), op.y.type)
    return None


@canonicalizes("div")
def simplify_divisor(op, b: Simplifier) -> ir.Value | None:
    """x / 1 is x; dividing by a power of two is an exact multiplication."""
    number = b.number(op.rhs)
    if number == 1:
        return b.broadcast(op.lhs, op.y.type)
    if isinstance(number, float) and is_power_of_two(number) and _is_float(op.rhs):
        factor = b.filled(1.0 / number, op.rhs.type)
        return b.op("mul", op.lhs, factor)
    return None


@canonicalizes("pow")
def expand_small_powers(op, b: Simplifier) -> ir.Value | None:
    """The powers for which ATen has a faster exact form."""
    number, x = b.number(op.rhs), op.lhs
    if number is None:
        return None
    value: ir.Value | None = None
    if number == 1:
        value = x
    elif number == 2:
        value = b.op("mul", x, x)
    elif number == 3:
        value = b.op("mul", b.op("mul", x, x), x)
    elif _is_float(x) and number == -2:
        value = b.op("reciprocal", b.op("mul", x, x))
    elif _is_float(x) and number in (0.5, -0.5, -1.0):
        value = b.op({0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal"}[number], x)
    return None if value is None else b.broadcast(value, op.y.type)


@canonicalizes("bitwise_not", "logical_not", "neg")
def drop_double_inverse(op, b: Simplifier) -> ir.Value | None:
    """-(-x) is x; not not x is x."""
    inner = b.producer(op.x, _name(op))
    return None if inner is None else inner.x


@canonicalizes("abs", "ceil", "floor", "relu", "round", "sign", "trunc")
def drop_repetition(op, b: Simplifier) -> ir.Value | None:
    """f(f(x)) is f(x) for functions that change nothing the second time."""
    return None if b.producer(op.x, _name(op)) is None else op.x


@canonicalizes("abs")
def drop_sign_before_abs(op, b: Simplifier) -> ir.Value | None:
    """|-x| is |x|."""
    negation = b.producer(op.x, "neg")
    return None if negation is None else b.op("abs", negation.x)


@canonicalizes("maximum", "minimum")
def merge_bounds(op, b: Simplifier) -> ir.Value | None:
    """max(max(x, 1), 2) is max(x, 2); max(x, -inf) is x."""
    name = _name(op)
    match _with_number(op, b):
        case x, number:
            if number == (-inf if name == "maximum" else inf):
                return b.broadcast(x, op.y.type)
            return _merged_bounds(op, b, x, number)
    return None


def _merged_bounds(op, b: Simplifier, x: ir.Value, number) -> ir.Value | None:
    name = _name(op)
    inner = b.producer(x, name)
    found = None if inner is None else _with_number(inner, b)
    if found is None:
        return None
    bound = compute(name, _element(x), number, found[1])
    if bound is None:
        return None
    bounded = b.op(name, found[0], b.constant(bound, x.type.element_type))
    return b.broadcast(bounded, op.y.type)


@canonicalizes("logical_and", "logical_or")
def drop_neutral_condition(op, b: Simplifier) -> ir.Value | None:
    """x and true is x, x and false is false; the dual for or."""
    neutral = _name(op) == "logical_and"
    match _with_number(op, b):
        case x, number if bool(number) is neutral:
            return b.broadcast(x, op.y.type)
        case _, number:
            return b.filled(bool(number), op.y.type)
    return None


@canonicalizes("where")
def decide_known_condition(op, b: Simplifier) -> ir.Value | None:
    """A known condition, or two equal values, decide."""
    number = b.number(op.cond)
    if number is not None:
        return b.broadcast(op.a if number else op.b, op.y.type)
    return b.broadcast(op.a, op.y.type) if op.a == op.b else None


@canonicalizes("where")
def drop_negated_condition(op, b: Simplifier) -> ir.Value | None:
    """Where not c: swap the values."""
    negation = b.producer(op.cond, "logical_not")
    return None if negation is None else b.op("where", negation.x, op.b, op.a)
