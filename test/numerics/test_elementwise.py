"""Elementwise ops against eager: all sizes, layouts, dtypes and special values."""

from __future__ import annotations

import itertools
import zlib

import pytest
import torch
import torch.nn.functional as F
from extent import IS_LONG
from samples import check
from tensors import ALL, FLOATS, INTEGERS, LAYOUTS, SHAPES, normal

NUMBERS = (*FLOATS, *INTEGERS)

# name: (function, dtypes, standard deviation of float inputs)
UNARY = {
    "abs": (torch.abs, NUMBERS, 3),
    "neg": (torch.neg, NUMBERS, 3),
    "exp": (torch.exp, FLOATS, 3),
    "exp2": (torch.exp2, FLOATS, 3),
    "expm1": (torch.expm1, FLOATS, 1),
    "log": (torch.log, FLOATS, 3),
    "log2": (torch.log2, FLOATS, 3),
    "log10": (torch.log10, FLOATS, 3),
    "log1p": (torch.log1p, FLOATS, 1),
    "sqrt": (torch.sqrt, FLOATS, 3),
    "rsqrt": (torch.rsqrt, FLOATS, 3),
    "reciprocal": (torch.reciprocal, FLOATS, 3),
    "square": (torch.square, NUMBERS, 3),
    "sin": (torch.sin, FLOATS, 3),
    "cos": (torch.cos, FLOATS, 3),
    "tan": (torch.tan, FLOATS, 1),
    "asin": (torch.asin, FLOATS, 0.5),
    "acos": (torch.acos, FLOATS, 0.5),
    "atan": (torch.atan, FLOATS, 3),
    "sinh": (torch.sinh, FLOATS, 3),
    "cosh": (torch.cosh, FLOATS, 3),
    "tanh": (torch.tanh, FLOATS, 1),
    "asinh": (torch.asinh, FLOATS, 3),
    "acosh": (torch.acosh, FLOATS, 3),
    "atanh": (torch.atanh, FLOATS, 0.5),
    "erf": (torch.erf, FLOATS, 1),
    "erfc": (torch.erfc, FLOATS, 1),
    "sigmoid": (torch.sigmoid, FLOATS, 3),
    "sign": (torch.sign, NUMBERS, 3),
    "floor": (torch.floor, FLOATS, 3),
    "ceil": (torch.ceil, FLOATS, 3),
    "round": (torch.round, FLOATS, 3),
    "trunc": (torch.trunc, FLOATS, 3),
    "frac": (torch.frac, FLOATS, 3),
    "isnan": (torch.isnan, FLOATS, 3),
    "isinf": (torch.isinf, FLOATS, 3),
    "isfinite": (torch.isfinite, FLOATS, 3),
    "nan_to_num": (torch.nan_to_num, FLOATS, 3),
    "logical_not": (torch.logical_not, ALL, 3),
    "bitwise_not": (torch.bitwise_not, (*INTEGERS, torch.bool), 3),
    "relu": (torch.relu, NUMBERS, 3),
    "float-power": (lambda x: x**2.5, FLOATS, 3),
    "cube": (lambda x: x**3, NUMBERS, 3),
    "scalar-arithmetic": (lambda x: (2 - x) * 3 + 1, NUMBERS, 3),
    "scalar-division": (lambda x: (x / 3, 3 / (x + 0.5)), NUMBERS, 3),
    "scalar-floor-division": (lambda x: (x // 3, x % 3), NUMBERS, 3),
    "clamp": (lambda x: x.clamp(-1, 2), NUMBERS, 3),
    "clamp-low": (lambda x: x.clamp(min=1), NUMBERS, 3),
    "hardtanh": (F.hardtanh, FLOATS, 3),
    "leaky_relu": (F.leaky_relu, FLOATS, 3),
    "elu": (F.elu, FLOATS, 3),
    "selu": (F.selu, FLOATS, 3),
    "celu": (lambda x: F.celu(x, 1.5), FLOATS, 3),
    "gelu": (F.gelu, FLOATS, 2),
    "gelu-tanh": (lambda x: F.gelu(x, approximate="tanh"), FLOATS, 2),
    "silu": (F.silu, FLOATS, 3),
    "mish": (F.mish, FLOATS, 3),
    "softplus": (F.softplus, FLOATS, 3),
    "softsign": (F.softsign, FLOATS, 3),
    "hardsigmoid": (F.hardsigmoid, FLOATS, 3),
    "hardswish": (F.hardswish, FLOATS, 3),
    "logsigmoid": (F.logsigmoid, FLOATS, 3),
    "relu6": (F.relu6, FLOATS, 3),
    "tanhshrink": (F.tanhshrink, FLOATS, 3),
    "threshold": (lambda x: F.threshold(x, 0.5, -1.0), FLOATS, 3),
}

BINARY = {
    "add": (torch.add, NUMBERS),
    "add-alpha": (lambda x, y: torch.add(x, y, alpha=3), NUMBERS),
    "sub": (torch.sub, NUMBERS),
    "mul": (torch.mul, ALL),
    "div": (torch.div, NUMBERS),
    "div-floor": (lambda x, y: torch.div(x, y, rounding_mode="floor"), NUMBERS),
    "div-trunc": (lambda x, y: torch.div(x, y, rounding_mode="trunc"), NUMBERS),
    "floor_divide": (torch.floor_divide, NUMBERS),
    "remainder": (torch.remainder, NUMBERS),
    "fmod": (torch.fmod, NUMBERS),
    "pow": (lambda x, y: torch.pow(x.abs(), y), FLOATS),
    "atan2": (torch.atan2, FLOATS),
    "hypot": (torch.hypot, FLOATS),
    "copysign": (torch.copysign, FLOATS),
    "maximum": (torch.maximum, NUMBERS),
    "minimum": (torch.minimum, NUMBERS),
    "fmax": (torch.fmax, NUMBERS),
    "eq": (torch.eq, ALL),
    "ne": (torch.ne, ALL),
    "lt": (torch.lt, NUMBERS),
    "le": (torch.le, NUMBERS),
    "gt": (torch.gt, NUMBERS),
    "ge": (torch.ge, NUMBERS),
    "logical_and": (torch.logical_and, ALL),
    "logical_or": (torch.logical_or, ALL),
    "logical_xor": (torch.logical_xor, ALL),
    "bitwise_and": (torch.bitwise_and, (*INTEGERS, torch.bool)),
    "bitwise_or": (torch.bitwise_or, (*INTEGERS, torch.bool)),
    "bitwise_xor": (torch.bitwise_xor, (*INTEGERS, torch.bool)),
    "lerp": (lambda x, y: torch.lerp(x, y, 0.3), FLOATS),
    "addcmul": (lambda x, y: torch.addcmul(x, x, y, value=0.5), FLOATS),
    "addcdiv": (lambda x, y: torch.addcdiv(x, x, y, value=0.5), FLOATS),
    "where": (lambda x, y: torch.where(x > y, x, y * 2), NUMBERS),
    "squared-difference": (lambda x, y: (x - y).square(), FLOATS),
    "xlogy": (torch.xlogy, FLOATS),
}
DIVISIONS = ("div", "floor_divide", "remainder", "fmod")

PAIRS = (
    ((), ()),
    ((7,), ()),
    ((0,), (1,)),
    ((1009,), (1009,)),
    ((5, 1), (1, 7)),
    ((2, 3, 5), (5,)),
    ((33, 67), (33, 1)),
    ((40009,), (1,)),
)


def of(table):
    return [
        pytest.param(function, dtype, *rest, id=f"{name}-{str(dtype)[6:]}")
        for name, (function, dtypes, *rest) in table.items()
        for dtype in dtypes
    ]


def some_layouts(dtype, name):
    """All layouts for float32 and in the long form, else one that the name chooses.

    Kernels of a dtype read a layout in the same way for all functions.
    """
    if IS_LONG or dtype == torch.float32:
        return LAYOUTS
    one = list(LAYOUTS)[zlib.crc32(name.encode()) % len(LAYOUTS)]
    return {one: LAYOUTS[one]}


def one_input_calls(dtype, scale, name):
    calls = {}
    shapes = SHAPES if dtype == torch.float32 else ((), (0,), (61,), (33, 67))
    for shape in shapes:
        calls[str(shape)] = (normal(shape, dtype, special=True, scale=scale),)
    for label, layout in some_layouts(dtype, name).items():
        x = normal((37, 19), dtype, special=True, scale=scale)
        calls[label] = (layout(x),)
    return calls


def two_input_calls(dtype, nonzero):
    calls = {}
    pairs = PAIRS if IS_LONG or dtype == torch.float32 else PAIRS[1:7:2]
    for left, right in pairs:
        y = normal(right, dtype, special=not nonzero)
        y = y.masked_fill(y == 0, 3) if nonzero else y
        calls[f"{left} {right}"] = (normal(left, dtype, special=True), y)
    transposed, strided = LAYOUTS["transposed"], LAYOUTS["strided"]
    x, y = normal((37, 19), dtype), normal((37, 19), dtype)
    y = y.masked_fill(y == 0, 3)
    calls["layouts"] = (transposed(x), strided(y))
    return calls


@pytest.mark.parametrize(("function", "dtype", "scale"), of(UNARY))
def test_unary(function, dtype, scale, request):
    check(function, one_input_calls(dtype, scale, request.node.name))


@pytest.mark.parametrize(("function", "dtype"), of(BINARY))
def test_binary(function, dtype, request):
    name = request.node.callspec.id
    nonzero = not dtype.is_floating_point and name.startswith(DIVISIONS)
    check(function, two_input_calls(dtype, nonzero))


@pytest.mark.parametrize("dtype", (*INTEGERS,), ids=str)
def test_shifts(dtype):
    x, count = (
        normal((101,), dtype, special=True),
        torch.randint(7, (101,), dtype=dtype),
    )
    check(lambda x, y: (x << y, x >> y, x << 2), {"shift": (x, count)})


@pytest.mark.parametrize("dtype", (*INTEGERS,), ids=str)
def test_integer_powers(dtype):
    x, y = normal((101,), dtype), torch.randint(6, (101,), dtype=dtype)
    check(lambda x, y: (x**y, x**2, 2**y), {"pow": (x, y)})


PROMOTED = {
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (y + 30),
    "maximum": torch.maximum,
    "lt": torch.lt,
    "where": lambda x, y: torch.where(x > y, x, y),
}


@pytest.mark.parametrize("function", PROMOTED.values(), ids=PROMOTED)
def test_promotion(function):
    calls = {}
    for left, right in itertools.product(ALL, ALL):
        calls[f"{left} {right}"] = (normal((13,), left), normal((13,), right))
        calls[f"{left} 0-dim {right}"] = (normal((13,), left), normal((), right))
    check(function, calls)


@pytest.mark.parametrize("scalar", [2, -3, 2.5, True], ids=str)
def test_promotion_with_python_scalars(scalar):
    calls = {str(dtype): (normal((13,), dtype),) for dtype in ALL}
    check(lambda x: (x + scalar, x * scalar, scalar > x), calls)


@pytest.mark.parametrize("target", ALL, ids=str)
def test_casts(target):
    # Negative floats have no value in an unsigned type.
    positive = {s: normal((61,), torch.float32).abs().to(s) for s in ALL}
    calls = {str(source): (x,) for source, x in positive.items()}
    check(lambda x: (x.to(target), x.to(target) + x), calls)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_casts_keep_special_values(dtype):
    calls = {str(s): (normal((61,), s, special=True),) for s in FLOATS}
    check(lambda x: x.to(dtype), calls)
