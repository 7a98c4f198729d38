"""What a pass is, and running pipelines of our own and upstream passes.

A pass is a function on an op, with options in a frozen dataclass::

    @dataclass(frozen=True)
    class Options:
        max_inputs: int = 64
        '''How many inputs a fusion may have.'''

    @register_pass("fuse", options=Options, op="builtin.module")
    def run(op: ir.Operation, options: Options) -> None: ...

``run_pipeline(module, "fuse{max-inputs=32},cse")`` runs it. Adjacent upstream passes
go to one pass manager; ours are plain calls.
"""

import difflib
import functools
import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from girih.dialects import verifier
from girih.dialects.bindings import ir, passmanager
from girih.passes import PASS_MODULES, pipelines, reproducer
from girih.passes.options import UnknownPass, parse_options
from girih.passes.pipeline_syntax import (
    MODULE,
    Step,
    parse_pipeline,
    pipeline_text,
)


class PassError(Exception):
    """A pass failed.

    Attributes:
        pass_name: the pass.
        op_text: the op that it was working on, if known, as text.
        location: that op's location, if known.
        cause: what went wrong.
        left_invalid: whether the pass ran, and what it left breaks rules.
        defined_in: the module that defines the pass, "" for upstream's.
        replay: makes what replays the failure, if one was asked for.
        folder: where the user wants such a file, if anywhere.
        reproducer: a file that replays it, once it is written.
    """

    def __init__(
        self,
        pass_name: str,
        op_text: str,
        location: ir.Location | None,
        cause: BaseException,
        *,
        left_invalid: bool = False,
        defined_in: str = "",
    ):
        self.pass_name = pass_name
        self.op_text = op_text
        self.location = location
        self.cause = cause
        self.left_invalid = left_invalid
        self.defined_in = defined_in
        self.replay: Callable[[], reproducer.Replay] | None = None
        self.folder: Path | None = None
        self.reproducer: Path | None = None
        super().__init__(pass_name, op_text, location, cause)

    @property
    def is_foreign(self) -> bool:
        """Whether the pass is neither girih's nor upstream's."""
        return self.defined_in.partition(".")[0] not in ("", "girih")

    def when(self) -> str:
        """In which pass it was, or after which."""
        return f"{'after' if self.left_invalid else 'in'} pass '{self.pass_name}'"

    def write_reproducer(self, path: Path) -> None:
        """Writes a file that replays the failure, which the message names then.

        Raises:
            OSError: It can't be written.
        """
        self.reproducer = self.replay().write(path)

    def __str__(self) -> str:
        cause = f"{type(self.cause).__name__}: {self.cause}"
        verb = "left invalid IR" if self.left_invalid else "failed"
        parts = [f"pass '{self.pass_name}' {verb}: {cause}"]
        if self.location is not None:
            parts.append(f"  at {self.location}")
        if self.op_text:
            parts.append(f"  on {self.op_text}")
        if self.reproducer is not None:
            parts.append(f"  replay: {self.replay_command()}")
        return "\n".join(parts)

    def replay_command(self) -> str:
        """What replays the failure, once there is a file."""
        loads = (reproducer.place_of(self.defined_in),) if self.is_foreign else ()
        return reproducer.command(self.reproducer, loads)


class Observer(Protocol):
    """What is told about each pass before and after it runs."""

    def before(self, name: str, module: ir.Operation) -> None:
        """The pass called ``name`` is about to run."""

    def after(self, name: str, module: ir.Operation) -> None:
        """The pass called ``name`` has run."""


PassFunction = Callable[[ir.Operation, Any], None]


@dataclass(frozen=True)
class PassInfo:
    """A registered pass.

    Attributes:
        name: as on the command line.
        run: what it does to an op.
        options: the dataclass of its options, or None.
        op: the name of the ops that it runs on.
        summary: the first line of its module's docstring.
    """

    name: str
    run: PassFunction
    options: type | None
    op: str
    summary: str


_REGISTERED: dict[str, PassInfo] = {}


def register_pass(
    name: str, *, options: type | None = None, op: str = MODULE
) -> Callable[[PassFunction], PassFunction]:
    """Declares a function to be the pass called ``name``.

    Args:
        name: kebab-case.
        options: a frozen dataclass whose fields all have defaults.
        op: the name of the ops that it runs on.

    Raises:
        ValueError: A pass of another module has this name; one of the same module is
            replaced, as where a cell of a notebook runs again.
    """

    def register(run: PassFunction) -> PassFunction:
        known = _REGISTERED.get(name)
        if known is not None and known.run.__module__ != run.__module__:
            raise ValueError(f"a pass called {name!r} is registered already")
        _REGISTERED[name] = PassInfo(name, run, options, op, _summary(run))
        return run

    return register


