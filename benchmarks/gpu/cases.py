"""The kernels that are measured, as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.cases import (
    Input,
    batch_norm_relu,
    bias_gelu_residual,
    chain,
    column_sum,
    cross_entropy,
    full_sum,
    int8_dequantise_add,
    layer_norm,
    rotary_embedding,
    silu_mul,
    softmax,
    transpose_add,
)

_SMALL = 16


@dataclass(frozen=True)
class GpuCase:
    """One kernel, or what its derivative adds to it.

    Attributes:
        name: As ``--cases`` spells it.
        function: What all engines run.
        inputs: Its tensor arguments.
        sizes: By dimension name.
        dtype: Of its floating-point arguments.
        limit: What bounds its speed: ``"memory"`` where each byte moves once,
            ``"twice"`` where it must read its input twice, or ``"compute"``.
        is_training: Whether a call also computes the gradients of all arguments.
    """

    name: str
    function: Callable
    inputs: tuple[Input, ...]
    sizes: Mapping[str, int]
    dtype: torch.dtype = torch.bfloat16
    limit: str = "memory"
    is_training: bool = False

    def make_inputs(self, device: torch.device) -> tuple[Tensor, ...]:
        """The arguments; the same numbers each time."""
        torch.manual_seed(0)
        with torch.device(device):
            made = [spec.make(self.sizes, self.dtype) for spec in self.inputs]
        for tensor in made:
            tensor.requires_grad_(self.is_training and tensor.is_floating_point())
        return tuple(made)

    def small(self) -> GpuCase:
        """The same case at sizes of a unit test."""
        sizes = {name: min(size, _SMALL) for name, size in self.sizes.items()}
        return replace(self, sizes=sizes)

    @property
    def size_text(self) -> str:
        """The shape of the first argument, for tables."""
        return "x".join(str(self.sizes[dim]) for dim in self.inputs[0].dims.split())


def add_rms_norm(x, residual, weight):
    """Residual add, then RMS norm over rows in float32, as Llama has it."""
    hidden = (x + residual).float()
    scale = torch.rsqrt(hidden.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * (hidden * scale).to(x.dtype)


def row_sum(x):
    """Sum over the last dimension."""
    return x.sum(-1)


def cumulative_chain(x, weight):
    """Rows that are scaled, normalised and summed: several rounds of reductions."""
    return F.softmax(x * weight, 1).sum(-1)


def matmul(x, y):
    """A product of matrices."""
    return x @ y


def linear_gelu(x, weight, bias):
    """The first half of a transformer's MLP."""
    return F.gelu(F.linear(x, weight, bias))


def causal_attention(query, key, value):
    """PyTorch's attention, causal."""
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


def capped_attention(query, key, value):
    """Attention with a soft-cap of its scores, written out."""
    scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
    scores = 20.0 * torch.tanh(scores / 20.0)
    return torch.softmax(scores, -1) @ value


_MATRIX = Input("rows cols")
_COLUMNS = Input("cols")
_HEADS = Input("batch heads time dim")
_F32 = torch.float32
_NORM = {"rows": 16384, "cols": 4096}
_LOGITS = (_MATRIX, Input("rows", "index:cols"))
_VOCABULARY = {"rows": 8192, "cols": 50257}
_SQUARE = {"rows": 8192, "cols": 8192}
_CAPPED = {"batch": 2, "heads": 16, "time": 2048, "dim": 64}
_CHANNELS = Input("channels")
_IMAGES = (
    Input("batch channels height width"),
    _CHANNELS,
    Input("channels", "positive"),
    _CHANNELS,
    _CHANNELS,
)

