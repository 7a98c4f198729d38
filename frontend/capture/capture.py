"""Capturing one call: from a function and its arguments to a cache entry."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from girih import log
from girih.errors import EXHAUSTED, UnsupportedError, exhaustion, unsupported
from girih.fallbacks import is_for_now
from girih.frontend.capture import _frame, state
from girih.frontend.capture.aliases import guard_told_apart, guard_written
from girih.frontend.capture.blocks import Blocks
from girih.frontend.capture.break_point import BreakPoint, Stopped
from girih.frontend.capture.budget import Limits
from girih.frontend.capture.checks import number_check
from girih.frontend.capture.continuation import tail_of
from girih.frontend.capture.evaluate import Evaluator, NeedsKnownSizes, NeedsSymbols
from girih.frontend.capture.finalizers import returning
from girih.frontend.capture.frame import Frame
from girih.frontend.capture.graph import is_written
from girih.frontend.capture.graph_module import CapturedGraph
from girih.frontend.capture.guard import GuardTree
from girih.frontend.capture.leftovers import forget_environments
from girih.frontend.capture.models.registry import is_whole
from girih.frontend.capture.models.torch_functions import (
    is_made_in_function,
    storage_of,
)
from girih.frontend.capture.rebuild import Rebuilder
from girih.frontend.capture.rebuilding.generators import close_generators
from girih.frontend.capture.refusals import bug
from girih.frontend.capture.repeatable import is_repeatable, runs_again
from girih.frontend.capture.resume.liveness import is_observed
from girih.frontend.capture.resume.origin import original_code
from girih.frontend.capture.sizes import Sizes
from girih.frontend.capture.small_numbers import start_again_without_small
from girih.frontend.capture.tensor_guard import tensor_checks
from girih.frontend.capture.tracer import Tracer, root_function
from girih.frontend.capture.values.base import Raised, Value

_LOG = log.logger("capture")

Backend = Callable[[torch.fx.GraphModule, list[Any]], Callable]


@dataclass
class CapturedFrame:
    """A cache entry and what it was made from.

    Attributes:
        entry: What the dispatcher tries.
        tree: The guards, as text.
        graph: The graph, or None where there was nothing to compute.
        code: The surrounding code, as Python text.
        broken: Why the segment ends before the function does, or None.
        has_tensors: Whether the trace met tensors.
        is_for_now: Whether the graph runs eager in this call alone.
        has_effects: Whether the surrounding code changes what existed before.
    """

    entry: _frame.Entry
    tree: GuardTree
    graph: torch.fx.GraphModule | None
    code: str
    broken: UnsupportedError | None = None
    has_tensors: bool = True
    is_for_now: bool = False
    has_effects: bool = False


@dataclass(frozen=True)
class Call:
    """A call that is to be captured.

    Attributes:
        function: The Python function.
        arguments: Its bound arguments, in the order of the frame's slots.
        sizes: What is known about the sizes of its inputs.
        backend: Compiles the graph.
        is_callee: Whether functions of the same code share the entries.
        may_break: Whether the segment may end before the function does.
        limits: How much one attempt may cost.
        says_compiling: What a program is told that asks whether it is compiled.
        broken_by: What ends the graph before the function does, or None.
        failed: Told where a graph failed, and the program would not have.
    """

    function: Any
    arguments: tuple
    sizes: Sizes
    backend: Backend
    is_callee: bool = False
    may_break: bool = True
    limits: Limits = Limits()
    says_compiling: bool = True
    broken_by: UnsupportedError | None = None
    failed: Callable[[UnsupportedError], object] = str

    @property
    def keeps_numbers(self) -> bool:
        """Whether sizes and numbers that depend on data stay in the graph."""
        takes_them = getattr(self.backend, "takes_unbacked_sizes", False)
        return takes_them and self.sizes.dynamic is True

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arguments."""
        code = self.function.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        flags = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
        return code.co_varnames[: count + sum(bool(code.co_flags & f) for f in flags)]


