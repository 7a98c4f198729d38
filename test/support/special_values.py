"""Functions at the edges of their types: what eager gives, or float64, or neither.

    python test/support/special_values.py        # all dtypes
    python test/support/special_values.py --dtypes float32 int16

A result is right where it is eager's, up to rounding, or what float64 gives, rounded to
the type: what eager gets otherwise is its own formula's (docs/numerics.md). Signs of
zeros are not compared.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

import girih

FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
INTEGERS = (torch.int16, torch.uint8, torch.int8, torch.int32, torch.int64)
_INFINITY = float("inf")
_PLAIN = (0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 7.0, 0.1, 1e-3, 20.0, 88.0, 100.0, 255.5, 300.0)
_DTYPES = (*FLOATS, *INTEGERS, torch.bool)

Table = dict[str, Callable]


def values(dtype: torch.dtype) -> Tensor:
    """Zeros, ones, halves, extremes and their neighbours, infinities, NaN."""
    if dtype == torch.bool:
        return torch.tensor([False, True])
    if not dtype.is_floating_point:
        info = torch.iinfo(dtype)
        extremes = [info.max, info.min, info.max - 1, info.min + 1]
        signed = [-1, -2, -3, -7, -100] if info.min < 0 else []
        numbers = [0, 1, 2, 3, 7, 17, 64, 100, *extremes, *signed]
        return torch.tensor(numbers, dtype=dtype)
    info = torch.finfo(dtype)
    sizes = [*_PLAIN, info.max, info.max / 2, info.max**0.5, _INFINITY, info.eps]
    sizes += [info.smallest_normal, info.smallest_normal * info.eps, 1 + info.eps]
    numbers = [sign * size for size in sizes for sign in (1, -1)]
    return torch.tensor([*numbers, float("nan")], dtype=torch.float64).to(dtype)


_NAMES = """abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal square sin
    cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc sigmoid sign floor
    ceil round trunc isnan isinf isfinite nan_to_num logical_not relu signbit sgn logit
    positive sinc deg2rad"""
_ACTIVATIONS = """softplus gelu silu mish relu6 hardtanh hardswish hardsigmoid elu selu
    celu leaky_relu softsign softshrink hardshrink logsigmoid"""


def _casts() -> Table:
    def cast(dtype: torch.dtype) -> Callable:
        return lambda x: x.to(dtype)

    return {f"to {dtype}": cast(dtype) for dtype in _DTYPES}


UNARY: Table = {
    **{name: getattr(torch, name) for name in _NAMES.split()},
    **{name: getattr(F, name) for name in _ACTIVATIONS.split()},
    **_casts(),
    "square root as power": lambda x: x**0.5,
    "cube": lambda x: x**3,
    "power": lambda x: x**2.5,
    "clamp": lambda x: x.clamp(-1, 1),
    "truncated quotient": lambda x: torch.div(x, 3, rounding_mode="trunc"),
    "floor of quotient": lambda x: torch.div(x, 3, rounding_mode="floor"),
    "remainder": lambda x: torch.remainder(x, 3),
    "fmod": lambda x: torch.fmod(x, 3),
    "decision": lambda x: (x.sigmoid() > 0.5).to(torch.int16),
    "decision of a product": lambda x: (x * 1.1).floor() == (x * 1.1).round(),
}

_BINARY = """add sub mul true_divide floor_divide remainder fmod pow atan2 maximum
    minimum fmax fmin eq ne lt le gt ge logical_and logical_or logical_xor copysign
    hypot logaddexp xlogy bitwise_and bitwise_or bitwise_xor"""
_LOSSES = """mse_loss l1_loss smooth_l1_loss huber_loss soft_margin_loss
    binary_cross_entropy_with_logits"""


def _loss(name: str) -> Callable:
    return lambda x, y: getattr(F, name)(x, y, reduction="none")


BINARY: Table = {
    **{name: getattr(torch, name) for name in _BINARY.split()},
    **{name: _loss(name) for name in _LOSSES.split()},
    "truncated": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "where": lambda x, y: torch.where(x > y, x, y),
    "sigmoid_backward": torch.ops.aten.sigmoid_backward,
    "tanh_backward": torch.ops.aten.tanh_backward,
}

_REDUCTIONS = """sum mean amax amin std var logsumexp argmax argmin any all cumsum
    cumprod cummax cummin logcumsumexp softmax log_softmax nansum
    count_nonzero max min aminmax prod"""


def _along_rows(name: str) -> Callable:
    if name == "aminmax":
        return lambda x: torch.aminmax(x, dim=-1)
    return lambda x: getattr(torch, name)(x, -1)


REDUCTIONS: Table = {
    **{name: _along_rows(name) for name in _REDUCTIONS.split()},
    "norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "norm of sizes": lambda x: torch.linalg.vector_norm(x, 1, dim=-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
}

EAGERS_OWN = {
    "square root as power": "eager takes powf in float16 alone: of -inf and -0",
    "soft_margin_loss": "eager rounds the exponential to 16 bits",
    "binary_cross_entropy_with_logits": "eager rounds each term to 16 bits",
    "sigmoid_backward": "of results beyond 0 and 1: infinity times zero",
    **dict.fromkeys(
        ("prod", "cumprod"), "infinity times zero, by the order of the factors"
    ),
    "floor_divide": "eager's float16 quotient overflows before it is rounded",
    "decision of a product": "of NaN and infinities of float16",
}
"""Reasons for what is neither eager's nor float64's value; see docs/numerics.md."""

_RELATIVE = {torch.float32: 4e-6, torch.float64: 4e-11}
_RELATIVE |= {torch.bfloat16: 1.6e-2, torch.float16: 2e-3}


def _is_close(actual: Tensor, expected: Tensor) -> Tensor:
    """Element by element; NaN is NaN, an infinity is that infinity."""
    if not expected.dtype.is_floating_point:
        return actual == expected
    x, y = actual.double(), expected.double()
    small = torch.finfo(expected.dtype).smallest_normal
    near = (x - y).abs() <= _RELATIVE[expected.dtype] * y.abs() + small
    return (x == y) | (x.isnan() & y.isnan()) | near


def wrong(actual: Tensor, eager: Tensor, precise: Tensor | None) -> Tensor:
    """Where a result is neither eager's nor float64's."""
    assert (actual.dtype, actual.shape) == (eager.dtype, eager.shape)
    right = _is_close(actual, eager)
    if precise is not None and precise.shape == eager.shape:
        right |= _is_close(actual, precise.to(eager.dtype))
    return ~right


def _tensors(result: object) -> list[Tensor]:
    return list(result) if isinstance(result, tuple) else [result]


def _attempt(function: Callable, arguments: tuple[Tensor, ...]) -> object:
    try:
        return function(*arguments)
    except (RuntimeError, TypeError, ValueError):
        return None


def differences(table: Table, arguments: tuple[Tensor, ...]) -> list[str]:
    """What is wrong of a table's functions, compiled as one program."""
    expected = {name: _attempt(f, arguments) for name, f in table.items()}
    names = [name for name, result in expected.items() if result is not None]

    def program(*inputs: Tensor) -> list:
        return [table[name](*inputs) for name in names]

    options = {"fallback": False, "cache": False}
    results = girih.compile(program, fullgraph=True, options=options)(*arguments)
    is_float = arguments[0].is_floating_point()
    wide = tuple(x.double() if is_float else x for x in arguments)
    found = []
    for name, result in zip(names, results, strict=True):
        has_finer = is_float and arguments[0].dtype != torch.float64
        precise = _attempt(table[name], wide) if has_finer else None
        found += _described(name, result, expected[name], precise, arguments)
    return found


