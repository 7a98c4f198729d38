"""Runs of kernels in processes of their own: compiled side by side, timed one by one.

Each process is forked from one that has imported all it needs and has not touched the
device. It compiles, checks the result against eager's, says that it is ready, and waits
for its turn, so nothing else runs on the device while one is timed.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

import girih
from benchmarks import agreement
from benchmarks.gate.timing import cold_times
from benchmarks.gpu import clock
from benchmarks.gpu.kernels import COPY
from benchmarks.schedules.kernels import Kernel, Settings
from girih.dialects import attributes as attr
from girih.dialects.bindings import ir

_SIDE_BY_SIDE = 40
"""Processes that hold a context of the device at a time: each takes half a GiB."""
_TUNING = "girih.tuning"


@dataclass(frozen=True)
class Task:
    """A kernel as an engine runs it, or as girih does under settings.

    Attributes:
        kernel: What is run.
        engine: "girih", "inductor", or a device copy of as many bytes.
        settings: What the policy is overruled with; empty for its own choice.
    """

    kernel: Kernel
    engine: str
    settings: Settings

    def row(self, **more: Any) -> dict[str, Any]:
        """What is known of the task, for results."""
        own = {"kernel": self.kernel.name, "kind": self.kernel.kind}
        return {**own, "engine": self.engine, "settings": self.settings, **more}


def run_all(tasks: Sequence[Task], device: torch.device, seconds: float) -> Iterator:
    """Yields a row for each task, with ``seconds``, or with an ``error``."""
    for first in range(0, len(tasks), _SIDE_BY_SIDE):
        yield from _run_side_by_side(
            tasks[first : first + _SIDE_BY_SIDE], device, seconds
        )


def _run_side_by_side(
    tasks: Sequence[Task], device: torch.device, seconds: float
) -> Iterator:
    children = [_fork(task, device, seconds) for task in tasks]
    begun = [os.read(answers, 1) for _, answers, _ in children]
    for (child, answers, go), first in zip(children, begun, strict=True):
        if first == _READY:
            os.write(go, b"\n")
            first = b""
        os.close(go)
        with os.fdopen(answers, "rb") as file:
            text = first + file.read()
        os.waitpid(child, 0)
        yield json.loads(text) if text else {"error": "the process ended"}


_READY = b"\n"


def _fork(task: Task, device: torch.device, seconds: float) -> tuple[int, int, int]:
    """A child's number, where its row is read, and what lets it go on."""
    answers, answer = os.pipe()
    wait, go = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.close(answer)
        os.close(wait)
        return child, answers, go
    try:
        os.close(go)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            row = _measured(task, device, seconds, ready=(answer, wait))
        except Exception as error:  # one kernel that fails leaves the others
            row = task.row(error=f"{type(error).__name__}: {error}"[:300])
        os.write(answer, json.dumps(row).encode())
    finally:
        os._exit(0)


def _measured(
    task: Task, device: torch.device, seconds: float, ready: tuple[int, int]
) -> dict[str, Any]:
    kernel = task.kernel
    inputs = kernel.inputs(device)
    with torch.set_grad_enabled(kernel.trains):
        expected = _detached(kernel.call(kernel.function, inputs)())
        if task.engine == COPY:
            count = sum(x.numel() * x.itemsize for x in (*inputs, *expected))
            call, difference = clock.copy_of(count, device), 0.0
        else:
            call = kernel.call(compiled(task), inputs)
            found = _detached(call())
            pairs = zip(found, expected, strict=True)
            difference = max(agreement.difference(a, b) for a, b in pairs)
            del found
        del expected
        if device.type == "cuda":
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
        answer, wait = ready
        os.write(answer, _READY)
        os.read(wait, 1)
        timed = cold_times({"call": call}, device, seconds=seconds)["call"]
    return task.row(seconds=timed, difference=difference)


def _detached(values) -> list[torch.Tensor]:
    return [x.detach() for x in agreement.flatten(values)]


def compiled(task: Task) -> Callable:
    """A task's function as its engine runs it."""
    if task.engine == "inductor":
        return torch.compile(task.kernel.function, dynamic=False)
    options: dict[str, Any] = {"fallback": False}
    if task.settings:
        options["passes"] = {"before:tile": lambda module: _tune(module, task.settings)}
    return girih.compile(task.kernel.function, dynamic=False, options=options)


def _tune(module, settings: Settings) -> None:
    """Says how all kernels of a module are to run."""
    entries = {name: attr.INT.encode(value) for name, value in settings.items()}
    for op in module.regions[0].blocks[0].operations:
        op.operation.attributes[_TUNING] = ir.DictAttr.get(entries)
