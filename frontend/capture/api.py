"""The compiled callables that ``girih.compile`` returns."""

from __future__ import annotations

import functools
import logging
import time
import types
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any
from weakref import WeakSet

from torch._C._dynamo.eval_frame import set_eval_frame

from girih import collector, exclusive, log, marks, stance, tally
from girih.errors import (
    EXHAUSTED,
    GirihError,
    RecompileError,
    RecompileLimitError,
    SourceLocation,
    UnsupportedError,
    exhaustion,
    for_users,
    is_exhaustion,
)
from girih.fallbacks import Site
from girih.frontend.capture import _frame, budget, copying, limit
from girih.frontend.capture.budget import Pause
from girih.frontend.capture.capture import (
    RAISES,
    STATE_OF_TORCH,
    Call,
    CapturedFrame,
    capture,
)
from girih.frontend.capture.failures import Failure, differ, failure_of
from girih.frontend.capture.frame import plan_of
from girih.frontend.capture.generated import users_place
from girih.frontend.capture.listing import log_capture
from girih.frontend.capture.messages import (
    graph_break,
    limit_reached,
    place_of,
    recompilation,
    refused,
    skipped,
)
from girih.frontend.capture.plain import plain_entry
from girih.frontend.capture.refusals import FALLBACKS, OPERATION_FAILED
from girih.frontend.capture.resume.origin import origin_of
from girih.frontend.capture.settings import Attempt, Settings, is_worth_it
from girih.frontend.capture.sizes import MARK_VIOLATED, TOO_MANY_VALUES, Sizes
from girih.frontend.capture.state import has_handlers
from girih.frontend.capture.users_code import (
    is_import,
    is_own_code,
    is_users_code,
)

_LOG = log.logger("capture")
_BREAKS = log.logger("graph_breaks")
_RECOMPILES = log.logger("recompiles")
_places_logged: set[tuple] = set()

EAGER, FAIL = "eager_on_recompile", "fail_on_recompile"
EAGER_FIRST = ("eager_then_compile", "aot_eager_then_compile")

# Calls that failed to be captured, after which a function is left alone.
MAXIMAL_FAILURES = 8

# Eager raises its own error for these; only if it does not, ours is raised.
_EAGER_DECIDES = (RAISES, OPERATION_FAILED)

_compiled: WeakSet = WeakSet()
_compiled_lock = Lock()


