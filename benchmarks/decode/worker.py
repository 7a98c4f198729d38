"""One model in a fresh process, with all engines in turn; prints one line of JSON."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

import girih
from benchmarks import agreement, memory
from benchmarks.decode.generating import Generator
from benchmarks.decode.models import ALL
from benchmarks.decode.traffic import bytes_of_step
from girih.profiling.bandwidth import copy_bandwidth
from girih.profiling.found import Profile

DTYPES = {name: getattr(torch, name) for name in ("float32", "bfloat16", "float16")}
TOLERANCE = {**agreement.TOLERANCE, torch.bfloat16: 0.1, torch.float16: 0.1}
"""Of logits, relative to the largest: many layers add up what roundings differ by."""
_COMPARED = 3
NO_FALLBACK = {"GIRIH_FALLBACK": "0"}
"""What girih can't compile raises in workers."""


def _by_inductor(mode: str | None) -> Callable[[Callable], Callable]:
    return lambda forward: torch.compile(forward, mode=mode)


def _by_girih(mode: str | None) -> Callable[[Callable], Callable]:
    return lambda forward: girih.compile(forward, mode=mode)


ENGINES: dict[str, Callable[[Callable], Callable]] = {
    "eager": lambda forward: forward,
    "inductor": _by_inductor(None),
    "inductor-reduce-overhead": _by_inductor("reduce-overhead"),
    "girih": _by_girih(None),
    "girih-reduce-overhead": _by_girih("reduce-overhead"),
}


@dataclass(frozen=True)
class Case:
    """What a worker measures.

    Attributes:
        model: A name of ``models.ALL``.
        device: "cpu" or "cuda".
        dtype: A name of ``DTYPES``.
        batch: Sequences.
        prompt: Tokens of each.
        tokens: New tokens of each.
        rounds: How often each engine decodes, in turn.
        engines: Names of ``ENGINES``.
        threads: That PyTorch uses; None: its choice.
        tiny: Sizes for tests.
        profile: Whether a step is profiled.
    """

    model: str
    device: str = "cpu"
    dtype: str = "float32"
    batch: int = 1
    prompt: int = 16
    tokens: int = 48
    rounds: int = 5
    engines: tuple[str, ...] = tuple(ENGINES)
    threads: int | None = None
    tiny: bool = False
    profile: bool = False


@dataclass
class Row:
    """What a worker found; by engine, seconds and bytes.

    Attributes:
        case: What was measured.
        token: From one token to the next, with what ``generate()`` does between.
        forward: The call of ``forward`` alone; on a GPU, until it returns.
        first: Until the first token's logits, cold, with compilation.
        second: The call after it, which compiles the decoding step.
        peak: Bytes that decoding adds to what the process held.
        difference: Of logits from eager's, relative to the largest.
        graphs: How many graphs girih compiled in all.
        weight_bytes: That one step reads.
        cache_bytes: That one step reads.
        bandwidth: Bytes a second that a copy reads and writes.
        profile: Rows of ``girih.profile`` of one step.
    """

    case: Case
    token: dict[str, float] = field(default_factory=dict)
    forward: dict[str, float] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    second: dict[str, float] = field(default_factory=dict)
    peak: dict[str, int] = field(default_factory=dict)
    difference: dict[str, float] = field(default_factory=dict)
    graphs: dict[str, int] = field(default_factory=dict)
    weight_bytes: int = 0
    cache_bytes: int = 0
    bandwidth: float = 0.0
    profile: list[dict[str, Any]] = field(default_factory=list)


def run_case(case: Case) -> Row:
    """Compiles, checks and measures one model.

    Raises:
        Disagreement: Logits of an engine differ from eager's.
    """
    row = Row(case)
    decoder = ALL[case.model]
    model = decoder.build(case.device, DTYPES[case.dtype], tiny=case.tiny)
    torch.manual_seed(1)
    prompt = decoder.make_prompt(model, case.batch, case.prompt)
    torch._dynamo.config.recompile_limit = 64
    plain = Generator(decoder, model, model.forward, prompt)
    plain.run(case.tokens)
    expected = plain.logits(case.tokens)[:_COMPARED]
    engines = {}
    for name in case.engines:
        engines[name] = Generator(decoder, model, ENGINES[name](plain.forward), prompt)
        _start(row, name, engines[name], expected)
    _measure(row, engines)
    _count_bytes(row, plain)
    if case.profile:
        row.profile = _profile(case, engines)
    return row


