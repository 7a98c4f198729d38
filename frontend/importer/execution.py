"""Runs the nodes of a graph module, one after the other."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)
from torch.utils._python_dispatch import _disable_current_modes

from girih.dialects.bindings import ir
from girih.dialects.locations import location_in
from girih.dialects.rule_table import RuleMistake, blame
from girih.errors import SourceLocation, UnsupportedError, is_exhaustion
from girih.frontend.capture.held_warnings import held
from girih.frontend.capture.switches import preserved
from girih.frontend.fake.demands import is_undecided
from girih.frontend.importer.differentiation import Derivatives
from girih.frontend.importer.floats import call
from girih.frontend.importer.nodes import value_of
from girih.frontend.importer.recorder import Recorder
from girih.frontend.importer.regions import Regions
from girih.frontend.importer.stand_ins import method, stand_in
from girih.frontend.importer.symbols import fix_symbols

_LOG = logging.getLogger(__name__)

# Why a call can't be imported that could be if its numbers were constants.
_OF_SYMBOLS = (
    "negative size",
    "slice outside of a tensor",
    "symbolic exponent",
    "symbolic size",
    "symbolic step",
)

# Changes of grad mode, which mean nothing where nobody asks for gradients.
_GRAD_MODE = (torch._C._set_grad_enabled, torch.set_grad_enabled)


class Calls(Protocol):
    """What else happens when nodes run."""

    def enter(self, gm: torch.fx.GraphModule) -> None:
        """A graph is about to run."""

    def call(self, node: torch.fx.Node, args: tuple, kwargs: dict) -> Any:
        """The result of a call, or ``NotImplemented`` where torch's own is right."""

    def note(self, node: torch.fx.Node, result: Any) -> Any:
        """A node gave a result; returns what it is from now on."""


def execute(
    gm: torch.fx.GraphModule,
    inputs: Sequence[Any],
    recorder: Recorder,
    calls: Calls | None = None,
) -> Any:
    """Runs a graph module.

    Args:
        gm: The module.
        inputs: The values of its placeholders.
        recorder: The mode that is on; its builder gets the location of each node.
        calls: Takes part where gradients are asked for.

    Returns:
        What the module returns.

    Raises:
        UnsupportedError: A node cannot be compiled; with the node's location.
    """
    environment: dict[torch.fx.Node, Any] = {}
    if calls is not None:
        calls.enter(gm)
    # Capture has given the warnings of these calls.
    with preserved(), held():
        try:
            return _execute(gm, iter(inputs), environment, recorder, calls)
        except BaseException:
            for value in environment.values():
                if isinstance(value, torch._C._InferenceMode):
                    value.__exit__(None, None, None)
            raise


def _execute(gm, inputs, environment: dict, recorder, calls) -> Any:
    builder, regions = recorder.builder, Regions()
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            environment[node] = next(inputs)
        elif node.op == "output":
            if recorder.derivatives is not None:
                _note_results(node, environment, recorder.derivatives)
            return _load(node.args[0], environment)
        else:
            source = source_of(node)
            place = _location(source, builder.context)
            builder.place = location_in(regions.around(node), place)
            known = len(recorder.table.entries)
            environment[node] = _run_located(
                gm, node, environment, recorder, calls, source
            )
            recorder.table.adopt(environment[node], known)
    return None


def _note_results(node, environment, derivatives: Derivatives) -> None:
    """Tells which results require a gradient, where capture has seen it.

    Where several nodes give one tensor, as dropout does outside of training, the first
    one's value has seen the writes: Dynamo notes another value for each.
    """
    first: dict[int, torch.fx.Node] = {}
    for made, value in environment.items():
        first.setdefault(id(value), made)
    # Autograd may make views again to say what their history is: in their own mode.
    with _disable_current_modes():
        for result in node.all_input_nodes:
            known = value_of(first[id(environment[result])])
            if isinstance(known, torch.Tensor):
                derivatives.note_result(environment[result], known)


def _run_located(gm, node, environment, recorder, calls: Calls | None, source) -> Any:
    try:
        result = _run(gm, node, environment, recorder, calls)
        return result if calls is None else calls.note(node, result)
    except UnsupportedError as error:
        if error.kind in _OF_SYMBOLS:
            _fix_numbers(node, environment)
        raise (error if source is None else error.located(source)) from None
    except AssertionError as error:
        if source is None:
            raise
        lines = [f"{error}", f"  at {source}", source.excerpt()]
        raise AssertionError("\n".join(filter(None, lines))) from error
    except Exception as error:
        if is_exhaustion(error):
            raise  # says nothing of the operation
        _fix_numbers(node, environment)
        raise _unsupported(error, node, source) from error