class Compiler:
    """Compiles the calls of one function; what a dispatcher asks on a miss.

    Args:
        settings: How.
        is_callee: The function is called by a frame that runs as it was.
        goes_on: The function goes on after a break.
    """

    def __init__(
        self, settings: Settings, is_callee: bool = False, goes_on: bool = False
    ):
        self.settings = settings
        self.is_callee = is_callee
        self.goes_on = goes_on
        self.captures = 0
        self.reset()

    def reset(self) -> None:
        """Forgets what was learned from calls."""
        most = self._most_values()
        spec = None if self.is_callee or self.goes_on else self.settings.spec
        self.sizes = Sizes(self.settings.dynamic, most, spec, self._most_together())
        self.history: list[Failure] = []
        self.frames: list[CapturedFrame] = []
        self.failures = 0
        self.has_run_eager = False
        self.reason = ""
        self.left = ""
        self.pause = Pause()
        self.idle = Pause()

    def _most_values(self) -> int | None:
        """How many values of one number or text get entries of their own.

        None: as many as the limit allows, since the graph may not end at a use of it,
        or the program wants code for each value.
        """
        settings, most = self.settings, self.settings.recompile_limit
        if self.goes_on:
            return max(1, most // 2)
        if settings.fullgraph or settings.fails_at_limit or settings.dynamic is False:
            return None
        return most if most > 1 else None

    def _most_together(self) -> int:
        """After how many entries values that multiply get no more of them.

        Behind a break, in a loop over positions, scores and states, nothing else ends
        the combinations; two words with three values each have all of theirs. Other
        functions get half of the entries that they may have: flags are few, mostly.
        """
        most = self.settings.recompile_limit
        return most if self.goes_on else most * limit.MOST_ENTRIES // 2

    def miss(self, dispatcher, function, arguments: tuple):
        """Makes an entry for a call that no entry fits.

        Returns:
            The entry, or None: the call runs as it was.

        Raises:
            RecompileError: The stance is "fail_on_recompile".
            UnsupportedError: The call can't be captured, with ``fullgraph`` or without
                ``fallback``.
        """
        if stance.current() == EAGER:
            tally.add("eager_calls", "stance")
            return None
        if stance.current() in EAGER_FIRST and self._is_first():
            with exclusive.compilation():
                self.has_run_eager = True
                self.sizes.observe(function, arguments)
            tally.add("eager_calls", "stance")
            return None
        if self.failures >= MAXIMAL_FAILURES or self._is_over_limit(dispatcher):
            if self.left:
                tally.add("eager_calls", self.left)
            return None
        if self.pause.holds():
            tally.add("eager_calls", "resources")
            return None
        if self.idle.has_begun and self._rests():
            return None
        # Where a function that torch compiled calls this one, torch's compiler would
        # capture girih itself.
        torchs = set_eval_frame(None)
        try:
            return self._miss(dispatcher, function, arguments)
        except GirihError as error:
            raise for_users(error) from error.__cause__
        finally:
            set_eval_frame(torchs)

    def _miss(self, dispatcher, function, arguments: tuple):
        with exclusive.compilation() as waited:
            entry = dispatcher.entry_for(function, arguments) if waited else None
            if entry is not None:
                return entry
            try:
                return self._compile(dispatcher, function, arguments)
            except GirihError as refusal:
                if not _goes_on_in_a_block(function.__code__):
                    raise
                error = refusal
            # Only Python leaves the blocks: `with torch.no_grad()` would stay in force.
            return plain_entry(function, lambda: _raise(error))

    def _is_first(self) -> bool:
        return not (self.has_run_eager or self.goes_on or self.captures)

    def _is_over_limit(self, dispatcher) -> bool:
        return self.left == "recompile limit" and self._is_full(dispatcher)

    def _rests(self) -> bool:
        """Whether a call runs as it was, since the last one computed nothing."""
        is_forbidden = stance.current() == FAIL or self.settings.fails_at_recompile
        return bool(is_forbidden) or self.idle.holds() or exclusive.is_elsewhere()

    def _is_full(self, dispatcher) -> bool:
        of_stance = sum(map(self.is_of_stance, dispatcher.entries))
        return of_stance >= self.settings.recompile_limit

    def is_of_stance(self, entry: _frame.Entry) -> bool:
        """Whether calls may use an entry: code of another backend does not count."""
        return self.settings.forced is None or entry.backend is stance.forced()

    def _compile(self, dispatcher, function, arguments: tuple):
        forced = None if self.settings.forced is None else stance.forced()
        call = Call(
            function,
            arguments,
            self.sizes,
            self.settings.backend_of(forced),
            self.is_callee,
            may_break=not self.settings.fullgraph,
            limits=self.settings.limits,
        )
        call = replace(call, failed=functools.partial(self._site(call).ran, "bug"))
        failures = self._failures_at(call)
        if stance.current() == FAIL:
            raise RecompileError(refused(call, failures, f"the stance is {FAIL}"))
        if failures and self.settings.fails_at_recompile:
            reason = self.settings.fails_at_recompile
            raise RecompileError(refused(call, failures, reason))
        if len(self.history) <= self.settings.recompile_limit * limit.MOST_ENTRIES:
            self.history.extend(failures[:1])
        counted = self._counted(call, failures)
        if limit.is_reached(call, failures, counted, self.settings.recompile_limit):
            return self._limit_reached(call, failures)
        if failures:
            _RECOMPILES.info("%s", recompilation(call, failures))
        captured = self._capture(call)
        if not isinstance(captured, CapturedFrame):
            return captured
        if captured.is_for_now:
            self.pause.lengthen()
            return captured.entry
        self.captures += 1
        tally.add("captures")
        if failures:
            tally.add("recompilations")
        if self.settings.forced is not None:
            captured.entry.backend = forced
        self.frames.insert(0, captured)
        self.sizes.entries = len(self.frames)
        dispatcher.entries.insert(0, captured.entry)
        return captured.entry

    def _failures_at(self, call: Call) -> list[Failure]:
        """The guard of each entry that does not hold for a call."""
        frames = self._frames_of_stance()
        return [failure_of(f, call.function, call.arguments) for f in frames]

    def _counted(self, call: Call, failures: list[Failure]) -> list[Failure]:
        """Those of entries that differ in no value that comes to an end by itself."""

        def differs_in_more(frame: CapturedFrame) -> bool:
            guards = filter(self.sizes.limits_guard, frame.tree.records)
            return differ(frame.tree, guards, call.function, call.arguments)

        return [
            failure
            for frame, failure in zip(self._frames_of_stance(), failures, strict=True)
            if not self.sizes.limits(failure) and not differs_in_more(frame)
        ]

    def _frames_of_stance(self) -> list[CapturedFrame]:
        return [f for f in self.frames if self.is_of_stance(f.entry)]

    def _capture(self, call: Call) -> CapturedFrame | _frame.Entry | None:
        """What was captured, an entry to use for this call only, or None."""
        captured = error = None
        start = time.perf_counter()
        try:
            with collector.paused():
                captured = capture(call)
        except UnsupportedError as reason:
            error = reason
        except OSError as lack:  # of files, where a module is first imported
            if not is_exhaustion(lack):
                raise
            error = exhaustion(lack)
        if self.settings.observer is not None:
            seconds = time.perf_counter() - start
            self.settings.observer(Attempt(call, captured, error, seconds))
        if error is not None:
            return self._give_up(call, error)
        if captured.broken is not None:
            self._note_break(call, captured.broken)
        if self.is_callee and not is_worth_it(captured, call.function):
            # Nothing was computed (`if done: return`), but another call may compute.
            self.idle.lengthen()
            return None
        self.idle = Pause()
        log_capture(call, captured)
        return captured

    def _give_up(self, call: Call, error: UnsupportedError):
        self.reason = error.summary()
        eager_decides = error.kind in _EAGER_DECIDES
        if error.kind == MARK_VIOLATED:
            raise error if error.location else error.located(_definition(call))
        if error.kind == TOO_MANY_VALUES and not self.goes_on:
            return self._limit_reached(call, self._failures_at(call))
        is_strict = self.settings.fullgraph or error.is_final
        if eager_decides and (is_strict or not self.settings.fallback):
            return plain_entry(call.function, lambda: _raise(error))
        if is_strict:
            raise error
        _LOG.info("%s runs as plain Python: %s", place_of(call), self.reason)
        if eager_decides:
            return self._let_eager_decide(call, error)
        self._log_break(skipped, call, error)
        if error.kind == STATE_OF_TORCH:  # says nothing about the next call
            if not self.settings.fallback:
                raise error
            ran = self._site(call).ran
            if not has_handlers():  # nothing inside can be captured
                return plain_entry(call.function, lambda: ran("mode", error))
            ran("mode", error)
        elif error.kind == EXHAUSTED:  # nor does this, but an attempt takes time
            self.pause.lengthen()
            self._site(call).ran("resources", error)
        else:
            self._leave(call, error, "capture")
        return None

    def _let_eager_decide(self, call: Call, error: UnsupportedError):
        """Has the function raise what it raises; where it does not, it is left alone.

        A wrong argument says nothing about the next call, but many do.
        """
        self.failures += 1
        if self.failures == MAXIMAL_FAILURES:
            self._leave(call, error, "errors")
            return None
        if error.kind == RAISES:
            return None  # what it calls is captured
        return plain_entry(call.function, lambda: self._leave(call, error, "capture"))

    def _leave(self, call: Call, error: UnsupportedError, kind: str) -> None:
        """Leaves the function alone, which is told where it computes anything."""
        self.failures = MAXIMAL_FAILURES
        if self.is_callee and not error.met_tensors:
            return
        self._site(call).leave(kind, error)
        self.left = kind
        tally.add("eager_calls", kind)

    def _site(self, call: Call) -> Site:
        settings = self.settings
        code = call.function.__code__
        place = SourceLocation(
            *users_place(code.co_filename, code.co_firstlineno, code.co_name)
        )
        return Site(place_of(call), settings.fallback, place, settings.fallbacks)

    def _note_break(self, call: Call, error: UnsupportedError) -> None:
        """A graph ends before the function does, which is no fallback but in a bug."""
        tally.add("breaks")
        self._log_break(graph_break, call, error)
        if kind := FALLBACKS.get(error.kind):
            self._site(call).leave(kind, error)

    def _log_break(self, text, call: Call, error: UnsupportedError) -> None:
        """Logs a graph break, once for each place of the program."""
        if not _BREAKS.isEnabledFor(logging.INFO):
            return
        place = (error.kind, error.location)
        if place not in _places_logged:
            _places_logged.add(place)
            _BREAKS.info("%s", text(call, error))

    def _limit_reached(self, call: Call, failures: list[Failure]) -> None:
        """Leaves calls that fit nothing alone, or has them fail."""
        text = limit_reached(call, failures, self.history)
        error = RecompileLimitError("recompile limit", call.function.__qualname__, text)
        if self.settings.fullgraph or self.settings.fails_at_limit:
            raise error
        self.history.clear()
        _RECOMPILES.info("%s", text)
        self._site(call).leave(error.kind, error)
        self.left = error.kind
        tally.add("eager_calls", error.kind)

    def admit(self, function):
        """A dispatcher for a function that is called by a frame that runs as it was.

        Returns:
            The dispatcher. None: the function runs as it was, and what it calls is
            admitted in turn. False: it and all that it calls is left alone.
        """
        disabled = marks.disabled(function)
        if disabled is not None:
            return False if disabled.recursive else None
        if marks.is_left_alone(function.__code__):
            return None
        if is_own_code(function.__code__):
            return False  # a backward pass runs here, or is compiled
        if is_import(function.__code__):
            return False
        origin = origin_of(function.__code__)
        if origin is not None and origin.kind != "resume":
            return None  # it runs one instruction
        if origin is None and not is_users_code(function.__code__):
            return None
        settings = replace(self.settings, fullgraph=False)
        compiler = Compiler(settings, is_callee=True, goes_on=origin is not None)
        return make_dispatcher(_of_code(function), compiler)


def _of_code(function: types.FunctionType) -> types.FunctionType:
    """A function that stands for all of one code, and holds what none of them does.

    The cells of the one that came first would live as long as what is compiled.
    """
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    made = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, None, cells
    )
    made.__qualname__ = function.__qualname__
    made.__module__ = function.__module__
    return made