# What girih's own mistakes raise. Python's are traced, and raise `Raised`.
_MISTAKES = (AssertionError, AttributeError, LookupError, TypeError, ValueError)


@dataclass
class _Capture:
    """One attempt to capture a call.

    Attributes:
        call: What is captured.
        evaluator: Evaluates operations without data.
        stop: Where the segment ends; None for the end of the function.
    """

    call: Call
    evaluator: Evaluator
    stop: BreakPoint | None
    tracer: Tracer = field(init=False)
    root: Frame = field(init=False)
    rebuilder: Rebuilder | None = field(init=False, default=None)
    has_effects: bool = field(init=False, default=False)

    def run(self) -> CapturedFrame:
        """Traces the call and compiles what came out."""
        reason = state.reason_against_capture()
        if reason:
            unsupported(
                kind=STATE_OF_TORCH,
                context=reason,
                explanation=(
                    "Compiled code would bypass this state, so Python runs the call."
                ),
                hints=("Leave the mode, or undo the change, before the call.",),
            )
        call = self.call
        blocks = Blocks(call.function, call.arguments, call.may_break)
        self.tracer = Tracer(
            call.names, self.evaluator, call.sizes, blocks, self.stop, call.limits
        )
        call.sizes.begin(call.function, call.arguments)
        code = original_code(call.function.__code__)
        self.tracer.minds_finalizers = is_observed(code)
        self.tracer.says_compiling = call.says_compiling
        code = call.function.__code__
        try:
            self.tracer.budget.check(code)
            return self._run()
        except UnsupportedError as error:
            error.met_tensors |= bool(self.tracer.graph.tensors)
            error.told_compiling = self.tracer.told_compiling
            self.tracer.budget.remember(code, error)
            raise
        finally:
            self.tracer.release()
            if self.rebuilder is not None:
                self.rebuilder.release()

    def _run(self) -> CapturedFrame:
        state_check = state.state_check()
        try:
            result, frames = self._trace()
            self.tracer.state.close(frames is None)
        finally:
            self.tracer.state.restore()
        return self._finish(result, frames, state_check)

    def _trace(self) -> tuple[Value | None, list[Frame] | None]:
        """The result, or the frames where the trace stopped."""
        tracer = self.tracer
        function = root_function(tracer, self.call.function)
        if self.call.is_callee:
            # One code may be the code of functions of several modules.
            namespace = tracer.roots.function.attribute("__globals__")
            tracer.guards.add(namespace, "is", function.namespace)
        bound = {
            name: tracer.wrap(value, tracer.roots.local(index))
            for index, (name, value) in enumerate(
                zip(self.call.names, self.call.arguments, strict=True)
            )
        }
        tracer.finalizers.begin(tracer, self.call, bound)
        try:
            self.root = Frame(function, bound)
            if is_whole(function.code):
                self.root.whole = _calls_model
            return tracer.run(self.root)[1], None
        except Stopped as stopped:
            return None, stopped.frames
        except Raised as raised:
            raise _raises(raised) from None

    def _rebuild(self, result, frames):
        """A rebuilder, which has the effects, and the expression of the result.

        Raises:
            UnsupportedError: Some can't be made, or girih itself fails.
        """
        tracer = self.tracer
        tracer.graph.prune()
        rebuilder = self.rebuilder = Rebuilder(tracer.graph)
        try:
            rebuilder.replay(tracer.effects)
            self.has_effects = bool(rebuilder.body) or tracer.state.ends_changed
            if frames is None:
                expression = rebuilder.expression(result)
                watch = tracer.finalizers
                expression = returning(rebuilder, self.root, watch, expression)
            else:
                expression = tail_of(rebuilder, frames)
            done = () if frames else [self.root]
            close_generators(rebuilder, tracer.generators, done)
            rebuilder.set_state(tracer.state)
            guard_written(tracer)
            guard_told_apart(tracer)
        except _MISTAKES as error:
            raise bug(error) from error
        return rebuilder, expression

    def _finish(self, result, frames, state_check) -> CapturedFrame:
        tracer = self.tracer
        tracer.sizes.hold(tracer.graph)
        start_again_without_small(tracer)
        rebuilder, expression = self._rebuild(result, frames)
        graph = compiled = None
        for_now = False
        if tracer.graph.has_calls:
            self._check_views(rebuilder.outputs)
            graph = self._graph_module(rebuilder.outputs)
            examples = tracer.graph.evaluator.example_inputs(tracer.graph.passed)
            inputs = [given.real for given in tracer.graph.passed]
            compiled = _compiled(self.call, graph, examples, inputs)
            for_now = is_for_now(compiled)
            if tracer.state.has_effects:
                compiled = state.restoring(compiled, tracer.state)
        again = None
        if graph is not None and is_repeatable(tracer.graph):
            name = self.call.function.__qualname__
            again = runs_again(name, tracer.graph.fx, self.call.failed)
            rebuilder.run_again(again)
        if graph is not None and tracer.blocks:
            rebuilder.raise_at(tracer.blocks.place, tracer.roots)
        tracer.learn_numbers()  # the backend, too, may have fixed some
        if tracer.sizes.log.is_on():
            tracer.sizes.log.log(self.call, tracer)
        number_checks = number_check(tracer.graph, rebuilder)
        tree = GuardTree(tracer.guards, list(rebuilder.slots))
        tensors = tracer.graph.tensors
        checks = tensor_checks(tensors, tracer.graph.evaluator)
        guards = tree.build(len(tensors), checks, state_check, number_checks)
        for source in tree.slots[len(rebuilder.slots) :]:
            rebuilder.slots.setdefault(source, len(rebuilder.slots))
        entry, code = _entry(guards, rebuilder, expression, compiled, graph, again)
        has_tensors = graph is not None or bool(tracer.graph.inputs)
        return CapturedFrame(
            entry,
            tree,
            graph,
            code,
            has_tensors=has_tensors,
            is_for_now=for_now,
            has_effects=self.has_effects,
        )

    def _check_views(self, outputs: list) -> None:
        """Refuses results that share memory, but not a history, with what is known."""
        refusal = self.tracer.view_made
        if refusal is None:
            return
        found = [node.meta.get("val") for node in outputs]
        results = [value for value in found if isinstance(value, torch.Tensor)]
        known = [given.value.fake for given in self.tracer.graph.tensors]
        shown = self.tracer.storages_shown
        for result in (x for x in results if storage_of(x) in shown):
            is_apart = is_made_in_function(result) or not result._is_view()
            others = [x for x in (*known, *results) if x is not result]
            if is_apart and any(storage_of(x) == storage_of(result) for x in others):
                refusal.is_of_result = True
                raise refusal

    def _graph_module(self, outputs: list) -> torch.fx.GraphModule:
        captured = self.tracer.graph
        captured.fx.output(tuple(outputs))
        passed = captured.passed
        for given in captured.inputs:
            if not any(given is other for other in passed):
                captured.fx.erase_node(given.value.node)
        for given in passed:
            node = given.value.node
            node.meta["val"] = node.meta["example_value"] = given.value.fake
            node.meta["girih_source"] = str(given.source or "")
        module = CapturedGraph(captured.modules, captured.fx)
        static = [i for i, given in enumerate(passed) if given.is_static]
        module.meta["static_input_indices"] = static
        module.meta["written_inputs"] = {
            index: (given.real.requires_grad, given.real.is_leaf)
            for index, given in enumerate(passed)
            if isinstance(given.real, torch.Tensor) and is_written(given)
        }
        return module


