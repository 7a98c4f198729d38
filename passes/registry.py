"""What a pass is, and running pipelines of our own and upstream passes.

A pass is a function on an op, with options in a frozen dataclass::

    @dataclass(frozen=True)
    class Options:
        max_inputs: int = 64
        '''How many inputs a fusion may have.'''

    @register_pass("fuse", options=Options, op="builtin.module")
    def run(op: ir.Operation, options: Options) -> None: ...

``run_pipeline(module, "fuse{max-inputs=32},cse")`` runs it. Ours are plain calls.
"""

import dataclasses
import difflib
import functools
import importlib
import inspect
import time
import typing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, Protocol

from girih.dialects import additions, verifier
from girih.dialects.bindings import ir, passmanager
from girih.passes import PASS_MODULES, levels, pipelines, reproducer, signatures
from girih.passes.errors import PassError, blamed, is_refusal, suspects
from girih.passes.levels import Contract
from girih.passes.options import UnknownPass, expect_options, parse_options
from girih.passes.pipeline_syntax import (
    MODULE,
    Step,
    parse_pipeline,
    pipeline_text,
)


class Observer(Protocol):
    """What is told about each pass before and after it runs."""

    def before(self, name: str, module: ir.Operation) -> None:
        """The pass called ``name`` is about to run."""

    def after(self, name: str, module: ir.Operation) -> None:
        """The pass called ``name`` has run."""


PassFunction = Callable[[ir.Operation, Any], None]

RunHook = Callable[[Sequence[Step], float, bool | None], None]
"""Told what ran: the steps, the seconds, and of a user's whether it changed the IR."""


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

    @property
    def function(self) -> Callable:
        """The function that the author of the pass wrote."""
        return self.run.function if isinstance(self.run, _OfModule) else self.run

    @property
    def defined_in(self) -> str:
        """The name of the module that defines it."""
        return self.function.__module__


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
        own = levels.CONTRACTS.get(name, contract)
        _register(PassInfo(name, run, options, op, _summary(run), own))
        return run

    return register


def register_function(name: str, function: Callable, options: type | None) -> None:
    """Declares a function of a module, with or without options, to be a pass.

    Args:
        name: kebab-case.
        function: as for ``info_of``, which may raise.
        options: a frozen dataclass; None: the annotation of the second parameter.

    Raises:
        ValueError: A pass of another module has this name.
    """
    info = info_of(function)
    options = expect_options(name, options or info.options)
    _register(replace(info, name=name, options=options, summary=_summary(function)))


def _register(info: PassInfo) -> None:
    known = _REGISTERED.get(info.name)
    if known is not None and known.defined_in != info.defined_in:
        raise ValueError(f"a pass called {info.name!r} is registered already")
    additions.put(_REGISTERED, info.name, info, info.function)


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
    if ":" in name:
        return _imported(name)
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


def _imported(name: str) -> PassInfo:
    """The pass that ``module:function`` is."""
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise UnknownPass(f"no pass is called {name!r}: {error}") from error
    if not callable(found):
        raise UnknownPass(f"{name!r} is no function, but {type(found).__name__}")
    return replace(info_of(found), name=name)


@dataclass(frozen=True)
class _OfModule:
    """A pass that takes no options."""

    function: Callable[[ir.Operation], None]

    def __call__(self, op: ir.Operation, options: Any) -> None:
        self.function(op)


def info_of(function: Callable) -> PassInfo:
    """Returns the pass that a function is: a registered one, or one on modules.

    It takes the module, and its options if it has a second parameter. They are parsed
    if that is annotated with a dataclass.

    Raises:
        TypeError: It can't be called so.
    """
    for info in _REGISTERED.values():
        if info.function is function:
            return info
    module = getattr(function, "__module__", None) or type(function).__module__
    kind = type(function).__qualname__
    name = f"{module}:{getattr(function, '__qualname__', kind)}"
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.signature(function)
    found = [p for p in signature.parameters.values() if p.kind <= positional]
    required = [p for p in found if p.default is p.empty]
    if not found or len(required) > 2:
        raise TypeError(
            f"a pass is called with a module, or with a module and its options; "
            f"{name}{signature} can't be"
        )
    if len(required) < 2:
        return PassInfo(name, _OfModule(function), None, MODULE, "")
    options = typing.get_type_hints(function).get(found[1].name)
    options = options if dataclasses.is_dataclass(options) else None
    return PassInfo(name, function, options, MODULE, "")


