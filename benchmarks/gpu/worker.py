"""What runs in a process of its own: rows of one part, printed as JSON.

``python -m benchmarks.gpu.worker kernels layer-norm softmax --device cuda``. Lines that
begin with ``@ `` are messages: the case and the engine that starts now, or a row.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from benchmarks.gpu.attempts import Attempts, DeviceLost, Row

if TYPE_CHECKING:
    from benchmarks.gate.sweeps import Case

PREFIX = "@ "
DEVICE_LOST = 3
"""Exit code of a worker whose device answers no more."""


def parser() -> argparse.ArgumentParser:
    """What the supervisor passes on."""
    result = argparse.ArgumentParser(description=__doc__)
    result.add_argument("part", choices=[*PARTS, "cold"])
    result.add_argument("names", nargs="+")
    result.add_argument("--device", type=torch.device, default=torch.device("cuda"))
    result.add_argument("--mode", default="default")
    result.add_argument("--engines", default="eager,inductor,girih")
    result.add_argument("--quick", action="store_true")
    result.add_argument("--small", action="store_true", help="sizes of unit tests")
    result.add_argument(
        "--failures", type=json.loads, default={}, help="case -> engine -> reason"
    )
    return result


def _kernels(name: str, attempts: Attempts, options: argparse.Namespace) -> Row:
    from benchmarks.gpu.cases import by_name
    from benchmarks.gpu.kernels import run_case

    (case,) = by_name([name])
    return run_case(
        case.small() if options.small else case,
        options.device,
        attempts,
        quick=options.quick,
        mode=options.mode,
    )


def _overhead(name: str, attempts: Attempts, options: argparse.Namespace) -> Row:
    from benchmarks.gpu.overhead import run_case

    return run_case(name, options.device, attempts, quick=options.quick)


def _models(name: str, attempts: Attempts, options: argparse.Namespace) -> Row:
    from benchmarks.gpu.model_runs import time_steps

    return time_steps(
        name,
        options.device,
        attempts,
        quick=options.quick,
        mode=options.mode,
        small=options.small,
    )


def case_of(part: str, name: str, device: str) -> Case:
    """The case of the gate, or of the drawn shapes, that has this name."""
    if part == "gate":
        from benchmarks.gate.sweeps import by_name

        return by_name(name)
    from benchmarks.shapes import cases

    return cases.by_name(name, device)


def _cold(name: str, attempts: Attempts, options: argparse.Namespace) -> Row:
    from benchmarks.gate.timing import run_case

    case = case_of(options.part, name, options.device.type)
    return run_case(case, options.device, attempts, quick=options.quick)


PARTS: dict[str, Callable[[str, Attempts, argparse.Namespace], Row]] = {
    "kernels": _kernels,
    "overhead": _overhead,
    "models": _models,
    "gate": _cold,
    "shapes": _cold,
}


def send(**message: Any) -> None:
    """Prints a message for the supervisor."""
    print(f"{PREFIX}{json.dumps(message)}", flush=True)


def run(options: argparse.Namespace) -> None:
    """Sends a row for each name.

    Raises:
        DeviceLost: The device answers no more; the supervisor starts anew behind it.
    """
    for name in options.names:
        attempts = Attempts(
            options.engines.split(","),
            lambda engine, name=name: send(case=name, engine=engine),
            options.failures.get(name),
        )
        send(case=name, engine="")
        send(row=_row(name, attempts, options))


def _row(name: str, attempts: Attempts, options: argparse.Namespace) -> Row:
    try:
        return PARTS[options.part](name, attempts, options)
    except DeviceLost:
        raise
    except Exception as error:  # noqa: BLE001  (one case must not hide the others)
        traceback.print_exc(file=sys.stderr)
        attempts.failures[""] = f"{type(error).__name__}: {error}"[:600]
        return attempts.row(case=name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one part; returns the exit code."""
    options = parser().parse_args(arguments)
    if options.part == "cold":
        from benchmarks.gpu.model_runs import time_cold_compile

        (name,) = options.names
        seconds = time_cold_compile(
            name,
            options.device,
            options.engines,
            mode=options.mode,
            small=options.small,
        )
        send(row={"case": name, "compile_seconds": seconds})
        return 0
    try:
        run(options)
    except DeviceLost:
        traceback.print_exc(file=sys.stderr)
        return DEVICE_LOST
    return 0


if __name__ == "__main__":
    sys.exit(main())
