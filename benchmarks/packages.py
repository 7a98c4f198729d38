"""Packages: how long they take to make, to load and to call first, beside AOTInductor.

Each load is in a process of its own, after ``import torch``; the files are cached in
memory. Results are compared with eager's first. Networks of torchvision and
transformers come from ``make rivals``.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import nn

from benchmarks import agreement, fresh, options, results
from benchmarks.rivals import networks

ENGINES = ("girih", "girih, frozen", "aotinductor")
NETWORKS = ("resnet50", "mobilenet_v3_large", "bert-base")
TOLERANCE = 1e-3
"""Of results, relative to the largest: many layers add up what roundings differ by."""
_CALLS = 15


@dataclass
class Row:
    """What was measured of one network and engine, in seconds but for ``bytes``.

    Attributes:
        network: As ``networks.make`` takes it.
        engine: Of ``ENGINES``.
        make: One run, the imports of the compiler included.
        bytes: Size of the file.
        load: Of each process: what the engine imports beside torch, and its load.
        first: Of each process: the first call, which follows.
        call: Of each process: the median of further calls.
    """

    network: str
    engine: str
    make: float
    bytes: int
    load: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    call: list[float] = field(default_factory=list)


def _save_girih(module: nn.Module, x: torch.Tensor, file: str) -> None:
    import girih

    girih.package(module, (x,), path=file)


def _save_frozen(module: nn.Module, x: torch.Tensor, file: str) -> None:
    import girih

    girih.package(module, (x,), path=file, options={"freezing": True})


def _save_aotinductor(module: nn.Module, x: torch.Tensor, file: str) -> None:
    program = torch.export.export(module, (x,))
    torch._inductor.aoti_compile_and_package(program, package_path=file)


def _load_girih(file: str) -> Callable:
    import girih

    return girih.load(file)


def _load_aotinductor(file: str) -> Callable:
    import torch._inductor

    return torch._inductor.aoti_load_package(file)


_SAVE = dict(zip(ENGINES, (_save_girih, _save_frozen, _save_aotinductor), strict=True))
_LOAD = dict(zip(ENGINES, (_load_girih, _load_girih, _load_aotinductor), strict=True))


def save(network: str, engine: str, folder: Path) -> dict:
    """Makes a package; returns the seconds it took, and leaves an input beside it."""
    module, x = networks.make(network, 1, torch.float32)
    with torch.no_grad():
        torch.save((x, agreement.flatten(module(x))), folder / "input.pt")
        start = time.perf_counter()
        _SAVE[engine](module, x, str(folder / f"{engine}.pt2"))
    return {"make": time.perf_counter() - start}


def load(engine: str, folder: Path) -> dict:
    """Loads a package and calls it; returns seconds.

    Raises:
        Disagreement: The result differs from eager's.
    """
    x, expected = torch.load(folder / "input.pt")
    with torch.no_grad():
        start = time.perf_counter()
        call = _LOAD[engine](str(folder / f"{engine}.pt2"))
        loaded = time.perf_counter()
        result = call(x)
        first = time.perf_counter()
        times = []
        for _ in range(_CALLS):
            begin = time.perf_counter()
            call(x)
            times.append(time.perf_counter() - begin)
    if (found := agreement.difference(result, expected)) > TOLERANCE:
        raise agreement.Disagreement(f"{engine} differs by {found:.1e} from eager")
    return {
        "load": loaded - start,
        "first": first - loaded,
        "call": statistics.median(times),
    }


def measure(named: Sequence[str], rounds: int) -> list[Row]:
    """Makes all packages, then loads them in turn, round after round."""
    rows = []
    for network in options.progress(named, str):
        with tempfile.TemporaryDirectory(prefix="girih-bench-") as folder:
            made = [_made(network, engine, folder) for engine in ENGINES]
            for row in made:  # fills the file system's cache
                _run("load", row.engine, folder)
            for number in range(rounds):
                for row in made[:: 1 - 2 * (number % 2)]:
                    times = _run("load", row.engine, folder)
                    row.load.append(times["load"])
                    row.first.append(times["first"])
                    row.call.append(times["call"])
        rows += made
    return rows


def _made(network: str, engine: str, folder: str) -> Row:
    with fresh.empty_caches() as environment:
        done = _run("save", network, engine, folder, environment=environment)
    size = Path(folder, f"{engine}.pt2").stat().st_size
    return Row(network, engine, done["make"], size)


def _run(*arguments: str, environment: dict[str, str] | None = None) -> dict:
    return fresh.run("benchmarks.packages", *arguments, environment=environment)


def text_table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table; medians, and least in brackets."""
    cells = [
        [
            row.network,
            row.engine,
            results.seconds_text(row.make),
            f"{row.bytes / 2**20:.0f} MiB",
            *map(_text, (row.load, row.first, row.call)),
        ]
        for row in rows
    ]
    header = ["network", "engine", "make", "file", "load", "first call", "call"]
    return results.table(header, cells)


def _text(seconds: list[float]) -> str:
    median, least = statistics.median(seconds), min(seconds)
    return f"{results.seconds_text(median)} ({results.seconds_text(least)})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if given[:1] == ["save"]:
        print(json.dumps(save(given[1], given[2], Path(given[3]))))
        return 0
    if given[:1] == ["load"]:
        print(json.dumps(load(given[1], Path(given[2]))))
        return 0
    parser = options.parser(__doc__)
    parser.add_argument(
        "--networks", type=options.names, default=list(NETWORKS), help="comma-separated"
    )
    parsed = parser.parse_args(given)
    if parsed.threads:
        parser.error("a loaded package takes torch's threads: set OMP_NUM_THREADS")
    rows = measure(parsed.networks, rounds=3 if parsed.quick else 9)
    text = text_table(rows)
    print(text)
    if parsed.output:
        results.write(parsed.output, [asdict(row) for row in rows], text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