def _described(name, result, eager, precise, arguments) -> list[str]:
    if name in EAGERS_OWN or (precise is None and name in ("remainder", "fmod")):
        return []
    exact = _tensors(precise) if precise is not None else [None] * 9
    found = []
    triples = zip(_tensors(result), _tensors(eager), exact, strict=False)
    for number, (actual, expected, wide) in enumerate(triples):
        for place in wrong(actual, expected, wide).nonzero()[:3]:
            at = tuple(place.tolist())
            inputs = [x[at].tolist() for x in arguments]
            got, want = actual[at].item(), expected[at].item()
            found.append(f"{name}[{number}] of {inputs}: eager {want}, got {got}")
    return found


def unary_arguments(dtype: torch.dtype) -> tuple[Tensor, ...]:
    """The values, several vectors and a part of one of them."""
    return (values(dtype).repeat(3)[:125],)


def binary_arguments(dtype: torch.dtype) -> tuple[Tensor, ...]:
    """All pairs; division of integers by zero ends the process in eager."""
    own = values(dtype)
    others = own
    if not dtype.is_floating_point and dtype != torch.bool:
        others = own[own > 0]
    pairs = torch.cartesian_prod(own, others)
    return pairs[:, 0].contiguous(), pairs[:, 1].contiguous()


def finite_size(x: Tensor) -> Tensor:
    """Magnitudes; 0 for infinities and NaN."""
    return x.double().abs().nan_to_num(0.0, 0.0, 0.0)


def rows(dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Rows of moderate values, of one each, of zeros, with infinities and NaN."""
    generator = torch.Generator().manual_seed(0)
    own = values(dtype)
    finite = own[own.isfinite()] if dtype.is_floating_point else own
    moderate = finite[finite.double().abs() < 30]
    # Sums and squares of more depend on the order of the terms.
    edges = own[~(finite_size(own) > 3000)] if dtype.is_floating_point else own
    drawn = [
        pool[torch.randint(len(pool), (8, 37), generator=generator)]
        for pool in (moderate, edges)
    ]
    if dtype.is_floating_point:
        constant = torch.tensor([0.0, 300.0, 3000.0, -_INFINITY], dtype=dtype)
        drawn.append(constant[:, None].expand(4, 37))
    return (torch.cat(drawn),)


SUITES = {
    "unary": (UNARY, unary_arguments),
    "binary": (BINARY, binary_arguments),
    "reductions": (REDUCTIONS, rows),
}


def main() -> int:
    named = {str(dtype).removeprefix("torch."): dtype for dtype in _DTYPES}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dtypes", nargs="+", choices=named, default=[*named])
    dtypes = [named[name] for name in parser.parse_args().dtypes]
    found = 0
    for name, (table, make) in SUITES.items():
        for dtype in dtypes:
            for difference in differences(table, make(dtype)):
                print(f"{name}, {dtype}: {difference}", flush=True)
                found += 1
    print(f"{found} differences")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
