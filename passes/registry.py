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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Protocol

from girih.dialects import verifier
from girih.dialects.bindings import ir, passmanager
from girih.passes import PASS_MODULES, levels, pipelines, reproducer
from girih.passes.levels import Contract
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
        refused: whether the pass did not run, as what it was to take breaks rules.
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
        refused: bool = False,
        defined_in: str = "",
    ):
        self.pass_name = pass_name
        self.op_text = op_text
        self.location = location
        self.cause = cause
        self.left_invalid = left_invalid
        self.refused = refused
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
        """In which pass it was, after which, or in front of which."""
        place = "after" if self.left_invalid else "before" if self.refused else "in"
        return f"{place} pass '{self.pass_name}'"

    def write_reproducer(self, path: Path) -> None:
        """Writes a file that replays the failure, which the message names then.

        Raises:
            OSError: It can't be written.
        """
        self.reproducer = self.replay().write(path)

    def __str__(self) -> str:
        cause = f"{type(self.cause).__name__}: {self.cause}"
        verb = "left invalid IR" if self.left_invalid else "failed"
        verb = "can't take this IR" if self.refused else verb
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


def is_refusal(error: BaseException) -> bool:
    """Whether a pass says that it can't do what is asked, and nothing is wrong."""
    return getattr(error, "is_refusal", False)


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
        contract: the levels of IR that it takes and leaves; None: it keeps the level.
    """

    name: str
    run: PassFunction
    options: type | None
    op: str
    summary: str
    contract: Contract | None = None


_REGISTERED: dict[str, PassInfo] = {}


def register_pass(
    name: str,
    *,
    options: type | None = None,
    op: str = MODULE,
    contract: Contract | None = None,
) -> Callable[[PassFunction], PassFunction]:
    """Declares a function to be the pass called ``name``.

    Args:
        name: kebab-case.
        options: a frozen dataclass whose fields all have defaults.
        op: the name of the ops that it runs on.
        contract: the levels of IR that it takes and leaves. girih's own stand in
            ``levels``; without one the pass keeps the level.

    Raises:
        ValueError: A pass of another module has this name; one of the same module is
            replaced, as where a cell of a notebook runs again.
    """

    def register(run: PassFunction) -> PassFunction:
        known = _REGISTERED.get(name)
        if known is not None and known.run.__module__ != run.__module__:
            raise ValueError(f"a pass called {name!r} is registered already")
        own = levels.CONTRACTS.get(name, contract)
        _REGISTERED[name] = PassInfo(name, run, options, op, _summary(run), own)
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
            inner = expand_pipeline(pipelines.texts(step.name))
            inner[0] = replace(inner[0], begins=(step.name, *inner[0].begins))
            inner[-1] = replace(inner[-1], ends=(*inner[-1].ends, step.name))
            steps += inner
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
    contract: Contract | None = None,
    checks_input: bool = True,
    replayable: bool = False,
    reproducer_path: Path | None = None,
    before_each: Callable[[], None] | None = None,
) -> None:
    """Runs passes on a module.

    What the first pass takes and the last one leaves is checked: by MLIR's verifier,
    and for being of the level that these passes take and leave. By the verifier what
    upstream passes take, too.

    Args:
        module: changed in place.
        pipeline: text or texts, of our passes, upstream ones and named pipelines.
        observer: told before and after each pass. Without one, adjacent upstream
            passes run as one.
        verify: check the module around each pass, and all rules of our ops.
        contract: the levels at both ends, where the names of passes don't say it.
        checks_input: whether nobody has checked the module yet.
        replayable: whether a failure says how it is replayed. The module is copied
            first.
        reproducer_path: where to write a file that replays a failure.
        before_each: called before each pass; what it raises ends the run.

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
        stages = _stages(steps, one_by_one=verify or observer is not None)
        try:
            if checks_input:
                _check_ends(stages[:1], operation, contract)
            for stage in stages:
                if before_each is not None:
                    before_each()
                _run_stage(stage, operation, observer, verify)
            _check_ends(stages[-1:], operation, contract, ran=True)
        except PassError as error:
            found = error
            if original is not None:
                if not (verify or is_refusal(error.cause)):
                    found = _first_failure(original, steps)[1] or error
                found.replay = functools.partial(_replay, original, steps)
            if reproducer_path is not None:
                found.write_reproducer(reproducer_path)
            raise found from found.cause


