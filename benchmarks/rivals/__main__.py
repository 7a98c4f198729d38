"""Networks on the CPU: eager, Inductor, OpenVINO, ONNX Runtime and girih.

``make rivals`` installs the other runtimes and the networks into build/rivals. Each
engine runs in a process of its own, twice where ``--rounds`` says so, in turn with the
others; its result is held against eager's first. ``--output STEM`` writes STEM.json and
STEM.md after each process.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

import torch

from benchmarks import fresh, options, results
from benchmarks.rivals import report
from benchmarks.rivals.engines import ENGINES
from benchmarks.rivals.networks import DEFAULT
from benchmarks.rivals.worker import TOLERANCE, Task

_WORKER = "benchmarks.rivals.worker"
_SECONDS = {True: 1.0, False: 5.0}
_LINES_SHOWN = 3


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = options.parser(__doc__)
    add = result.add_argument
    add(
        "--networks",
        type=options.names,
        default=list(DEFAULT),
        help="these, others of torchvision, or timm:NAME",
    )
    add("--batch", type=options.names, default=["1", "8"], help="images or sequences")
    add("--dtype", type=options.names, default=["float32"], help="or bfloat16")
    add("--engines", type=options.names, default=list(ENGINES))
    add("--rounds", type=int, default=2, help="processes of each engine")
    return result


def tasks(parsed: argparse.Namespace) -> list[Task]:
    """All processes, in the order in which they run.

    Raises:
        ValueError: A name is unknown, or a number is too small.
    """
    known_dtypes = [str(dtype).removeprefix("torch.") for dtype in TOLERANCE]
    for given, known in ((parsed.engines, ENGINES), (parsed.dtype, known_dtypes)):
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"unknown names {unknown}; known: {', '.join(known)}")
    if parsed.rounds < 1 or not all(batch.isdigit() for batch in parsed.batch):
        raise ValueError("--rounds and --batch must be numbers above 0")
    threads = parsed.threads or torch.get_num_threads()
    return [
        Task(network, engine, int(batch), dtype, threads, _SECONDS[parsed.quick])
        for network, batch, dtype, _, engine in itertools.product(
            parsed.networks,
            parsed.batch,
            parsed.dtype,
            range(parsed.rounds),
            parsed.engines,
        )
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 1 where an engine failed."""
    command = parser()
    parsed = command.parse_args(arguments)
    try:
        chosen = tasks(parsed)
    except ValueError as error:
        command.error(str(error))
    rows, failures = [], []
    with fresh.empty_caches() as environment:
        for task in options.progress(chosen, _described):
            try:
                given = json.dumps(asdict(task))
                rows.append(fresh.run(_WORKER, given, environment=environment))
            except RuntimeError as error:
                last = " ".join(str(error).splitlines()[-_LINES_SHOWN:])
                failures.append(f"{_described(task)}: {last}")
                print(error, file=sys.stderr)
            if parsed.output:  # after each process, so that an early end loses nothing
                results.write(parsed.output, rows, report.text_of(rows, failures))
    print(report.text_of(rows, failures))
    return int(bool(failures))


def _described(task: Task) -> str:
    return f"{task.network}, {task.batch}, {task.dtype}, {task.engine}"


if __name__ == "__main__":
    sys.exit(main())
