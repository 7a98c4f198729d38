"""Models: time and peak memory of a step, cold compile time, agreement."""

from __future__ import annotations

import copy
import gc
import time

import torch
from torch import Tensor

from benchmarks.agreement import Disagreement
from benchmarks.gpu import clock, engines
from benchmarks.gpu.attempts import Attempts, Row
from benchmarks.gpu.models import ALL, Step

LEAST_ERROR = 2e-3
"""Relative error that is allowed whatever eager's is."""
_LATER_STEPS = 3


def parse(name: str) -> tuple[str, str]:
    """Model and kind out of ``"gpt2 training"``."""
    model, _, kind = name.rpartition(" ")
    return model, kind


def time_steps(
    name: str,
    device: torch.device,
    attempts: Attempts,
    *,
    quick: bool,
    mode: str,
    small: bool = False,
) -> Row:
    """Measures the steps of all engines in alternating rounds.

    Returns:
        The row: ``seconds``, ``peak_bytes`` of all memory in use, ``errors`` relative
        to float32 and ``compile_seconds`` (of a first step in this process).
    """
    model, kind = parse(name)
    module, arguments = ALL[model].build(device, kind, small=small)
    exact = _exact(module, arguments)
    errors, compile_seconds, steps = {}, {}, {}
    for engine in attempts.engines(first=("eager", "girih")):
        with attempts.of(engine):
            run = engines.compile_with(engine, module, mode)
            step = Step(module, arguments, run)
            _, first = clock.timed(step, device)
            errors[engine] = _error(step, exact, errors.get("eager"), engine)
            engines.check_compiled(engine, run)
            _, later = clock.timed(step, device)
            compile_seconds[engine] = first - later
            steps[engine] = step
    del exact  # it would count as memory in use
    peaks = {engine: _peak_bytes(step, device) for engine, step in steps.items()}
    seconds = 1.0 if quick else 4.0
    timings = clock.device_times(steps, device, seconds=seconds, head_start=False)
    return attempts.row(
        case=name,
        size=ALL[model].size_text,
        seconds={name: timing.median for name, timing in timings.items()},
        least_seconds={name: timing.minimum for name, timing in timings.items()},
        peak_bytes=peaks,
        errors=errors,
        compile_seconds=compile_seconds,
    )


def time_cold_compile(
    name: str, device: torch.device, engine: str, *, mode: str, small: bool = False
) -> float:
    """Seconds by which the first step of this process is longer than later ones.

    Loading the compiler belongs to it; the model has run in eager before.
    """
    model, kind = parse(name)
    module, arguments = ALL[model].build(device, kind, small=small)
    Step(module, arguments, module)()
    clock.synchronize(device)
    start = time.perf_counter()
    run = engines.compile_with(engine, module, mode)
    step = Step(module, arguments, run)
    step()
    clock.synchronize(device)
    first = time.perf_counter() - start
    later = [clock.timed(step, device)[1] for _ in range(_LATER_STEPS)]
    engines.check_compiled(engine, run)
    return first - min(later)


def _exact(module, arguments) -> list[Tensor]:
    """What a step gives in float32, without autocast and with the same weights."""
    wide = copy.deepcopy(module).float()
    inputs = [x.float() if x.is_floating_point() else x for x in arguments]
    step = Step(wide, tuple(inputs), wide)
    with torch.autocast(arguments[0].device.type, enabled=False):
        if not step.is_training:
            return step.outcome()
        loss = wide(*inputs)
        loss.backward()
    gradients = [p.grad.flatten() for p in wide.parameters() if p.grad is not None]
    return [loss.detach().flatten(), torch.cat(gradients)]


def _error(step: Step, exact: list[Tensor], eagers: float | None, engine: str) -> float:
    """The relative error of what a step computes.

    Raises:
        Disagreement: It is much larger than eager's.
    """
    found = max(map(_relative_error, step.outcome(), exact))
    step.drop_gradients()
    if eagers is not None and not found <= 2 * eagers + LEAST_ERROR:
        raise Disagreement(f"{engine} is off by {found:.1e}, eager by {eagers:.1e}")
    return found


def _relative_error(actual: Tensor, exact: Tensor) -> float:
    """The norm of the difference by the norm of the exact values, in slices."""
    pairs = zip(actual.split(1 << 26), exact.split(1 << 26), strict=True)
    squares = [
        ((a.double() - e.double()).square().sum(), e.double().square().sum())
        for a, e in pairs
    ]
    difference = sum(square for square, _ in squares)
    return float((difference / sum(square for _, square in squares)).sqrt())


def _peak_bytes(step: Step, device: torch.device) -> int:
    """Most memory in use during a step, what is kept between steps included."""
    if device.type != "cuda":
        return 0
    gc.collect()
    step()
    step.drop_gradients()
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    step()
    torch.cuda.synchronize(device)
    peak = torch.cuda.max_memory_allocated(device)
    step.drop_gradients()
    return peak
