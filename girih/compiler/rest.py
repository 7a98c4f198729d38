"""From a module of any level to a program: what is left of the way is gone.

::

    graph ──► fusions ──► launch program, kernels ──► lowered kernels ──► program
      └─ the first line of a dumped file leads to the next level

Where there is no such line, the level says which pipeline comes next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from girih.codegen.runtime.mutation import written_arguments
from girih.codegen.runtime.program import Program
from girih.compiler.decisions import steps_with_choices
from girih.compiler.frozen import program_with_constants
from girih.compiler.kernel_code import launch, program_of, program_of_lowered
from girih.compiler.lowering import Lowering
from girih.compiler.modules import cloned, functions_of
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.errors import UnsupportedError
from girih.options import Options
from girih.passes import stages
from girih.passes.levels import held_by
from girih.passes.pipeline_syntax import Step
from girih.passes.registry import expand_pipeline
from girih.passes.reproducer import is_reproducer, pipeline_of
from girih.passes.split_constants import NAME as CONSTANTS
from girih.reports import Report


class CheckFailed(RuntimeError):
    """A check of a program failed, where a compiled function would run eager."""


class Compiled(NamedTuple):
    """A module, compiled.

    Attributes:
        program: From the arguments of ``@main`` to its results. Arguments that are
            `graph.donated` come first, in one list.
        written: Numbers of the arguments that it writes.
    """

    program: Any
    written: frozenset[int]


def program_of_file(
    module: ir.Module,
    text: str,
    device: torch.device,
    options: Options,
    report: Report,
) -> Compiled:
    """Compiles ``@main`` of a module of any level.

    Args:
        module: The module; it is changed.
        text: What it was parsed from. A pipeline in its first line runs first, unless
            the module was for another device.
        device: Where the program computes.
        options: For the stages behind that line. What they say of decisions holds for
            the line's passes, too.
        report: Filled with what is done.

    Raises:
        UnsupportedError: The module is for another device, or is of a level that no
            program can be made of.
        ValueError: The module is of no level.
    """
    program = _Rest(options, report, device, _kind_of(module)).whole(module, text)
    with module.context:
        written = written_arguments(functions_of(module)["main"]).all
    return Compiled(program, written)


def _kind_of(module: ir.Module) -> str:
    """The kind of program whose ``@main`` this is, as far as its attributes say."""
    main = functions_of(module)["main"]
    if keys.DIFFERENTIABLE in main.attributes or "backward" in functions_of(module):
        return "forward"
    given = list(_attributes(main, "arg_attrs"))
    if any(keys.SAVED in each or keys.COTANGENT in each for each in given):
        return "backward"
    return "joint" if any(keys.REQUIRES_GRAD in each for each in given) else "inference"


def _attributes(function: ir.OpView, name: str) -> Iterator[Any]:
    given = function.attributes
    return iter(given[name]) if name in given else iter(())


class _Rest(Lowering):
    """The rest of the way of one module."""

    def whole(self, module: ir.Module, text: str) -> Any:
        """The program."""
        with module.context, ir.Location.unknown():
            fits = self._take_to_device(module)
            before = cloned(module)
            if fits and is_reproducer(text):
                self._run_first_line(module, pipeline_of(text))
            levels = held_by(module.operation)
            if "graph" not in levels:
                return self._from_launches(module, before, levels)
            if CONSTANTS in functions_of(module):
                return program_with_constants(self, module, _raise)
            self._to_fusions(module)
            launch(self, module)
            return program_of(self, module, self._fallback(module))

    def _take_to_device(self, module: ir.Module) -> bool:
        """Has ``@main`` compute where its inputs are.

        Returns:
            Whether the module was for such a device already; if not, its first line is
            for another one.

        Raises:
            UnsupportedError: It has a launch program for a device of another kind.
        """
        main = functions_of(module)["main"]
        own = main.attributes.get(keys.DEVICE)
        own = torch.device("cpu" if own is None else own.value)
        wanted = self.target.device
        if own.type != wanted.type and "graph" not in held_by(module.operation):
            raise UnsupportedError(
                "module of another device",
                f"@main computes on {own}, and its inputs are on {wanted}",
                "A launch program is for one kind of device.",
                [
                    f"Move the inputs: x.to({str(own)!r}).",
                    "Run the file of level fused.",
                ],
            )
        if wanted.type != "cpu":
            main.attributes[keys.DEVICE] = ir.StringAttr.get(str(wanted))
        elif keys.DEVICE in main.attributes:
            del main.attributes[keys.DEVICE]
        return own.type == wanted.type

    def _run_first_line(self, module: ir.Module, pipeline: str) -> None:
        """Runs the passes of a line, and those that follow at the levels of launches.

        The line of a dumped file leads to a level that is dumped. Another one may end
        anywhere, so the rest of its pipeline is left.
        """
        steps = steps_with_choices(expand_pipeline(pipeline), self.options)
        self._run("first line", steps, module.operation)
        if any(step.name == stages.PARTITION.name for step in steps):
            self._take_forward(module)
        if "graph" not in held_by(module.operation):
            self._run("rest", self._steps_behind(steps), module.operation)

    def _steps_behind(self, steps: list[Step]) -> list[Step]:
        """What is left of the pipeline that has the last of these steps."""
        target = self.target.stages
        pipelines = (target.launch_pipeline, target.kernel_pipeline)
        known = [self.steps(name) for name in pipelines]
        for step in reversed(steps):
            for own in known:
                names = [each.name for each in own]
                if step.name in names:
                    return own[names.index(step.name) + 1 :]
        return []

    def _take_forward(self, module: ir.Module) -> None:
        """Leaves the forward program, as the driver compiles it."""
        functions = functions_of(module)
        functions["main"].attributes[keys.DIFFERENTIABLE] = ir.UnitAttr.get()
        if "backward" in functions:
            functions["backward"].operation.erase()
        self.kind = "forward"

    def _to_fusions(self, module: ir.Module) -> None:
        if "backward" in functions_of(module):
            self._take_forward(module)
        elif _has_fusions(module):
            return
        if self.kind == "joint":
            self.run("derivatives", module.operation)
            self._take_forward(module)
        pipeline = "graph" if self.kind == "inference" else "fusions"
        self.run(pipeline, module.operation)

    def _from_launches(
        self, module: ir.Module, before: ir.Module, levels: list[str]
    ) -> Program:
        """The program of a launch program, whose kernels are lowered or not.

        Args:
            module: The module, behind its first line.
            before: It before that line. Kernels of a GPU are loaded by what it says.
            levels: Those of the module.
        """
        if not _WITH_LAUNCHES.intersection(levels):
            raise ValueError(
                "expected a module of one level; girih-opt says what is out of place"
            )
        if "host" in levels:
            return program_of(self, module, self._fallback(module))
        if "tile" in levels:
            self._run("kernels", self.kernel_passes()[1], module.operation)
        elif "cpu" in levels and "llvm" not in levels:
            self.run("llvm", module.operation)
        if self.target.takes_launches:
            return program_of_lowered(self, module, module, self._fallback(module))
        if "tt" in held_by(before.operation):
            raise UnsupportedError(
                "launches of Triton IR",
                "a module of Triton IR",
                "Such a module no longer says which sizes its kernels take.",
                ["Run the file of level tile, or one before it."],
            )
        return program_of_lowered(self, before, module, self._fallback(before))

    def _fallback(self, module: ir.Module) -> Any:
        """What is called where a check fails; donated arguments are gone by then."""
        given = _attributes(functions_of(module)["main"], "arg_attrs")
        return None if any(keys.DONATED in each for each in given) else _raise


_WITH_LAUNCHES = {"host", "tile", "cpu", "llvm", "tt"}
"""Levels whose ``@main`` is a launch program."""


def _has_fusions(module: ir.Module) -> bool:
    (block,) = functions_of(module)["main"].regions[0].blocks
    return any(op.operation.name == "graph.fusion" for op in block.operations)


_CHECKS = {
    "kernel check": "an index is out of range, or a kernel met another invalid value",
    "number": "an argument is not a number of the type that @main takes",
    "overlap": "an argument that the program writes shares memory with another one",
    "alignment": "an argument's memory is not aligned as the kernels need it",
}


def _raise(kind: str, *arguments: Any) -> None:
    raise CheckFailed(
        f"@main can't run on these arguments: {_CHECKS[kind]}. A compiled function "
        "would run in eager mode for this call."
    )
