"""What ops of ``arith`` and ``math``, and functions of the device's library, compute.

Library functions of float32 are computed in float64 and rounded: what a test compares
with is then nearer than what a device gives.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from ttir_interpreter import VALUES, result_of, rounded
from ttir_memory import aligned_ranks
from ttir_rules import per_lane, rule

from girih.dialects.bindings import ir
from girih.dialects.tt.base import shape_of
from girih.passes.convert_tile_to_tt.arithmetic import (
    INVERSE_ABOVE_ONE,
    ROUNDED_PAIRS,
)
from girih.passes.convert_tile_to_tt.float8 import DECODE, ENCODE

INTEGER_COMPARISONS = "eq ne slt sle sgt sge ult ule ugt uge".split()
FLOAT_COMPARISONS = (
    "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
)
_COMPARE = {
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "ne": np.not_equal,
}


# Constants, comparisons, casts ------------------------------------------------------


@rule("arith.constant")
def _constant(op: ir.Operation) -> Callable:
    attribute, type_ = op.attributes["value"], op.results[0].type
    shape, element = shape_of(type_), result_of(type_).element
    if isinstance(attribute, ir.DenseElementsAttr):
        assert attribute.is_splat, op
        attribute = attribute.get_splat_value()
    number = np.array(attribute.value)
    value = np.broadcast_to(number.astype(VALUES[element]), (1, *shape))
    return lambda run: value


@rule("arith.cmpi")
def _cmpi(op: ir.Operation) -> Callable:
    name = INTEGER_COMPARISONS[op.attributes["predicate"].value]
    if name in ("eq", "ne"):
        return lambda run, x, y: _COMPARE[name](x, y)
    compare = _COMPARE[name[1:]]
    if name[0] == "u":
        return lambda run, x, y: compare(unsigned(x), unsigned(y))
    return lambda run, x, y: compare(signed(x), signed(y))


@rule("arith.cmpf")
def _cmpf(op: ir.Operation) -> Callable:
    name = FLOAT_COMPARISONS[op.attributes["predicate"].value]

    def compare(run, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        unordered = np.isnan(x) | np.isnan(y)
        if name in ("ord", "uno"):
            return unordered if name == "uno" else ~unordered
        result = _COMPARE[name[1:]](x, y)
        return result | unordered if name[0] == "u" else result & ~unordered

    if name in ("true", "false"):
        return lambda run, x, y: np.full(np.broadcast(x, y).shape, name == "true")
    return compare


def unsigned(values: np.ndarray) -> np.ndarray:
    """Integers as those without sign."""
    if values.dtype == np.bool_:
        return values.astype(np.uint8)
    return values.astype(f"u{values.dtype.itemsize}")


def signed(values: np.ndarray) -> np.ndarray:
    """Integers with their sign: a set bit alone is -1."""
    return -values.astype(np.int8) if values.dtype == np.bool_ else values


@rule("arith.fptosi", "arith.fptoui")
def _float_to_integer(op: ir.Operation) -> Callable:
    """Saturating, as the device's conversion is; a NaN is 0."""
    element = result_of(op.results[0].type).element
    kind = "u" if op.name == "arith.fptoui" else "i"
    target = np.dtype(f"{kind}{np.dtype(VALUES[element]).itemsize}")
    low, high = np.iinfo(target).min, np.iinfo(target).max

    def convert(run, x: np.ndarray) -> np.ndarray:
        x = np.nan_to_num(np.trunc(x.astype(np.float64)), nan=0.0)
        inside = np.clip(x, float(low), np.nextafter(float(high) + 1, 0))
        return inside.astype(target)

    return convert


per_lane("arith.extf", "arith.truncf")(lambda x: x)
per_lane("arith.extsi", "arith.sitofp")(signed)
per_lane("arith.extui", "arith.uitofp")(unsigned)


@rule("arith.trunci")
def _trunci(op: ir.Operation) -> Callable:
    if result_of(op.results[0].type).element == "i1":
        return lambda run, x: (x & 1).astype(np.bool_)
    return lambda run, x: x


@rule("arith.bitcast")
def _bitcast(op: ir.Operation) -> Callable:
    before = result_of(op.operands[0].type).element
    after = result_of(op.results[0].type).element
    if "bf16" in (before, after):
        raise NotImplementedError("the interpreter casts no bits of bf16")
    return lambda run, x: np.ascontiguousarray(x).view(VALUES[after])


# Arithmetic -------------------------------------------------------------------------


def _quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    quotient = x // y
    inexact = (quotient * y != x) & ((x < 0) != (y < 0))
    return quotient + inexact


