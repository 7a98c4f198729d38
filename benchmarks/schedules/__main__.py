"""Kernels under several schedules on a GPU, beside the policy's choice and Inductor.

Prints for each kernel the time of girih's own choice, of Inductor, of a device copy of
as many bytes, and of the fastest schedules: a call in a CUDA graph with a cold L2
cache. The numbers in ``passes/tile/gpu/policy.py`` come from here. A change of the
policy is measured by two runs with ``--only-engines``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks import options, results
from benchmarks.gpu.kernels import COPY
from benchmarks.schedules.children import Task, run_all
from benchmarks.schedules.kernels import SETTINGS, kernels

_SHOWN = 4
"""Schedules of a kernel in the table."""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line; ``tasks`` holds what is measured."""
    parser = options.parser(__doc__)
    parser.add_argument(
        "--kernels", type=options.names, help="those whose names contain one of these"
    )
    parser.add_argument("--kinds", type=options.names, help=f"of {', '.join(SETTINGS)}")
    parser.add_argument(
        "--only-engines", action="store_true", help="no schedules but the policy's own"
    )
    parser.add_argument(
        "--engines", type=options.names, default=["girih", "inductor", COPY]
    )
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parsed = parser.parse_args(arguments)
    if unknown := sorted(set(parsed.engines) - {"girih", "inductor", COPY}):
        parser.error(f"unknown engines {unknown}; known: girih, inductor, {COPY}")
    if unknown := sorted(set(parsed.kinds or ()) - set(SETTINGS)):
        parser.error(f"unknown kinds {unknown}; known: {', '.join(SETTINGS)}")
    parsed.tasks = list(_tasks(parsed))
    if not parsed.tasks:
        parser.error("no kernel has such a name")
    return parsed


def _tasks(parsed: argparse.Namespace):
    for kernel in kernels().values():
        names = parsed.kernels or [""]
        if not any(name in kernel.name for name in names):
            continue
        if parsed.kinds and kernel.kind not in parsed.kinds:
            continue
        for engine in parsed.engines:
            yield Task(kernel, engine, {})
        for settings in () if parsed.only_engines else SETTINGS[kernel.kind]:
            yield Task(kernel, "girih", settings)


def report(rows: Sequence[dict[str, Any]]) -> str:
    """A table with a row for each kernel; failures below it."""
    by_kernel: dict[str, list[dict]] = {}
    for row in rows:
        if "seconds" in row:
            by_kernel.setdefault(row["kernel"], []).append(row)
    lines = [_line(name, found) for name, found in by_kernel.items()]
    header = ["kernel", "girih", "inductor", COPY, "over Inductor", "fastest schedules"]
    text = results.table(header, lines) if lines else ""
    failed = [row for row in rows if "error" in row]
    for row in failed:
        text += f"\n{row.get('kernel')} {row.get('settings')}: {row['error']}"
    return text


def _line(name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    own = {row["engine"]: row["seconds"] for row in rows if not row["settings"]}
    tried = [row for row in rows if row["settings"]]
    tried.sort(key=lambda row: row["seconds"])
    cells = [_time(own.get(engine)) for engine in ("girih", "inductor", COPY)]
    is_compared = "girih" in own and "inductor" in own
    ratio = f"{own['inductor'] / own['girih']:.2f}" if is_compared else ""
    best = "; ".join(
        f"{_time(row['seconds'])} {_settings_text(row['settings'])}"
        for row in tried[:_SHOWN]
    )
    return [name, *cells, ratio, best]


def _time(seconds: float | None) -> str:
    return "" if seconds is None else results.seconds_text(seconds)


def _settings_text(settings: dict[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 1 where something failed."""
    parsed = parse(arguments)
    if parsed.device == "cuda" and not torch.cuda._is_compiled():
        print(
            "this PyTorch has no CUDA; --device cpu tries the command", file=sys.stderr
        )
        return 1
    device = torch.device(parsed.device)
    seconds = 0.1 if parsed.quick else 0.3
    rows: list[dict] = []
    total = len(parsed.tasks)
    for row in run_all(parsed.tasks, device, seconds):
        rows.append(row)
        print(f"[{len(rows)}/{total}] {row.get('kernel')}", file=sys.stderr)
    text = report(rows)
    print(text)
    if parsed.output:
        extra = {"device": parsed.device}
        if device.type == "cuda":
            extra["device"] = torch.cuda.get_device_name()
        results.write(parsed.output, rows, text, extra)
    return int(any("error" in row for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