def _calls_model(tracer: Tracer, frame: Frame, instruction) -> tuple[str, Value]:
    """Stands for all instructions of a function that is modelled as a whole."""
    (given,) = frame.locals.values()
    return "return", tracer.call_function(frame.function, list(given.items), {})


def _compiled(call: Call, graph, examples: list, inputs: list) -> Callable:
    """What a backend makes of a graph, which has to be a callable."""
    backend = call.backend
    try:
        if hasattr(backend, "for_call"):  # one that the program gave
            compiled = backend.for_call(graph, examples, inputs, call.broken_by)
        else:
            compiled = backend(graph, examples)
    except UnsupportedError as error:
        error.is_of_graph = True
        raise
    if not callable(compiled):
        name = getattr(backend, "__qualname__", type(backend).__qualname__)
        raise TypeError(
            f"the backend {name} returned {type(compiled).__name__}, expected a "
            "callable that takes the graph's inputs and returns a tuple"
        )
    return compiled


RAISES = "the function raises"
STATE_OF_TORCH = "state of torch"


def _raises(raised: Raised) -> UnsupportedError:
    error = UnsupportedError(
        RAISES,
        _exception_text(raised.value),
        "The function ends with an exception, which Python itself has to raise.",
    )
    error.break_points = raised.break_points
    return error


