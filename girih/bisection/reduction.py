"""The fewest ops of a graph that still show a fault.

Single ops are tried first, then neighbours, then each half is left out (delta
debugging: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input",
2002).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from girih.bisection.parts import Part, Whole
from girih.bisection.recording import Executed, Program, Snapshot
from girih.bisection.search import Fault, first_fault
from girih.bisection.values import NOT_EVALUATED, Reference, main_of, named
from girih.compiler.modules import cloned
from girih.compiler.rest import program_of_file
from girih.dialects import verifier
from girih.dialects.bindings import ir
from girih.errors import GirihError
from girih.passes.errors import PassError
from girih.passes.pipeline_syntax import Step
from girih.passes.registry import run_pipeline
from girih.reports import Report

SECONDS = 30.0
"""How long parts are tried."""

_WINDOWS = (2, 3, 4, 6, 8, 12, 16)
"""How many neighbours are tried together."""


@dataclass
class Reduced:
    """A part that shows a fault.

    Attributes:
        part: The part.
        steps: The passes that have to run on it.
        differences: How its results differ, by name.
        expected: What it should give, by name.
    """

    part: Part
    steps: list[Step]
    differences: dict[str, str]
    expected: dict


def reduced(fault: Fault, seconds: float = SECONDS) -> Reduced | None:
    """The smallest part that shows a fault; None: no part that was tried does.

    Args:
        fault: The fault.
        seconds: How long parts are tried. What was found by then is returned.
    """
    end = time.monotonic() + seconds
    for module, steps in _beginnings(fault):
        try:
            whole = Whole(module, fault.given, fault.is_joint)
        except Exception:  # its arguments are not those of the fault
            continue
        found = _Reduction(whole, fault, steps, end).smallest()
        if found is not None:
            return found
    return None


def _beginnings(fault: Fault) -> Iterator[tuple[ir.Module, list[Step]]]:
    """Modules of ops of ``graph``, and the passes that lead from there to the fault."""
    before = fault.before
    names = {op.operation.name for op in _ops(before.module)}
    is_plain = "func.return" in names and "graph.fusion" not in names
    if fault.after is not None and is_plain and not fault.is_joint:
        yield before.module, fault.suspects
    yield fault.base.module, fault.steps
    if fault.after is not None and not fault.is_joint and "func.return" in names:
        yield before.module, fault.suspects


def _ops(module: ir.Module) -> list:
    return list(main_of(module).regions[0].blocks[0].operations)


def refined(fault: Fault, found: Reduced) -> Fault:
    """The fault as a part of the program shows it, where that can say more.

    Kernels of a part are shorter, so IR can be evaluated that took too long.

    Args:
        fault: One with several suspects.
        found: The part.
    """
    program, part = fault.program, found.part
    snapshots = [Snapshot(fault.base.kind, (), cloned(part.module))]
    module = cloned(part.module)
    steps = iter(found.steps)

    class Keep:
        def before(self, name: str, module: ir.Operation) -> None:
            """The IR before is known."""

        def after(self, name: str, module: ir.Operation) -> None:
            kind = fault.before.kind
            snapshots.append(Snapshot(kind, (next(steps),), cloned(module)))

    with module.context, ir.Location.unknown():
        run_pipeline(module, found.steps, observer=Keep())
    executed = None
    if fault.is_code:
        results, arguments = execute(program, part)
        executed = Executed(part.given, results, arguments)
    again = first_fault(program, snapshots, part.given, executed)
    if again is None or len(again.suspects) >= len(fault.suspects):
        return fault
    return again


class _Reduction:
    def __init__(self, whole: Whole, fault: Fault, steps: list[Step], end: float):
        self._whole, self._fault, self._steps = whole, fault, steps
        self._end = end

    def smallest(self) -> Reduced | None:
        """The smallest part that shows it, or None."""
        found = self._first_window()
        if found is None:
            everything = range(len(self._whole.ops))
            found = self._shown(everything)
        if found is None:
            return None
        return self._with_one_result(self._without_each(found))

    def _first_window(self) -> Reduced | None:
        """The first few neighbours that show it."""
        count = len(self._whole.ops)
        for width in (1, *_WINDOWS):
            if width > count:
                break
            for start in range(count - width + 1):
                places = range(start, start + width)
                if width == 1 and self._whole.is_leaf(start):
                    continue
                found = self._shown(self._with_leaves(places))
                if found is not None:
                    return found
                if self._is_over():
                    return None
        return None

    def _with_leaves(self, places: Sequence[int]) -> list[int]:
        """With the constants that these ops read."""
        whole = self._whole
        read = {each for place in places for each in whole.reads(place)}
        return sorted({*places, *filter(whole.is_leaf, read)})

    def _without_each(self, found: Reduced) -> Reduced:
        """Leaves out halves, quarters and so on, for as long as it shows."""
        size = max(1, len(found.part.ops) // 2)
        while not self._is_over():
            places = found.part.ops
            for start in range(0, len(places), size):
                rest = [*places[:start], *places[start + size :]]
                smaller = self._shown(rest) if rest else None
                if smaller is not None:
                    found = smaller
                    break
            else:
                if size == 1:
                    break
                size = max(1, size // 2)
                continue
            size = min(size, max(1, len(found.part.ops) // 2))
        return found

    def _with_one_result(self, found: Reduced) -> Reduced:
        """With the results of one op, if that is enough."""
        last = found.part.ops[-1]
        one = self._shown(found.part.ops, outputs=[last])
        return found if one is None else one

    def _is_over(self) -> bool:
        return time.monotonic() > self._end

    def _shown(
        self, places: Sequence[int], outputs: Sequence[int] = ()
    ) -> Reduced | None:
        """The part of these ops, if it shows the fault."""
        try:
            part = self._whole.part(places, outputs)
            verifier.verify(part.module.operation)
            reference = Reference(part.module, part.given, self._fault.is_joint)
            differences = self._differences(part, reference)
        except (*NOT_EVALUATED, GirihError, ir.MLIRError, PassError):
            return None
        except (AssertionError, KeyError, RuntimeError, TypeError, ValueError):
            return None  # some ops alone may be nothing that a pass can take
        if not differences or "evaluation" in differences:
            return None
        return Reduced(part, self._steps, differences, reference.values)

    def _differences(self, part: Part, reference: Reference) -> dict[str, str]:
        module = cloned(part.module)
        with module.context, ir.Location.unknown():
            if self._fault.after is not None:
                run_pipeline(module, self._steps)
                return reference.differences(module)
        results, arguments = execute(self._fault.program, part)
        return reference.differences_of(named(results, arguments, reference.names))


def execute(program: Program, part: Part) -> tuple[list, list]:
    """Compiles a part and calls it.

    Args:
        program: What it is a part of.
        part: The part.

    Returns:
        Its results, and its arguments as they are after the call.
    """
    module = cloned(part.module)
    with module.context, ir.Location.unknown():
        compiled = program_of_file(
            module, "", program.device, program.options, Report(name="part")
        )
    arguments = [
        value.to(program.device) if isinstance(value, Tensor) else value
        for value in part.given.copies()
    ]
    with part.given.drawing(), torch.no_grad():
        return list(compiled.program(*arguments)), arguments
