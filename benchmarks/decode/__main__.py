"""Decoding with a static cache: eager, Inductor and girih, for each new token.

Each model runs in a fresh process with empty caches, where all engines decode in turn.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

import torch

from benchmarks import fresh, options, results
from benchmarks.decode import report
from benchmarks.decode.generating import SKIPPED
from benchmarks.decode.models import ALL, LARGE, MODELS
from benchmarks.decode.worker import DTYPES, ENGINES, NO_FALLBACK, Case

_WORKER = "benchmarks.decode.worker"
_ON_CPU = ("eager", "inductor", "girih-reduce-overhead")
_LEAST_TOKENS = SKIPPED + 2
_PROFILED_TOKENS = 40
"""A profile calls the step so often, and each call fills the cache."""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = options.parser(__doc__)
    add = result.add_argument
    large = ", ".join(LARGE)
    add(
        *("--models", "--model"),
        type=options.names,
        default=list(MODELS),
        help=f"comma-separated names; beside the default ones: {large}",
    )
    add("--device", choices=("cpu", "cuda"), default="cpu", help="where models run")
    add("--batch", type=options.names, default=["1", "8"], help="numbers of sequences")
    add("--dtype", type=options.names, default=["float32"], help=", ".join(DTYPES))
    add(
        "--engines",
        type=options.names,
        help=f"out of {', '.join(ENGINES)}; by default all, and on the CPU, where the "
        f"modes make no difference, {', '.join(_ON_CPU)}",
    )
    add("--prompt", type=int, default=16, help="tokens of the prompt")
    add("--tokens", type=int, default=48, help="new tokens of each sequence")
    add(
        "--profile",
        action="store_true",
        help="time each kernel of one decoding step compiled by girih",
    )
    return result


def cases(parsed: argparse.Namespace) -> list[Case]:
    """What the options ask for.

    Raises:
        ValueError: A name is unknown, or a number is too small.
    """
    default = _ON_CPU if parsed.device == "cpu" else tuple(ENGINES)
    engines = tuple(parsed.engines or default)
    for given, known in (
        (parsed.models, ALL),
        (parsed.dtype, DTYPES),
        (engines, ENGINES),
    ):
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"unknown names {unknown}; known: {', '.join(known)}")
    least = _PROFILED_TOKENS if parsed.profile else _LEAST_TOKENS
    if parsed.tokens < least:
        raise ValueError(f"--tokens must be at least {least}, got {parsed.tokens}")
    if parsed.profile and not any(name.startswith("girih") for name in engines):
        raise ValueError("--profile needs an engine of girih")
    return [
        Case(
            name,
            parsed.device,
            dtype,
            int(batch),
            parsed.prompt,
            parsed.tokens,
            2 if parsed.quick else 5,
            engines,
            parsed.threads,
            profile=parsed.profile,
        )
        for name in parsed.models
        for dtype in parsed.dtype
        for batch in parsed.batch
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns the exit code: 1 where a model failed."""
    command = parser()
    parsed = command.parse_args(arguments)
    try:
        chosen = cases(parsed)
    except ValueError as error:
        command.error(str(error))
    extra = {} if parsed.device == "cpu" else {"gpu": torch.cuda.get_device_name()}
    if parsed.threads:
        torch.set_num_threads(parsed.threads)
    rows, failed = [], []
    for case in options.progress(chosen, lambda c: f"{c.model}, {c.batch}, {c.dtype}"):
        try:
            rows.append(_in_a_process(case))
        except RuntimeError as error:
            failed.append(f"{case.model}, batch {case.batch}, {case.dtype}: {error}")
            continue
        if parsed.profile:
            print(report.profile_table(rows[-1]) + "\n")
        if parsed.output:  # after each model, so that a stopped run has its results
            results.write(parsed.output, rows, _text(rows), extra)
    print(_text(rows))
    for failure in failed:
        print(failure, file=sys.stderr)
    return 1 if failed else 0


def _text(rows: list[dict]) -> str:
    parts = (report.text_table(rows), report.short_table(rows), report.ratios(rows))
    return "\n\n".join(parts)


def _in_a_process(case: Case) -> dict:
    with fresh.empty_caches() as environment:
        given = json.dumps(asdict(case))
        return fresh.run(_WORKER, given, environment={**environment, **NO_FALLBACK})


if __name__ == "__main__":
    sys.exit(main())