def _replay(original: ir.Operation, steps: list[Step]) -> reproducer.Replay:
    """The pass that fails, or leaves what breaks rules, with the IR in front of it.

    Args:
        original: The module before any of the passes.
        steps: All passes of the pipeline.
    """
    replay, _ = _first_failure(original, steps)
    return replay


def _first_failure(
    original: ir.Operation, steps: list[Step]
) -> tuple[reproducer.Replay, PassError | None]:
    """What fails where each pass is verified, and how; it may be nothing."""
    module = original.clone()
    with original.context, ir.Location.unknown():
        for stage in _stages(steps, one_by_one=True):
            before = module.clone()
            try:
                _run_stage(stage, module, None, verify=True)
            except PassError as error:
                return reproducer.Replay(before, stage.steps), error
    # It fails in this process alone.
    return reproducer.Replay(original.clone(), steps), None


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

    @property
    def defined_in(self) -> str:
        """The module that defines our pass."""
        return self.info.run.__module__ if self.info else ""

    @property
    def keeps_level(self) -> bool:
        """Whether it is a pass from elsewhere that says nothing about levels."""
        return self.info is not None and self.info.contract is None

    def levels(self, ran: bool) -> list[Sequence[str]]:
        """What it takes or leaves: IR of one of the levels in each entry."""
        names = self.steps[-1].ends if ran else self.steps[0].begins
        own = self.info and self.info.contract
        contracts = [levels.CONTRACTS.get(name) for name in names]
        return _levels([*contracts, own], ran)


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


def _levels(contracts: Iterable[Contract | None], ran: bool) -> list[Sequence[str]]:
    known = [contract for contract in contracts if contract is not None]
    return [contract.leaves if ran else contract.takes for contract in known]


def _check_ends(
    stages: list[_Stage],
    module: ir.Operation,
    contract: Contract | None,
    ran: bool = False,
) -> None:
    """Checks what the first pass takes, or what the last one has left."""
    for stage in stages:
        expected = _levels([contract], ran) or stage.levels(ran)
        _check(stage, module, expected, ran)


def _check(
    stage: _Stage, module: ir.Operation, expected: Iterable[Sequence[str]], ran: bool
) -> None:
    """Checks the structure of a module in front of a pass, or where it has run."""
    for names in dict.fromkeys(map(tuple, expected)):
        if problems := levels.problems_of(module, names):
            _fail(stage, verifier.VerificationError(problems), ran)
    try:
        module.verify()
    except ir.MLIRError as error:
        _fail(stage, error, ran)


def _fail(
    stage: _Stage, error: verifier.VerificationError | ir.MLIRError, ran: bool
) -> NoReturn:
    is_ours = isinstance(error, verifier.VerificationError)
    found = error.problems if is_ours else error.error_diagnostics
    raise PassError(
        stage.name,
        "",
        found[0].location if found else None,
        error,
        left_invalid=ran,
        refused=not ran,
        defined_in=stage.defined_in if ran else "",
    ) from error


def _run_stage(
    stage: _Stage, module: ir.Operation, observer: Observer | None, verify: bool
) -> None:
    if verify:
        _check(stage, module, stage.levels(ran=False), ran=False)
    elif stage.manager is not None:
        _check(stage, module, (), ran=False)  # upstream passes may crash otherwise
    held = levels.held_by(module) if verify and stage.keeps_level else []
    if observer is not None:
        observer.before(stage.name, module)
    if stage.manager is not None:
        _run_upstream(stage, module)
    else:
        _run_own(stage, module)
    if verify:
        _verify_after(stage, module, held)
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
            raise PassError(
                stage.name, op_text, location, error, defined_in=stage.defined_in
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


def _verify_after(stage: _Stage, module: ir.Operation, held: Sequence[str]) -> None:
    """Checks all rules.

    Args:
        stage: What has run.
        module: What it left.
        held: The levels that the module was of, if it has to be of one of them still.
    """
    try:
        verifier.verify(module)
    except verifier.VerificationError as error:
        _fail(stage, error, ran=True)
    _check(stage, module, [held, *stage.levels(ran=True)], ran=True)
