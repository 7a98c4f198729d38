"""Float8 elements: their bits from and to float32.

A kernel holds a float8 as an integer of 8 bits, so moving one keeps its bits. Casts are
integer arithmetic, the same for all lanes, or for f8E4M3FN instructions of the device.
They give what eager gives for every float32, and round to nearest even.

| type | overflow | NaN |
|---|---|---|
| f8E4M3FN | +-448, or NaN where torch does so | 0x7f, 0xff |
| f8E5M2 | infinity | 0x7f, 0xff; 0x7d and 0x7e are read as NaN too |
| f8E4M3FNUZ, f8E5M2FNUZ | NaN | 0x80, which takes the place of -0 |

Source: https://arxiv.org/abs/2209.05433 and https://arxiv.org/abs/2206.02915; what
overflows follows eager.
"""

from dataclasses import dataclass

from girih.passes.tile.elements import Element
from girih.passes.tile.emit.builder import Builder, Value

_SIGN, _MAGNITUDE = 0x80, 0x7F
_INFINITY = 0x7F800000
_NAN = 0x7FC00000


@dataclass(frozen=True)
class Format:
    """What the bits of a type mean.

    Attributes:
        digits: bits of the mantissa.
        bias: of the exponent.
        overflow: the bits, without a sign, of all that is too large.
        special: the least bits, without a sign, of what is no number; None where only
            the bits of -0 are none.
    """

    digits: int
    bias: int
    overflow: int
    special: int | None

    @property
    def unused(self) -> int:
        """How many digits of a float32 the type does not have."""
        return 23 - self.digits


FORMATS = {
    "f8E4M3FN": Format(3, 7, 0x7E, 0x7F),
    "f8E4M3FNUZ": Format(3, 8, 0x80, None),
    "f8E5M2": Format(2, 15, 0x7C, 0x7C),
    "f8E5M2FNUZ": Format(2, 16, 0x80, None),
}


def decoded(b: Builder, value: Value, element: Element) -> Value:
    """The float32 with the value of these bits, which are ``i8``."""
    if _has_instruction(b, element):
        number = b.op("arith.bitcast", element.name, value)
        return b.op("arith.extf", "f32", number)
    form = FORMATS[element.name]
    bits = b.op("arith.extui", "i32", value)
    magnitude = _with_number(b, "arith.andi", bits, _MAGNITUDE)
    number = _with_number(b, "arith.shli", magnitude, form.unused)
    number = _with_number(b, "arith.addi", number, 127 - form.bias << 23)
    # A processor may be told to take subnormal float32 for zeros, so small numbers are
    # multiples of the smallest one.
    unit = b.constant(2.0 ** (1 - form.bias - form.digits), "f32")
    small = b.same("arith.mulf", b.op("arith.sitofp", "f32", magnitude), unit)
    least = b.constant(1 << form.digits, "i32")
    is_small = b.compare_ints("ult", magnitude, least)
    number = b.select(is_small, b.op("arith.bitcast", "i32", small), number)
    if form.special is not None:
        special = b.constant(form.special, "i32")
        is_special = b.compare_ints("uge", magnitude, special)
        marked = _with_number(b, "arith.ori", number, _INFINITY)
        number = b.select(is_special, marked, number)
    sign = _with_number(b, "arith.andi", bits, _SIGN)
    sign = _with_number(b, "arith.shli", sign, 24)
    number = b.same("arith.ori", number, sign)
    if form.special is None:
        is_nan = b.compare_ints("eq", bits, b.constant(_SIGN, "i32"))
        number = b.select(is_nan, b.constant(_NAN, "i32"), number)
    return b.op("arith.bitcast", "f32", number)


def encoded(b: Builder, value: Value, element: Element) -> Value:
    """The bits, as ``i8``, of the element nearest to a float32."""
    if _has_instruction(b, element):
        value = value if b.saturates_float8 else _too_large_made_nan(b, value)
        number = b.op("arith.truncf", element.name, value)
        return b.op("arith.bitcast", "i8", number)
    form = FORMATS[element.name]
    bits = b.op("arith.bitcast", "i32", value)
    magnitude = _with_number(b, "arith.andi", bits, 0x7FFFFFFF)
    least = b.constant(128 - form.bias << 23, "i32")
    is_small = b.compare_ints("ult", magnitude, least)
    number = _rounded_off(b, magnitude, form)
    number = b.select(is_small, _small(b, magnitude, form), number)
    is_nan_too = element.name == "f8E4M3FN" and not b.saturates_float8
    overflow = b.constant(form.special if is_nan_too else form.overflow, "i32")
    number = b.same("arith.minui", number, overflow)
    sign = _with_number(b, "arith.shrui", bits, 24)
    sign = _with_number(b, "arith.andi", sign, _SIGN)
    if form.special is None:
        zero = b.constant(0, "i32")
        sign = b.select(b.compare_ints("eq", number, zero), zero, sign)
    else:
        infinity = b.constant(_INFINITY, "i32")
        is_nan = b.compare_ints("ugt", magnitude, infinity)
        number = b.select(is_nan, b.constant(_MAGNITUDE, "i32"), number)
    return b.op("arith.trunci", "i8", b.same("arith.ori", number, sign))


def _has_instruction(b: Builder, element: Element) -> bool:
    return b.casts_float8 and b.width != 0 and element.name == "f8E4M3FN"


def _too_large_made_nan(b: Builder, value: Value) -> Value:
    """NaN, with the sign, in place of what rounds to more than 448."""
    limit = b.constant(464.0, "f32")
    is_large = b.compare_floats("ogt", b.same("math.absf", value), limit)
    bits = b.op("arith.bitcast", "i32", value)
    bits = b.select(is_large, _with_number(b, "arith.ori", bits, _NAN), bits)
    return b.op("arith.bitcast", "f32", bits)


def _rounded_off(b: Builder, magnitude: Value, form: Format) -> Value:
    """The bits of what is not small: halves go to the even one, by a carry."""
    last = _with_number(b, "arith.shrui", magnitude, form.unused)
    is_odd = _with_number(b, "arith.andi", last, 1)
    below_half = (1 << form.unused - 1) - 1
    step = below_half - (127 - form.bias << 23)
    number = _with_number(b, "arith.addi", magnitude, step)
    number = b.same("arith.addi", number, is_odd)
    return _with_number(b, "arith.shrui", number, form.unused)


def _small(b: Builder, magnitude: Value, form: Format) -> Value:
    """The bits of a small number: a sum whose last digit counts the smallest ones."""
    exponent = 127 - form.bias + form.unused + 1
    anchor = b.constant(2.0 ** (exponent - 127), "f32")
    total = b.same("arith.addf", b.op("arith.bitcast", "f32", magnitude), anchor)
    return _with_number(
        b, "arith.subi", b.op("arith.bitcast", "i32", total), exponent << 23
    )


def _with_number(b: Builder, name: str, value: Value, number: int) -> Value:
    return b.same(name, value, b.constant(number, "i32"))