CASES = (
    GpuCase("silu-mul", silu_mul, (_MATRIX, _MATRIX), {"rows": 8192, "cols": 14336}),
    GpuCase(
        "bias-gelu-residual",
        bias_gelu_residual,
        (_MATRIX, _COLUMNS, _MATRIX),
        _NORM,
    ),
    GpuCase("layer-norm", layer_norm, (_MATRIX, _COLUMNS, _COLUMNS), _NORM),
    GpuCase(
        "add-rms-norm",
        add_rms_norm,
        (_MATRIX, _MATRIX, _COLUMNS),
        {"rows": 16384, "cols": 8192},
    ),
    GpuCase("softmax", softmax, (_MATRIX,), _SQUARE, _F32),
    GpuCase(
        "softmax-long",
        softmax,
        (_MATRIX,),
        {"rows": 512, "cols": 131072},
        _F32,
        limit="twice",
    ),
    GpuCase("softmax-narrow", softmax, (_MATRIX,), {"rows": 1048576, "cols": 64}),
    GpuCase("cross-entropy", cross_entropy, _LOGITS, _VOCABULARY),
    GpuCase("column-sum", column_sum, (_MATRIX,), {"rows": 65536, "cols": 2048}, _F32),
    GpuCase("row-sum", row_sum, (_MATRIX,), {"rows": 65536, "cols": 4096}),
    GpuCase("full-sum", full_sum, (_MATRIX,), {"rows": 16384, "cols": 8192}, _F32),
    GpuCase(
        "rotary-embedding",
        rotary_embedding,
        (_HEADS, Input("time dim"), Input("time dim")),
        {"batch": 8, "heads": 32, "time": 4096, "dim": 128},
    ),
    GpuCase(
        "transpose-add",
        transpose_add,
        (Input("cols rows"), _MATRIX),
        {"rows": 8192, "cols": 8192},
        _F32,
    ),
    GpuCase(
        "batch-norm-relu",
        batch_norm_relu,
        _IMAGES,
        {"batch": 128, "channels": 256, "height": 56, "width": 56},
    ),
    GpuCase("chain-10", chain, (_MATRIX,), {"rows": 16384, "cols": 8192}),
    GpuCase(
        "int8-dequantise-add",
        int8_dequantise_add,
        (Input("rows cols", "int8"), _COLUMNS, _COLUMNS, _MATRIX),
        {"rows": 16384, "cols": 8192},
    ),
    GpuCase(
        "odd-sizes",
        cumulative_chain,
        (Input("batch rows cols"), Input("rows one")),
        {"batch": 1997, "rows": 31, "cols": 1013, "one": 1},
    ),
    GpuCase(
        "matmul",
        matmul,
        (_MATRIX, Input("cols rows")),
        {"rows": 8192, "cols": 8192},
        limit="compute",
    ),
    GpuCase(
        "linear-gelu",
        linear_gelu,
        (_MATRIX, Input("outputs cols"), Input("outputs")),
        {"rows": 8192, "cols": 4096, "outputs": 16384},
        limit="compute",
    ),
    GpuCase(
        "causal-attention",
        causal_attention,
        (_HEADS, _HEADS, _HEADS),
        {"batch": 4, "heads": 32, "time": 4096, "dim": 128},
        limit="compute",
    ),
    GpuCase(
        "capped-attention",
        capped_attention,
        (_HEADS, _HEADS, _HEADS),
        _CAPPED,
        limit="compute",
    ),
    GpuCase(
        "bias-gelu-residual-training",
        bias_gelu_residual,
        (_MATRIX, _COLUMNS, _MATRIX),
        _NORM,
        limit="twice",
        is_training=True,
    ),
    GpuCase(
        "layer-norm-training",
        layer_norm,
        (_MATRIX, _COLUMNS, _COLUMNS),
        _NORM,
        limit="twice",
        is_training=True,
    ),
    GpuCase(
        "cross-entropy-training",
        cross_entropy,
        _LOGITS,
        _VOCABULARY,
        limit="twice",
        is_training=True,
    ),
    GpuCase(
        "capped-attention-training",
        capped_attention,
        (_HEADS, _HEADS, _HEADS),
        _CAPPED,
        limit="compute",
        is_training=True,
    ),
)


def by_name(names: list[str]) -> tuple[GpuCase, ...]:
    """The cases with these names.

    Raises:
        ValueError: A name is not in the table.
    """
    known = {case.name: case for case in CASES}
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"unknown cases {unknown}; known: {', '.join(known)}")
    return tuple(known[name] for name in names)