def _fix_numbers(node: torch.fx.Node, environment) -> None:
    """Makes constants of the symbols in a call's numbers: what it is called with now.

    A rule that needs the value of a number has it when the graph is imported again.
    """
    for given in node.all_input_nodes:
        value = environment[given]
        if not isinstance(value, (torch.SymInt, torch.SymFloat)):
            continue
        text = (
            "%s can't take the symbolic number %s; girih makes the number a constant "
            "and imports the graph again"
        )
        _LOG.debug(text, node, value)
        fix_symbols(value.node.expr, value.node.shape_env)


def _name_of(target: Any) -> str:
    """An operation as messages name it; objects that are called have no other name."""
    is_object = type(target).__repr__ is object.__repr__
    return (
        getattr(target, "__name__", type(target).__name__) if is_object else str(target)
    )


def _unsupported(error, node, source) -> UnsupportedError:
    """What an error means that came from running an op on fake tensors."""
    what = _name_of(node.target)
    if isinstance(error, DynamicOutputShapeException):
        text = "The size of its result depends on the values of its inputs."
        return UnsupportedError("data-dependent size", what, text, (), source)
    if isinstance(error, DataDependentOutputException):
        text = "Its result is a number that depends on the values of its inputs."
        return UnsupportedError("data-dependent value", what, text, (), source)
    if is_undecided(error):
        text = "It asks for a size that is known only when the graph runs."
        return UnsupportedError("size known too late", what, text, (), source)
    if isinstance(error, UnsupportedOperatorException):
        text = "The operator has no fake implementation."
        hints = ("Register a fake implementation with torch.library.register_fake.",)
        return UnsupportedError("operator without fake", what, text, hints, source)
    rule = blame(error.__traceback__)
    if rule or isinstance(error, RuleMistake):
        text = f"The {rule}, raises {type(error).__name__}: {error}"
        text = str(error) if isinstance(error, RuleMistake) else text
        return UnsupportedError("import rule that fails", what, text, (), source)
    text = f"Running it raises {type(error).__name__}: {error}"
    return UnsupportedError("operation that fails", what, text, (), source)


def _run(gm, node, environment, recorder, calls: Calls | None) -> Any:
    if "girih_eager" in node.meta:
        raise UnsupportedError(
            "graph that is left to eager", str(node.target), node.meta["girih_eager"]
        )
    if node.op == "get_attr":
        return _attribute(gm, node.target)
    args = _load(node.args, environment)
    kwargs = _load(node.kwargs, environment)
    if calls is not None:
        result = calls.call(node, args, kwargs)
        if result is not NotImplemented:
            return result
    if node.op == "call_function":
        if node.target in _GRAD_MODE and calls is None:
            return None
        return call(recorder, node.target, stand_in(node.target), args, kwargs)
    if node.op == "call_method":
        run = partial(_call_method, node.target)
        return call(recorder, node.target, run, args, kwargs)
    return _attribute(gm, node.target)(*args, **kwargs)


def _call_method(name: str, owner: Any, *args: Any, **kwargs: Any) -> Any:
    return method(owner, name)(*args, **kwargs)


def _attribute(gm: torch.fx.GraphModule, path: str) -> Any:
    value = gm
    for name in path.split("."):
        value = getattr(value, name)
    return value


def _load(value: Any, environment: dict) -> Any:
    """An argument of a node with the values of other nodes in it."""
    if isinstance(value, torch.fx.Node):
        return environment[value]
    if isinstance(value, tuple):
        items = [_load(item, environment) for item in value]
        # A named tuple takes its fields one by one.
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, list):
        return [_load(item, environment) for item in value]
    if isinstance(value, dict):
        return {key: _load(item, environment) for key, item in value.items()}
    if isinstance(value, slice):
        parts = (value.start, value.stop, value.step)
        return slice(*(_load(part, environment) for part in parts))
    return value


# Locations ----------------------------------------------------------------------

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')


def source_of(node: torch.fx.Node) -> SourceLocation | None:
    """The user's line that a node comes from, where known."""
    place = node.meta.get("girih_location")
    if place is not None:
        filename, line, function = place
        return SourceLocation(filename, line, function)
    frames = _FRAME.findall(node.meta.get("stack_trace") or node.stack_trace or "")
    if not frames:
        return None
    filename, line, function = frames[-1]
    return SourceLocation(filename, int(line), function)


@contextmanager
def at_the_line_of(node: Any) -> Iterator[None]:
    """Gives errors that have no line that of a node, if it is one and has a line."""
    try:
        yield
    except UnsupportedError as error:
        source = source_of(node) if isinstance(node, torch.fx.Node) else None
        if error.location is not None or source is None:
            raise
        raise error.located(source) from None


def _location(source: SourceLocation | None, context: ir.Context) -> ir.Location:
    if source is None:
        return ir.Location.unknown(context)
    return ir.Location.file(source.filename, source.line, 0, context=context)
