"""Compiles the shapes of a run in several processes, so that workers find caches.

``python -m benchmarks.gate.ahead gate cuda eager,inductor,girih "softmax 4096x256"``
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

import torch

from benchmarks.gpu import engines, worker
from benchmarks.gpu.supervisor import ROOT, Settings


def compile_all(
    names: Sequence[str],
    settings: Settings,
    environment: Mapping[str, str] | None,
    processes: int,
    part: str = "gate",
) -> None:
    """Compiles all cases for all engines; what fails fails again where it is measured.

    Args:
        names: Of cases.
        settings: Device and engines.
        environment: Where the caches are.
        processes: How many work side by side.
        part: The benchmark to which the cases belong, as the worker spells it.
    """
    chosen = [part, settings.device, ",".join(settings.engines)]
    command = [sys.executable, "-m", "benchmarks.gate.ahead", *chosen]
    shares = [names[n::processes] for n in range(processes)]
    variables = {**os.environ, **(environment or {})}
    running = [
        subprocess.Popen(
            [*command, *share], cwd=ROOT, env=variables, stderr=subprocess.DEVNULL
        )
        for share in shares
        if share
    ]
    for process in running:
        process.wait()


def main(part: str, device: str, chosen: str, *names: str) -> None:
    """Compiles and calls each case once."""
    for name in names:
        case = worker.case_of(part, name, device)
        inputs = case.make_inputs(torch.device(device))
        with torch.no_grad():
            for engine in chosen.split(","):
                engines.reset()
                try:
                    compiled = engines.compile_with(engine, case.sweep.function)
                    case.bind(compiled, inputs)()
                except Exception:  # noqa: BLE001  (the worker tells it)
                    continue


if __name__ == "__main__":
    main(*sys.argv[1:])
