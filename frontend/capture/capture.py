"""Capturing one call: from a function and its arguments to a cache entry."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from girih import log
from girih.errors import UnsupportedError, unsupported
from girih.frontend.capture import _frame, state
from girih.frontend.capture.aliases import guard_written
from girih.frontend.capture.evaluate import Evaluator, NeedsSymbols
from girih.frontend.capture.frame import Frame
from girih.frontend.capture.graph_module import CapturedGraph
from girih.frontend.capture.guard import GuardTree
from girih.frontend.capture.rebuild import Rebuilder
from girih.frontend.capture.sizes import Sizes
from girih.frontend.capture.tensor_guard import tensor_checks
from girih.frontend.capture.tracer import Tracer, root_function
from girih.frontend.capture.values.base import Raised, Value
from girih.frontend.capture.values.tensor import TensorValue

_LOG = log.logger("capture")
_GUARDS = log.logger("guards")
_CODE = log.logger("graph_code")

Backend = Callable[[torch.fx.GraphModule, list[Any]], Callable]


@dataclass
class CapturedFrame:
    """A cache entry and what it was made from.

    Attributes:
        entry: What the dispatcher tries.
        tree: The guards, as text.
        graph: The graph, or None where there was nothing to compute.
        code: The surrounding code, as Python text.
    """

    entry: _frame.Entry
    tree: GuardTree
    graph: torch.fx.GraphModule | None
    code: str

    def failed_guard(self) -> str:
        """The guard that failed when the entry was last tried."""
        return self.tree.failure(self.entry.guards)


@dataclass
class _Capture:
    """One attempt to capture a call."""

    function: Any
    arguments: tuple
    sizes: Sizes
    backend: Backend
    evaluator: Evaluator
    tracer: Tracer = field(init=False)

    def __post_init__(self):
        code = self.function.__code__
        flags = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
        count = code.co_argcount + code.co_kwonlyargcount
        self.names = code.co_varnames[: count + sum(map(bool, self._flags(flags)))]

    def _flags(self, flags):
        return (self.function.__code__.co_flags & flag for flag in flags)

    def run(self) -> CapturedFrame:
        """Traces the call and compiles what came out."""
        reason = state.reason_against_capture()
        if reason:
            unsupported(
                kind="state of torch",
                context=reason,
                explanation="The call runs as it was while that is so.",
            )
        self.tracer = Tracer(self.names, self.evaluator, self.sizes)
        state_check = state.state_check()
        try:
            result = self._trace()
            if self.tracer.state.is_changed:
                unsupported(
                    kind="state of torch changed by the function",
                    explanation="The function returns with another grad mode.",
                )
        finally:
            self.tracer.state.restore()
        return self._finish(result, state_check)

    def _trace(self) -> Value:
        tracer = self.tracer
        function = root_function(tracer, self.function)
        bound = {
            name: tracer.wrap(value, tracer.roots.local(index))
            for index, (name, value) in enumerate(
                zip(self.names, self.arguments, strict=True)
            )
        }
        try:
            _, value = tracer.run(Frame(function, bound))
        except (UnsupportedError, NeedsSymbols, RecursionError):
            raise
        except Raised as raised:
            unsupported(
                kind=RAISES,
                context=_exception_text(raised.value),
                explanation="The function ends with an exception; it runs as it was, "
                "so that Python raises it.",
            )
        except Exception as error:
            _LOG.debug("girih bug while tracing", exc_info=True)
            unsupported(
                kind="girih bug while tracing",
                context=f"{type(error).__name__}: {error}",
                explanation="Please report it, with the traceback that "
                "GIRIH_LOGS=capture prints.",
            )
        return value

    def _finish(self, result: Value, state_check) -> CapturedFrame:
        tracer = self.tracer
        tensors = [i for i in tracer.graph.inputs if isinstance(i.value, TensorValue)]
        rebuilder = Rebuilder([given.source for given in tracer.graph.inputs])
        rebuilder.replay(tracer.effects)
        expression = rebuilder.expression(result)
        guard_written(tracer)
        tree = GuardTree(tracer.guards, list(rebuilder.slots))
        checks = tensor_checks(tensors, tracer.graph.evaluator)
        shape_check = tracer.graph.evaluator.shape_check(tensors)
        guards = tree.build(len(tensors), checks, state_check, shape_check)
        for source in tree.slots[len(rebuilder.slots) :]:
            rebuilder.slots.setdefault(source, len(rebuilder.slots))
        graph = compiled = None
        if tracer.graph.has_calls:
            graph = self._graph_module(rebuilder.outputs)
            examples = tracer.graph.evaluator.example_inputs(tracer.graph.inputs)
            compiled = self.backend(graph, examples)
        entry, code = _entry(guards, rebuilder, expression, compiled, graph)
        _log_capture(self.function, tracer.guards, graph, code)
        return CapturedFrame(entry, tree, graph, code)

    def _graph_module(self, outputs: list) -> torch.fx.GraphModule:
        captured = self.tracer.graph
        captured.fx.output(tuple(outputs))
        for given in captured.inputs:
            node = given.value.node
            node.meta["val"] = node.meta["example_value"] = given.value.fake
        module = CapturedGraph(torch.nn.Module(), captured.fx)
        static = [i for i, given in enumerate(captured.inputs) if given.is_static]
        module.meta["static_input_indices"] = static
        return module


RAISES = "the function raises"


def _exception_text(value) -> str:
    parts = ", ".join(repr(item) for item in getattr(value, "args", []))
    return f"{value.python_type().__name__}({parts})"


def _entry(guards, rebuilder: Rebuilder, expression, compiled, graph):
    function, text = rebuilder.function(compiled, expression, graph is not None)
    is_plain = len(rebuilder.slots) == rebuilder._input_count and not rebuilder.body
    if compiled is not None and is_plain and len(rebuilder.outputs) == 1:
        if text.endswith("return out[0]"):
            return _frame.Entry(guards, compiled, 0), text
    return _frame.Entry(guards, function, -1), text


def _log_capture(function, guards, graph, code: str) -> None:
    if _GUARDS.isEnabledFor(10):
        lines = "\n  ".join(str(guard) for guard in guards)
        _GUARDS.debug("guards of %s:\n  %s", function.__qualname__, lines)
    if _CODE.isEnabledFor(10) and graph is not None:
        _CODE.debug("%s\n%s\n%s", function.__qualname__, graph.code, code)


def capture(function, arguments: tuple, sizes: Sizes, backend: Backend):
    """Captures a call.

    Args:
        function: The Python function.
        arguments: Its bound arguments, in the order of the frame's slots.
        sizes: What is known about the sizes of its inputs.
        backend: Compiles the graph.

    Raises:
        UnsupportedError: The call can't be captured.
    """
    try:
        return _attempt(function, arguments, sizes, backend)
    except RecursionError:
        raise UnsupportedError(
            "calls nested too deeply",
            function.__qualname__,
            "Following the calls exceeded Python's recursion limit.",
        ) from None


def _attempt(function, arguments, sizes: Sizes, backend: Backend) -> CapturedFrame:
    try:
        return _Capture(function, arguments, sizes, backend, Evaluator()).run()
    except NeedsSymbols:
        from girih.frontend.capture.shapes import SymbolicEvaluator

        symbolic = SymbolicEvaluator()
        return _Capture(function, arguments, sizes, backend, symbolic).run()
