"""Runs stages for one program: pipelines and acts, with users' passes among them.

What ran goes into the report, and IR into the dump folder.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from girih import log, signals
from girih.compiler import keeping
from girih.compiler.decisions import with_choices
from girih.compiler.first_inputs import FILE
from girih.compiler.kept_ir import KeptIr
from girih.compiler.overrides import Overrides
from girih.compiler.target import Target
from girih.compiler.watching import Observer, current
from girih.dialects import verifier
from girih.dialects.assembly.modules import print_module
from girih.dialects.bindings import ir
from girih.options import Options
from girih.passes import choices, remarks, stages
from girih.passes.default_options import of_compilation
from girih.passes.errors import PassError
from girih.passes.levels import CONTRACTS
from girih.passes.pipeline_syntax import Step
from girih.passes.pipelines import steps_of
from girih.passes.registry import run_pipeline
from girih.passes.reproducer import Written, first_line
from girih.passes.stages import CompilerStage
from girih.passes.user_passes import UserPasses, key_of, with_plugins
from girih.private_folder import reason_of, replace_text, warn_once
from girih.reports import Ran, Report

PICTURE = Path("graph").with_suffix(".svg").name
"""What ``graph_diagram`` writes beside the IR."""

_numbers = itertools.count()

_KEPT_PIPELINES = ("constants", "derivatives")
"""What runs before the module of which a program is made."""
_SHORT_PIPELINES = ("backward", "gradients")
"""What takes no longer than to find its result, which would be other operations."""


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


class Runner:
    """Runs the stages of one program.

    Args:
        options: Options of the compilation.
        report: Filled with what is done.
        target: What the program is for.
        kind: The kind of program, one of `stages.PROGRAMS`.
    """

    def __init__(
        self,
        options: Options,
        report: Report,
        target: Target,
        kind: str = "inference",
    ):
        self.options = options
        self.report = report
        self.target = target
        self.kind = kind
        self.users = self._users()
        self.number = next(_numbers)
        self.overrides = Overrides.of(options, self.folder_name)
        self.dumper = self._make_dumper()
        self.code_key = ""
        self._known_steps: dict[tuple[str, str], list[Step]] = {}
        self._has_checked = False
        self._dumped = 0
        self._has_cleared = False

    def _users(self) -> UserPasses:
        """Users' passes. What prints a stage's plan has the options of that stage."""
        users = with_plugins(self.options.passes)
        if not users.steps:
            return users
        found = stages.stages_of(self.kind, self.target.stages)
        known = of_compilation(found, self._pass_options)
        return users.with_options(known)

    @property
    def dumps(self) -> bool:
        """Whether IR is written, logged, watched or put in: no cache may be used."""
        return self.dumper is not None or current() is not None

    @property
    def takes_kept_code(self) -> bool:
        """Whether kernels that were compiled before may be taken.

        A pass that the user gave for them would not run then. Those of plugins need
        not: they are a part of the key.
        """
        if self.dumps:
            return False
        names = {
            step.stage for step in steps_of(self.target.stages.kernel_pipeline, {})
        }
        names.add(self.target.stages.code[0].name)
        given = self.options.passes.steps if self.options.passes else ()
        places = [place for place, _ in given if place.holds_in(self.kind)]
        return not any(place.stage in names for place in places)

    @contextmanager
    def act(
        self, stage: CompilerStage, module: ir.Operation | None = None
    ) -> Iterator[None]:
        """An act of the driver, with users' passes before it and after it.

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
        """Runs the passes that users have put before an act, or after it."""
        if steps := self.users.at(self.kind, when, stage.name):
            self._run(stage.name, steps, module)

    def run(
        self,
        pipeline: str,
        module: ir.Operation,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Runs a named pipeline.

        Args:
            pipeline: Its name.
            module: What it runs on.
            options: Of passes, as objects, beside those of the compilation.
        """
        self._run(pipeline, self.steps(pipeline, options), module)

    def _run(self, name: str, steps: list[Step], module: ir.Operation) -> None:
        kept = self._kept(name, module, steps)
        if kept is not None:
            with self.report.stage("load"):
                if kept.put_into(module):
                    return
        self._run_steps(name, steps, module)
        if kept is not None:
            kept.keep(module)

    def _kept(
        self, name: str, module: ir.Operation, steps: list[Step]
    ) -> KeptIr | None:
        """Where the result of a pipeline is kept; None for those of kept programs."""
        folder = self.options.cache_folder()
        if name in _SHORT_PIPELINES:
            return None
        if self.target.keeps_programs and name not in _KEPT_PIPELINES:
            return None
        if (reason := self.reason_against_keeping()) or folder is None:
            keeping.refuse(reason or "there is no cache of compiled code")
            return None
        return KeptIr(folder, module, steps)

    def reason_against_keeping(self) -> str:
        """Why what stages make can't be taken from a cache, or "".

        Somebody sees what is between them, or changes it; or decisions are drawn, which
        are part of no plan.
        """
        options = self.options
        if self.dumps or log.shows_levels() or options.verifies_each():
            return "its IR is dumped, logged, verified or watched"
        if remarks.is_heard() or choices.are_recorded():
            return "somebody listens to what its passes decide"
        if self.users.steps:
            return "it has passes of users"
        return "an option draws decisions" if options.chooses() else ""

    def _run_steps(self, name: str, steps: list[Step], module: ir.Operation) -> None:
        is_about_kernels = name == self.target.stages.kernel_pipeline
        observer = self.dumper if is_about_kernels else None
        if (watch := current()) is not None:
            watch.before(self, module)
            observer = Observer(watch, self, observer)
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
                    observer=observer,
                    replayable=True,
                    before_each=signals.let_interrupts_in,
                    on_run=partial(self._note, observer),
                )
            except PassError as error:
                error.folder = self.options.dump_folder()
                raise
        self._has_checked = True

    def _note(
        self,
        observer: Any,
        steps: Sequence[Step],
        seconds: float,
        changed: bool | None,
    ) -> None:
        """Notes what ran for the report, and for who watches."""
        if isinstance(observer, Observer):
            observer.note(steps)
        for step in steps:
            spent = seconds if step is steps[-1] else None
            name = "" if changed is None else step.info.name if step.info else step.name
            ran = Ran(self.kind, step.stage, spent, name, changed)
            self.report.ran.append(ran)

    def steps(
        self, pipeline: str, options: Mapping[str, Any] | None = None
    ) -> list[Step]:
        """The steps of a named pipeline, with options, and users' passes among them."""
        if options:
            return self._steps(pipeline, {**self._pass_options, **options})
        # The key of what is kept asks for all pipelines, and what runs asks again.
        known = self._known_steps.get((pipeline, self.kind))
        if known is None:
            known = self._steps(pipeline, self._pass_options)
            self._known_steps[pipeline, self.kind] = known
        return list(known)

    def _steps(self, pipeline: str, options: Mapping[str, Any]) -> list[Step]:
        return self.users.around(self.kind, steps_of(pipeline, options))

    @cached_property
    def _pass_options(self) -> dict[str, Any]:
        """Options of passes, with what the user says of their decisions."""
        given = self.target.pass_options(self.options)
        return with_choices(given, self.options) if self.options.chooses() else given

    def kernel_key(self) -> str:
        """What becomes of kernels, as text: for the cache of their code."""
        steps = self.steps(self.target.stages.kernel_pipeline)
        return key_of([*steps, *self._before_code()]) + self.overrides.key()

    def _before_code(self) -> list[Step]:
        """Users' passes between the kernels' pipeline and the making of code."""
        return self.users.at(self.kind, "before", self.target.stages.code[0].name)

    def kernel_passes(self) -> tuple[list[Step], list[Step]]:
        """The passes on kernels, up to the one that schedules them and after it."""
        steps = self.steps(self.target.stages.kernel_pipeline)
        behind = [step.stage for step in steps].index(stages.TILE.name) + 1
        return steps[:behind], steps[behind:]

    # Dumps --------------------------------------------------------------------

    def dump_folder(self) -> Path | None:
        """Folder of what is dumped of this program, or None."""
        folder = self.options.dump_folder()
        return None if folder is None else folder / self.folder_name

    @property
    def folder_name(self) -> str:
        """Of the program's own folder in the dump folder: ``000-graph0``."""
        return f"{self.number:03}-{self.report.name}"

    def _make_dumper(self) -> _AfterPass | None:
        dumps = self.options.dump_folder() is not None or log.shows_code()
        if not (dumps or self.overrides.names):
            return None

        def dump(module: ir.Operation) -> None:
            steps = [*self.kernel_passes()[1], *self._before_code()]
            self.dump("tile", module, lambda: steps)

        return _AfterPass("tile", dump)

    def _clear(self, folder: Path) -> None:
        """Removes what an earlier process dumped in the folder, before the first file.

        Files that take the place of IR in this compilation stay.
        """
        if not (self._has_cleared or self.overrides.names):
            for path in [
                *folder.glob("[0-9]*-*.mlir"),
                folder / FILE,
                folder / PICTURE,
            ]:
                path.unlink(missing_ok=True)
        self._has_cleared = True

    def dump(
        self,
        level: str,
        module: ir.Operation,
        passes: Callable[[], list[Step]] | None = None,
    ) -> None:
        """Writes a level of IR to the dump folder, if there is one, and to its log.

        Before that an edited file of this level takes its place, if there is one.

        Args:
            level: Its name.
            module: The IR; it may be replaced.
            passes: What leads to the next dump: ``girih-opt --run-reproducer`` runs it.
        """
        self._dumped += 1
        name = f"{self._dumped}-{level}.mlir"
        if self.overrides.has(name):
            self._run("override", [self.overrides.step(name)], module)
        folder = self.dump_folder()
        if folder is None and not log.shows_level(level):
            return
        text = print_module(module).strip()
        log.show_level(level, self.report.name, text)
        if folder is None:
            return
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._clear(folder)
            written = Written(passes() if passes else (), folder)
            line = first_line(",".join(map(str, written.steps)), written.loads)
            for name, text in written.files.items():
                replace_text(folder / name, text)
            replace_text(path, f"{line}\n{text}\n" if passes else f"{text}\n")
        except OSError as error:
            where = self.options.dump_folder()
            reason = f"girih can't write IR to {where}: {reason_of(error)}"
            warn_once(("dumps", where), reason)
            return
        known = self.report.ir_paths.get(level)
        is_second = known is not None and known.parent == folder
        self.report.ir_paths[f"{self.kind}-{level}" if is_second else level] = path