def _shifted(shift: Callable) -> Callable:
    """A shift; by as many bits as there are or more, it gives zeros as on devices."""

    def act(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        bits = x.dtype.itemsize * 8
        far = unsigned(y) >= bits
        return np.where(far, 0, shift(x, np.where(far, 0, y))).astype(x.dtype)

    return act


def _high_half(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The upper half of the product of unsigned integers of 32 or 64 bits."""
    bits = x.dtype.itemsize * 8
    if bits <= 32:
        wide = unsigned(x).astype(np.uint64) * unsigned(y).astype(np.uint64)
        return (wide >> np.uint64(bits)).astype(x.dtype)
    x, y, low = unsigned(x), unsigned(y), np.uint64(2**32 - 1)
    x0, x1, y0, y1 = x & low, x >> np.uint64(32), y & low, y >> np.uint64(32)
    middle = x1 * y0 + (x0 * y0 >> np.uint64(32))
    carry = (middle & low) + x0 * y1
    high = x1 * y1 + (middle >> np.uint64(32)) + (carry >> np.uint64(32))
    return high.astype(np.int64)


@rule("arith.mului_extended")
def _extended_product(op: ir.Operation) -> Callable:
    return lambda run, x, y: [x * y, _high_half(x, y)]


per_lane("tt.mulhiui")(_high_half)


def _on_unsigned(function: Callable) -> Callable:
    return lambda x, y: function(unsigned(x), unsigned(y))


_PLAIN = {
    "arith.addf": np.add,
    "arith.addi": np.add,
    "arith.andi": np.bitwise_and,
    "arith.ceildivsi": lambda x, y: -(-x // y),
    "arith.divf": np.divide,
    "arith.divsi": _quotient,
    "arith.divui": _on_unsigned(np.floor_divide),
    "arith.floordivsi": np.floor_divide,
    "arith.maximumf": np.maximum,
    "arith.maxnumf": np.fmax,
    "arith.maxsi": np.maximum,
    "arith.maxui": _on_unsigned(np.maximum),
    "arith.minimumf": np.minimum,
    "arith.minnumf": np.fmin,
    "arith.minsi": np.minimum,
    "arith.minui": _on_unsigned(np.minimum),
    "arith.mulf": np.multiply,
    "arith.muli": np.multiply,
    "arith.ori": np.bitwise_or,
    "arith.remsi": np.fmod,
    "arith.remui": _on_unsigned(np.remainder),
    "arith.select": lambda *values: np.where(*aligned_ranks(*values)),
    "arith.shli": _shifted(np.left_shift),
    "arith.shrsi": _shifted(np.right_shift),
    "arith.shrui": _shifted(
        lambda x, y: np.right_shift(unsigned(x), unsigned(y)).astype(x.dtype)
    ),
    "arith.subf": np.subtract,
    "arith.subi": np.subtract,
    "arith.xori": np.bitwise_xor,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.ceil": np.ceil,
    "math.cos": np.cos,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.floor": np.floor,
    "math.fma": lambda x, y, z: x.astype(np.float64) * y + z,
    "math.log": np.log,
    "math.log2": np.log2,
    "math.rsqrt": lambda x: 1 / np.sqrt(x),
    "math.sin": np.sin,
    "math.sqrt": np.sqrt,
    "tt.precise_divf": np.divide,
    "tt.precise_sqrt": np.sqrt,
}
for _name, _function in _PLAIN.items():
    per_lane(_name)(_function)


@rule("tt.clampf")
def _clampf(op: ir.Operation) -> Callable:
    keeps_nan = op.opview.propagateNan == 0xFFFF
    low, high = (np.maximum, np.minimum) if keeps_nan else (np.fmax, np.fmin)
    return lambda run, x, least, most: high(low(x, least), most)


# Functions of the device's library --------------------------------------------------


def _torch(function: Callable) -> Callable:
    return lambda x: function(torch.from_numpy(np.ascontiguousarray(x))).numpy()


def _round(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


LIBRARY = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": _torch(torch.special.erf),
    "erfc": _torch(torch.special.erfc),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fmod": np.fmod,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "pow": np.power,
    "rint": np.rint,
    "round": _round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}


def _flushed(values: np.ndarray) -> np.ndarray:
    """Subnormal numbers as zeros of their sign."""
    is_tiny = np.abs(values) < np.finfo(np.float32).tiny
    return np.where(is_tiny, np.copysign(np.float32(0), values), values)


def _as_float16(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float16).astype(np.float32)


def _as_torch(x: np.ndarray, source: torch.dtype, target: torch.dtype) -> np.ndarray:
    number = torch.from_numpy(np.ascontiguousarray(x)).view(source).to(target)
    return number.view(torch.int8).numpy() if target.itemsize == 1 else number.numpy()


# As rough as the device: errors of tanh are up to 2**-11, of the others up to 2**-21.
_ASSEMBLY = {
    "ex2.approx.ftz.f32 $0, $1;": lambda x: _flushed(rounded(np.exp2(_flushed(x)), 2)),
    "rcp.approx.ftz.f32 $0, $1;": lambda x: _flushed(rounded(1 / _flushed(x), 2)),
    "sqrt.approx.f32 $0, $1;": lambda x: rounded(np.sqrt(x), 2),
    "tanh.approx.f32 $0, $1;": lambda x: rounded(np.tanh(x), 13),
    DECODE: lambda x: _as_torch(x, torch.float8_e4m3fn, torch.float32),
    ENCODE: lambda x: _as_torch(x, torch.float32, torch.float8_e4m3fn),
    # A division's result for all float32 numbers on an H200, but for the last bit of
    # subnormal ones.
    INVERSE_ABOVE_ONE: lambda x: 1 / x,
    ROUNDED_PAIRS["bf16"]: lambda x: rounded(x, 16),
    ROUNDED_PAIRS["f16"]: _as_float16,
}


@rule("tt.elementwise_inline_asm")
def _inline_assembly(op: ir.Operation) -> Callable:
    """What the device approximates is as rough here."""
    text = op.opview.asm_string
    if text not in _ASSEMBLY:
        raise NotImplementedError(f"the interpreter does not know {text}")
    return lambda run, *values: _ASSEMBLY[text](*values)


@rule("tt.extern_elementwise")
def _library(op: ir.Operation) -> Callable:
    symbol, element = op.opview.symbol, result_of(op.results[0].type).element
    if symbol.startswith("__ocml_"):
        stem = symbol.removeprefix("__ocml_").rpartition("_")[0]
    else:
        stem = symbol.removeprefix("__nv_")
        stem = stem.removesuffix("f") if element == "f32" else stem
    if stem not in LIBRARY:
        raise NotImplementedError(f"the interpreter has no function {symbol}")
    function = LIBRARY[stem]
    return lambda run, *values: function(*[v.astype(np.float64) for v in values])
