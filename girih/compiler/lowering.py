"""From a ``graph`` module to a program: passes, kernels, code.

::

    graph ── "graph" ──► fusions ── "host" or "device" ──► launch program, kernels
    launch program, kernels ── cpu_code or gpu_code ──► a C object, called with tensors
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from girih import signals
from girih.compiler import convolution_layouts, gpu_code
from girih.compiler.cpu_code import CpuCode
from girih.compiler.gpu_code import GpuCode
from girih.compiler.modules import native_calls
from girih.compiler.recorded import recorded, results_of_user
from girih.dialects import verifier
from girih.dialects.bindings import ir
from girih.options import Options
from girih.passes.levels import CONTRACTS
from girih.passes.pipelines import with_options
from girih.passes.registry import PassError, expand_pipeline, run_pipeline
from girih.passes.reproducer import first_line
from girih.private_folder import reason_of, replace_text, warn_once
from girih.reports import Report

_numbers = itertools.count()


def code_for(device: torch.device) -> CpuCode | GpuCode:
    """What makes code for a device."""
    if device.type == "cpu" and gpu_code.emulator is None:
        return CpuCode()
    return GpuCode(device)


class _AfterPass:
    """An observer that calls a function after one pass."""

    def __init__(self, name: str, then: Callable[[ir.Operation], None]):
        self._name, self._then = name, then

    def before(self, name: str, module: ir.Operation) -> None:
        """Nothing is done before a pass."""

    def after(self, name: str, module: ir.Operation) -> None:
        """Calls the function if this is the pass."""
        if name == self._name:
            self._then(module)


class Lowering:
    """The lowering of one module.

    Args:
        options: Options of the compilation.
        report: Filled with what is done.
        device: Where the program computes.
    """

    def __init__(self, options: Options, report: Report, device: torch.device):
        self.options = options
        self.report = report
        self.device = device
        self.code = code_for(device)
        self.number = next(_numbers)
        self.dumper = self._make_dumper()
        self._has_checked = False
        self._dumped = 0

    @property
    def dumps(self) -> bool:
        """Whether IR is written, so that nothing may come from a cache."""
        return self.dumper is not None

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
            tunes = self.options.max_autotune and isinstance(self.code, GpuCode)
            if pipeline == "graph":
                self.choose_layouts(module)
            # What is measured no pipeline can say.
            self.dump(
                "graph", operation, None if tunes else lambda: self.passes(pipeline)
            )
            self.run(pipeline, operation)
            if tunes:
                self.tune(module)
            launches = self.code.launch_pipeline
            self.dump("fused", operation, lambda: self.passes(launches))
            records = self.options.cudagraphs
            returned = results_of_user(module) if records else frozenset()
            self.run(launches, operation)
            self.dump("host", operation, lambda: self._kernel_passes()[0])
            self.report.native_calls = len(native_calls(operation))
            program = self.code.program(self, module, fallback)
            self._count(program)
            if not records:
                return program
            return recorded(
                program, module, returned, self.device, self.options, self.report
            )

    def choose_layouts(self, module: ir.Module) -> None:
        """Measures how images of convolutions lie best, and says it in the IR."""
        if not isinstance(self.code, CpuCode):
            return
        with self.report.stage("layouts"):
            convolution_layouts.choose_layouts(module, self.options.cache_folder())

    def tune(self, module: ir.Module) -> None:
        """Measures how products and large kernels run best, and says it in the IR."""
        from girih.compiler.tuning import tune  # few compilations ask for it

        tune(module, self)

    def run(self, pipeline: str, module: ir.Operation) -> None:
        """Runs a named pipeline, with the options of the compilation."""
        self.run_texts(pipeline, self.passes(pipeline), module)

    def run_texts(self, stage: str, texts: list[str], module: ir.Operation) -> None:
        """Runs passes that are given as text, as a stage of this name."""
        is_about_kernels = stage == self.code.kernel_pipeline
        with self.report.stage(stage):
            if self.options.verifies_each():
                verifier.verify(module)
            try:
                run_pipeline(
                    module,
                    texts,
                    verify=self.options.verifies_each(),
                    contract=CONTRACTS.get(stage),
                    checks_input=not self._has_checked,
                    observer=self.dumper if is_about_kernels else None,
                    replayable=True,
                    before_each=signals.let_interrupts_in,
                )
            except PassError as error:
                error.folder = self.options.dump_folder()
                raise
        self._has_checked = True

    def passes(self, pipeline: str) -> list[str]:
        """The passes of a named pipeline, with the options of the compilation."""
        passes = {
            "fuse": f"max-inputs={self.options.max_fusion_inputs}",
            "partition": f"memory-budget={self.options.memory_budget}",
        }
        for name, text in self.code.pass_options(self.options).items():
            passes[name] = f"{passes[name]} {text}" if name in passes else text
        return with_options(pipeline, passes)

    def _count(self, program) -> None:
        report = self.report
        report.kernels = program.kernels
        report.launches = program.launches
        report.externs = program.externs
        report.workspace_bytes = program.workspace_bytes

    # Dumps --------------------------------------------------------------------

    def _make_dumper(self) -> _AfterPass | None:
        if self.options.dump_folder() is None:
            return None

        def dump(module: ir.Operation) -> None:
            self.dump("tile", module, lambda: self._kernel_passes()[1])

        return _AfterPass("tile", dump)

    def _kernel_passes(self) -> tuple[list[str], list[str]]:
        """The passes on kernels, up to the one that schedules them and behind it."""
        passes = self.passes(self.code.kernel_pipeline)
        names = [step.name for step in expand_pipeline(passes)]
        behind = names.index("tile") + 1
        return passes[:behind], passes[behind:]

    def dump(
        self,
        level: str,
        module: ir.Operation,
        passes: Callable[[], list[str]] | None = None,
    ) -> None:
        """Writes a level of IR to the dump folder, if there is one.

        Args:
            level: Its name.
            module: The IR.
            passes: What leads to the next dump: ``girih-opt --run-reproducer`` runs it.
        """
        folder = self.options.dump_folder()
        if folder is None:
            return
        folder = folder / f"{self.number:03}-{self.report.name}"
        self._dumped += 1
        path = folder / f"{self._dumped}-{level}.mlir"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            first = f"{first_line(','.join(passes()))}\n" if passes else ""
            replace_text(path, f"{first}{module}\n")
        except OSError as error:
            where = self.options.dump_folder()
            text = f"girih can't write IR to {where}: {reason_of(error)}"
            warn_once(("dumps", where), text)
            return
        self.report.ir_paths[level] = path
