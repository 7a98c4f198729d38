"""Elementwise primitives, compiled, against eager PyTorch."""

import pytest
import torch
from tensors import normal
from tile_kernels import DTYPES, CompiledKernel, build_kernel, with_element

SIZES = (0, 1, 7, 16, 17, 31, 1009, 33001)
FLOATS = ("f32", "f64", "bf16", "f16")
INTEGERS = ("i64", "i32", "i16", "i8", "ui8")

UNARY = {
    "abs": torch.abs,
    "acos": torch.acos,
    "acosh": torch.acosh,
    "asin": torch.asin,
    "asinh": torch.asinh,
    "atan": torch.atan,
    "atanh": torch.atanh,
    "ceil": torch.ceil,
    "cos": torch.cos,
    "cosh": torch.cosh,
    "erf": torch.erf,
    "erfc": torch.erfc,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "floor": torch.floor,
    "isfinite": torch.isfinite,
    "isinf": torch.isinf,
    "isnan": torch.isnan,
    "log": torch.log,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "log2": torch.log2,
    "neg": torch.neg,
    "reciprocal": torch.reciprocal,
    "relu": torch.relu,
    "round": torch.round,
    "rsqrt": torch.rsqrt,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "sin": torch.sin,
    "sinh": torch.sinh,
    "sqrt": torch.sqrt,
    "tan": torch.tan,
    "tanh": torch.tanh,
    "trunc": torch.trunc,
}
INTEGER_UNARY = {
    "abs": torch.abs,
    "bitwise_not": torch.bitwise_not,
    "neg": torch.neg,
    "relu": torch.relu,
    "sign": torch.sign,
}
BINARY = {
    "add": torch.add,
    "atan2": torch.atan2,
    "copysign": torch.copysign,
    "div": torch.div,
    "eq": torch.eq,
    "floor_divide": torch.floor_divide,
    "fmod": torch.fmod,
    "ge": torch.ge,
    "gt": torch.gt,
    "le": torch.le,
    "lt": torch.lt,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "mul": torch.mul,
    "ne": torch.ne,
    "pow": torch.pow,
    "remainder": torch.remainder,
    "sub": torch.sub,
}
INTEGER_BINARY = {
    "add": torch.add,
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "eq": torch.eq,
    "floor_divide": torch.floor_divide,
    "fmod": torch.fmod,
    "ge": torch.ge,
    "gt": torch.gt,
    "le": torch.le,
    "lt": torch.lt,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "mul": torch.mul,
    "ne": torch.ne,
    "pow": torch.pow,
    "remainder": torch.remainder,
    "shift_left": torch.bitwise_left_shift,
    "shift_right": torch.bitwise_right_shift,
    "sub": torch.sub,
    "trunc_divide": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
}
BOOLS = {
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}
DIVISIONS = {"floor_divide", "fmod", "remainder", "trunc_divide"}
# Steep near the ends of the domain, so that one ulp of the argument shows.
LOOSE = {"pow", "tan"}


def compile_ops(names, element: str, operands: int) -> CompiledKernel:
    """One kernel that computes all the ops, each for an output of its own."""
    module = build_kernel(
        [(("s0",), element)] * operands * len(names),
        ("s0",),
        lambda build, *tensors: [
            build(name, *tensors[place * operands :][:operands])
            for place, name in enumerate(names)
        ],
        symbols=["s0"],
    )
    return CompiledKernel(module)


def assert_agrees(name, actual, inputs, function):
    expected = function(*inputs)
    assert actual.dtype == expected.dtype
    if not expected.is_floating_point():
        assert torch.equal(actual, expected)
        return
    wide = [x.double() for x in inputs]
    exact = function(*wide).to(expected.dtype)
    precision = torch.finfo(expected.dtype).eps
    slack = 16 if name in LOOSE else 4
    close = torch.isclose(actual, expected, slack * precision, 1e-37, equal_nan=True)
    close |= torch.isclose(actual, exact, slack * precision, 1e-37, equal_nan=True)
    wrong = ~close
    assert not wrong.any(), [
        ([x[wrong][:5] for x in inputs], actual[wrong][:5], expected[wrong][:5])
    ]


def inputs_for(name: str, element: str, count: int, size: int):
    dtype = DTYPES[element]
    tensors = [normal((size,), dtype, special=True) for _ in range(count)]
    if name in DIVISIONS and not dtype.is_floating_point:
        # What torch does for the smallest integer by -1 depends on the build.
        low = torch.iinfo(dtype).min
        tensors[1][(tensors[1] == 0) | (tensors[1] == -1)] = 3
        tensors[0][tensors[0] == low] = 5
    if name == "pow" and not dtype.is_floating_point:
        tensors[1] = tensors[1].abs().clamp(0, 70)
    return tensors


def check(element: str, count: int, table: dict) -> None:
    """Compares all ops of a table, eight in a kernel."""
    names = list(table)
    for start in range(0, len(names), 8):
        check_together(names[start : start + 8], element, count, table)


def check_together(names, element: str, count: int, table: dict) -> None:
    kernel = compile_ops(names, element, count)
    for size in SIZES:
        inputs = [inputs_for(name, element, count, size) for name in names]
        outputs = [
            torch.empty_like(table[name](*own))
            for name, own in zip(names, inputs, strict=True)
        ]
        flat = [x for own in inputs for x in own]
        assert kernel([*flat, *outputs], [size]) == 0
        for name, own, output in zip(names, inputs, outputs, strict=True):
            assert_agrees(name, output, own, table[name])


@pytest.mark.parametrize("element", FLOATS)
def test_unary_of_floats(element):
    check(element, 1, UNARY)


@pytest.mark.parametrize("element", FLOATS)
def test_binary_of_floats(element):
    check(element, 2, BINARY)


@pytest.mark.parametrize("element", INTEGERS)
def test_unary_of_integers(element):
    check(element, 1, INTEGER_UNARY)


@pytest.mark.parametrize("element", INTEGERS)
def test_binary_of_integers(element):
    check(element, 2, INTEGER_BINARY)


def test_logic():
    check("i1", 2, BOOLS)


@pytest.mark.parametrize("source", DTYPES)
def test_cast(source):
    module = build_kernel(
        [(("s0",), source)],
        ("s0",),
        lambda build, x: [
            build("cast", x, results=[with_element(x, target)]) for target in DTYPES
        ],
        symbols=["s0"],
    )
    kernel = CompiledKernel(module)
    for size in SIZES:
        x = normal((size,), DTYPES[source])
        if x.is_floating_point():
            # What a negative float is as uint8 depends on the processor.
            x = x.abs()
        outputs = [torch.empty(size, dtype=dtype) for dtype in DTYPES.values()]
        assert kernel([x, *outputs], [size]) == 0
        for output in outputs:
            assert torch.equal(output, x.to(output.dtype))
