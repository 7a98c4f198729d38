"""Kernels, each with inputs, and the schedules that are tried for its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.gate import sweeps

Maker = Callable[[], Tensor]
Settings = dict[str, int]
"""What ``girih.tuning`` says: elements, warps, stages, and whether rows are held."""

_DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True)
class Kernel:
    """A function and what it is called with.

    Attributes:
        name: Its kind, what it does, sizes and dtype.
        kind: "points", "short rows" or "long rows": which schedules are tried.
        function: In plain PyTorch.
        make: Each argument, made on the default device.
        trains: Whether the gradients by all arguments but the last one are computed,
            which is the gradient of the result.
    """

    name: str
    kind: str
    function: Callable
    make: tuple[Maker, ...]
    trains: bool = False

    def inputs(self, device: torch.device) -> list[Tensor]:
        """The arguments; the same numbers each time."""
        torch.manual_seed(0)
        with torch.device(device):
            made = [make() for make in self.make]
        for tensor in made[:-1] if self.trains else ():
            tensor.requires_grad_()
        return made

    def call(self, function: Callable, inputs: list[Tensor]) -> Callable:
        """What is measured: a call, or a call with its backward pass."""
        if not self.trains:
            return lambda: function(*inputs)
        *arguments, gradient = inputs
        return lambda: torch.autograd.grad(function(*arguments), arguments, gradient)


SETTINGS: dict[str, tuple[Settings, ...]] = {
    "points": tuple(
        {"elements": elements, "warps": warps}
        for elements, warps in ((128, 4), (256, 4), (512, 4), (512, 8), (1024, 8))
    ),
    "short rows": tuple(
        {"elements": elements, "warps": warps}
        for elements, warps in (
            *((1024, 1), (1024, 2), (1024, 4)),
            *((2048, 2), (2048, 4), (4096, 4)),
        )
    ),
    "long rows": (
        *(
            {"held": 0, "elements": elements, "warps": warps, "stages": 1}
            for elements, warps in (
                *((2048, 8), (4096, 8), (4096, 16), (8192, 16)),
                *((16384, 16), (8192, 32), (16384, 32)),
            )
        ),
        *({"held": 1, "warps": warps} for warps in (8, 16, 32)),
    ),
}


def kernels() -> dict[str, Kernel]:
    """All of them by name."""
    every = (*_pointwise(), *_short_rows(), *_long_rows(), *_gradients())
    return {kernel.name: kernel for kernel in every}


# Points -----------------------------------------------------------------------------


def _pointwise() -> Iterator[Kernel]:
    for count in (2**11, 2**13, 2**15, 2**16, 2**17, 2**18, 2**19, 2**20):
        for name, function, dtype, arguments in (
            ("add", torch.add, "bf16", 2),
            ("ten-operations", _ten_operations, "f32", 1),
            ("gelu", F.gelu, "bf16", 1),
            ("gelu-tanh", _gelu_tanh, "bf16", 1),
        ):
            make = (_normal(count, dtype=dtype),) * arguments
            yield Kernel(f"{name} {count} {dtype}", "points", function, make)
        make = (_normal(8, count // 4, dtype="bf16"),)
        yield Kernel(f"silu-mul {count} bf16", "points", _silu_mul, make)
    for rows, columns in ((1, 2048), (1, 14336), (8, 11008), (32, 8192), (128, 2880)):
        make = (_normal(rows, 2 * columns, dtype="bf16"), lambda: torch.ones(1))
        name = f"silu-mul-float8 {rows}x{columns} bf16"
        yield Kernel(name, "points", sweeps.silu_mul_float8, make)


def _ten_operations(x):
    return ((x.sin() * 2 + x).exp() + 1).log() * x.tanh() - x.abs().sqrt()


def _gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def _silu_mul(x):
    gate, up = x.chunk(2, -1)
    return F.silu(gate) * up


# Rows -------------------------------------------------------------------------------


def _layer_norm(x, weight, bias):
    return F.layer_norm(x, weight.shape, weight, bias)


def _rms_norm(x, weight):
    return F.rms_norm(x, weight.shape, weight, 1e-6)


def _softmax(x):
    return x.softmax(-1)


_OF_ROWS = {"layer-norm": (_layer_norm, 2), "rms-norm": (_rms_norm, 1)}
_OF_ROWS["softmax"] = (_softmax, 0)


def _row_kernel(kind: str, name: str, text: str, *, trains: bool = False) -> Kernel:
    size, dtype = text.split()
    rows, columns = map(int, size.split("x"))
    function, weights = _OF_ROWS[name]
    own, weight = _normal(rows, columns, dtype=dtype), _normal(columns, dtype=dtype)
    make = (own, *[weight] * weights, *[own] * trains)
    prefix = "training " if trains else ""
    return Kernel(f"{prefix}{name} {text}", kind, function, make, trains)


def _short_rows() -> Iterator[Kernel]:
    sizes = {
        "layer-norm": "4096x1024 f16, 16384x1024 f16, 4096x768 f16, 65536x768 f16, "
        "16384x640 f16, 4096x1024 f32, 65536x768 f32, 2048x768 bf16",
        "rms-norm": "2048x1024 bf16, 16384x1024 bf16, 4096x768 bf16, 65536x768 bf16, "
        "132x1024 f16, 300x768 f16, 600x1024 f16, 8192x1000 f16",
    }
    for name, texts in sizes.items():
        for text in texts.split(", "):
            yield _row_kernel("short rows", name, text)


def _long_rows() -> Iterator[Kernel]:
    sizes = {
        "layer-norm": "4096x5120 f16, 4096x8704 f16, 4096x12288 f16, 2048x8192 f16, "
        "2048x24576 f16, 2048x32768 f16, 1152x36864 f16, 4096x16384 f16, "
        "100x32768 bf16, 1024x20000 bf16, 512x65536 bf16, 300x100000 bf16",
        "rms-norm": "4096x5120 bf16, 4096x12288 bf16, 4096x8192 bf16, 2048x20000 bf16, "
        "2048x32768 bf16, 1024x50257 bf16, 512x65536 bf16, 16384x16384 bf16, "
        "2048x16384 f32, 1024x32768 f32, 1000x16385 f16, 256x131072 f16",
        "softmax": "2048x24576 f16, 2048x32768 f16, 1024x50257 f16, 512x65536 f16, "
        "4096x12288 f16, 4096x20000 f16, 100x32768 f16, 1024x32768 f32, 512x65536 f32, "
        "256x131072 f32, 128x262144 f32, 64x65536 f32, 1000x50257 f32",
    }
    for name, texts in sizes.items():
        for text in texts.split(", "):
            yield _row_kernel("long rows", name, text)


def _gradients() -> Iterator[Kernel]:
    sizes = {
        "layer-norm": "4096x1024 f16, 16384x768 f16, 2048x16384 f16, 1024x32768 f16",
        "rms-norm": "4096x1024 bf16, 16384x768 bf16, 2048x16384 bf16, 1024x32768 bf16",
        "softmax": "2048x24576 f16, 1024x32768 f16, 1024x50257 f16, 4096x16384 f16",
    }
    for name, texts in sizes.items():
        for text in texts.split(", "):
            is_short = int(text.split()[0].split("x")[1]) <= 1024
            kind = "short rows" if is_short else "long rows"
            yield _row_kernel(kind, name, text, trains=True)


def _normal(*size: int, dtype: str) -> Maker:
    return lambda: torch.randn(size, dtype=_DTYPES[dtype])
