"""Functions that are arguments of operations: traced in place, then cut out.

``torch.cond``, ``torch.utils.checkpoint``, ``torch.vmap`` and their like call functions
of the program themselves. The body is traced into the graph like any call, between a
marker and the end; then its nodes become a graph module of their own, which is an
argument of the operation. What the body uses from outside becomes inputs of it.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph as FxGraph
from torch.fx import Node

from girih.errors import unsupported
from girih.frontend.capture.effects import contents
from girih.frontend.capture.graph_module import CapturedGraph
from girih.frontend.capture.numpy_numbers import NUMBERS
from girih.frontend.capture.registered_nodes import (
    RegisteredNode,
    is_registered,
    taken_apart,
)
from girih.frontend.capture.values.base import NotConstant, Raised, Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.function import CellValue
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import ListValue, TupleValue
from girih.frontend.capture.values.symbol import NumberValue, SymbolValue
from girih.frontend.capture.values.tensor import TensorValue


@dataclass(frozen=True)
class Leaf:
    """The place of a tensor in a template.

    Attributes:
        index: Which of the tensors.
    """

    index: int


@dataclass
class Body:
    """A function, cut out of the graph.

    Attributes:
        module: Called with the operands, then with what is lifted; gives a tuple.
        node: The node that stands for the module in the graph.
        lifted: Nodes of the graph that the body uses.
        results: What the body computes, in the order of the module's results.
        template: What the function returns, with a ``Leaf`` for each of these.
    """

    module: torch.fx.GraphModule
    node: Node
    lifted: list[Node]
    results: list[Value]
    template: Any


@dataclass(frozen=True)
class SizePlaces:
    """The place of a ``torch.Size`` in a template, which would take no ``Leaf``."""

    items: tuple


def _size_of(items: list, _: object) -> Any:
    """What stands for a ``torch.Size`` in a template that was filled."""
    if not any(isinstance(item, Value) for item in items):
        return torch.Size(items)
    values = [item if isinstance(item, Value) else Constant(item) for item in items]
    return TupleValue(values, torch.Size)


torch.utils._pytree.register_pytree_node(
    SizePlaces, lambda places: (list(places.items), None), _size_of
)


def template_of(
    tracer, value: Value, leaves: list[Value], *, is_pytree: bool = False
) -> Any:
    """Containers and constants as Python has them, with a ``Leaf`` for each tensor.

    Args:
        tracer: The tracer.
        value: An argument or a result.
        leaves: Gets the tensors.
        is_pytree: Objects of classes that are registered as nodes of pytrees are
            taken apart, too. ``put_together`` is the way back.
    """
    if isinstance(value, NumberValue):
        is_numpy = isinstance(value.real, NUMBERS)  # the body sees the type
        value = Constant(value.specialize()) if is_numpy else value.placed
    if isinstance(value, (TensorValue, SymbolValue)):
        leaves.append(value)
        return Leaf(len(leaves) - 1)
    if isinstance(value, Constant):
        return value.value

    def inner(item: Value) -> Any:
        return template_of(tracer, item, leaves, is_pytree=is_pytree)

    if isinstance(value, (TupleValue, ListValue)):
        items = [inner(item) for item in value.items]
        if value.cls is torch.Size:  # a pytree would be filled to a tuple
            return SizePlaces(tuple(items))
        make = getattr(value.cls, "_make", value.cls)
        return make(items)
    if isinstance(value, DictValue):
        pairs = value.read_all(tracer).items()
        made = {k.value.as_python(): inner(v) for k, v in pairs}
        if value.cls is collections.defaultdict:
            return value.cls(_factory_of(tracer, value), made)
        return value.cls(made) if value.cls is not dict else made
    if is_pytree and is_registered(value.python_type()):
        cls, items, context = taken_apart(tracer, value)
        return RegisteredNode(cls, [inner(item) for item in items], context)
    unsupported(
        kind="argument of a function that an operation calls",
        context=repr(value),
        explanation="Only tensors, constants and containers of them can be passed.",
    )


def _factory_of(tracer, value: DictValue) -> Any:
    """What makes the values that a ``defaultdict`` has not got."""
    factory = value.factory
    if factory is None or tracer.is_none(factory):
        return None
    try:
        return factory.as_python()
    except NotConstant:
        unsupported(
            kind="factory of a defaultdict that an operation is given",
            context=repr(factory),
            explanation="The function is made by the program itself, so that it would "
            "be another one in each call.",
            hints=("Make the function outside of compiled code.",),
        )


def fill(template: Any, values: list) -> Any:
    """A template with its leaves replaced."""
    return torch.utils._pytree.tree_map(
        lambda leaf: values[leaf.index] if isinstance(leaf, Leaf) else leaf, template
    )


def flat_leaves(template: Any) -> list:
    """The leaves of a template, constants among them."""
    return torch.utils._pytree.tree_leaves(template)


def operand(tracer, fake: torch.Tensor) -> TensorValue:
    """A tensor that the body is called with, known only inside of it."""
    node = tracer.graph.add_call(_operand, ())
    node.meta["val"] = node.meta["example_value"] = fake
    return TensorValue(node, fake)


def _operand() -> None:
    raise AssertionError("girih bug: an operand was left in the graph")


def _begin() -> None:
    raise AssertionError("girih bug: a marker was left in the graph")


class BodyTracer:
    """Traces one function and cuts it out; use as a context manager.

    Operands are made inside of the ``with`` block, in order, then the function is
    called there.
    """

    def __init__(self, tracer, reachable: list[Value]):
        """Args: ``reachable`` are the values that the body may have access to."""
        self.tracer = tracer
        self.graph = tracer.graph
        self._reachable = _closure_of(reachable)
        self._changed: dict[int, tuple[Value, Any]] = {}

    def __enter__(self) -> BodyTracer:
        """Marks where the body begins, and lets it change nothing outside."""
        self.tracer.caller = None  # no break inside: the operation makes the call
        self._state = self.tracer.state.signature()
        self._outer_watch = self.tracer.effects.watch
        self.tracer.effects.watch = self._note
        self._marker = self.graph.add_call(_begin, ())
        return self

    def __exit__(self, kind, error, traceback) -> None:
        """Lets changes happen again."""
        self.tracer.effects.watch = self._outer_watch
        if kind is not None and issubclass(kind, Raised):
            unsupported(
                kind="exception in a function that an operation calls",
                context=repr(error.value),
                explanation="Python itself has to raise it.",
            )

    def _note(self, changed: Any) -> None:
        """Something is about to be changed; what is outside has to be put back."""
        is_inner = changed is not None and changed.source is None
        if is_inner and id(changed) not in self._reachable:
            if self._outer_watch is not None:
                self._outer_watch(changed)
        elif changed is None or isinstance(changed, CellValue):
            _refuse_change(changed)
        else:
            self._changed.setdefault(id(changed), (changed, _content(changed)))

    def _check_changes(self) -> None:
        """Refuses changes that are still there."""
        for changed, before in self._changed.values():
            after = _content(changed)
            if isinstance(before, dict):
                first = self.tracer.effects.objects.get(id(changed))
                before = {**(first.previous if first else {}), **before}
                after = {name: after.get(name) for name in before}
                before = {
                    n: v if isinstance(v, Value) else None for n, v in before.items()
                }
            if before != after:  # values are compared by identity
                _refuse_change(changed)

    def finish(self, result: Value, given: tuple[Any, list] | None = None) -> Body:
        """Cuts out what was traced; ``result`` is what the function returned.

        Args:
            result: The result.
            given: Its template and its tensors, where tracing had to make them.
        """
        self._check_changes()
        if self.tracer.state.signature() != self._state:
            unsupported(
                kind="state of torch switched by a function that an operation calls",
                explanation="The function has to leave the state as it found it.",
            )
        nodes = self._nodes()
        leaves: list[Value] = []
        if given is None:
            template = template_of(self.tracer, result, leaves)
        else:
            template, leaves = given
        lifted = _free_nodes(nodes, leaves)
        module = _module_of(nodes, lifted, leaves, self.graph.modules)
        self._erase(nodes)
        node = self.graph.add_module(module)
        return Body(module, node, lifted, leaves, template)

    @property
    def lifted(self) -> list[Node]:
        """Nodes from outside that are used so far."""
        return _free_nodes(self._nodes(), [])

    def discard(self) -> None:
        """Erases what was traced."""
        self._check_changes()
        self._erase(self._nodes())

    def keep(self) -> None:
        """Leaves what was traced in the graph that it is in."""
        self._check_changes()
        self.graph.fx.erase_node(self._marker)

    def _nodes(self) -> list[Node]:
        return self.graph.after(self._marker)

    def _erase(self, nodes: list[Node]) -> None:
        self.graph.forget(set(nodes))
        for node in reversed(nodes):
            self.graph.fx.erase_node(node)
        self.graph.fx.erase_node(self._marker)


def _content(value: Any) -> dict | list:
    """The attributes of an object, or what a container holds."""
    if isinstance(value, (ObjectValue, TensorValue)):
        return dict(value.attributes)
    return [*contents(value), *getattr(value, "added", ())]


def _refuse_change(changed: Any) -> None:
    unsupported(
        kind="side effect in a function that an operation calls",
        context="" if changed is None else repr(changed),
        explanation="The operation decides how often it calls the function.",
        hints=("Return the value instead.",),
    )


def _closure_of(values: list[Value]) -> set[int]:
    """Identities of all values that can be reached from some."""
    found: set[int] = set()
    todo: list[Any] = list(values)
    while todo:
        value = todo.pop()
        if isinstance(value, (list, tuple, set)):
            todo.extend(value)
        elif isinstance(value, dict):
            todo.extend(value.keys())
            todo.extend(value.values())
        elif isinstance(value, Value) and id(value) not in found:
            found.add(id(value))
            todo.extend(vars(value).values())
    return found


def _free_nodes(nodes: list[Node], leaves: list[Value]) -> list[Node]:
    """Nodes from outside that the body uses or returns, in order."""
    inner = set(nodes)
    used = [arg for node in nodes for arg in node.all_input_nodes]
    used += [leaf.node for leaf in leaves]
    return list(dict.fromkeys(node for node in used if node not in inner))


def _module_of(nodes, lifted, leaves, modules) -> torch.fx.GraphModule:
    """The body as a graph module: operands, then lifted values, to a tuple."""
    made = FxGraph()
    copies: dict[Node, Node] = {}
    operands = [node for node in nodes if node.target is _operand]
    for number, node in enumerate([*operands, *lifted]):
        copies[node] = made.placeholder(f"input{number}")
        copies[node].meta = dict(node.meta)
    for node in nodes:
        if node.target is not _operand:
            copies[node] = made.node_copy(node, lambda old: copies[old])
    made.output(tuple(copies[leaf.node] for leaf in leaves))
    return CapturedGraph(modules, made)


def trace_call(tracer, function: Value, args: list[Value]) -> Body:
    """Traces ``function(*args)`` on values of the graph, and cuts it out."""
    body = BodyTracer(tracer, [function, *args])
    with body:
        result = tracer.call(function, list(args), {})
    return body.finish(result)


def results_of(tracer, node: Node, body: Body) -> Value:
    """What a call that gives the body's results gives to the program.

    Args:
        tracer: The tracer.
        node: The call; its result is a tuple, as the body's is.
        body: The body.
    """
    fakes = tuple(value.fake for value in body.results)
    made = tracer.graph.wrap_result(node, fakes)
    outside = set(body.lifted)
    values = [
        old if old.node in outside else new
        for old, new in zip(body.results, made.items, strict=True)
    ]
    return tracer.from_python(fill(body.template, values))
