"""The graph that is being captured.

Nodes are torch-level calls, as TorchDynamo makes them: ``call_function`` and
``call_method`` on tensors, ``placeholder`` for every tensor that existed before
(arguments, parameters, buffers, globals) and after these for every number that may
vary, one ``output`` with a flat tuple.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from torch.fx import Graph as FxGraph
from torch.fx import Node

from girih.errors import UnsupportedError, unsupported
from girih.frontend.capture.call_arguments import CallArguments, SizeItems
from girih.frontend.capture.evaluate import Evaluator, is_unchanged
from girih.frontend.capture.numbers import (
    function_of_sizes,
    is_exact,
    is_input,
    is_small,
    on_sizes,
    takes_int_for_float,
)
from girih.frontend.capture.refusals import OPERATION_FAILED
from girih.frontend.capture.source import Source
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.sequence import (
    ListValue,
    TupleValue,
)
from girih.frontend.capture.values.symbol import NumberValue, SymbolValue
from girih.frontend.capture.values.tensor import Answers, TensorValue
from girih.frontend.fake.floats import with_examples

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


# What may begin anywhere in the storage of a tensor, and which argument says where.
_PLACING = ("as_strided", "as_strided_", torch.as_strided)
_OFFSET = 3


@dataclass
class Input:
    """A placeholder of the graph.

    Attributes:
        source: Where its value comes from at each call.
        value: The traced value.
        real: The example.
        is_static: A parameter or a buffer: the same tensor at each call.
        number: The number, where it is one; without a source if Python computes it.
        may_be_small: It stands for 0 and 1, too.
    """

    source: Source | None
    value: Value
    real: Any
    is_static: bool
    number: NumberValue | None = None
    may_be_small: bool = False


class Graph:
    """Builds the FX graph.

    Args:
        tracer: Gives locations and makes constants.
        evaluator: Evaluates calls on tensors without data.

    Attributes:
        tensors: The inputs that are tensors.
        numbers: The inputs that are numbers; they stand after the tensors.
        placed: These, and numbers that were compared with sizes only.
        decisions: What the trace found out about numbers.
    """

    def __init__(self, tracer, evaluator: Evaluator):
        self.tracer = tracer
        self.evaluator = evaluator
        self.fx = FxGraph()
        self.tensors: list[Input] = []
        self.numbers: list[Input] = []
        self.placed: list[Input] = []
        self.decisions: list[tuple[Any, tuple, bool]] = []
        self.modules = torch.nn.Module()
        self._by_symbol: dict[tuple, SymbolValue] = {}
        self._effects: set = set()
        self._dropped: set[int] = set()
        self.fixes_numbers = False

    @property
    def inputs(self) -> list[Input]:
        """The placeholders, in order: tensors, then numbers."""
        return self.tensors + self.numbers

    @property
    def passed(self) -> list[Input]:
        """The inputs that the graph is called with, in order."""
        return [given for given in self.inputs if id(given) not in self._dropped]

    @property
    def last(self) -> Node:
        """The last node so far."""
        return self.fx._root.prev

    def after(self, node: Node) -> list[Node]:
        """The nodes that were made after one."""
        found, node = [], node.next
        while node.op != "root":
            found.append(node)
            node = node.next
        return found

    @property
    def node_count(self) -> int:
        """How many nodes there are."""
        return len(self.fx.nodes)

    @property
    def has_calls(self) -> bool:
        """Whether there is anything to run, besides switches of torch's state."""
        return len(self.fx.nodes) > len(self.inputs) + len(self._effects)

    # Inputs

    def add_input(self, tensor: torch.Tensor, source: Source, static: bool) -> Value:
        """A placeholder for a tensor that existed before."""
        node = self._placeholder(str(source), self.tensors)
        dynamic = self.tracer.dynamic_dims(tensor, source, static)
        fake = self.evaluator.fake_of(tensor, source, dynamic)
        node.meta["val"] = node.meta["example_value"] = fake
        node.meta["girih_requires_grad"] = tensor.requires_grad
        value = TensorValue(node, fake, source, cls=type(tensor), real=tensor)
        self.tensors.append(Input(source, value, tensor, static))
        return value

    def _placeholder(self, text: str, before: list[Input]):
        name = re.sub(r"\W+", "_", text).strip("_").removeprefix("L_")
        name = "self_" if name == "self" else name  # the module's, in its code
        if before:
            with self.fx.inserting_after(before[-1].value.node):
                node = self.fx.placeholder(name)
        else:
            first = next(iter(self.fx.nodes), None)
            with self.fx.inserting_before(first):
                node = self.fx.placeholder(name)
        node.target = node.name  # the parameter's: two sources may read the same
        node.meta["girih_location"] = self.tracer.location()
        return node

    # Numbers

    def number(self, value: int | float, source: Source) -> Value:
        """An int or float that existed before: one that may vary, or a constant."""
        if self.tracer.sizes.varies(value, source):
            found = NumberValue(self.tracer, value, source)
        else:
            found = Constant(value, source, self.tracer)
        self.tracer.sizes.note(found, source)
        return found

    def place_number(self, value: NumberValue) -> Value:
        """What stands for a number in the graph."""
        if value.is_fixed:
            return Constant(value.real)
        if isinstance(value.real, numpy.float64):  # to torch, as Python's
            number = float(value.real)
            return NumberValue(self.tracer, number, None, float, (value,)).placed
        if is_exact(value):
            function = function_of_sizes(value)
            placed = on_sizes(self.tracer, function, list(value.args))
            if isinstance(placed, SymbolValue):
                self.evaluator.keep_small(placed.fake)
            return placed
        sizes, source = self.tracer.sizes, value.source
        may_be_small = (
            source is not None and value.real >= 0 and sizes.may_be_small(source)
        )
        if is_input(value.real) or is_small(value.real) and may_be_small:
            return self._add_number(value, may_be_small)
        return Constant(value.specialize())

    def _add_number(self, value: NumberValue, may_be_small: bool) -> Value:
        text = str(value.source or f"number_{len(self.numbers)}")
        value.python_type()
        fake = self.evaluator.number(value.real, text, may_be_small)
        node = self._placeholder(text, self.numbers or self.tensors)
        node.meta["val"] = node.meta["example_value"] = fake
        placed = SymbolValue(node, fake)
        given = Input(value.source, placed, value.real, False, value, may_be_small)
        self.numbers.append(given)
        self.placed.append(given)
        return placed

    def decide(self, function: Any, args: tuple, result: bool) -> None:
        """Guards what a function of numbers gave; ``args`` may hold Python objects."""
        self.decisions.append((function, args, result))

    def prune(self) -> None:
        """Drops nodes and inputs for numbers that no operation takes.

        What the program makes of them the surrounding code computes. Where an argument
        is written, idle tensors are not passed, either: they may share its memory.
        """
        for node in reversed(list(self.fx.nodes)):
            if not node.users and _is_known_number(node.meta.get("val")):
                self.fx.erase_node(node)
        self.numbers = [g for g in self.placed if not g.value.node._erased]
        if any(is_written(given) for given in self.tensors):
            used = [given for given in self.tensors if given.value.node.users]
            bound = {symbol for given in used for symbol in _symbols_bound(given)}
            unbound = set().union(*map(_symbols_of, self.placed + used)) - bound
            self._dropped = {
                id(given)
                for given in self.tensors
                if not given.value.node.users and unbound.isdisjoint(_symbols_of(given))
            }

    # Calls

    def call_function(self, target, args: list[Value], kwargs: dict[str, Value]):
        """Calls a torch function or an operator."""
        return self._call("call_function", target, args, kwargs)

    def call_method(self, name: str, args: list[Value], kwargs: dict[str, Value]):
        """Calls a method of the first argument, a tensor."""
        return self._call("call_method", name, args, kwargs)

    def _call(self, kind: str, target, args: list[Value], kwargs: dict[str, Value]):
        if target in _PLACING and (len(args) > _OFFSET or "storage_offset" in kwargs):
            self._guard_beginnings(args[0])
        if "from" in kwargs and len(args) == 1:
            # Graphs are Python, where it can't be a keyword. It is the second parameter
            # of all that have it: ``uniform_`` and ``random_``.
            kwargs = dict(kwargs)
            args = [*args, kwargs.pop("from")]
        if target is operator.pow and _is_negative(args[0]):
            target = torch.pow  # In Python -1.0 ** x is -(1.0 ** x).
        fixes = self.fixes_numbers or takes_int_for_float(target, args, kwargs)
        call = CallArguments(target, fixes)
        try:
            return self._add(call, kind, target, args, kwargs)
        except UnsupportedError as error:
            if error.kind != OPERATION_FAILED or not call.has_numbers:
                raise
        # Not every operation can be evaluated with symbols.
        return self._add(
            CallArguments(target, fixes_numbers=True), kind, target, args, kwargs
        )

    def _guard_beginnings(self, value: Value) -> None:
        """Guards where in its storage an input begins of which a tensor is a view."""
        if not isinstance(value, TensorValue):
            return
        memory = value.fake.untyped_storage()._cdata
        for given in self.tensors:
            fake, real = given.value.fake, given.real
            begins = real.storage_offset()
            if fake.untyped_storage()._cdata != memory or given.source is None:
                continue
            if fake.storage_offset() == begins:  # not of all with symbolic sizes
                answers = Answers("storage_offset", begins)
                self.tracer.guards.add(given.source, "call", answers)
                given.value.node.meta["girih_begins"] = begins

    def _add(self, call: CallArguments, kind: str, target, args: list, kwargs: dict):
        pairs = [call.convert(arg) for arg in args]
        named = {key: call.convert(value) for key, value in kwargs.items()}
        fakes = {key: pair[1] for key, pair in named.items()}
        given, fakes = with_examples(target, [p[1] for p in pairs], fakes)
        result = self._evaluate(kind, target, given, fakes)
        if not self._is_recorded(result, call, target):
            return self._wrap_known(result, call)
        nodes = self._with_sizes({key: pair[0] for key, pair in named.items()})
        positional = self._with_sizes(tuple(p[0] for p in pairs))
        node = self._node(kind, target, positional, nodes)
        value = self._wrap(result, node, call)
        self.tracer.note_operation(node)
        return value

    @contextmanager
    def fixing_numbers(self) -> Iterator[None]:
        """Fixes the numbers that operations are given in the block."""
        before, self.fixes_numbers = self.fixes_numbers, True
        try:
            yield
        finally:
            self.fixes_numbers = before

    def _with_sizes(self, value: Any) -> Any:
        """Arguments of a node with a node for each ``torch.Size`` among them."""
        if isinstance(value, dict):
            return {key: self._with_sizes(item) for key, item in value.items()}
        if not isinstance(value, (tuple, list)):
            return value
        items = type(value)(map(self._with_sizes, value))
        if not isinstance(value, SizeItems):
            return items
        node = self._node("call_function", torch.Size, (tuple(items),), {})
        known = torch.Size(x.meta["val"] if isinstance(x, Node) else x for x in items)
        node.meta["val"] = node.meta["example_value"] = known
        return node

    def add_effect(self, target, args: tuple):
        """A call that changes torch's state; returns its node."""
        node = self._node("call_function", target, args, {})
        self._effects.add(node)
        return node

    def evaluate(self, target, args: list) -> Any:
        """What a call of a function gives, without data."""
        return self._evaluate("call_function", target, args, {})

    def wrap_result(self, node, result: Any) -> Value:
        """The value of a call that was added, given the result without data."""
        return self._wrap(result, node, CallArguments())

    def add_module(self, module: torch.fx.GraphModule):
        """A graph module that is an argument of calls; returns its node."""
        name = f"body_{sum(1 for _ in self.modules.children())}"
        setattr(self.modules, name, module)
        node = self.fx.create_node("get_attr", name)
        node.meta["girih_location"] = self.tracer.location()
        return node

    def forget(self, nodes: set) -> None:
        """Nodes are about to be erased: sizes that they gave are asked for anew."""
        self._effects -= nodes
        known = self._by_symbol.items()
        self._by_symbol = {k: v for k, v in known if v.node not in nodes}

    def add_call(self, target, args: tuple):
        """A call whose result the caller makes a value of; returns its node."""
        return self._node("call_function", target, args, {})

    def _node(self, kind: str, target, args: tuple, kwargs: dict):
        node = self.fx.create_node(kind, target, args, kwargs)
        node.meta["girih_location"] = self.tracer.location()
        if names := self.tracer.state.recorded:
            node.meta["girih_regions"] = names
        return node

    def _evaluate(self, kind: str, target, args: list, kwargs: dict) -> Any:
        try:
            result = self.evaluator.run(kind, target, args, kwargs)
            if isinstance(result, str) and target != "type":
                _text_shows_data(target)
            return result
        except (UnsupportedError, RecursionError):
            raise
        except Exception as error:
            name = target if isinstance(target, str) else _name_of(target)
            message = str(error).split("\n")[0]
            unsupported(
                kind=OPERATION_FAILED,
                context=f"{name}: {type(error).__name__}: {message}",
                explanation="The operation can't be evaluated without data, or it "
                "fails in eager too.",
            )

    def _is_recorded(self, result, call: CallArguments, target) -> bool:
        if isinstance(result, torch.Tensor):
            return not (id(result) in call.by_fake and is_unchanged(target))
        if result is None or isinstance(result, _SYMBOLIC):
            return True
        if isinstance(result, (tuple, list)):
            return any(self._is_recorded(item, call, None) for item in result)
        if type(result) is dict:
            return self._is_recorded(list(result.values()), call, None)
        return False

    def _wrap_known(self, result, call: CallArguments) -> Value:
        found = call.by_fake.get(id(result))
        return found if found is not None else self.tracer.from_python(result)

    def _wrap(self, result, node, call: CallArguments) -> Value:
        node.meta["val"] = node.meta["example_value"] = result
        if isinstance(result, torch.Tensor):
            found = call.by_fake.get(id(result))
            return found or TensorValue(node, result)
        if isinstance(result, _SYMBOLIC):
            return self.symbol(node, result)
        if isinstance(result, (tuple, list)):
            return self._wrap_sequence(result, node, call)
        if type(result) is dict:
            return self.tracer.dict_of(
                [
                    (self.tracer.from_python(key), self._item(item, node, key, call))
                    for key, item in result.items()
                ]
            )
        return self.tracer.from_python(result)

    def _item(self, item, node, key, call: CallArguments) -> Value:
        """An item of what a call gave."""
        given = call.by_fake.get(id(item))
        if given is not None:  # an argument, which the call may have written
            return given
        if not self._is_recorded(item, call, None):
            return self.tracer.from_python(item)
        inner = self._node("call_function", operator.getitem, (node, key), {})
        return self._wrap(item, inner, call)

    def _wrap_sequence(self, result, node, call: CallArguments) -> Value:
        items = [self._item(x, node, i, call) for i, x in enumerate(result)]
        if isinstance(result, list):
            return ListValue(items)
        return TupleValue(items, type(result))

    # Sizes

    def symbol(self, node, fake) -> Value:
        """A symbolic number; one that turned out to be known is a constant."""
        known = _known_int(fake)
        return SymbolValue(node, fake) if known is None else self.tracer.constant(known)

    def _size(self, value: TensorValue, name: str, index: int) -> Value:
        size = getattr(value.fake, name)(index)
        known = _known_int(size)
        if known is not None:
            return self.tracer.constant(known)
        key = (value.node, name, index)
        if key not in self._by_symbol:
            node = self._node("call_method", name, (value.node, index), {})
            node.meta["val"] = node.meta["example_value"] = size
            self._by_symbol[key] = SymbolValue(node, size)
        return self._by_symbol[key]

    def size_of(self, value: TensorValue) -> Value:
        """``tensor.shape``."""
        sizes = [self._size(value, "size", i) for i in range(value.fake.ndim)]
        return TupleValue(sizes, torch.Size)

    def metadata(self, value: TensorValue, name: str, args: list[Value]) -> Value:
        """``tensor.size(...)``, ``tensor.stride(...)`` and ``tensor.dim()``."""
        if name == "dim":
            return self.tracer.constant(value.fake.ndim)
        if args:
            index = self.tracer.index_of(args[0])
            if not -value.fake.ndim <= index < value.fake.ndim:
                self.tracer.throw(IndexError, "Dimension out of range")
            return self._size(value, name, index % value.fake.ndim)
        if name == "size":
            return self.size_of(value)
        return TupleValue([self._size(value, name, i) for i in range(value.fake.ndim)])


