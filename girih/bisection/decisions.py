"""The first decision of a pass after which a program computes something else.

With fuel N a pass takes its first N decisions as usual, and the rest conservatively
(``girih.passes.choices``). Halving finds an N with which the result is wrong, while it
is right with N - 1: then decision N makes the difference.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from girih.bisection.reduction import Reduced, execute
from girih.bisection.search import Fault
from girih.bisection.values import NOT_EVALUATED, Reference, named
from girih.compiler.decisions import choice_options, with_options
from girih.compiler.modules import cloned
from girih.dialects.bindings import ir
from girih.errors import GirihError
from girih.passes.choices import CHOOSING, NO_LIMIT, ChoiceOptions, Decision, recorded
from girih.passes.errors import PassError
from girih.passes.pipeline_syntax import Step
from girih.passes.registry import run_pipeline

SECONDS = 20.0
"""How long decisions are tried."""

Outcome = tuple[dict[str, str], list[Decision]]
"""How results differ, by name, if they are wrong, and what was decided."""

_FAILURES = (*NOT_EVALUATED, GirihError, ir.MLIRError, PassError)


def decided(fault: Fault, found: Reduced) -> tuple[Decision, Reduced] | None:
    """The decision that makes a part wrong, and the part with the fuel that shows it.

    None where the part is wrong without decisions, too, where the pass takes none, or
    where this can't be told.

    Args:
        fault: The fault.
        found: A part that shows it.
    """
    try:
        if fault.is_code:
            return _of_code(fault, found)
        return _of_pass(fault, found)
    except _FAILURES:
        return None


def _of_pass(fault: Fault, found: Reduced) -> tuple[Decision, Reduced] | None:
    """A decision of the pass at fault, or else of one before it.

    What a pass decides can become wrong later: a kernel writes over what it still
    reads only when it has loops.
    """
    if len(fault.suspects) != 1:
        return None
    reference = Reference(found.part.module, found.part.given, fault.is_joint)
    for place in reversed(range(len(found.steps))):
        options = choice_options(found.steps[place])
        if options is None:
            continue
        attempt = _Attempt(found, place, options, reference)
        fuel = _least(attempt.run, options.fuel)
        if fuel is not None:
            differences, decisions = attempt.run(fuel)
            steps = attempt.steps(fuel)
            shown = replace(found, steps=steps, differences=differences)
            return decisions[fuel - 1], shown
    return None


class _Attempt:
    """Runs of the passes of a part, one of which has some fuel.

    Args:
        found: The part.
        place: Of the pass among the steps.
        options: Its options.
        reference: What the part should compute.
    """

    def __init__(
        self, found: Reduced, place: int, options: ChoiceOptions, reference: Reference
    ):
        self._all, self._place, self._options = found.steps, place, options
        self._reference = reference
        self._start = cloned(found.part.module)
        if place:
            with self._start.context, ir.Location.unknown():
                run_pipeline(self._start, self._all[:place])

    def steps(self, fuel: int) -> list[Step]:
        """All passes."""
        before, behind = self._all[: self._place], self._all[self._place + 1 :]
        limited = replace(self._options, fuel=fuel)
        return [*before, with_options(self._all[self._place], limited), *behind]

    def run(self, fuel: int) -> Outcome:
        """What becomes of the part."""
        step, *behind = self.steps(fuel)[self._place :]
        module = cloned(self._start)
        with module.context, ir.Location.unknown():
            with recorded() as decisions:
                run_pipeline(module, [step])
            if behind:
                run_pipeline(module, behind)
        return self._reference.differences(module), decisions


def _of_code(fault: Fault, found: Reduced) -> tuple[Decision, Reduced] | None:
    """The decision without which a part's code would be right."""
    program, part = fault.program, found.part
    reference = Reference(part.module, part.given, fault.is_joint)

    def run(name: str, fuel: int) -> Outcome:
        options = replace(program.options, choices_pass=name, choices_fuel=fuel)
        with recorded() as decisions:
            results, arguments = execute(replace(program, options=options), part)
        values = named(results, arguments, reference.names)
        own = [each for each in decisions if each.text.startswith(f"{name}: ")]
        return reference.differences_of(values), own

    for name in reversed(CHOOSING):
        fuel = _least(lambda fuel, name=name: run(name, fuel), NO_LIMIT)
        if fuel is not None:
            return run(name, fuel)[1][fuel - 1], found
    return None


def _least(run: Callable[[int], Outcome], limit: int) -> int | None:
    """Fuel with which the result is wrong, while it is right with one less.

    Args:
        run: Tells the outcome with some fuel.
        limit: What the pass has at most; -1: no limit.
    """
    end = time.monotonic() + SECONDS
    is_wrong, _ = run(0)
    if is_wrong:
        return None
    most = limit if limit != NO_LIMIT else _MOST
    is_wrong, decisions = run(most)
    if not is_wrong:
        return None
    low, high = 0, min(most, len(decisions))
    while high - low > 1:
        if time.monotonic() > end:
            return None
        middle = (low + high) // 2
        if run(middle)[0]:
            high = middle
        else:
            low = middle
    return high


_MOST = 1 << 30
"""More decisions than a pass takes."""
