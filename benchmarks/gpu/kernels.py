"""Single kernels: device times of all engines, beside a copy of the same bytes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from benchmarks import agreement
from benchmarks.gpu import clock, engines
from benchmarks.gpu.attempts import Attempts, Row
from benchmarks.gpu.cases import GpuCase

COPY = "copy"
_ROUNDS_SECONDS = {True: 0.25, False: 0.8}


def run_case(
    case: GpuCase, device: torch.device, attempts: Attempts, *, quick: bool, mode: str
) -> Row:
    """Compiles, checks and measures one case.

    Args:
        case: The kernel.
        device: Where it runs.
        attempts: Which engines take part, and where their failures go.
        quick: Fewer rounds.
        mode: The compilers' mode.

    Returns:
        The row: ``seconds`` (also of a copy), ``differences`` from float64 and
        ``compile_seconds`` by engine, ``bytes`` that must move at least.
    """
    inputs = case.make_inputs(device)
    expected = _reference(case, inputs)
    engines.reset()
    differences, compile_seconds, calls = {}, {}, {}
    for engine in attempts.engines():
        with attempts.of(engine):
            function = engines.compile_with(engine, case.function, mode)
            call = functools.partial(_call(case), function, inputs)
            actual, compile_seconds[engine] = clock.timed(call, device)
            found = agreement.difference(actual, expected)
            differences[engine] = found
            _check_difference(engine, found, differences.get("eager", 0.0), case.dtype)
            engines.check_compiled(engine, function)
            calls[engine] = call
    moved = _bytes(inputs, expected, case.dtype)
    del expected
    calls[COPY] = clock.copy_of(moved, device)
    timings = clock.device_times(calls, device, seconds=_ROUNDS_SECONDS[quick])
    return attempts.row(
        case=case.name,
        size=case.size_text,
        dtype=str(case.dtype).removeprefix("torch."),
        limit=case.limit,
        is_training=case.is_training,
        bytes=moved,
        seconds={name: timing.median for name, timing in timings.items()},
        least_seconds={name: timing.minimum for name, timing in timings.items()},
        differences=differences,
        compile_seconds=compile_seconds,
    )


def _check_difference(
    engine: str, found: float, eagers: float, dtype: torch.dtype
) -> None:
    """Nothing happens where a result is about as good as eager's.

    Raises:
        Disagreement: It is much worse.
    """
    allowed = max(agreement.TOLERANCE[dtype], 2 * eagers)
    if engine != "eager" and not found <= allowed:
        raise agreement.Disagreement(
            f"{engine} differs from float64 by {found:.1e}, eager by {eagers:.1e}"
        )


def _call(case: GpuCase) -> Callable:
    return _with_gradients if case.is_training else _without_gradients


def _without_gradients(function: Callable, inputs: Sequence[Tensor]):
    with torch.no_grad():
        return function(*inputs)


def _with_gradients(function: Callable, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The result, and the gradients for a cotangent that is the result itself."""
    result = function(*inputs)
    sources = [tensor for tensor in inputs if tensor.requires_grad]
    gradients = torch.autograd.grad(result, sources, result.detach())
    return [result.detach(), *gradients]


def _reference(case: GpuCase, inputs: Sequence[Tensor]):
    """What float64 gives, for the engines' inputs."""
    wide = [x.detach().double() if x.is_floating_point() else x for x in inputs]
    for tensor, source in zip(wide, inputs, strict=True):
        tensor.requires_grad_(source.requires_grad)
    return _call(case)(case.function, wide)


def _bytes(inputs: Sequence[Tensor], results, dtype: torch.dtype) -> int:
    """Bytes of all arguments and results, as the engines have them."""
    return sum(_sizes([*inputs, *agreement.flatten(results)], dtype))


def _sizes(tensors: Sequence[Tensor], dtype: torch.dtype) -> Iterator[int]:
    for tensor in tensors:
        size = dtype.itemsize if tensor.is_floating_point() else tensor.itemsize
        yield tensor.numel() * size
