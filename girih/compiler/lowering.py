"""From a ``graph`` module to a program.

::

    graph ── "graph" ──► fusions ── kernel_code ──► a C object, called with tensors
      └─────────── kept_programs, if it was made before ──────────┘
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from girih.compiler import convolution_layouts
from girih.compiler.first_inputs import saves_inputs
from girih.compiler.hints import log_library_calls
from girih.compiler.kept_programs import FoundProgram, Place
from girih.compiler.kernel_code import launch, program_of
from girih.compiler.modules import has_aten_write, native_calls
from girih.compiler.recorded import recorded, results_of_user
from girih.compiler.runner import PICTURE, Runner
from girih.compiler.targets import target_of
from girih.compiler.watching import current
from girih.dialects.bindings import ir
from girih.options import Options
from girih.passes import stages
from girih.private_folder import reason_of, replace_text, warn_once
from girih.reports import Report


class Lowering(Runner):
    """The lowering of one module.

    Args:
        options: Options of the compilation.
        report: Filled with what is done.
        device: Where the program computes.
        kind: The kind of program, one of `stages.PROGRAMS`.

    Attributes:
        has_aten_write: Whether the program has ATen write into its arguments.
    """

    has_aten_write = False

    def __init__(
        self,
        options: Options,
        report: Report,
        device: torch.device,
        kind: str = "inference",
    ):
        super().__init__(options, report, target_of(device), kind)

    def program(
        self, module: ir.Module, pipeline: str, fallback: Callable | None
    ) -> Any:
        """Compiles the function ``@main``.

        Args:
            module: A module of ``graph``; it is changed.
            pipeline: What leads to fusions: "graph", or "fusions" where derivatives
                have been taken.
            fallback: Called with the same inputs where a check of a kernel fails.

        Returns:
            A callable from the function's arguments to its results.
        """
        operation = module.operation
        with module.context, ir.Location.unknown():
            tunes = self.options.max_autotune and stages.TUNE in self._measures[1]
            if pipeline == "graph":
                self.choose_layouts(module)
            place = Place.of(self, module, pipeline, fallback)
            if place is not None and (found := place.find(fallback)) is not None:
                return self._taken(found)
            # What is measured no pipeline can say.
            self.dump(
                "graph", operation, None if tunes else lambda: self.steps(pipeline)
            )
            self.run(pipeline, operation)
            if tunes:
                self.tune(module)
            launches = self.target.stages.launch_pipeline
            self.dump("fused", operation, lambda: self.steps(launches))
            if self.options.graph_diagram:
                self.draw(module)
            records = self.options.cudagraphs
            returned = results_of_user(module) if records else frozenset()
            launch(self, module)
            self.dump("host", operation, lambda: self.kernel_passes()[0])
            self.report.native_calls = len(native_calls(operation))
            program = program_of(self, module, fallback)
            self._count(program)
            self.has_aten_write = has_aten_write(module)
            if place is not None:
                place.keep(module, self.target.linked, self.has_aten_write)
            if (watch := current()) is not None:
                program = watch.program(self, module, program)
            if records:
                device = self.target.device
                program = recorded(
                    program, module, returned, device, self.options, self.report
                )
            folder = self.dump_folder() if self.options.dump_inputs else None
            return program if folder is None else saves_inputs(program, module, folder)

    def _taken(self, found: FoundProgram) -> Any:
        """A program that was kept."""
        self.has_aten_write = found.writes
        self.report.native_calls = found.native_calls
        self._count(found.program)
        return found.program

    def draw(self, module: ir.Module) -> None:
        """Writes a picture of the fused graph to the dump folder, if there is one."""
        folder = self.dump_folder()
        if folder is None:
            return
        from girih.compiler.diagram import diagram  # few compilations ask for it

        try:
            replace_text(folder / PICTURE, diagram(module))
        except OSError as error:
            reason = f"girih can't write {PICTURE} to {folder}: {reason_of(error)}"
            warn_once(("diagram", folder), reason)

    def choose_layouts(self, module: ir.Module) -> None:
        """Measures how images of convolutions lie best, and says it in the IR."""
        if stages.LAYOUTS not in self._measures[0]:
            return
        with self.act(stages.LAYOUTS, module.operation):
            convolution_layouts.choose_layouts(module, self.options.cache_folder())

    def tune(self, module: ir.Module) -> None:
        """Measures how products and large kernels run best, and says it in the IR."""
        from girih.compiler.tuning import tune  # few compilations ask for it

        tune(module, self)

    @property
    def _measures(self) -> tuple[tuple[stages.CompilerStage, ...], ...]:
        """What is measured, before the graph's stages and after them."""
        return self.target.stages.measures

    def _count(self, program: Any) -> None:
        report = self.report
        report.kernels = program.kernels
        report.launches = program.launches
        report.externs = program.externs
        report.workspace_bytes = program.workspace_bytes
        report.events = program.event.parts if program.event else ()
        log_library_calls(report)