def _exception_text(value: Value) -> str:
    parts = ", ".join(repr(item) for item in getattr(value, "args", []))
    return f"{value.python_type().__name__}({parts})"


def _entry(guards, rebuilder: Rebuilder, expression, compiled, graph, again):
    function, text = rebuilder.function(compiled, expression, graph is not None)
    is_plain = rebuilder.takes_slots and not rebuilder.body
    if compiled is not None and is_plain and len(rebuilder.outputs) == 1:
        if text.endswith("return out[0]"):
            return _frame.Entry(guards, compiled, 0, again), text
    return _frame.Entry(guards, function, -1), text


def capture(call: Call) -> CapturedFrame:
    """Captures a call, to its end or to where it has to be broken.

    Args:
        call: The call.

    Raises:
        UnsupportedError: The call can't be captured.
    """
    try:
        return _attempt(call, None)
    except UnsupportedError as error:
        if not (error.kind == RAISES and error.told_compiling):
            is_passing = error.kind == EXHAUSTED
            is_final = error.is_final or is_passing or not error.break_points
            if not call.may_break or is_final:
                raise
            return _broken(call, error)
    # Programs have paths for compilers that raise where eager's do not.
    return capture(replace(call, says_compiling=False))


def _broken(call: Call, error: UnsupportedError) -> CapturedFrame:
    """Captures up to the innermost frame that can be broken, or to the root.

    Where the backend refuses the graph before the break, that is the reason: a
    break by itself is none.
    """
    points, refusal = error.break_points, None
    for point in dict.fromkeys((points[0], points[-1])):
        try:
            captured = _attempt(replace(call, broken_by=error), point)
        except UnsupportedError as obstacle:
            _LOG.debug("no break before %s: %s", point, obstacle.summary())
            if obstacle.is_of_graph:
                refusal = obstacle
            if obstacle.is_of_result and not error.is_of_result:
                return _broken(call, obstacle)
        else:
            captured.broken = error.with_traceback(None)  # holds no frames alive
            error.__context__ = error.__cause__ = None
            return captured
    raise refusal or error


def _attempt(call: Call, stop: BreakPoint | None) -> CapturedFrame:
    try:
        while True:  # an attempt that starts again has fewer symbols
            try:
                return _with_symbols(call, stop)
            except NeedsKnownSizes:
                pass
    except RecursionError as error:
        if _is_deep():  # the calls around it took the stack, not those in it
            raise exhaustion(error) from None
        raise UnsupportedError(
            "calls nested too deeply",
            call.function.__qualname__,
            "Following the calls exceeded Python's recursion limit.",
        ) from None


def _is_deep() -> bool:
    """Whether more than half of Python's stack is in use where a capture begins."""
    try:
        sys._getframe(sys.getrecursionlimit() // 2)
    except ValueError:
        return False
    return True


def _with_symbols(call: Call, stop: BreakPoint | None) -> CapturedFrame:
    try:
        evaluator = Evaluator(keeps_numbers=call.keeps_numbers)
        return _Capture(call, evaluator, stop).run()
    except NeedsSymbols:
        pass  # and with it the frames, whose arguments an error below would keep alive
    from girih.frontend.capture.shapes import SymbolicEvaluator

    try:
        return _Capture(call, SymbolicEvaluator(call.keeps_numbers), stop).run()
    finally:
        forget_environments()
