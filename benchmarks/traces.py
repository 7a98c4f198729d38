"""How much of a training step has a name in a trace of ``torch.profiler``.

``python -m benchmarks.traces --help``. A step is that of ``training_cases``: forward,
loss, backward and eager's fused AdamW. Time has a name where a kernel, a library call
or another operator runs, on the host or on the device. What is left is time of the
frames around them (a call of a graph, a node of autograd, the optimizer): Python, and
on a GPU what the profiler itself takes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from benchmarks import svg
from benchmarks.engines import ENGINES
from benchmarks.training_cases import CASES, Training, TrainingCase, gpt2, tokens

STEP = "training step"
# What stands around operators, and takes time of Python alone.
_FRAMES = ("autograd::", "Optimizer.", "girih::graph", STEP)
# The host waits for the device, whose kernels have names.
_WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize")
_FRAME_ENDS = ("CompiledFunction", "Backward", "Backward0", "AccumulateGrad")
_WIDTH, _LEFT, _ROW, _TOP = 960, 12, 17, 64
FRAME = "Python around them"
_KINDS = {
    "a kernel of girih": "#1f6f8b",
    "a library call": "#d98032",
    FRAME: "#c8d1da",
}


# A GPU is idle for most of the others' steps.
LARGE = TrainingCase("gpt2-8x512", gpt2, tokens(8, 512, 50257))
_CASES = CASES | {LARGE.name: LARGE}


class Trace(NamedTuple):
    """A step under the profiler.

    Attributes:
        seconds: How long it took.
        named: The part of it in which a kernel or an operator runs.
        busy: The part of it in which the device is busy; None without one.
        events: The events of the step.
    """

    seconds: float
    named: float
    busy: float | None
    events: list[Any]


def kind_of(name: str) -> str:
    """What an event is, as the picture's legend says."""
    if name.startswith(_FRAMES) or name.endswith(_FRAME_ENDS):
        return FRAME
    is_kernel = name.startswith("girih::k")
    return "a kernel of girih" if is_kernel else "a library call"


def covered(events: Iterable[Any]) -> float:
    """The microseconds in which at least one event is under way."""
    total = end = 0.0
    ranges = (event.time_range for event in events)
    for each in sorted(ranges, key=lambda each: each.start):
        total += max(0.0, each.end - max(each.start, end))
        end = max(end, each.end)
    return total


def record(name: str, device: str, warmup: int = 5) -> tuple[Trace, Any]:
    """Profiles a step of a training case.

    Args:
        name: Of a case of training, or ``LARGE``.
        device: ``cpu`` or ``cuda``.
        warmup: Steps before it.

    Returns:
        The trace, and the profiler, which writes files.
    """
    training = Training(_CASES[name], ENGINES["girih"], device)
    for _ in range(warmup):
        training.step()
    training.check_compiled()
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
        torch.cuda.synchronize()
    for _ in range(2):  # In its first cycle the profiler sets itself up.
        with profile(activities=activities) as profiler, record_function(STEP):
            training.step()
            if device == "cuda":
                torch.cuda.synchronize()
    events = [e for e in profiler.events() if e.device_type.name == "CPU"]
    (step,) = (event for event in events if event.name == STEP)
    whole = step.time_range.elapsed_us()
    kernels = [e for e in profiler.events() if _is_on_device(e)]
    named = [e for e in events if kind_of(e.name) != FRAME and e.name not in _WAITS]
    share = covered([*named, *kernels]) / whole
    busy = covered(kernels) / whole if kernels else None
    return Trace(whole / 1e6, share, busy, events), profiler


def _is_on_device(event: Any) -> bool:
    """Whether it is a kernel or a copy; marks of host events are there, too."""
    is_mark = event.name.startswith((*_FRAMES, "aten::", "girih::"))
    return event.device_type.name == "CUDA" and not is_mark


def picture(trace: Trace) -> str:
    """The step's events as bars over time, a block of rows for each thread."""
    events = sorted(trace.events, key=lambda event: event.time_range.start)
    start = min(event.time_range.start for event in events if event.name == STEP)
    scale = (_WIDTH - 2 * _LEFT) / (trace.seconds * 1e6)
    rows = list(_rows(events))
    height = _TOP + _ROW * (max(row for row, _ in rows) + 2)
    root = svg.document(_WIDTH, height)
    svg.text(root, _LEFT, 22, "A training step in a trace", size=15, weight="600")
    svg.legend(root, _KINDS)
    for row, event in rows:
        x = _LEFT + (event.time_range.start - start) * scale
        width = event.time_range.elapsed_us() * scale
        if width < 0.3 or x < _LEFT - 1:
            continue
        _bar(root, x, _TOP + _ROW * row, min(width, _WIDTH - _LEFT - x), event.name)
    svg.text(root, _LEFT, height - 8, "0", size=11)
    end = f"{trace.seconds * 1e3:.2f} ms"
    svg.text(root, _WIDTH - _LEFT, height - 8, end, size=11, anchor="end")
    return svg.to_text(root)


def _rows(events: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """A row for each event: by thread, then by how deep it lies."""
    above: dict[int, int] = {}
    first = 0
    for thread in dict.fromkeys(event.thread for event in events):
        deepest = 0
        for event in events:
            if event.thread != thread:
                continue
            parent = event.cpu_parent
            depth = 0 if parent is None else above.get(parent.id, -1) + 1
            above[event.id] = depth
            deepest = max(deepest, depth)
            yield first + depth, event
        first += deepest + 2


def _bar(root: ET.Element, x: float, y: float, width: float, name: str) -> None:
    kind = kind_of(name)
    svg.rect(root, x, y, max(width - 0.3, 0.3), _ROW - 2, _KINDS[kind])
    shown = name.removeprefix("girih::")
    letters = int(width / 6)
    if letters >= min(len(shown), 8):
        svg.text(root, x + 2, y + 11, shown[:letters], size=9)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser("benchmarks.traces", description=__doc__)
    parser.add_argument("--case", action="append", choices=list(_CASES), default=[])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--svg", type=Path, help="draws the last case's step")
    parser.add_argument("--trace", type=Path, help="the last case's, for Perfetto")
    parser.add_argument("--json", type=Path, help="the numbers")
    given = parser.parse_args(arguments)
    rows = []
    for name in given.case or ["resnet", "transformer", "gpt2"]:
        trace, profiler = record(name, given.device)
        row = {"case": name, "ms": trace.seconds * 1e3, "named": trace.named}
        text = f"{name:12} {row['ms']:9.2f} ms, {trace.named:6.1%} of it named"
        if trace.busy is not None:
            row["busy"] = trace.busy
            text += f", the device busy for {trace.busy:6.1%}"
        print(text, flush=True)
        rows.append(row)
    if given.svg:
        given.svg.write_text(picture(trace))
    if given.trace:
        profiler.export_chrome_trace(str(given.trace))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
