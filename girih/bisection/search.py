"""The first step of a compilation after which a program computes something else."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from girih.bisection.recording import Executed, Program, Snapshot
from girih.bisection.values import (
    NOT_EVALUATED,
    Given,
    Reference,
    argument_names,
    is_launch_program,
    main_of,
    named,
)
from girih.passes.pipeline_syntax import Step


@dataclass
class Fault:
    """What is wrong with a program.

    Attributes:
        program: The program.
        suspects: The steps one of which is at fault, in order: one, unless the IR
            between them can't be evaluated. None are left where the driver did it.
        is_code: Whether what makes code of the IR may be at fault, too.
        differences: How results differ, by name.
        before: The last right IR.
        after: The first wrong IR; None where only its code is wrong.
        base: The IR with which the program began, the reference.
        steps: All steps from there to the fault.
        given: The arguments.
        not_evaluated: Why IR between them can't be evaluated, or "".
    """

    program: Program
    suspects: list[Step]
    is_code: bool
    differences: dict[str, str]
    before: Snapshot
    after: Snapshot | None
    base: Snapshot
    steps: list[Step]
    given: Given
    not_evaluated: str = ""

    @property
    def is_joint(self) -> bool:
        """Whether derivatives belong to the program."""
        return self.base.is_joint


def faults_of(program: Program) -> list[Fault]:
    """What is wrong with a program: with its derivatives, or with itself.

    Args:
        program: With the arguments of a call; without them nothing is found.
    """
    if program.executed is None:
        return []
    parts = program.parts()
    found = []
    for snapshots in parts:
        is_last = snapshots is parts[-1]
        executed = program.executed if is_last and not snapshots[0].is_joint else None
        fault = first_fault(program, snapshots, program.executed.given, executed)
        found += [fault] if fault is not None else []
    return found[:1]


def first_fault(
    program: Program,
    snapshots: Sequence[Snapshot],
    given: Given,
    executed: Executed | None,
) -> Fault | None:
    """The first step whose values differ from those of the first snapshot.

    Args:
        program: The program, for the result.
        snapshots: Its IR; the first one that takes the arguments is right.
        given: The arguments.
        executed: What its code gave for them, or None.
    """
    snapshots = [*itertools.dropwhile(lambda s: not _takes(s, given), snapshots)]
    if not snapshots:
        return None
    base = snapshots[0]
    try:
        reference = Reference(base.module, given, base.is_joint)
    except NOT_EVALUATED:
        return None
    search = _Search(reference, _changed(snapshots))
    found = search.first_wrong()
    if found is not None:
        differences = search.known[found]
    elif executed is None or not executed.results:
        return None
    else:
        values = named(executed.results, executed.arguments, reference.names)
        differences = reference.differences_of(values)
        if not differences:
            return None
    end = len(search.points) if found is None else found
    right = search.last_right(end)
    behind = search.points[right + 1 : end + 1]
    skipped = search.points[right + 1 : end]
    return Fault(
        program,
        [step for point in behind for step in point.snapshot.steps],
        found is None,
        differences,
        search.points[right].snapshot,
        None if found is None else search.points[found].snapshot,
        base,
        [step for point in search.points[: end + 1] for step in point.steps],
        given,
        search.reasons.get(right + 1, "") if skipped else "",
    )


@dataclass
class _Point:
    """IR that differs from that before it.

    Attributes:
        snapshot: The IR.
        steps: What made it of the point before: passes that changed nothing, then the
            one that did.
    """

    snapshot: Snapshot
    steps: list[Step]


def _changed(snapshots: Sequence[Snapshot]) -> list[_Point]:
    """The snapshots that differ from the one before them."""
    points = [_Point(snapshots[0], [])]
    known, steps = str(snapshots[0].module.operation), []
    for snapshot in snapshots[1:]:
        steps += snapshot.steps
        text = str(snapshot.module.operation)
        if text != known:
            points.append(_Point(snapshot, steps))
            known, steps = text, []
    return points


class _Search:
    """Evaluates points, each once."""

    def __init__(self, reference: Reference, points: list[_Point]):
        self.points = points
        self.known: dict[int, dict[str, str]] = {0: {}}
        self.reasons: dict[int, str] = {}
        self._reference = reference

    def first_wrong(self) -> int | None:
        """The first point that is wrong, or None."""
        count = len(self.points)
        launches = [
            n for n in range(count) if is_launch_program(self.points[n].snapshot.module)
        ]
        first = launches[0] if launches else count
        for number in range(1, first):
            if self.is_wrong(number):
                return number
        if not launches:
            return None
        if not all(self.points[n].snapshot.steps for n in launches):
            # An edited file, for example: what is behind it may be right.
            return next((n for n in launches if self.is_wrong(n)), None)
        # Evaluating kernels takes long; what is wrong stays wrong.
        if self.is_wrong(count - 1) is False:
            return None
        low, high = first, count - 1
        while low < high and not self.reasons:
            middle = (low + high) // 2
            if self.is_wrong(middle):
                high = middle
            else:
                low = middle + 1
        if not self.reasons:
            return high
        return next((n for n in launches if self.is_wrong(n)), None)

    def is_wrong(self, number: int) -> bool | None:
        """Whether a point is wrong; None where it can't be evaluated."""
        if number in self.reasons:
            return None
        if number not in self.known:
            module = self.points[number].snapshot.module
            try:
                self.known[number] = self._reference.differences(module)
            except NOT_EVALUATED as error:
                self.reasons[number] = f"{type(error).__name__}: {error}"
                return None
        return bool(self.known[number])

    def last_right(self, end: int) -> int:
        """The last point before another one that is right, or taken to be."""
        return max(
            n for n in range(end) if n not in self.reasons and not self.known.get(n)
        )


def _takes(snapshot: Snapshot, given: Given) -> bool:
    """Whether ``@main`` takes what the program is called with."""
    names = argument_names(main_of(snapshot.module))
    plain = [name for name in names if not name.startswith("cotangent")]
    if snapshot.is_joint or not given.names:
        return len(plain if snapshot.is_joint else names) == len(given.list)
    return set(plain) <= set(given.names) <= set(names)
