"""What a call costs on the host: 64 floats, one kernel, or a product and kernels."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from benchmarks import agreement
from benchmarks.gpu import clock, engines
from benchmarks.gpu.attempts import Attempts, Row


@dataclass(frozen=True)
class Call:
    """One way to call one function.

    Attributes:
        function: On matrices of 8 x 8.
        arguments: How many it takes.
        needs_grad: Whether gradients are enabled, and the arguments need them.
        mode: Of the compilers.
    """

    function: Callable
    arguments: int
    needs_grad: bool
    mode: str


def one_kernel(x):
    """One fused kernel."""
    return F.silu(x) * x + 1


def matmul_and_kernels(x, weight):
    """A kernel, a matrix product, and two kernels behind it."""
    product = (F.silu(x) * 2 + 1) @ weight
    return F.gelu(product + 1) - 0.5, product.square().sum(0)


def _calls() -> dict[str, Call]:
    functions = {"one kernel": (one_kernel, 1), "mm + 3": (matmul_and_kernels, 2)}
    return {
        f"{name}, {'grad' if needs_grad else 'no grad'}, {mode}": Call(
            *function, needs_grad, mode
        )
        for mode in ("default", "reduce-overhead")
        for name, function in functions.items()
        for needs_grad in (False, True)
    }


CALLS = _calls()
"""From the name of a row to what is called."""


def _next_step(call: Callable[[], object]) -> object:
    """A call of Inductor's recorded graph.

    Without the mark it would wait for the backward pass of the call before, and take
    milliseconds.
    """
    torch.compiler.cudagraph_mark_step_begin()
    return call()


def run_case(
    name: str, device: torch.device, attempts: Attempts, *, quick: bool
) -> Row:
    """Compiles, checks and measures one call.

    Returns:
        The row: ``seconds`` and ``least_seconds`` of the host by engine.
    """
    case = CALLS[name]
    torch.manual_seed(0)
    inputs = [
        torch.randn(8, 8, device=device, requires_grad=case.needs_grad)
        for _ in range(case.arguments)
    ]
    engines.reset()
    differences, calls = {}, {}
    with torch.set_grad_enabled(case.needs_grad):
        expected = [x.detach() for x in agreement.flatten(case.function(*inputs))]
        for engine in attempts.engines():
            with attempts.of(engine):
                function = engines.compile_with(engine, case.function, case.mode)
                call = functools.partial(function, *inputs)
                if (engine, case.mode) == ("inductor", "reduce-overhead"):
                    call = functools.partial(_next_step, call)
                for _ in range(3):  # graphs are recorded after the first call
                    actual = [x.detach().clone() for x in agreement.flatten(call())]
                differences[engine] = agreement.check(
                    f"{engine} on {name}", actual, expected, torch.float32
                )
                engines.check_compiled(engine, function)
                calls[engine] = call
        timings = clock.host_times(calls, device, seconds=0.5 if quick else 2.0)
    return attempts.row(
        case=name,
        seconds={name: timing.median for name, timing in timings.items()},
        least_seconds={name: timing.minimum for name, timing in timings.items()},
        differences=differences,
    )
