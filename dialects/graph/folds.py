"""How reductions and scans combine elements, as data that all targets read.

A fold has a state of one or several values, which grows by elements::

    ADD = Join("add", "reduce_sum", Start.ZERO, ("add", "add", "add"))

    class ReduceSumOp(Reduction, name="reduce_sum"):
        FOLD = fold_of(ADD)

Where one value is the whole state, its ``Join`` says everything. ``first_of`` keeps the
place of an element beside it. ``passes/tile/folds.py`` has the folds that only kernels
have: exponentials beside their maximum, and deviations from a mean.

Formulas are functions of ``f`` and values, as those of ``EMIT``: values add, subtract,
multiply, divide and compare. Besides, ``f.join(join, a, b)`` joins two values and
``f.over(join, x)`` those of all lanes, or of all elements of a group; ``f.everywhere(x,
like)`` is such a result in each lane again.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Any, NamedTuple

from girih.dialects.graph.formulas import Formula


class Start(Enum):
    """A number that joining changes nothing by; which one depends on the elements."""

    ZERO = "0"
    ONE = "1"
    LOWEST = "-inf, or the smallest integer"
    HIGHEST = "inf, or the largest integer"
    LOWEST_FINITE = "the lowest finite number"
    NOWHERE = "-1, which is after each place if it has no sign"


class Join(NamedTuple):
    """How two values become one, in any order.

    Attributes:
        op: The elementwise op of ``graph`` that joins two.
        over: The reduction that joins many; empty where there is none.
        start: What changes nothing.
        kinds: MLIR's name of the combination of floats, of signed integers, of others;
            empty where there is none.
        formula: ``formula(f, a, b)`` joins two values where ``graph`` has no such op.
    """

    op: str
    over: str
    start: Start
    kinds: tuple[str, str, str]
    formula: Formula | None = None

    @property
    def chooses(self) -> bool:
        """Whether the result is one of the two."""
        return self.op in ("maximum", "minimum")

    @property
    def predicate(self) -> str:
        """How the value that a choosing join takes compares with the other one."""
        return {"maximum": "gt", "minimum": "lt"}[self.op]


def _log_of_sum(f: Any, a: Any, b: Any) -> Any:
    """``log(e**a + e**b)``: the larger one and what the other adds to it.

    The distance of equal infinities is NaN, so what equals adds is written out.
    """
    power = f.exp(-f.abs(a - b))
    is_equal = a.equals(b)
    added = f.where(is_equal, f.number(math.log(2), like=a), f.log1p(power))
    return f.join(MAX, a, b) + added


ADD = Join("add", "reduce_sum", Start.ZERO, ("add", "add", "add"))
MUL = Join("mul", "reduce_prod", Start.ONE, ("mul", "mul", "mul"))
MAX = Join("maximum", "reduce_max", Start.LOWEST, ("maximumf", "maxsi", "maxui"))
MIN = Join("minimum", "reduce_min", Start.HIGHEST, ("minimumf", "minsi", "minui"))
OR = Join("bitwise_or", "reduce_any", Start.ZERO, ("", "or", "or"))
AND = Join("bitwise_and", "reduce_all", Start.ONE, ("", "and", "and"))
LOGADDEXP = Join("logaddexp", "", Start.LOWEST, ("", "", ""), _log_of_sum)
FIRST = Join("minimum", "", Start.NOWHERE, ("", "minui", "minui"))
"""Of places: -1, which is none, is after all others."""


class Part(NamedTuple):
    """What a part of a split reduction leaves, beside the reduction's own result.

    Attributes:
        join: How it is joined.
        is_count: Whether of ones; otherwise of the elements.
    """

    join: Join
    is_count: bool = False


OWN_RESULT = None


class Fold(NamedTuple):
    """How a reduction combines elements.

    Attributes:
        joins: How values are joined.
        start: The state before the first element.
        take: ``take(f, *state, x)`` is the state after one more element in each lane;
            with the element's place last where the fold finds one.
        join: ``join(f, *state)`` is the state of all lanes, where there are several.
        finish: ``finish(f, *state)`` is the result.
        take_group: As ``take`` for an x of several elements in each lane; ``f.inside(x,
            number)`` puts a number where there is no element, ``f.count()`` says how
            many there are.
        is_element: Whether an element, with its place, is a state by itself.
        is_plain: Whether elements, partial results and the result are values that
            ``joins`` joins, and no more.
        parts: What parts of a split reduction leave, in order.
        of_parts: ``of_parts(f, *parts)`` is the result; None where it is the same
            reduction of what the parts leave.
    """

    joins: Join
    start: tuple[Start | float, ...]
    take: Formula
    join: Formula
    finish: Formula
    take_group: Formula | None = None
    is_element: bool = True
    is_plain: bool = False
    parts: tuple[Part | None, ...] = (OWN_RESULT,)
    of_parts: Formula | None = None


def fold_of(join: Join) -> Fold:
    """The fold whose state is one value, joined with each element."""

    def take_group(f: Any, state: Any, x: Any) -> tuple:
        return (f.join(join, state, f.over(join, f.inside(x, join.start))),)

    return Fold(
        joins=join,
        start=(join.start,),
        take=lambda f, state, x: (f.join(join, state, x),),
        join=lambda f, state: (f.over(join, state),),
        finish=lambda f, state: state,
        take_group=take_group,
        is_plain=True,
    )


def first_of(join: Join) -> Fold:
    """The place of the element that a join chooses, the first one of equals.

    NaN beats every number, and the first NaN stays.
    """

    def take(f: Any, best: Any, place: Any, x: Any, at: Any) -> tuple:
        # So far no element: any one is better, even one equal to the start.
        is_first = f.is_nowhere(place)
        wins = f.compare(join.predicate, x, best)
        if f.has_nan:
            wins = f.either(wins, f.both(f.isnan(x), f.is_number(best)))
        wins = f.either(wins, is_first)
        return f.where(wins, x, best), f.where(wins, at, place)

    def of_lanes(f: Any, value: Any, place: Any) -> tuple:
        best = f.over(join, value)
        everywhere = f.everywhere(best, value)
        is_best = f.compare("eq", value, everywhere)
        if f.has_nan:
            is_nan = f.isnan(value)
            is_best = f.either(is_best, is_nan)
            is_best = f.where(f.isnan(everywhere), is_nan, is_best)
        candidates = f.where(is_best, place, f.nowhere(place))
        return best, f.over(FIRST, candidates)

    return Fold(
        joins=join,
        start=(join.start, Start.NOWHERE),
        take=take,
        join=of_lanes,
        finish=lambda f, value, place: place,
        parts=(Part(join), OWN_RESULT),
    )
