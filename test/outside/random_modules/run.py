"""Random programs in child processes."""

from __future__ import annotations

import importlib
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from children import Outcome, in_children

from random_modules.grammar import program as draw
from random_modules.judgement import Verdict, judge, run_in_eager
from random_modules.program import Program, cleaned
from random_modules.shrinking import shrink

HANG = "no end"
"""How the ending of a child begins that was killed for that."""
BATCH = 50
"""Programs that share a child: what one leaves behind may break the next."""


@dataclass
class Failure:
    """A program that is wrong, as drawn, and why.

    Attributes:
        seed: Of the program.
        program: None where a child ended before it drew one.
        verdict: How it fails.
        output: What a process that died has written.
    """

    seed: int
    program: Program | None
    verdict: Verdict
    output: str = ""

    @property
    def text(self) -> str:
        """The program, to be run as it is."""
        return self.program.runnable if self.program else ""


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
    choices: bool = False,
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
        choices: Whether the compiler takes random decisions, drawn from the same seed.
    """
    totals = Totals() if totals is None else totals
    seeds = _Seeds(first, count, time.monotonic() + seconds)

    def work(batch: range, send: Callable[[Any], None]) -> None:
        for seed in batch:
            if time.monotonic() > seeds.end:
                break
            send((seed, None))
            program = draw(seed, door)
            if program and choices:
                program = replace(program, choices=seed)
            send((seed, program))
            send((seed, _judged(program)))

    _import_what_children_need()
    for batch, outcome in in_children(seeds, work, jobs, limit):
        yield from _failures_of(batch, outcome, seeds, limit, totals)


def _import_what_children_need() -> None:
    """Once, in the parent: each child would take a second for it."""
    for name in ("torch._dynamo", "torch._functorch.aot_autograd", "girih.compiler"):
        importlib.import_module(name)


def _judged(program: Program | None) -> Verdict:
    """In a child: with one thread, which is enough for small tensors."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    return judge(program) if program else Verdict("invalid")


def _failures_of(
    batch: range, outcome: Outcome, seeds: _Seeds, limit: float, totals: Totals
) -> Iterator[Failure]:
    """What a child found, and what ended it."""
    seed, program, said = batch.start, None, None
    for seed, said in outcome.messages:
        if isinstance(said, Verdict):
            _count(totals, said)
            if said.is_failure:
                yield Failure(seed, program, said)
        program = said if isinstance(said, Program) else program
    if not outcome.ended:
        return
    seeds.left.append(range(seed + 1, batch.stop))
    if outcome.messages and said is None:  # drawing a program runs it in eager alone
        ended = Verdict("invalid", f"eager: {outcome.ended}")
    elif outcome.ended.startswith(HANG):
        ended = _unless_busy(program, outcome.ended, limit)
    else:
        ended = _unless_eagers(program, outcome.ended, limit)
    _count(totals, ended)
    if ended.is_failure:
        yield Failure(seed, program, ended, outcome.output)


def _unless_busy(program: Program | None, ended: str, limit: float) -> Verdict:
    """A hang, or the verdict of a program that ends alone, given twice the time.

    The clock runs on where other processes hold the processors.
    """
    if program is None:
        return Verdict(ended)
    verdict, _ = _alone(program, 2 * limit)
    return Verdict(ended) if verdict.kind.startswith(HANG) else verdict


def _unless_eagers(program: Program | None, ended: str, limit: float) -> Verdict:
    """What ended a child; no program of girih's where eager alone ends one, too."""
    alone = program and _in_child(lambda send: run_in_eager(program), limit)
    if alone and alone.ended.startswith(("killed", HANG)):
        return Verdict("invalid", f"eager: {alone.ended}")
    return Verdict(ended)


def _count(totals: Totals, verdict: Verdict) -> None:
    totals.kinds[verdict.kind] += 1
    totals.refused.update(verdict.refused)


def minimal(
    failure: Failure, limit: float, tries: int = 150, seconds: float = 300.0
) -> Failure:
    """The smallest program that fails in the same way, with how it fails.

    Args:
        failure: As drawn.
        limit: Seconds for one program.
        tries: Programs at most.
        seconds: After which no more are tried.
    """
    if failure.program is None:  # a child that ended before it began
        return failure
    last, end = failure, time.monotonic() + seconds

    def fails(program: Program) -> bool:
        nonlocal last
        if time.monotonic() > end:
            return False
        verdict, output = _alone(program, limit)
        if verdict.kind != failure.verdict.kind:
            return False
        last = Failure(failure.seed, program, verdict, output or failure.output)
        return True

    shrink(cleaned(failure.program), fails, tries)
    return last


def _alone(program: Program, limit: float) -> tuple[Verdict, str]:
    """A program in a child of its own."""

    def work(send: Callable[[Any], None]) -> None:
        try:
            send(_judged(program))
        except Exception as error:  # a candidate that is no program
            send(Verdict("invalid", str(error)))

    outcome = _in_child(work, limit)
    if outcome.ended:
        return _unless_eagers(program, outcome.ended, limit), outcome.output
    return outcome.messages[-1], ""


def _in_child(work: Callable[[Callable[[Any], None]], None], limit: float) -> Outcome:
    ((_, outcome),) = in_children([None], lambda _, send: work(send), 1, limit)
    return outcome