def is_users(info: PassInfo) -> bool:
    """Whether a pass is defined outside of girih."""
    return not info.defined_in.startswith("girih.")


def info_of_step(step: Step) -> PassInfo | None:
    """The pass of ours that a step runs; None for upstream's."""
    if step.info is not None:
        return step.info
    return find_pass(step.name) if is_own(step.name) else None


def is_foreign(step: Step) -> bool:
    """Whether a step runs a pass that is neither girih's nor upstream's."""
    info = info_of_step(step)
    return info is not None and is_users(info)


def _did_you_mean(name: str) -> str:
    known = [*own_pass_names(), *pipelines.PIPELINES, *pipelines.upstream_passes()]
    close = difflib.get_close_matches(name, [other for other in known if other != name])
    hint = f"did you mean {' or '.join(close)}?"
    return f"; {hint if close else 'girih-opt --list-passes lists all'}"


def expand_pipeline(pipeline: str | Iterable[str | Step]) -> list[Step]:
    """Returns the steps of a pipeline, with named pipelines replaced by theirs."""
    parts = [pipeline] if isinstance(pipeline, str) else list(pipeline)
    steps: list[Step] = []
    parsed = ([p] if isinstance(p, Step) else parse_pipeline(p) for p in parts)
    for step in (step for found in parsed for step in found):
        if step.name in pipelines.PIPELINES and len(step.anchors) == 1:
            inner = expand_pipeline(pipelines.texts_of(step))
            inner[0] = replace(inner[0], begins=(step.name, *inner[0].begins))
            inner[-1] = replace(inner[-1], ends=(*inner[-1].ends, step.name))
            steps += inner
        else:
            steps.append(step)
    return steps


def is_own(name: str) -> bool:
    """Tells whether a pass is one of ours rather than an upstream one."""
    return name in _REGISTERED or name in PASS_MODULES or ":" in name


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
    pipeline: str | Iterable[str | Step],
    *,
    observer: Observer | None = None,
    verify: bool = False,
    contract: Contract | None = None,
    checks_input: bool = True,
    replayable: bool = False,
    reproducer_path: Path | None = None,
    before_each: Callable[[], None] | None = None,
    on_run: RunHook | None = None,
) -> None:
    """Runs passes on a module.

    What the first pass takes and the last one leaves is checked: by MLIR's verifier,
    and for being of the level that these passes take and leave. By the verifier what
    upstream passes take, too.

    Args:
        module: changed in place.
        pipeline: text or texts, of our passes, upstream ones and named pipelines; or
            steps.
        observer: told before and after each pass. Without one, adjacent upstream
            passes run as one.
        verify: check the module around each pass, and all rules of our ops.
        contract: the levels at both ends, where the names of passes don't say it.
        checks_input: whether nobody has checked the module yet.
        replayable: whether a failure says how it is replayed; the module is copied.
        reproducer_path: where to write a file that replays a failure.
        before_each: called before each pass; what it raises ends the run.
        on_run: told of each pass that has run.

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
        units = _units(steps, one_by_one=verify or observer is not None)
        try:
            if checks_input:
                _check_ends(units[:1], operation, contract)
            reached: Sequence[str] = ()
            for unit in units:
                if before_each is not None:
                    before_each()
                reached = unit.reaches(reached)
                _run_unit(unit, operation, observer, verify, on_run, reached)
            _check_ends(units[-1:], operation, contract, ran=True)
        except PassError as error:
            found = error
            if original is not None:
                if not (verify or is_refusal(error.cause)):
                    found = _first_failure(original, steps)[1] or error
                found.replay = functools.partial(_replay, original, steps)
            if reproducer_path is not None:
                found.write_reproducer(reproducer_path)
            found.suspects = suspects(steps, found.pass_name)
            raise found from found.cause


def _replay(original: ir.Operation, steps: list[Step]) -> reproducer.Replay:
    """The pass that fails, or leaves what breaks rules, with the IR before it.

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
        reached: Sequence[str] = ()
        for unit in _units(steps, one_by_one=True):
            before = module.clone()
            reached = unit.reaches(reached)
            try:
                _run_unit(unit, module, None, verify=True, reached=reached)
            except PassError as error:
                return reproducer.Replay(before, unit.steps), error
    # It fails in this process alone.
    return reproducer.Replay(original.clone(), steps), None