def _start(row: Row, name: str, engine: Generator, expected: list[Tensor]) -> None:
    """The first calls: their times, their memory, and what they compute."""
    case = row.case
    gpu_memory = _gpu_memory_reset() if case.device != "cpu" else 0
    clock, _ = engine.run(case.tokens)
    row.first[name] = clock.starts[1] - clock.starts[0]
    row.second[name] = clock.starts[2] - clock.starts[1]
    engine.run(case.tokens)
    if case.device == "cpu":
        row.peak[name] = memory.peak_of(lambda: engine.run(case.tokens))
    else:
        row.peak[name] = torch.cuda.max_memory_allocated() - gpu_memory
    found = engine.logits(case.tokens)[:_COMPARED]
    tolerance = TOLERANCE[DTYPES[case.dtype]]
    row.difference[name] = _check(f"{name} on {case.model}", found, expected, tolerance)
    if name.startswith("girih"):
        row.graphs[name] = len(girih.report(engine.forward).graphs)


def _gpu_memory_reset() -> int:
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated()


def _check(
    what: str, found: list[Tensor], expected: list[Tensor], tolerance: float
) -> float:
    """Differences up to the first token that another one could follow.

    The tolerance is that of the weights: some models widen their logits.
    """
    worst = 0.0
    for ours, theirs in zip(found, expected, strict=True):
        worst = max(worst, agreement.difference(ours, theirs))
        if not worst <= tolerance:
            raise agreement.Disagreement(f"{what} differs by {worst:.2e}")
        if not torch.equal(ours.argmax(-1), theirs.argmax(-1)):
            break
    return worst


def _measure(row: Row, engines: dict[str, Generator]) -> None:
    names = list(engines)
    tokens, forwards = {n: [] for n in names}, {n: [] for n in names}
    for number in range(row.case.rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            clock, _ = engines[name].run(row.case.tokens)
            tokens[name].append(clock.token_seconds)
            forwards[name].append(clock.forward_seconds)
    row.token = {name: statistics.median(times) for name, times in tokens.items()}
    row.forward = {name: statistics.median(times) for name, times in forwards.items()}


def _count_bytes(row: Row, plain: Generator) -> None:
    args, kwargs = plain.step(row.case.tokens)
    read = bytes_of_step(plain.model, plain.forward, args, kwargs)
    row.weight_bytes, row.cache_bytes = read
    row.bandwidth = copy_bandwidth(torch.device(row.case.device))


def _profile(case: Case, engines: dict[str, Generator]) -> list[dict[str, Any]]:
    """One step of girih's last engine; few calls, as each fills the cache."""
    name = [name for name in engines if name.startswith("girih")][-1]
    args, kwargs = engines[name].step(case.tokens)
    with torch.no_grad():
        profiled = girih.profile(engines[name].forward, calls=4, warmup=2)
        found: Profile = profiled(*args, **kwargs)
    return [
        {
            **{"kernel": row.name, "calls": row.calls, "seconds": row.seconds},
            **{"bytes": row.bytes, "operations": row.operations, "lines": row.lines},
            "limit": None if row.bytes is None else row.bytes / found.bandwidth,
        }
        for row in found.rows
    ]


def main(arguments: list[str]) -> None:
    """Runs the case that the argument has as JSON."""
    case = Case(**json.loads(arguments[0]))
    if case.threads:
        torch.set_num_threads(case.threads)
    if case.device == "cpu":
        memory.return_freed_memory()
    start = time.perf_counter()
    row = asdict(run_case(case))
    print(json.dumps({**row, "wall": time.perf_counter() - start}))


if __name__ == "__main__":
    main(sys.argv[1:])