def _known_int(fake: Any) -> int | None:
    """An int; also one that was a symbol when the trace began, and no more."""
    if isinstance(fake, torch.SymInt):
        return fake.node.maybe_as_int()
    return fake if isinstance(fake, int) else None


def _is_known_number(value: Any) -> bool:
    return isinstance(value, _SYMBOLIC) and value.node.has_hint()


def _is_negative(value: Value) -> bool:
    """Whether it is a number that Python writes with a minus sign."""
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, int | float) and math.copysign(1, number) < 0


def runs_eager(node, why: str) -> None:
    """Notes that a graph with this node is not compiled."""
    node.meta["girih_eager"] = why


def _text_shows_data(target) -> None:
    """Leaves a text that an operation made to Python.

    It was made of tensors without data, and says so.
    """
    unsupported(
        kind="text of a tensor",
        context=target if isinstance(target, str) else _name_of(target),
        explanation="The text shows the tensor's data, which are known only when the "
        "graph runs.",
        hints=("Make the text outside of compiled code.",),
    )


def _name_of(target) -> str:
    return getattr(target, "__name__", None) or repr(target)


def is_written(given: Input) -> bool:
    """Whether the graph may write an argument.

    Inference tensors do not count their changes. What is no leaf was written once to
    be none.
    """
    fake = given.value.fake
    return fake.is_inference() or fake._version > (not given.real.is_leaf)


def _symbols_bound(given: Input) -> set:
    """The symbols that are sizes of a tensor."""
    sizes = [n for n in given.value.fake.size() if isinstance(n, torch.SymInt)]
    return {n.node.expr for n in sizes if n.node.expr.is_symbol}


def _symbols_of(given: Input) -> set:
    """All symbols in a number, or in sizes, strides and the offset of a tensor."""
    fake = given.value.fake
    numbers = (fake,)
    if isinstance(fake, torch.Tensor):
        numbers = (*fake.size(), *fake.stride(), fake.storage_offset())
    symbolic = [n for n in numbers if isinstance(n, (torch.SymInt, torch.SymFloat))]
    return set().union(*(n.node.expr.free_symbols for n in symbolic))
