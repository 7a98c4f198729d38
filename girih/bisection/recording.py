"""A program's IR after each pass, its arguments and its results, as it is compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from girih.bisection.values import Given, argument_names, attributes_of, main_of
from girih.compiler.modules import cloned
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.passes.pipeline_syntax import Step

JOINT = ("joint", "derivative")
"""Kinds of programs that hold the function and its derivatives."""


@dataclass
class Snapshot:
    """IR at one place of a compilation.

    Attributes:
        kind: The kind of program, one of `stages.PROGRAMS`.
        steps: What made it of the snapshot before; none where the driver did.
        module: A copy of the IR.
        place: Where it is from, for messages: a file, or "".
    """

    kind: str
    steps: tuple[Step, ...]
    module: ir.Module
    place: str = ""

    @property
    def is_joint(self) -> bool:
        """Whether derivatives belong to it."""
        return self.kind in JOINT


@dataclass
class Executed:
    """A call of the compiled program.

    Attributes:
        given: The arguments of ``@main``, as they were before it.
        results: What it returned.
        arguments: The arguments as they are after it.
    """

    given: Given
    results: list[Any]
    arguments: list[Any]


@dataclass
class Program:
    """What is known of one program.

    Attributes:
        name: Its name in the report: ``graph0``, ``graph0.backward``.
        snapshots: Its IR, in order.
        executed: Its first call, or None.
        options: Those of the compilation.
        device: Where it computes.
    """

    name: str
    snapshots: list[Snapshot] = field(default_factory=list)
    executed: Executed | None = None
    options: Any = None
    device: torch.device = torch.device("cpu")

    def parts(self) -> list[list[Snapshot]]:
        """The snapshots of the joint program, and those of the program itself."""
        joint = [s for s in self.snapshots if s.is_joint]
        others = [s for s in self.snapshots if not s.is_joint]
        return [part for part in (joint, others) if part]


class Recording:
    """A watch that keeps all that is compiled, in order.

    Attributes:
        programs: What was compiled, by the number of its runner.
    """

    def __init__(self) -> None:
        self.programs: dict[int, Program] = {}

    def in_order(self) -> list[Program]:
        """The programs; passes after the import belong to what they lead to."""
        found: list[Program] = []
        pending: dict[str, list[Snapshot]] = {}
        for program in self.programs.values():
            if program.executed is None:
                pending.setdefault(program.name, []).extend(program.snapshots)
                continue
            program.snapshots[:0] = pending.pop(program.name, [])
            found.append(program)
        return found

    def before(self, runner: Any, module: ir.Operation) -> None:
        """Keeps the IR that the driver gives to passes, where it is another one."""
        program = self._program(runner)
        last = program.snapshots[-1] if program.snapshots else None
        is_same = last is not None and last.kind == runner.kind
        if is_same and str(last.module.operation) == str(module.operation):
            return
        program.snapshots.append(Snapshot(runner.kind, (), cloned(module)))

    def after(self, runner: Any, steps: Sequence[Step], module: ir.Operation) -> None:
        """Keeps the IR that a pass has left."""
        found = Snapshot(runner.kind, tuple(steps), cloned(module))
        self._program(runner).snapshots.append(found)

    def program(self, runner: Any, module: ir.Module, program: Callable) -> Callable:
        """The program, whose first call is kept."""
        main = main_of(module)
        count = len(main.regions[0].blocks[0].arguments)
        given = attributes_of(main, "arg_attrs", count)
        donated = [keys.DONATED in each for each in given]
        names = argument_names(main)
        return _Kept(program, self._program(runner), donated, names)

    def _program(self, runner: Any) -> Program:
        name = runner.report.name
        made = Program(name, [], options=runner.options, device=runner.target.device)
        return self.programs.setdefault(runner.number, made)


class _Kept:
    def __init__(
        self,
        program: Callable,
        kept: Program,
        donated: Sequence[bool],
        names: Sequence[str],
    ):
        self._program, self._kept = program, kept
        self._donated, self._names = donated, names

    def __call__(self, *arguments: Any) -> Any:
        if self._kept.executed is not None:
            return self._program(*arguments)
        values = list(self._in_order(arguments))
        given = Given(values, torch.get_rng_state(), self._names)
        plain = [
            None if is_donated else value
            for value, is_donated in zip(values, self._donated, strict=True)
        ]
        del values
        results = self._program(*arguments)
        if any(isinstance(x, torch.Tensor) and x.is_mkldnn for x in results):
            return results  # in oneDNN's own layout, which no evaluation makes
        self._kept.executed = Executed(given, _copies(results), _copies(plain))
        return results

    def _in_order(self, arguments: Sequence[Any]) -> Any:
        if not any(self._donated):
            yield from arguments
            return
        given, others = iter(arguments[0]), iter(arguments[1:])
        for is_donated in self._donated:
            yield next(given if is_donated else others)


def _copies(values: Sequence[Any]) -> list[Any]:
    return Given(values).list