@dataclass(frozen=True)
class _Unit:
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
        names = (step.info.name if step.info else step.name for step in self.steps)
        return ",".join(names)

    @property
    def is_inserted(self) -> bool:
        """Whether a user put it into a compilation."""
        return ":" in self.steps[0].stage

    @property
    def defined_in(self) -> str:
        """The module that defines our pass."""
        return self.info.defined_in if self.info else ""

    @property
    def keeps_level(self) -> bool:
        """Whether it is a pass from elsewhere that says nothing about levels."""
        return self.info is not None and self.info.contract is None

    def levels(self, ran: bool) -> list[Sequence[str]]:
        """What it takes or leaves: IR of one of the levels in each entry."""
        names = self.steps[-1].ends if ran else self.steps[0].begins
        known = [levels.CONTRACTS.get(name) for name in names]
        return _levels([*known, self.info and self.info.contract], ran)

    def reaches(self, before: Sequence[str]) -> Sequence[str]:
        """The levels of one of which it leaves IR, given those before it."""
        return levels.reached(self.info.contract, before) if self.info else ()


def _units(steps: list[Step], one_by_one: bool) -> list[_Unit]:
    """Looks all passes up before any runs, so that a typo changes nothing."""
    units: list[_Unit] = []
    upstream: list[Step] = []
    for step in steps:
        if step.info is not None or is_own(step.name):
            if upstream:
                units.append(_upstream_unit(upstream))
                upstream = []
            units.append(_own_unit(step))
        else:
            if upstream and ":" in (step.stage + upstream[-1].stage):
                units.append(_upstream_unit(upstream))
                upstream = []
            upstream.append(step)
            if one_by_one:
                units.append(_upstream_unit(upstream))
                upstream = []
    return [*units, _upstream_unit(upstream)] if upstream else units


def _own_unit(step: Step) -> _Unit:
    info = info_of_step(step)
    runs_here = step.anchors[-1] == info.op or len(step.anchors) == 1
    if not runs_here:
        raise UnknownPass(
            f"the pass {step.name!r} runs on {info.op}, not on {step.anchors[-1]}"
        )
    step = replace(step, info=info) if is_users(info) else step
    options = step.given
    if options is None:
        options = parse_options(info.name, info.options, step.options)
    return _Unit([step], info, options)


def _upstream_unit(steps: list[Step]) -> _Unit:
    try:
        manager = passmanager.PassManager.parse(pipeline_text(steps))
    except ValueError as error:
        for step in steps:
            expect_upstream(step)
        raise UnknownPass(str(error)) from None
    return _Unit(steps, manager=manager)


def expect_upstream(step: Step) -> None:
    """Raises UnknownPass where MLIR has no pass of this name."""
    if not is_upstream_pass(step.name):
        raise UnknownPass(f"no pass is called {step.name!r}{_did_you_mean(step.name)}")


def _levels(contracts: Iterable[Contract | None], ran: bool) -> list[Sequence[str]]:
    return [each.leaves if ran else each.takes for each in contracts if each]


