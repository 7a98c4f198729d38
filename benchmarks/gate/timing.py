"""One case of a sweep: all engines checked, then timed on a device with a cold cache.

[Note: cold cache] A model's layer finds its inputs in memory, not in the L2 cache,
where a loop over one kernel would leave them. So a CUDA graph holds some calls, each
behind a write over more memory than the cache has; what a graph of the writes alone
takes is subtracted. Graphs leave out the host's share of a call, as they do in the
engines of inference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from benchmarks import agreement
from benchmarks.gate.sweeps import Case
from benchmarks.gpu import clock, engines
from benchmarks.gpu.attempts import Attempts, Row
from benchmarks.gpu.kernels import COPY

_CALLS = 10
"""Calls in a graph: enough that what surrounds a graph is small beside them."""
_CLEARED_BYTES = 256 * 2**20
"""More than twice the L2 cache of an H200 (50 MiB) and of a B200 (126 MiB)."""
_ALLOWED = {torch.float32: 1e-3, torch.float16: 5e-3, torch.bfloat16: 2e-2}
_ALLOWED_AFTER_NARROW = 2.0**-8
"""Of float32 results of 16-bit operands: a rounding of an intermediate in bfloat16."""
_ALLOWED_STEPS = 1
"""Float8 and int8 elements next to eager's are told from wrong ones by their bits."""
_ALLOWED_SHARE = 0.05
"""Of these elements: so many may stand one step beside eager's. Eager rounds
intermediates to bfloat16 that kernels keep in float32. That moves a number by up to
2**-9 of its size, a thirtieth of the distance of float8 numbers, so about 3 % of them
round to a neighbour."""


def run_case(
    case: Case, device: torch.device, attempts: Attempts, *, quick: bool
) -> Row:
    """Compiles, checks and measures one case; returns its row.

    The row has ``seconds`` of each engine and of a copy of as many ``bytes``, and
    ``differences`` from eager's results.
    """
    inputs = case.make_inputs(device)
    function = case.sweep.function
    with torch.no_grad():
        expected = agreement.flatten(case.bind(function, inputs)())
        engines.reset()
        differences, calls = {}, {}
        for engine in attempts.engines():
            with attempts.of(engine):
                compiled = engines.compile_with(engine, function)
                call = case.bind(compiled, inputs)
                actual = agreement.flatten(call())
                differences[engine] = check(actual, expected, inputs)
                engines.check_compiled(engine, compiled)
                calls[engine] = call
        count = _bytes(case, inputs, expected)
        del expected
        calls[COPY] = clock.copy_of(count, device)
        seconds = 0.3 if quick else 1.0
        timings = cold_times(calls, device, seconds=seconds)
    return attempts.row(
        case=case.name,
        sweep=case.sweep.name,
        size=case.size_text,
        bytes=count,
        seconds=timings,
        differences=differences,
    )


def cold_times(
    calls: Mapping[str, Callable[[], object]], device: torch.device, *, seconds: float
) -> dict[str, float]:
    """Seconds of each call, see [Note: cold cache]; on a CPU the caches stay warm."""
    if device.type != "cuda":
        timings = clock.device_times(calls, device, seconds=seconds)
        return {name: timing.median for name, timing in timings.items()}
    clear = torch.empty(_CLEARED_BYTES, dtype=torch.uint8, device=device)
    graphs = {name: _graph(call, clear) for name, call in calls.items()}
    graphs[""] = _graph(lambda: None, clear)
    replays = {name: graph.replay for name, graph in graphs.items()}
    timings = clock.device_times(replays, device, seconds=seconds)
    alone = timings.pop("").median
    return {name: (found.median - alone) / _CALLS for name, found in timings.items()}


def _graph(call: Callable[[], object], clear: Tensor) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(_CALLS):
            clear.zero_()
            call()
    return graph


def check(
    actual: list[Tensor], expected: list[Tensor], inputs: Sequence[Tensor] = ()
) -> float:
    """The largest difference from eager, relative to the largest value.

    Args:
        actual: The results.
        expected: Eager's.
        inputs: What both were computed from.

    Raises:
        Disagreement: Dtypes or shapes differ, or values by more than rounding.
    """
    kinds = [[x.dtype for x in tensors] for tensors in (actual, expected)]
    if kinds[0] != kinds[1]:
        raise agreement.Disagreement(f"expected {kinds[1]}, got {kinds[0]}")
    is_narrow = any(x.is_floating_point() and x.itemsize == 2 for x in inputs)
    pairs = zip(actual, expected, strict=True)
    return max(_check_tensor(*pair, is_narrow) for pair in pairs)


def _check_tensor(actual: Tensor, expected: Tensor, is_narrow: bool) -> float:
    found = agreement.difference(actual, expected)
    if expected.itemsize == 1 and expected.is_floating_point():
        _check_steps(_ordered(actual), _ordered(expected), "float8")
        return found
    if not expected.is_floating_point():
        if expected.itemsize == 1 and expected.dtype != torch.bool:
            _check_steps(actual.int(), expected.int(), "integers")
        elif not torch.equal(actual, expected):
            raise agreement.Disagreement("integers differ")
        return found
    allowed = _ALLOWED[expected.dtype]
    if is_narrow:
        allowed = max(allowed, _ALLOWED_AFTER_NARROW)
    if not found <= allowed:
        raise agreement.Disagreement(f"differs by {found:.1e}, {allowed:.0e} allowed")
    return found


def _check_steps(actual: Tensor, expected: Tensor, what: str) -> None:
    """Compares narrow results by how many numbers of the type lie between them."""
    steps = (actual - expected).abs()
    if (largest := steps.max().item()) > _ALLOWED_STEPS:
        raise agreement.Disagreement(f"differs by {largest} steps of {what}")
    if (share := (steps > 0).float().mean().item()) > _ALLOWED_SHARE:
        raise agreement.Disagreement(f"{share:.1%} of the elements differ")


def _ordered(x: Tensor) -> Tensor:
    """Float8 as integers in the order of their values; zeros of both signs are 0."""
    bits = x.view(torch.uint8).int()
    return torch.where(bits > 127, 128 - bits, bits)


def _bytes(case: Case, inputs: Sequence[Tensor], results: Sequence[Tensor]) -> int:
    read = [x for n, x in enumerate(inputs) if n not in case.sweep.looked_up]
    return sum(x.numel() * x.itemsize for x in (*read, *results))
