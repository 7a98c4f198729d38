"""The device of the tests under ``test/gpu``, and how results are compared there.

It is the CUDA device where there is one. Elsewhere ``pytest --emulated test/gpu`` runs
them on the processor, their kernels interpreted: slow, but it finds most mistakes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

import girih
from benchmarks import agreement

HAS_CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if HAS_CUDA else "cpu")
FLOATS = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def why_not() -> str | None:
    """Why the tests can't run on a device here, or None."""
    if not HAS_CUDA:
        return "needs a CUDA device, or --emulated"
    if find_spec("triton") is None:
        return "needs Triton: pip install girih[gpu]"
    return None


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Random values on the device."""
    return torch.randn(shape, device=DEVICE).to(dtype)


def compiled(function: Callable, **settings: Any) -> Callable:
    """The function as girih compiles it; what can't be compiled raises."""
    settings.setdefault("dynamic", False)
    settings.setdefault("fullgraph", True)
    settings["options"] = {"fallback": False, **settings.get("options", {})}
    return girih.compile(function, **settings)


def tensors_of(result: Any) -> list[Tensor]:
    """The tensors of a result, in order."""
    return agreement.flatten(result)


def assert_as_good_as_eager(
    function: Callable,
    inputs: Sequence,
    actual: Any,
    slack: float = 0.0,
    has_layout: bool = True,
) -> None:
    """Asserts that a result is about as near to float64's as eager's is.

    Args:
        function: What was compiled.
        inputs: Its arguments.
        actual: What the compiled function gave.
        slack: Further error that is allowed, relative to the largest value.
        has_layout: Whether strides must be eager's too; gradients may be dense.
    """
    eager = tensors_of(function(*inputs))
    exact = tensors_of(agreement.reference(function, inputs))
    found = tensors_of(actual)
    assert len(found) == len(eager)
    for number, (mine, theirs, precise) in enumerate(
        zip(found, eager, exact, strict=True)
    ):
        _assert_like(mine, theirs, f"result {number}", has_layout)
        scale = float(precise.abs().double().nan_to_num().max()) if mine.numel() else 0
        spacing = _spacing(theirs.dtype)
        allowed = 2 * _error(theirs, precise) + (spacing + slack) * scale
        error = _error(mine, precise)
        assert error <= allowed, f"result {number}: error {error:.2e} > {allowed:.2e}"


def _assert_like(mine: Tensor, theirs: Tensor, label: str, has_layout: bool) -> None:
    for name in ("dtype", "shape", "device", "requires_grad"):
        got, want = getattr(mine, name), getattr(theirs, name)
        assert got == want, f"{label}: expected {name} {want}, got {got}"
    if has_layout and mine.numel() > 1:
        steps = [s for n, s in zip(mine.shape, mine.stride(), strict=True) if n > 1]
        want = [s for n, s in zip(mine.shape, theirs.stride(), strict=True) if n > 1]
        assert steps == want, f"{label}: expected strides {want}, got {steps}"


def _spacing(dtype: torch.dtype) -> float:
    """What rounding explains: the last one, and those of sums in single precision."""
    if not dtype.is_floating_point:
        return 0.0
    return max(2 * torch.finfo(dtype).eps, 16 * torch.finfo(torch.float32).eps)


def _error(value: Tensor, exact: Tensor) -> float:
    if not value.numel():
        return 0.0
    value, exact = value.double(), exact.double()
    assert torch.equal(value.isnan(), exact.isnan()), "NaN stands in other places"
    is_finite = exact.isfinite() & value.isfinite()
    same = (value == exact) | value.isnan() | is_finite
    assert bool(same.all()), "infinities stand in other places"
    return float(torch.where(is_finite, value - exact, 0.0).abs().max())