def compile_function(
    function: types.FunctionType,
    settings: Settings,
    wraps: Any = None,
    again: Callable[[Any, Settings], Any] | None = None,
) -> CompiledFunction:
    """Makes a compiled callable of a Python function.

    Args:
        function: What is compiled.
        settings: How.
        wraps: The callable that the function stands for, if it is another one.
        again: Compiles a copy of what this one was made of; by default this function.
    """
    dispatcher = make_dispatcher(function, Compiler(settings))
    target = function if wraps is None else wraps
    for name in functools.WRAPPER_ASSIGNMENTS:
        value = getattr(target, name, None)
        if value is not None or name == "__doc__":
            setattr(dispatcher, name, value)
    own = dict(dispatcher.__dict__, girih_target=target)
    own["girih_again"] = again or compile_function
    own |= marks.of_wrapper(dispatcher, target)  # torch.compile() finds the target
    if wraps is None:
        dispatcher.__dict__.update(function.__dict__)
    dispatcher.__dict__.update(own)  # the target may wrap another compiled function
    with _compiled_lock:
        _compiled.add(dispatcher)
    return dispatcher


def make_dispatcher(function, compiler: Compiler) -> CompiledFunction:
    """Joins a function with what compiles its calls."""
    dispatcher = CompiledFunction(function, compiler.miss, compiler.admit)
    dispatcher.girih_compiler = compiler
    return dispatcher


