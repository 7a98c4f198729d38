"""Functions and shapes of the sweeps.

The shapes are those with which Helion checks its kernels on an H100, so that the ratios
stand beside its own. Source: ``test/test_pretuned_kernels.py`` and ``pretuned_kernels``
of https://github.com/pytorch/helion, as of 2026-08. The functions return their results
where Helion's write into arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

FLOAT8 = torch.float8_e4m3fn
_LARGEST = 448.0
_GROUP = 128
_HEAD = 128
_POSITIONS = 40960
_SMALL = 64


def vector_add(x, y):
    """A sum of two vectors."""
    return x + y


def softmax(x):
    """Softmax over rows."""
    return F.softmax(x, dim=1)


def layer_norm(x, weight, bias):
    """Layer norm over rows."""
    return F.layer_norm(x, [x.shape[-1]], weight, bias, eps=1e-5)


def rms_norm(x, weight):
    """RMS norm over rows."""
    return F.rms_norm(x, [x.shape[-1]], weight, eps=1e-5)


def cross_entropy(logits, labels):
    """Mean cross-entropy over rows."""
    return F.cross_entropy(logits, labels)


def _turned(x, cos, sin):
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


def rope(query, key, cos, sin):
    """Rotary embedding of queries and keys, with halves that rotate."""
    return _turned(query, cos, sin), _turned(key, cos, sin)


def qk_norm_rope(heads, weight, table, positions):
    """RMS norm of each head, then its rotary embedding, with a table of positions.

    Args:
        heads: ``[tokens, queries and keys, 128]``.
        weight: ``[queries and keys, 128]``.
        table: Cosines beside sines, ``[positions, 128]``.
        positions: ``[tokens]``.
    """
    wide = heads.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    normed = (wide * scale).to(heads.dtype) * weight
    cos, sin = table[positions][:, None].chunk(2, dim=-1)
    low, high = normed.chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)


def silu_mul_float8(x, scale):
    """SiLU of one half times the other, stored as float8."""
    gate, up = x.chunk(2, dim=-1)
    return ((F.silu(gate) * up).float() / scale).to(FLOAT8)


def _quantised(x: Tensor, least: float) -> tuple[Tensor, Tensor]:
    """Float8 along the last dim with one scale, and the scale."""
    scale = x.abs().amax(dim=-1, keepdim=True) * (1.0 / _LARGEST)
    scale = scale.clamp(min=least)
    return (x / scale).clamp(-_LARGEST, _LARGEST).to(FLOAT8), scale


def float8_by_token(x):
    """Rows as float8, each with a scale."""
    return _quantised(x.float(), 1.0 / (_LARGEST * 512.0))


def float8_by_group(x):
    """Groups of 128 columns as float8, each with a scale."""
    values, scale = _quantised(x.float().unflatten(-1, (-1, _GROUP)), 1e-10)
    return values.flatten(-2), scale.squeeze(-1)


def rms_norm_float8_by_token(x, weight):
    """RMS norm, then rows as float8."""
    wide = x.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    normed = (wide * scale).to(x.dtype) * weight
    return _quantised(normed.float(), 1.0 / (_LARGEST * 512.0))


def rms_norm_float8_by_block(x, residual, weight):
    """A residual that is added and kept, RMS norm, then groups of columns as float8."""
    wide = x.float() + residual.float()
    kept = wide.to(x.dtype)
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    normed = ((wide * scale).to(x.dtype) * weight).float()
    least = 1.0 / (_LARGEST * 512.0)
    values, scales = _quantised(normed.unflatten(-1, (-1, _GROUP)), least)
    return values.flatten(-2), scales.squeeze(-1), kept


def silu_mul_float8_by_block(x):
    """SiLU of one half times the other, then groups of columns as float8."""
    gate, up = x.float().chunk(2, dim=-1)
    product = (gate * torch.sigmoid(gate) * up).unflatten(-1, (-1, _GROUP))
    values, scale = _quantised(product, 1.0 / (_LARGEST * 512.0))
    return values.flatten(-2), scale.squeeze(-1)


Shape = tuple[int, ...]
Maker = Callable[[Shape], tuple[Tensor, ...]]
_BF16 = torch.bfloat16


def _normal(*size: int, dtype: torch.dtype = _BF16) -> Tensor:
    return torch.randn(size, dtype=dtype)


def _rope_inputs(shape: Shape) -> tuple[Tensor, ...]:
    width, time = shape
    head = width // 32
    angles = _normal(1, 1, time, head)
    query, key = _normal(1, 32, time, head), _normal(1, 8, time, head)
    return query, key, angles.cos(), angles.sin()


def _qk_inputs(shape: Shape) -> tuple[Tensor, ...]:
    tokens, queries, keys = shape
    heads = queries + keys
    steps = torch.arange(0, _HEAD, 2, dtype=torch.float32) / _HEAD
    angles = torch.arange(_POSITIONS).float()[:, None] * 10000.0**-steps
    table = torch.cat((angles.cos(), angles.sin()), dim=-1).to(_BF16)
    # The values' heads stand behind these in the same rows.
    rows = _normal(tokens, heads + keys, _HEAD)
    return rows[:, :heads], _normal(heads, _HEAD), table, torch.arange(tokens)


@dataclass(frozen=True)
class Sweep:
    """One function over many shapes.

    Attributes:
        name: As ``--sweeps`` spells it.
        function: What all engines run.
        make: Its arguments for a shape, on the default device.
        shapes: All of them.
        helion: Helion's geometric mean over the best of eager and ``torch.compile`` on
            an H100, as published.
        looked_up: Arguments of which a call reads a few rows; a copy leaves them out.
    """

    name: str
    function: Callable
    make: Maker
    shapes: tuple[Shape, ...]
    helion: float
    looked_up: tuple[int, ...] = ()

    def small(self) -> Sweep:
        """The sweep at sizes of a unit test."""
        shape = tuple(min(size, _SMALL) for size in self.shapes[0])
        if self.name in _IN_GROUPS:
            shape = (*shape[:-1], 2 * _GROUP)
        return replace(self, shapes=(shape,))


def _grid(rows: Sequence[int], columns: Sequence[int]) -> tuple[Shape, ...]:
    return tuple((n, m) for m in columns for n in rows)


_IN_GROUPS = ("float8-by-group", "rms-norm-float8-by-block", "silu-mul-float8-by-block")
_HIDDEN = (2048, 4096, 5120)
_BLOCK_TOKENS = (1, 8, 32, 64, 128, 256, 1024, 4096)
_LAYERS = tuple((4096, 512 * i) for i in range(2, 32)) + (
    *((2048, 3584), (8192, 4096), (8192, 5120), (8192, 7168), (2048, 8192)),
    *((4096, 16384), (1024, 36864), (1152, 36864)),
)
_RMS = (
    *((2048, 1024 * 2**i) for i in range(6)),
    *((2048, n) for n in (48, 96, 127, 768, 1023, 1536, 2047, 3072, 5120, 6144)),
    *((4096, n) for n in (3584, 4096, 5120, 7168, 8192, 12288)),
    *((8192, 4096), (8192, 8192), (16384, 4096), (16384, 8192)),
    *((145956, 384), (380668, 512), (589824, 256), (1179648, 256)),
)
_LOGITS = (
    *((n, 32000) for n in (2048, 4096, 8192)),
    *((n, 128000) for n in (8192, 16384, 32768)),
    *((n, 128256) for n in (2048, 4096, 8192, 16384)),
    *((n, m) for m in (129280, 151936, 152064) for n in (2048, 4096, 8192)),
    (1024, 256000),
)
_TURNS = (
    *((8192, 1024 * 2**i) for i in range(5)),
    *((512, 2048), (2048, 2048)),
)

SWEEPS = (
    Sweep(
        "vector-add",
        vector_add,
        lambda s: (_normal(*s, dtype=torch.float32), _normal(*s, dtype=torch.float32)),
        tuple((2**i,) for i in range(19, 29)),
        0.97,
    ),
    Sweep(
        "softmax",
        softmax,
        lambda s: (_normal(*s, dtype=torch.float16),),
        (*((4096, 128 * i) for i in range(2, 100)), (4096, 16384), (2048, 32768)),
        1.50,
    ),
    Sweep(
        "layer-norm",
        layer_norm,
        lambda s: tuple(_normal(*z, dtype=torch.float16) for z in (s, s[1:], s[1:])),
        _LAYERS,
        1.29,
    ),
    Sweep(
        "rms-norm",
        rms_norm,
        lambda s: (_normal(*s), _normal(*s[1:])),
        _RMS,
        1.18,
    ),
    Sweep(
        "cross-entropy",
        cross_entropy,
        lambda s: (_normal(*s), torch.randint(0, s[1], s[:1])),
        _LOGITS,
        1.68,
    ),
    Sweep("rope", rope, _rope_inputs, _TURNS, 1.45),
    Sweep(
        "qk-norm-rope",
        qk_norm_rope,
        _qk_inputs,
        tuple(
            (tokens, queries, 8)
            for queries in (16, 32, 64)
            for tokens in (1, 8, 32, 128, 512, 2048, 8192)
        ),
        7.2,
        looked_up=(2,),
    ),
    Sweep(
        "silu-mul-float8",
        silu_mul_float8,
        lambda s: (_normal(s[0], 2 * s[1]), torch.ones(1)),
        _grid((1, 8, 32, 64, 128, 256), (2048, 2880, 4096, 8192, 11008, 14336)),
        1.15,
    ),
    Sweep(
        "float8-by-token",
        float8_by_token,
        lambda s: (_normal(*s),),
        _grid((1, 4, 16, 64, 256, 1024, 2048, 4096), _HIDDEN),
        1.22,
    ),
    Sweep(
        "float8-by-group",
        float8_by_group,
        lambda s: (_normal(*s),),
        _grid((1, 4, 16, 64, 256, 1024, 2048, 8192), _HIDDEN),
        2.45,
    ),
    Sweep(
        "rms-norm-float8-by-token",
        rms_norm_float8_by_token,
        lambda s: (_normal(*s), _normal(*s[1:]) + 1),
        _grid(tuple(2**i for i in range(12)), _HIDDEN),
        1.34,
    ),
    Sweep(
        "rms-norm-float8-by-block",
        rms_norm_float8_by_block,
        lambda s: (_normal(*s), _normal(*s), _normal(*s[1:]) + 1),
        _grid(_BLOCK_TOKENS, _HIDDEN),
        3.30,
    ),
    Sweep(
        "silu-mul-float8-by-block",
        silu_mul_float8_by_block,
        lambda s: (_normal(s[0], 2 * s[1]),),
        _grid(_BLOCK_TOKENS, (6144, 12288, 25600)),
        2.68,
    ),
)


@dataclass(frozen=True)
class Case:
    """A sweep at one shape; its name is that of the sweep and the sizes."""

    sweep: Sweep
    shape: Shape

    @property
    def size_text(self) -> str:
        """The shape, for tables."""
        return "x".join(map(str, self.shape))

    @property
    def name(self) -> str:
        """As messages of workers spell it."""
        return f"{self.sweep.name} {self.size_text}"

    def make_inputs(self, device: torch.device) -> tuple[Tensor, ...]:
        """The arguments; the same numbers each time."""
        torch.manual_seed(0)
        with torch.device(device):
            return self.sweep.make(self.shape)

    def bind(
        self, function: Callable, inputs: Sequence[Tensor]
    ) -> Callable[[], object]:
        """What is measured: a call of the function, as eager or compiled."""
        return functools.partial(function, *inputs)


def select(names: Sequence[str] | None = None, every: int = 1) -> Iterator[Case]:
    """The cases of these sweeps, or of all.

    Args:
        names: Of sweeps.
        every: Every so many-th shape of a sweep is taken, and the last one.

    Raises:
        ValueError: A name is not that of a sweep.
    """
    known = {sweep.name: sweep for sweep in SWEEPS}
    if unknown := sorted(set(names or ()) - set(known)):
        raise ValueError(f"unknown sweeps {unknown}; known: {', '.join(known)}")
    for name in names or known:
        shapes = known[name].shapes
        for shape in dict.fromkeys((*shapes[::every], shapes[-1])):
            yield Case(known[name], shape)


def by_name(name: str) -> Case:
    """The case that a worker is asked for.

    Raises:
        ValueError: There is none with this name.
    """
    sweep, _, sizes = name.partition(" ")
    (first, *_) = select([sweep])
    return Case(first.sweep, tuple(int(size) for size in sizes.split("x")))
