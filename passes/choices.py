"""Decisions that a pass is free to take: any answer gives a right program.

Whether two ops share a kernel, what a schedule looks like, which buffers share memory,
what a backward pass computes again: a pass asks ``Choices``, which says what is usual.
*Fuel* limits how often it does: with fuel N the first N decisions of a run are the
usual ones, and each later one is the conservative one (not fused, no reuse, one
vector). With a *seed* decisions are random; with both, the first N are random and the
rest are usual. So one can look for the decision that makes a program wrong, by halving
the fuel, and test decisions that no cost model takes.

The same module, options, fuel and seed give the same decisions, in any process.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from girih.dialects.bindings import ir
from girih.dialects.locations import position_of
from girih.passes.remarks import is_heard, remark

CHOOSING = (
    "convert-graph-to-host",
    "fuse",
    "narrow-intermediates",
    "partition",
    "plan-memory",
    "separate-reductions",
    "share-flat-kernels",
    "tile",
)
"""Passes whose options are ``ChoiceOptions``."""

NO_LIMIT = -1

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class ChoiceOptions:
    """Options of a pass that takes decisions."""

    fuel: int = NO_LIMIT
    """How many decisions of one run are the usual ones, or the random ones if there is
    a seed. Later ones are conservative, with a seed usual. -1 sets no limit."""

    seed: int = NO_LIMIT
    """Seed of random decisions. -1: no decision is random."""


@dataclass(frozen=True)
class Decision:
    """A decision that a pass has taken.

    Attributes:
        number: Of the decision in a run of the pass, from 0.
        text: What it is about: ``fuse: %3 add into %7 reduce_sum at model.py:12``.
        answer: What was decided.
    """

    number: int
    text: str
    answer: str

    def __str__(self) -> str:
        return f"{self.number} {self.text}: {self.answer}"


_recordings: list[list[Decision]] = []


@contextmanager
def recorded() -> Iterator[list[Decision]]:
    """In the block, the list gets the decisions of passes, in order."""
    found: list[Decision] = []
    _recordings.append(found)
    try:
        yield found
    finally:
        _recordings.remove(found)


def are_recorded() -> bool:
    """Whether somebody gets the decisions of passes."""
    return bool(_recordings)


class Choices:
    """Answers the questions of one run of a pass.

    Args:
        options: Of the pass.
    """

    def __init__(self, options: ChoiceOptions):
        self._fuel = options.fuel
        self._random = None
        if options.seed != NO_LIMIT:
            # Passes with the same seed do not answer alike.
            name = type(options).__name__
            self._random = random.Random(f"{options.seed} {name}")
        self._number = 0

    @property
    def are_usual(self) -> bool:
        """Whether all decisions are the usual ones, and nobody wants to know them."""
        if are_recorded() or is_heard():
            return False
        return self._fuel == NO_LIMIT and self._random is None

    def takes(
        self, what: Callable[[], str], *, usual: bool = True, conservative: bool = False
    ) -> bool:
        """Whether to do what is asked.

        Args:
            what: Gives the name of the decision, which few ask for.
            usual: What the pass does by itself.
            conservative: What it does without fuel.
        """
        if self.are_usual:
            return usual
        return self._answer(what, usual, (True, False), conservative)

    def pick(
        self,
        what: Callable[[], str],
        usual: T,
        legal: Sequence[T],
        conservative: T | None = None,
    ) -> T:
        """One of several values.

        Args:
            what: Gives the name of the decision.
            usual: What the pass takes by itself.
            legal: All values that give a right program.
            conservative: What it takes without fuel; None: the usual one.
        """
        if self.are_usual:
            return usual
        rest = usual if conservative is None else conservative
        return self._answer(what, usual, legal, rest)

    def _answer(
        self, what: Callable[[], str], usual: T, legal: Sequence[T], conservative: T
    ) -> T:
        number = self._number
        self._number += 1
        has_fuel = self._fuel == NO_LIMIT or number < self._fuel
        if self._random is None:
            answer = usual if has_fuel else conservative
        else:
            drawn = self._random.choice(legal)
            answer = drawn if has_fuel else usual
        if are_recorded() or is_heard():
            self._tell(Decision(number, what(), _text(answer)))
        return answer

    @staticmethod
    def _tell(decision: Decision) -> None:
        for found in _recordings:
            found.append(decision)
        remark(lambda: f"decision {decision}")


def _text(answer: object) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return str(answer)


class _Usual(Choices):
    """Decisions that are no pass's: all are usual, and nobody is told."""

    @property
    def are_usual(self) -> bool:
        """Always."""
        return True


USUAL = _Usual(ChoiceOptions())
"""Of functions that are called without a pass."""


def named_text(op: ir.OpView) -> str:
    """What an op is and where: ``graph.mm to tensor<8x8xf32> at model.py:12``."""
    name = op.op if op.operation.name == "graph.extern" else op.operation.name
    return f"{name} to {op.results[0].type}{place_text(op.location)}"


def place_text(location: ir.Location) -> str:
    """`` at model.py:12``, or nothing where the place is not known."""
    position = position_of(location)
    return f" at {position.file}:{position.line}" if position else ""
