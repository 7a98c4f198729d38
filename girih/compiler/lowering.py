"""From a ``graph`` module to a program: passes, kernels, code.

::

    graph ── "graph" ──► fusions ── "host" or "device" ──► launch program, kernels
    launch program, kernels ── cpu_code or gpu_code ──► a C object, called with tensors
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from girih.passes import stages
from girih.passes.errors import PassError
from girih.passes.levels import CONTRACTS
from girih.passes.pipeline_syntax import Step
from girih.passes.pipelines import steps_of
from girih.passes.registry import run_pipeline
from girih.passes.reproducer import Written, first_line
from girih.passes.stages import CompilerStage
from girih.passes.user_passes import UserPasses, key_of
from girih.private_folder import reason_of, replace_text, warn_once
from girih.reports import Ran, Report

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
        kind: The kind of program, one of `stages.PROGRAMS`.
    """

    def __init__(
        self,
        options: Options,
        report: Report,
        device: torch.device,
        kind: str = "inference",
    ):
        self.kind = kind
        self.users = options.passes or UserPasses()
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
                "graph", operation, None if tunes else lambda: self.steps(pipeline)
            )
            self.run(pipeline, operation)
            if tunes:
                self.tune(module)
            launches = self.code.launch_pipeline
            self.dump("fused", operation, lambda: self.steps(launches))
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
        with self.act(stages.LAYOUTS, module.operation):
            convolution_layouts.choose_layouts(module, self.options.cache_folder())

    def tune(self, module: ir.Module) -> None:
        """Measures how products and large kernels run best, and says it in the IR."""
        from girih.compiler.tuning import tune  # few compilations ask for it

        tune(module, self)

    @contextmanager
    def act(
        self, stage: CompilerStage, module: ir.Operation | None = None
    ) -> Iterator[None]:
        """An act of the driver, with users' passes in front of it and behind it.

        Args:
            stage: The stage.
            module: What these passes run on, if there is any.
        """
        if module is not None and stage.takes_ir:
            self.run_users("before", stage, module)
        start = time.perf_counter()
        with self.report.stage(stage.name):
            yield
        spent = time.perf_counter() - start
        self.report.ran.append(Ran(self.kind, stage.name, spent))
        if module is not None and stage.leaves_ir:
            self.run_users("after", stage, module)

    def run_users(self, when: str, stage: CompilerStage, module: ir.Operation) -> None:
        """Runs the passes that users have put in front of an act, or behind it."""
        if steps := self.users.at(self.kind, when, stage.name):
            self._run(stage.name, steps, module)

    def run(
        self,
        pipeline: str,
        module: ir.Operation,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Runs a named pipeline, with the options of the compilation and these."""
        self._run(pipeline, self.steps(pipeline, options), module)

    def _run(self, name: str, steps: list[Step], module: ir.Operation) -> None:
        is_about_kernels = name == self.code.kernel_pipeline
        with self.report.stage(name):
            if self.options.verifies_each():
                verifier.verify(module)
            try:
                run_pipeline(
                    module,
                    steps,
                    verify=self.options.verifies_each(),
                    contract=CONTRACTS.get(name),
                    checks_input=not self._has_checked,
                    observer=self.dumper if is_about_kernels else None,
                    replayable=True,
                    before_each=signals.let_interrupts_in,
                    on_run=self._note,
                )
            except PassError as error:
                error.folder = self.options.dump_folder()
                raise
        self._has_checked = True

    def _note(
        self, steps: Sequence[Step], seconds: float, changed: bool | None
    ) -> None:
        """Notes what ran for the report."""
        for step in steps:
            spent = seconds if step is steps[-1] else None
            name = "" if changed is None else step.info.name if step.info else step.name
            ran = Ran(self.kind, step.stage, spent, name, changed)
            self.report.ran.append(ran)

    def steps(
        self, pipeline: str, options: Mapping[str, str] | None = None
    ) -> list[Step]:
        """The steps of a named pipeline, with options, and users' passes among them."""
        passes = {
            "fuse": f"max-inputs={self.options.max_fusion_inputs}",
            "partition": f"memory-budget={self.options.memory_budget}",
            **(options or {}),
        }
        for name, text in self.code.pass_options(self.options).items():
            passes[name] = f"{passes[name]} {text}" if name in passes else text
        return self.users.around(self.kind, steps_of(pipeline, passes))

    def kernel_key(self) -> str:
        """What becomes of kernels, as text: for the cache of their code."""
        last = self.users.at(self.kind, "before", stages.LLVM.name)
        return key_of([*self.steps(self.code.kernel_pipeline), *last])

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

    def _kernel_passes(self) -> tuple[list[Step], list[Step]]:
        """The passes on kernels, up to the one that schedules them and behind it."""
        steps = self.steps(self.code.kernel_pipeline)
        behind = [step.stage for step in steps].index(stages.TILE.name) + 1
        return steps[:behind], steps[behind:]

    def dump(
        self,
        level: str,
        module: ir.Operation,
        passes: Callable[[], list[Step]] | None = None,
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
            written = Written(passes() if passes else (), folder)
            line = first_line(",".join(map(str, written.steps)), written.loads)
            for name, text in written.files.items():
                replace_text(folder / name, text)
            replace_text(path, f"{line}\n{module}\n" if passes else f"{module}\n")
        except OSError as error:
            where = self.options.dump_folder()
            text = f"girih can't write IR to {where}: {reason_of(error)}"
            warn_once(("dumps", where), text)
            return
        self.report.ir_paths[level] = path
