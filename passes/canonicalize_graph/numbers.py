"""Numbers as elements of a type: rounding, wrapping, arithmetic.

Results are what a kernel computes: floats are rounded after each operation (bf16 and
f16 through f32, as ATen does), integers wrap around.
"""

import math
import operator
from collections.abc import Callable

from girih.dialects.rounding import rounded

Number = bool | int | float

_FLOATS = frozenset({"bf16", "f16", "f32", "f64"})

# Integers up to 2**n are exact in the type.
_EXACT_BITS = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}

# Type -> the types that hold each of its values.
_WIDER_FLOATS = {
    "bf16": frozenset({"bf16", "f32", "f64"}),
    "f16": frozenset({"f16", "f32", "f64"}),
    "f32": frozenset({"f32", "f64"}),
    "f64": frozenset({"f64"}),
}


def is_float(element: str) -> bool:
    """Returns whether the type is one of the four float types."""
    return element in _FLOATS


def is_known(element: str) -> bool:
    """Returns whether this module can compute with the type."""
    return element in _FLOATS or _integer(element) is not None


def _integer(element: str) -> tuple[int, bool] | None:
    """Returns width and signedness of an integer type; a bool has width 1."""
    unsigned = element.startswith("ui")
    digits = element[2:] if unsigned else element[1:]
    if not element.startswith(("i", "ui")) or not digits.isdigit():
        return None
    return int(digits), not unsigned and digits != "1"


def holds_all(narrow: str, wide: str) -> bool:
    """Returns whether ``wide`` holds every value of ``narrow`` exactly."""
    if narrow == wide:
        return True
    if narrow in _FLOATS:
        return wide in _WIDER_FLOATS[narrow]
    source = _integer(narrow)
    if source is None:
        return False
    bits = source[0] - source[1]
    if wide in _EXACT_BITS:
        return bits <= _EXACT_BITS[wide]
    target = _integer(wide)
    if target is None or target[0] == 1 or (source[1] and not target[1]):
        return False
    return bits <= target[0] - target[1]


def convert(value: Number, element: str) -> Number | None:
    """Returns ``value`` as an element of a type; None where that is not defined."""
    if element in _FLOATS:
        return rounded(float(value), element)
    if element == "i1":
        return bool(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = math.trunc(value)
        return value if wrapped(value, element) == value else None
    return wrapped(int(value), element)


def wrapped(value: int, element: str) -> int:
    """Returns ``value`` modulo the range of an integer type."""
    width, signed = _integer(element)
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> (width - 1) else value


def _maximum(lhs: Number, rhs: Number) -> Number:
    return lhs if lhs != lhs or lhs >= rhs else rhs


def _minimum(lhs: Number, rhs: Number) -> Number:
    return lhs if lhs != lhs or lhs <= rhs else rhs


_ARITHMETIC: dict[str, Callable] = {
    "add": operator.add,
    "maximum": _maximum,
    "minimum": _minimum,
    "mul": operator.mul,
    "neg": operator.neg,
    "sub": operator.sub,
}
_COMPARISONS: dict[str, Callable] = {
    "eq": operator.eq,
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "logical_and": lambda lhs, rhs: lhs and rhs,
    "logical_not": operator.not_,
    "logical_or": lambda lhs, rhs: lhs or rhs,
    "logical_xor": operator.ne,
    "lt": operator.lt,
    "ne": operator.ne,
}

FOLDABLE = frozenset({*_ARITHMETIC, *_COMPARISONS, "div"})


def compute(name: str, element: str, *values: Number) -> Number | None:
    """Returns the op ``name`` on numbers of a type; None where it is not defined.

    Sums, products and quotients of two f32 in f64 round to f32 as if computed exactly.
    """
    if not is_known(element):
        return None
    operands = [convert(value, element) for value in values]
    if None in operands:
        return None
    if name in _COMPARISONS:
        return bool(_COMPARISONS[name](*operands))
    if name == "div":
        return _quotient(element, *operands)
    result = _ARITHMETIC[name](*operands)
    if element in ("bf16", "f16"):
        result = rounded(result, "f32")
    return convert(result, element)


def _quotient(element: str, lhs: Number, rhs: Number) -> Number | None:
    if rhs == 0 or element not in _FLOATS:
        return None
    result = lhs / rhs
    if element in ("bf16", "f16"):
        result = rounded(result, "f32")
    return rounded(result, element)


def is_power_of_two(value: Number) -> bool:
    """Returns whether multiplying by 1 / value is dividing by value, exactly."""
    if not isinstance(value, float) or not math.isfinite(value) or value == 0.0:
        return False
    mantissa, exponent = math.frexp(value)
    # The reciprocal must be a normal number of every type, f16 the smallest.
    return abs(mantissa) == 0.5 and -12 <= exponent <= 12


def is_negative_zero(value: Number) -> bool:
    """Returns whether ``value`` is -0.0."""
    return isinstance(value, float) and value == 0.0 and math.copysign(1, value) < 0
