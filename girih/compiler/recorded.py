"""Programs that are recorded in CUDA graphs: ``options={"cudagraphs": True}``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from girih.codegen.runtime.cuda_capture import cuda_api
from girih.codegen.runtime.cuda_graphs import Recorder, shared_on
from girih.codegen.runtime.recordable import recordable
from girih.codegen.runtime.recording import CaptureApi
from girih.compiler.modules import functions_of
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.log import logger
from girih.options import Options
from girih.passes.autograd.joint import Signature
from girih.reports import Report

_log = logger("cudagraphs")

REPLAY = 8
"""Microseconds on the host that a replay takes, with what is checked and copied for it
(H200, 2026-11-20)."""

emulator: CaptureApi | None = None
"""Where set, graphs of CPU tensors are recorded with this."""


def results_of_user(module: ir.Module) -> frozenset[int]:
    """Which results of a function are the user's and no gradients.

    Others, saved values and gradients, do not outlive their training step by much.
    """
    signature = Signature.of(functions_of(module)["main"])
    if any(keys.COTANGENT in given for given in signature.arguments):
        return frozenset()
    results = [given for given in signature.results if keys.WRITES not in given]
    return frozenset(n for n, r in enumerate(results) if keys.SAVED not in r)


def recorded(
    program: Any,
    module: ir.Module,
    returned: frozenset[int],
    device: torch.device,
    options: Options,
    report: Report,
) -> Callable:
    """The program as one that is replayed where it can be.

    Args:
        program: As ``build_program`` makes it.
        module: With its launch program.
        returned: What `results_of_user` said of its function.
        device: Where it computes.
        options: Of the compilation.
        report: Gets the number of graphs, and each reason not to record.

    Returns:
        The program itself where no graph can be recorded.
    """
    if device.type == "cpu" and emulator is None:
        _log.info("%s: not recorded: it computes on the CPU", report.name)
        return program
    note = _Notes(report)
    facts = recordable(functions_of(module)["main"], returned)
    if facts.microseconds <= REPLAY:
        note(
            "launching the kernels takes the host less time than replaying a CUDA graph"
        )
        return program
    if facts.hindrance is not None:
        note(facts.hindrance)
        return program
    shared = shared_on(emulator or cuda_api(device))
    limit = options.cudagraph_limit
    return Recorder(
        program, facts, shared, limit=limit, note=note, on_replay=note.replayed
    )


class _Notes:
    """Takes down what becomes of the recording of a program."""

    def __init__(self, report: Report):
        self._report = report

    def __call__(self, reason: str | None) -> None:
        if reason is None:
            self._report.recordings += 1
            count = self._report.recordings
            _log.info("%s: recorded, as CUDA graph %d", self._report.name, count)
            return
        self._report.not_recorded.append(reason)
        _log.info("%s: not recorded: %s", self._report.name, reason)

    def replayed(self, number: int) -> None:
        """A later call replays a CUDA graph for the first time."""
        _log.info("%s: CUDA graph %d is replayed", self._report.name, number)
