"""The kernels that ``benchmarks.kernels`` measures, as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

IN_CACHE = "in cache"
OUT_OF_CACHE = "out of cache"


@dataclass(frozen=True)
class Input:
    """One tensor argument of a case.

    Attributes:
        dims: Names of its dimensions, separated by spaces.
        kind: ``"normal"``, ``"positive"``, ``"int8"``, or ``"index:DIM"`` for
            indices below the size of ``DIM``.
    """

    dims: str
    kind: str = "normal"

    def make(self, sizes: Mapping[str, int], dtype: torch.dtype) -> Tensor:
        """The tensor, for sizes by name and the floating dtype of the run."""
        shape = [sizes[name] for name in self.dims.split()]
        if self.kind == "int8":
            return torch.randint(-128, 128, shape, dtype=torch.int8)
        if self.kind.startswith("index:"):
            return torch.randint(sizes[self.kind.removeprefix("index:")], shape)
        values = torch.randn(shape)
        if self.kind == "positive":
            values = values.abs() + 0.5
        return values.to(dtype)


@dataclass(frozen=True)
class Case:
    """One kernel.

    Attributes:
        name: As ``--cases`` spells it.
        function: What eager, Inductor and girih run.
        inputs: Its tensor arguments.
        in_cache: Sizes by dimension name at which all tensors fit the L2 cache.
        out_of_cache: Sizes at which they exceed the last cache.
    """

    name: str
    function: Callable
    inputs: tuple[Input, ...]
    in_cache: Mapping[str, int]
    out_of_cache: Mapping[str, int]

    def sizes(self, where: str) -> Mapping[str, int]:
        """Sizes for ``IN_CACHE`` or ``OUT_OF_CACHE``."""
        return {IN_CACHE: self.in_cache, OUT_OF_CACHE: self.out_of_cache}[where]

    def make_inputs(self, where: str, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """The arguments; the same numbers each time."""
        torch.manual_seed(0)
        sizes = self.sizes(where)
        return tuple(spec.make(sizes, dtype) for spec in self.inputs)


def silu_mul(gate, up):
    """SwiGLU's elementwise part."""
    return F.silu(gate) * up


def bias_gelu_residual(x, bias, residual):
    """What follows the first projection of a transformer's MLP."""
    return F.gelu(x + bias) + residual


def layer_norm(x, weight, bias):
    """Layer norm over rows."""
    return F.layer_norm(x, (x.shape[-1],), weight, bias)


def add_rms_norm(x, residual, weight):
    """Residual add, then RMS norm over rows; both results are used."""
    hidden = x + residual
    scale = torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-6)
    return hidden * scale * weight, hidden


def softmax(x):
    """Softmax over rows."""
    return torch.softmax(x, -1)


def cross_entropy(logits, target):
    """Mean cross-entropy over rows of logits."""
    return F.cross_entropy(logits, target)


def column_sum(x):
    """Sum over the first dimension."""
    return x.sum(0)


def full_sum(x):
    """Sum of all elements."""
    return x.sum()


def rotary_embedding(x, cos, sin):
    """Rotary position embedding, in the form that rotates halves."""
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


def transpose_add(x, y):
    """A transposed operand beside a plain one."""
    return x.t() + y


def batch_norm_relu(x, mean, var, weight, bias):
    """Batch norm of inference, then ReLU."""
    return F.relu(F.batch_norm(x, mean, var, weight, bias))


def chain(x):
    """Ten elementwise operations."""
    y = (x * 2.0 + 1.0).sigmoid() - 0.5
    y = (y * x).tanh().abs()
    return (y + 0.25).sqrt().clamp(max=1.0)


def int8_dequantise_add(quantised, scale, zero, x):
    """Dequantises int8 values with a scale per column, adds floats."""
    return (quantised.to(x.dtype) - zero) * scale + x


_MATRIX = Input("rows cols")
_COLUMNS = Input("cols")
_SMALL = {"rows": 256, "cols": 512}
_LARGE = {"rows": 4096, "cols": 4096}
_CHANNELS = Input("channels")

CASES = (
    Case("silu-mul", silu_mul, (_MATRIX, _MATRIX), _SMALL, _LARGE),
    Case(
        "bias-gelu-residual",
        bias_gelu_residual,
        (_MATRIX, _COLUMNS, _MATRIX),
        _SMALL,
        _LARGE,
    ),
    Case(
        "layer-norm",
        layer_norm,
        (_MATRIX, _COLUMNS, _COLUMNS),
        {"rows": 128, "cols": 1024},
        {"rows": 16384, "cols": 1024},
    ),
    Case(
        "add-rms-norm",
        add_rms_norm,
        (_MATRIX, _MATRIX, _COLUMNS),
        {"rows": 64, "cols": 1024},
        _LARGE,
    ),
    Case(
        "softmax-wide",
        softmax,
        (_MATRIX,),
        {"rows": 8, "cols": 16384},
        {"rows": 512, "cols": 32768},
    ),
    Case(
        "softmax-narrow",
        softmax,
        (_MATRIX,),
        {"rows": 2048, "cols": 64},
        {"rows": 262144, "cols": 64},
    ),
    Case(
        "cross-entropy",
        cross_entropy,
        (_MATRIX, Input("rows", "index:cols")),
        {"rows": 32, "cols": 4096},
        {"rows": 512, "cols": 32000},
    ),
    Case("column-sum", column_sum, (_MATRIX,), _SMALL, {"rows": 16384, "cols": 1024}),
    Case("full-sum", full_sum, (_MATRIX,), _SMALL, _LARGE),
    Case(
        "rotary-embedding",
        rotary_embedding,
        (Input("batch heads time dim"), Input("time dim"), Input("time dim")),
        {"batch": 1, "heads": 8, "time": 256, "dim": 64},
        {"batch": 8, "heads": 32, "time": 1024, "dim": 64},
    ),
    Case(
        "transpose-add",
        transpose_add,
        (Input("cols rows"), _MATRIX),
        {"rows": 384, "cols": 320},
        {"rows": 4096, "cols": 4000},
    ),
    Case(
        "batch-norm-relu",
        batch_norm_relu,
        (
            Input("batch channels height width"),
            _CHANNELS,
            Input("channels", "positive"),
            _CHANNELS,
            _CHANNELS,
        ),
        {"batch": 4, "channels": 32, "height": 32, "width": 32},
        {"batch": 32, "channels": 128, "height": 64, "width": 64},
    ),
    Case("chain-10", chain, (_MATRIX,), _SMALL, _LARGE),
    Case(
        "int8-dequantise-add",
        int8_dequantise_add,
        (Input("rows cols", "int8"), _COLUMNS, _COLUMNS, _MATRIX),
        _SMALL,
        _LARGE,
    ),
)


def select(names: list[str] | None) -> tuple[Case, ...]:
    """The cases with these names, or all.

    Raises:
        ValueError: A name is not in the table.
    """
    if not names:
        return CASES
    known = {case.name: case for case in CASES}
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"unknown cases {unknown}; known: {', '.join(known)}")
    return tuple(known[name] for name in names)