def _summary(run: PassFunction) -> str:
    module = importlib.import_module(run.__module__)
    text = run.__doc__ or module.__doc__ or ""
    return text.strip().partition("\n")[0]


def own_pass_names() -> list[str]:
    """Returns the names of all passes of girih and those registered besides."""
    return sorted({*PASS_MODULES, *_REGISTERED})


def find_pass(name: str) -> PassInfo:
    """Returns the pass of ours that is called ``name``.

    Raises:
        UnknownPass: There is none, or its module cannot be imported.
    """
    if name not in _REGISTERED and name in PASS_MODULES:
        try:
            importlib.import_module(PASS_MODULES[name])
        except ModuleNotFoundError as error:
            raise UnknownPass(f"the pass {name!r} is not installed: {error}") from error
    if name not in _REGISTERED and name in PASS_MODULES:
        module = PASS_MODULES[name]
        raise UnknownPass(f"the module {module} registers no pass called {name!r}")
    if name not in _REGISTERED:
        raise UnknownPass(f"no pass is called {name!r}{_did_you_mean(name)}")
    return _REGISTERED[name]


def _did_you_mean(name: str) -> str:
    known = [*own_pass_names(), *pipelines.PIPELINES, *pipelines.upstream_passes()]
    close = difflib.get_close_matches(name, [other for other in known if other != name])
    own = ", ".join(own_pass_names())
    return f"; did you mean {' or '.join(close)}?" if close else f"; ours are: {own}"


def expand_pipeline(pipeline: str | Iterable[str]) -> list[Step]:
    """Returns the steps of a pipeline, with named pipelines replaced by theirs."""
    texts = [pipeline] if isinstance(pipeline, str) else list(pipeline)
    steps: list[Step] = []
    for step in (step for text in texts for step in parse_pipeline(text)):
        if step.name in pipelines.PIPELINES and len(step.anchors) == 1:
            steps.extend(expand_pipeline(pipelines.texts(step.name)))
        else:
            steps.append(step)
    return steps


def is_own(name: str) -> bool:
    """Tells whether a pass is one of ours rather than an upstream one."""
    return name in _REGISTERED or name in PASS_MODULES


def is_upstream_pass(name: str) -> bool:
    """Tells whether MLIR has a pass or pipeline of this name."""
    with ir.Context(load_on_create_dialects=[]):
        try:
            passmanager.PassManager.parse(f"any({name})")
        except ValueError as error:
            # It may also say that the pass runs on another op: then it exists.
            return "does not refer to a registered pass" not in str(error)
    return True


def run_pipeline(
    module: ir.Module | ir.Operation,
    pipeline: str | Iterable[str],
    *,
    observer: Observer | None = None,
    verify: bool = False,
    replayable: bool = False,
    reproducer_path: Path | None = None,
) -> None:
    """Runs passes on a module.

    Args:
        module: changed in place.
        pipeline: text or texts, of our passes, upstream ones and named pipelines.
        observer: told before and after each pass. Without one, adjacent upstream
            passes run as one.
        verify: check the module after each pass.
        replayable: whether a failure says how it is replayed. The module is copied
            first.
        reproducer_path: where to write a file that replays a failure.

    Raises:
        PipelineSyntaxError: The pipeline cannot be read.
        UnknownPass: It names a pass or option that does not exist.
        PassError: A pass failed, or left a module that breaks rules.
    """
    operation = module.operation
    keeps = replayable or reproducer_path is not None
    original = operation.clone() if keeps else None
    with operation.context, ir.Location.unknown():
        steps = expand_pipeline(pipeline)
        for stage in _stages(steps, one_by_one=verify or observer is not None):
            try:
                _run_stage(stage, operation, observer, verify)
            except PassError as error:
                if original is not None:
                    error.replay = functools.partial(_replay, original, steps)
                if reproducer_path is not None:
                    error.write_reproducer(reproducer_path)
                raise


def _replay(original: ir.Operation, steps: list[Step]) -> reproducer.Replay:
    """The pass that fails, or leaves what breaks rules, with the IR in front of it.

    Args:
        original: The module before any of the passes; it is changed.
        steps: All passes of the pipeline.
    """
    whole = original.clone()
    with original.context, ir.Location.unknown():
        for stage in _stages(steps, one_by_one=True):
            before = original.clone()
            try:
                _run_stage(stage, original, None, verify=True)
            except PassError:
                return reproducer.Replay(before, stage.steps)
    return reproducer.Replay(whole, steps)  # it fails in this process alone