class CompiledFunction(_frame.Dispatcher):
    """A function that is compiled when it is called.

    It has the attributes of what it was made of, beside its own, and is copied and
    pickled as that is.
    """

    @property
    def girih_function(self) -> Any:
        """What was compiled."""
        return self.__dict__.get("girih_target", self.function)

    __wrapped__ = girih_function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Binds it, for TorchDynamo, which looks for one in Python; others use C's."""
        return self if instance is None else types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.girih_function, name)

    def __copy__(self) -> Any:
        return copying.copied(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copying.deeply_copied(self, memo)

    def __reduce__(self) -> str | tuple:
        return copying.reduced(self)

    def __repr__(self) -> str:
        return f"<girih.compile of {self.girih_function!r}>"

    def cache_statistics(self) -> dict[str, int]:
        """How many calls were captured, and how many entries there are."""
        compiler = self.girih_compiler
        return {"captures": compiler.captures, "entries": len(self.entries)}

    def aot_compile(
        self, example_inputs: tuple[tuple, Mapping], owner: Any = None
    ) -> Any:
        """Compiles one kind of call ahead of time; see ``girih.ahead``.

        Args:
            example_inputs: Positional arguments, and those by name, without the object
                of a method.
            owner: The object, which comes first in calls of what is returned. None: the
                one whose method was compiled, if there is one.
        """
        if owner is None:
            owner = self.__dict__.get("girih_owner", lambda: None)()
        ahead = self.girih_compiler.settings.ahead
        if ahead is None:
            raise RuntimeError("aot_compile needs what girih.compile returned")
        return ahead(self, example_inputs, owner)

    def entry_for(self, function, arguments: tuple) -> _frame.Entry | None:
        """The entry whose guards hold for a call."""
        entries = filter(self.girih_compiler.is_of_stance, self.entries)
        holds = (e for e in entries if e.guards.check(function, arguments) is not None)
        return next(holds, None)

    def reset(self) -> None:
        """Drops what was compiled; the next call captures again."""
        with exclusive.compilation():
            self.entries.clear()
            self.callees.clear()
            self.girih_compiler.reset()
            self.girih_compiler.settings.reset()


def _goes_on_in_a_block(code: types.CodeType) -> bool:
    """Whether a function goes on after a break inside of a ``with`` or ``try``."""
    origin = origin_of(code)
    if origin is None or origin.kind != "resume":
        return False
    return plan_of(origin.code).handler_of(origin.standing) is not None


def _definition(call: Call) -> SourceLocation:
    """Where the function begins, for what is wrong with an argument."""
    code = call.function.__code__
    return SourceLocation(code.co_filename, code.co_firstlineno, code.co_name)


def _raise(error: GirihError) -> None:
    """With ``fullgraph`` a call is captured, or it fails."""
    raise for_users(error)  # an expression can't


def reset() -> None:
    """Drops what all compiled callables have compiled."""
    _places_logged.clear()
    budget.forget()
    with _compiled_lock:
        dispatchers = list(_compiled)
    for dispatcher in dispatchers:
        dispatcher.reset()
