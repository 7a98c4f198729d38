"""One optimizer step: eager's three implementations, Inductor and girih.

All engines update the same parameters, with the same gradients, each with a state of
its own; in rounds that alternate. On a GPU ten steps are queued, as in training. That
they compute the same is checked before, on small parameters of as many shapes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import nn

import girih
from benchmarks import agreement, options, results
from benchmarks.measure import keep_freed_memory, measure

Shape = tuple[int, ...]

COMPARED_STEPS = 5
QUEUED_STEPS = 10
"""Steps on a GPU between two waits for it."""


def gpt2_shapes(width: int = 768, layers: int = 12) -> list[Shape]:
    """Shapes of the parameters of GPT-2."""
    block: list[Shape] = [(width,)] * 2
    block += [(width, 3 * width), (3 * width,), (width, width), (width,)]
    block += [(width,)] * 2
    block += [(width, 4 * width), (4 * width,), (4 * width, width), (width,)]
    return [(50257, width), (1024, width), *block * layers, (width,), (width,)]


def digits_shapes(width: int = 64, depth: int = 4) -> list[Shape]:
    """Shapes of the parameters of the vision transformer in ``examples``."""
    block: list[Shape] = [(width,), (width,), (3 * width, width), (3 * width,)]
    block += [(width, width), (width,), (width,), (width,)]
    block += [(4 * width, width), (4 * width,), (width, 4 * width), (width,)]
    ends: list[Shape] = [(1, 16, width), (width, 1, 2, 2), (width,)]
    return [*ends, *block * depth, (width,), (width,), (10, width), (10,)]


@dataclass(frozen=True)
class Case:
    """What is measured.

    Attributes:
        name: Its name.
        optimizer: A class of ``torch.optim``.
        shapes: Of the parameters.
        options: Of the optimizer.
        is_clipped: Whether gradients are clipped by their norm before the step.
    """

    name: str
    optimizer: str
    shapes: list[Shape]
    options: dict[str, Any] = field(default_factory=dict)
    is_clipped: bool = False


CASES = {
    case.name: case
    for case in (
        Case("GPT-2, AdamW", "AdamW", gpt2_shapes()),
        Case("GPT-2, clipping and AdamW", "AdamW", gpt2_shapes(), {}, True),
        Case("GPT-2, SGD", "SGD", gpt2_shapes(), {"lr": 1e-3, "momentum": 0.9}),
        Case("digits, Adam", "Adam", digits_shapes()),
        Case("digits, clipping and AdamW", "AdamW", digits_shapes(), {}, True),
    )
}


@dataclass(frozen=True)
class Engine:
    """A way to make a step.

    Attributes:
        options: Options of the optimizer.
        compile: Applied to the function that makes the step.
    """

    options: dict[str, Any]
    compile: Callable[[Callable], Callable]


def _plain(function: Callable) -> Callable:
    return function


def _by_girih(function: Callable) -> Callable:
    return girih.compile(function, fullgraph=True, options={"fallback": False})


ENGINES = {
    "for-loop": Engine({"foreach": False}, _plain),
    "foreach": Engine({"foreach": True}, _plain),
    "fused": Engine({"fused": True}, _plain),
    "inductor": Engine({}, torch.compile),
    "girih": Engine({}, _by_girih),
}


@dataclass(frozen=True)
class Row:
    """One case; by engine.

    Attributes:
        case: Its name.
        seconds: Median time of a step.
        cold: Seconds of the first step.
        differences: Of parameters after some steps from eager's loop.
    """

    case: str
    seconds: dict[str, float]
    cold: dict[str, float]
    differences: dict[str, float]


def make_parameters(shapes: Sequence[Shape], device: str = "cpu") -> list[nn.Parameter]:
    """Parameters with gradients, always the same."""
    generator = torch.Generator().manual_seed(0)
    parameters = []
    for shape in shapes:
        value = torch.randn(shape, generator=generator)
        gradient = torch.randn(shape, generator=generator) * 1e-2
        parameter = nn.Parameter(value.to(device))
        parameter.grad = gradient.to(device)
        parameters.append(parameter)
    return parameters


def make_step(
    case: Case, parameters: list[nn.Parameter], engine: Engine
) -> Callable[[], None]:
    """The function that is measured."""
    make = getattr(torch.optim, case.optimizer)
    optimizer = make(parameters, **case.options, **engine.options)
    if not case.is_clipped:
        return engine.compile(optimizer.step)

    def clip_and_step() -> None:
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    return engine.compile(clip_and_step)


def _queued(step: Callable[[], None]) -> Callable[[], None]:
    """Steps one after the other, as in training: the GPU is behind the host."""

    def run() -> None:
        for _ in range(QUEUED_STEPS):
            step()
        torch.cuda.synchronize()

    return run


def compare(case: Case, device: str) -> dict[str, float]:
    """What the engines compute for small parameters; differences by engine.

    Raises:
        Disagreement: An engine's differ from those of eager's loop.
    """
    shapes = sorted({tuple(min(size, 33) for size in shape) for shape in case.shapes})
    found = {}
    for name, engine in ENGINES.items():
        parameters = make_parameters(shapes, device)
        step = make_step(case, parameters, engine)
        for _ in range(COMPARED_STEPS):
            step()
        found[name] = [parameter.detach() for parameter in parameters]
        _forget()
    return {
        name: agreement.check(
            f"{name} on {case.name}", result, found["for-loop"], torch.float32
        )
        for name, result in found.items()
    }


def run_case(case: Case, *, quick: bool, device: str = "cpu") -> Row:
    """Checks and measures one case."""
    differences = compare(case, device)
    parameters = make_parameters(case.shapes, device)
    steps, cold = {}, {}
    for name, engine in ENGINES.items():
        step = make_step(case, parameters, engine)
        steps[name] = step if device == "cpu" else _queued(step)
        start = time.perf_counter()
        step()
        if device != "cpu":
            torch.cuda.synchronize()
        cold[name] = time.perf_counter() - start
    seconds = 1.0 if quick else 20.0
    timings = measure(steps, seconds=seconds, min_rounds=3 if quick else 7)
    count = 1 if device == "cpu" else QUEUED_STEPS
    medians = {name: timing.median / count for name, timing in timings.items()}
    _forget()
    return Row(case.name, medians, cold, differences)


def _forget() -> None:
    """Lets go of compiled code, which holds parameters and their states."""
    girih.reset()
    torch.compiler.reset()


def text_table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    header = ["case", *ENGINES, "over fused", "over Inductor", "first step"]
    cells = [
        [
            row.case,
            *(results.seconds_text(row.seconds[name]) for name in ENGINES),
            f"{row.seconds['fused'] / row.seconds['girih']:.2f}",
            f"{row.seconds['inductor'] / row.seconds['girih']:.2f}",
            results.seconds_text(row.cold["girih"]),
        ]
        for row in rows
    ]
    return results.table(header, cells)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns the exit code."""
    parser = options.parser(__doc__)
    parser.add_argument(
        "--cases",
        help=f"text that is part of the names, out of {', '.join(CASES)}",
        default="",
    )
    parser.add_argument(
        "--device", help="where the parameters are: cpu or cuda", default="cpu"
    )
    parsed = parser.parse_args(arguments)
    if parsed.threads:
        torch.set_num_threads(parsed.threads)
    keep_freed_memory()
    chosen = [case for case in CASES.values() if parsed.cases in case.name]
    if not chosen:
        parser.error(f"no case has {parsed.cases!r} in its name")
    rows = [
        run_case(case, quick=parsed.quick, device=parsed.device)
        for case in options.progress(chosen, lambda case: case.name)
    ]
    text = text_table(rows)
    print(text)
    if parsed.output:
        gpu = {} if parsed.device == "cpu" else {"gpu": torch.cuda.get_device_name()}
        results.write(parsed.output, [asdict(row) for row in rows], text, gpu)
    return 0


if __name__ == "__main__":
    sys.exit(main())
