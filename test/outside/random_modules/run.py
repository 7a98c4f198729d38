"""Random programs in child processes."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from children import Outcome, in_children

from random_modules.grammar import program as draw
from random_modules.judgement import Verdict, judge
from random_modules.program import Program, cleaned
from random_modules.shrinking import shrink

BATCH = 25
"""Programs that share a child: what one leaves behind may break the next."""


@dataclass
class Failure:
    """A program that is wrong, as drawn, and why."""

    program: Program
    verdict: Verdict
    output: str = ""


@dataclass
class Totals:
    """What a run saw so far."""

    kinds: Counter = field(default_factory=Counter)
    refused: Counter = field(default_factory=Counter)

    @property
    def programs(self) -> int:
        """Those that were drawn."""
        return sum(self.kinds.values())


class _Seeds:
    """Batches of seeds, to which what a dead child left undone is given back."""

    def __init__(self, first: int, count: int, end: float):
        self.next, self.last, self.end = first, first + count, end
        self.left: list[range] = []

    def __iter__(self) -> _Seeds:
        return self

    def __next__(self) -> range:
        if time.monotonic() > self.end:
            raise StopIteration
        if self.left:
            return self.left.pop()
        if self.next >= self.last:
            raise StopIteration
        batch = range(self.next, min(self.next + BATCH, self.last))
        self.next = batch.stop
        return batch


def failures(
    first: int,
    count: int,
    seconds: float,
    door: str = "",
    jobs: int = 1,
    limit: float = 60.0,
    totals: Totals | None = None,
) -> Iterator[Failure]:
    """Runs programs; gives those that fail.

    Args:
        first: Seed.
        count: Of programs.
        seconds: After which no more are begun.
        door: See ``grammar.program``.
        jobs: Children at a time.
        limit: Seconds for one program.
        totals: Counts what is seen.
    """
    totals = Totals() if totals is None else totals
    seeds = _Seeds(first, count, time.monotonic() + seconds)

    def work(batch: range, send: Callable[[Any], None]) -> None:
        for seed in batch:
            if time.monotonic() > seeds.end:
                break
            send((seed, None))
            send((seed, _judged(draw(seed, door))))

    for batch, outcome in in_children(seeds, work, jobs, limit):
        yield from _failures_of(batch, outcome, seeds, door, totals)


def _judged(program: Program | None) -> Verdict:
    """In a child: with one thread, which is enough for small tensors."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    return judge(program) if program else Verdict("invalid")


def _failures_of(
    batch: range, outcome: Outcome, seeds: _Seeds, door: str, totals: Totals
) -> Iterator[Failure]:
    for seed, verdict in outcome.messages:
        if verdict is None:
            continue
        _count(totals, verdict)
        if verdict.is_failure:
            yield Failure(draw(seed, door), verdict)
    if outcome.ended and outcome.messages:
        seed, verdict = outcome.messages[-1]
        seeds.left.append(range(seed + 1, batch.stop))
        if verdict is None:
            ended = Verdict(outcome.ended)
            _count(totals, ended)
            yield Failure(draw(seed, door), ended, outcome.output)


def _count(totals: Totals, verdict: Verdict) -> None:
    totals.kinds[verdict.kind] += 1
    totals.refused.update(verdict.refused)


def minimal(failure: Failure, limit: float, tries: int = 150) -> Failure:
    """The smallest program that fails in the same way, with how it fails."""
    last = failure

    def fails(program: Program) -> bool:
        nonlocal last
        verdict, output = _alone(program, limit)
        if verdict.kind != failure.verdict.kind:
            return False
        last = Failure(program, verdict, output or failure.output)
        return True

    shrink(cleaned(failure.program), fails, tries)
    return last


def _alone(program: Program, limit: float) -> tuple[Verdict, str]:
    """A program in a child of its own."""

    def work(_: None, send: Callable[[Any], None]) -> None:
        try:
            send(_judged(program))
        except Exception as error:  # a candidate that is no program
            send(Verdict("invalid", str(error)))

    ((_, outcome),) = in_children([None], work, 1, limit)
    if outcome.ended:
        return Verdict(outcome.ended), outcome.output
    return outcome.messages[-1], ""