@dataclass(frozen=True)
class _Stage:
    """What is run at once: one pass of ours, or upstream passes.

    Attributes:
        steps: the passes.
        info, options: of our pass; None for upstream passes.
        manager: of upstream passes; None for ours.
    """

    steps: list[Step]
    info: PassInfo | None = None
    options: Any = None
    manager: Any = None

    @property
    def name(self) -> str:
        return ",".join(step.name for step in self.steps)


def _stages(steps: list[Step], one_by_one: bool) -> list[_Stage]:
    """Looks all passes up before any runs, so that a typo changes nothing."""
    stages: list[_Stage] = []
    upstream: list[Step] = []
    for step in steps:
        if is_own(step.name):
            if upstream:
                stages.append(_upstream_stage(upstream))
                upstream = []
            stages.append(_own_stage(step))
        else:
            upstream.append(step)
            if one_by_one:
                stages.append(_upstream_stage(upstream))
                upstream = []
    return [*stages, _upstream_stage(upstream)] if upstream else stages


def _own_stage(step: Step) -> _Stage:
    info = find_pass(step.name)
    runs_here = step.anchors[-1] == info.op or len(step.anchors) == 1
    if not runs_here:
        raise UnknownPass(
            f"the pass {step.name!r} runs on {info.op}, not on {step.anchors[-1]}"
        )
    return _Stage([step], info, parse_options(info.name, info.options, step.options))


def _upstream_stage(steps: list[Step]) -> _Stage:
    try:
        manager = passmanager.PassManager.parse(pipeline_text(steps))
    except ValueError as error:
        for step in steps:
            _expect_upstream(step)
        raise UnknownPass(str(error)) from None
    return _Stage(steps, manager=manager)


def _expect_upstream(step: Step) -> None:
    if not is_upstream_pass(step.name):
        message = f"no pass is called {step.name!r}{_did_you_mean(step.name)}"
        raise UnknownPass(message)


def _run_stage(
    stage: _Stage, module: ir.Operation, observer: Observer | None, verify: bool
) -> None:
    if observer is not None:
        observer.before(stage.name, module)
    if stage.manager is not None:
        _run_upstream(stage, module)
    else:
        _run_own(stage, module)
    if verify:
        _verify_after(stage, module)
    if observer is not None:
        observer.after(stage.name, module)


def _run_upstream(stage: _Stage, module: ir.Operation) -> None:
    stage.manager.enable_verifier(False)
    try:
        stage.manager.run(module)
    except ir.MLIRError as error:
        diagnostics = error.error_diagnostics
        location = diagnostics[0].location if diagnostics else None
        raise PassError(stage.name, "", location, error) from error


def _run_own(stage: _Stage, module: ir.Operation) -> None:
    for target in _targets(module, stage.info.op):
        try:
            stage.info.run(target, stage.options)
        except PassError:
            raise
        except Exception as error:
            op_text, location = _blamed(error.__traceback__)
            where = stage.info.run.__module__
            raise PassError(
                stage.name, op_text, location, error, defined_in=where
            ) from error


def _targets(module: ir.Operation, op_name: str) -> list[ir.Operation]:
    if op_name == MODULE:
        return [module]
    body = module.regions[0].blocks[0]
    return [op.operation for op in body.operations if op.operation.name == op_name]


def _blamed(traceback: TracebackType | None) -> tuple[str, ir.Location | None]:
    """Returns text and location of the op that the failing code was working on.

    That is the value of the variable called ``op`` in the innermost frame that has
    one: every rule of a pass names its op so.
    """
    blamed = None
    while traceback is not None:
        candidate = traceback.tb_frame.f_locals.get("op")
        if isinstance(candidate, ir.Operation | ir.OpView):
            blamed = candidate
        traceback = traceback.tb_next
    if blamed is None:
        return "", None
    try:
        if blamed.operation.name == MODULE:
            return "", None
        return _first_line(str(blamed)), blamed.location
    except Exception:  # The op may have been erased before the failure.
        return "", None


def _first_line(text: str) -> str:
    line, _, rest = text.strip().partition("\n")
    return f"{line} ..." if rest else line


def _verify_after(stage: _Stage, module: ir.Operation) -> None:
    try:
        verifier.verify(module)
        module.verify()
    except (ir.MLIRError, verifier.VerificationError) as error:
        is_ours = isinstance(error, verifier.VerificationError)
        found = error.problems if is_ours else error.error_diagnostics
        location = found[0].location if found else None
        where = stage.info.run.__module__ if stage.info else ""
        raise PassError(
            stage.name, "", location, error, left_invalid=True, defined_in=where
        ) from error
