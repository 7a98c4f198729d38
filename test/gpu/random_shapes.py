"""Random shapes for each kernel of the benchmarks, compared with float64 on a GPU.

``make test-gpu-shapes`` tries 1,000 for each. One program with symbolic sizes serves
most of them; every ``--static-every``-th shape gets a program of its own. Float dtypes
take turns. The first failures of each kernel are printed; the exit code tells whether
there were any.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

_TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS / "support"), str(_TESTS.parent)]

import torch  # noqa: E402
from gpu_device import DEVICE, FLOATS, assert_as_good_as_eager, compiled  # noqa: E402

from benchmarks import cases  # noqa: E402
from benchmarks.gpu.cases import CASES as GPU_CASES  # noqa: E402

ELEMENTS = 1 << 18
SHOWN = 3
KERNELS = {case.name: case for case in (*cases.CASES, *GPU_CASES)}
KERNELS = {n: c for n, c in KERNELS.items() if not getattr(c, "is_training", False)}


def sizes_of(case, generator: random.Random) -> dict[str, int]:
    """Random sizes by dimension: small ones, powers of two and their neighbours."""
    dims = list(dict.fromkeys(d for spec in case.inputs for d in spec.dims.split()))
    generator.shuffle(dims)
    sizes, left = {}, ELEMENTS
    if is_attention := case.name.endswith("attention"):
        left = ELEMENTS // 4
    for dim in dims:
        near = generator.choice(
            (1 << generator.randrange(15), generator.randrange(1, 70))
        )
        most = min(left, 512) if is_attention else left  # scores grow with its square
        size = max(1, min(near + generator.randrange(-1, 2), most))
        sizes[dim] = 1 if dim == "one" else size
        left //= sizes[dim]
    if case.name == "rotary-embedding":
        sizes["dim"] *= 2  # halves are rotated
    return sizes


def try_kernel(name: str, count: int, static_every: int, seed: int) -> list[str]:
    """What failed at random shapes of one kernel."""
    case, generator = KERNELS[name], random.Random(f"{name} {seed}")
    symbolic = compiled(case.function, dynamic=True, options={"recompile_limit": 999})
    failures = []
    for number in range(count):
        dtype = list(FLOATS.values())[number % len(FLOATS)]
        sizes = sizes_of(case, generator)
        is_static = number % static_every == 0
        run = compiled(case.function) if is_static else symbolic
        if problem := _problem(case, sizes, dtype, run):
            kind = "static" if is_static else "symbolic"
            failures.append(f"{name} {sizes} {dtype} {kind}: {problem}")
    return failures


def _problem(
    case, sizes: Mapping[str, int], dtype: torch.dtype, run: Callable
) -> str | None:
    torch.manual_seed(0)
    with torch.device(DEVICE), torch.no_grad():
        inputs = [spec.make(sizes, dtype) for spec in case.inputs]
    try:
        with torch.no_grad():
            # What is left of a sum where terms cancel says nothing about its rounding.
            slack = 1e-6 * _cancelled(case, inputs)
            assert_as_good_as_eager(case.function, inputs, run(*inputs), slack)
    except Exception as error:  # noqa: BLE001  (it is what is looked for)
        return f"{type(error).__name__}: {error}"[:300]
    return None


def _cancelled(case, inputs: list[torch.Tensor]) -> float:
    """How much larger a sum of absolute values is; 1 for all that is not a sum."""
    if not case.name.endswith("-sum"):
        return 1.0
    sums, sizes = (case.function(x.double()) for x in (inputs[0], inputs[0].abs()))
    largest = [float(x.abs().max()) if x.numel() else 1.0 for x in (sums, sizes)]
    return max(1.0, largest[1] / largest[0]) if largest[0] else 1.0


def main() -> int:
    """Tries all kernels, some processes at a time; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", default=list(KERNELS))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--static-every", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=8)
    parsed = parser.parse_args()
    work = partial(
        try_kernel,
        count=parsed.count,
        static_every=parsed.static_every,
        seed=parsed.seed,
    )
    total = 0
    for name, failures in _each(work, parsed.kernels, parsed.processes):
        total += len(failures)
        print(f"{name}: {parsed.count} shapes, {len(failures)} failures", flush=True)
        for failure in failures[:SHOWN]:
            print(f"  {failure}", flush=True)
    return int(total > 0)


def _each(
    work: Callable[[str], list[str]], names: list[str], processes: int
) -> Iterator[tuple[str, list[str]]]:
    """Each name with what failed; a process that died is a failure too."""
    if processes < 2:
        yield from ((name, work(name)) for name in names)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        pending = [(name, pool.submit(work, name)) for name in names]
        for name, future in pending:
            try:
                yield name, future.result()
            except Exception as error:  # noqa: BLE001
                yield name, [f"{name}: {type(error).__name__}: {error}"]


if __name__ == "__main__":
    sys.exit(main())