def _check_ends(
    units: list[_Unit],
    module: ir.Operation,
    contract: Contract | None,
    ran: bool = False,
) -> None:
    """Checks what the first pass takes, or what the last one has left."""
    for unit in units:
        expected = _levels([contract], ran) or unit.levels(ran)
        _check(unit, module, expected, ran)


def _check(
    unit: _Unit, module: ir.Operation, expected: Iterable[Sequence[str]], ran: bool
) -> None:
    """Checks the structure of a module before a pass, or where it has run."""
    for names in dict.fromkeys(map(tuple, expected)):
        if problems := levels.problems_of(module, names):
            _fail(unit, verifier.VerificationError(problems), ran)
    try:
        module.verify()
    except ir.MLIRError as error:
        _fail(unit, error, ran)


def _fail(
    unit: _Unit, error: verifier.VerificationError | ir.MLIRError, ran: bool
) -> NoReturn:
    is_ours = isinstance(error, verifier.VerificationError)
    found = error.problems if is_ours else error.error_diagnostics
    raise PassError(
        unit.name,
        "",
        found[0].location if found else None,
        error,
        left_invalid=ran,
        refused=not ran,
        defined_in=unit.defined_in if ran else "",
    ) from error


def _run_unit(
    unit: _Unit,
    module: ir.Operation,
    observer: Observer | None,
    verify: bool,
    on_run: RunHook | None = None,
    reached: Sequence[str] = (),
) -> None:
    """Runs a unit. What a user's pass leaves in a compilation is always verified."""
    verify |= unit.is_inserted
    before = signatures.State(module) if unit.is_inserted else None
    if verify:
        _check(unit, module, unit.levels(ran=False), ran=False)
    elif unit.manager is not None:
        _check(unit, module, (), ran=False)  # upstream passes may crash otherwise
    held = levels.held_by(module) if verify and unit.keeps_level else []
    if observer is not None:
        observer.before(unit.name, module)
    start = time.perf_counter()
    try:
        if unit.manager is not None:
            _run_upstream(unit, module)
        else:
            _run_own(unit, module)
        seconds = time.perf_counter() - start
        if verify:
            _verify_after(unit, module, held, reached)
        if before is not None and (problems := before.problems(module)):
            _fail(unit, verifier.VerificationError(problems), ran=True)
    except PassError as error:
        error.place = unit.steps[0].stage if unit.is_inserted else ""
        raise
    if on_run is not None:
        on_run(unit.steps, seconds, before and before.has_changed(module))
    if observer is not None:
        observer.after(unit.name, module)


def _run_upstream(unit: _Unit, module: ir.Operation) -> None:
    unit.manager.enable_verifier(False)
    try:
        unit.manager.run(module)
    except ir.MLIRError as error:
        diagnostics = error.error_diagnostics
        location = diagnostics[0].location if diagnostics else None
        raise PassError(unit.name, "", location, error) from error


def _run_own(unit: _Unit, module: ir.Operation) -> None:
    for target in _targets(module, unit.info.op):
        try:
            unit.info.run(target, unit.options)
        except PassError:
            raise
        except (Exception, SystemExit) as error:
            op_text, location = blamed(error.__traceback__)
            raise PassError(
                unit.name, op_text, location, error, defined_in=unit.defined_in
            ) from error


def _targets(module: ir.Operation, op_name: str) -> list[ir.Operation]:
    if op_name == MODULE:
        return [module]
    body = module.regions[0].blocks[0]
    return [op.operation for op in body.operations if op.operation.name == op_name]


def _verify_after(unit: _Unit, module: ir.Operation, *kept: Sequence[str]) -> None:
    """Checks all rules, and that the module is of one of the levels of each list."""
    try:
        verifier.verify(module)
    except verifier.VerificationError as error:
        _fail(unit, error, ran=True)
    _check(unit, module, [*kept, *unit.levels(ran=True)], ran=True)
