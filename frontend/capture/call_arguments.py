"""The arguments of a call in a graph, as nodes and as tensors without data."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import torch

from girih.errors import unsupported
from girih.frontend.capture.models.numpy_calls import python_number
from girih.frontend.capture.models.torch_operations import is_operation
from girih.frontend.capture.numpy_numbers import NUMBERS
from girih.frontend.capture.values.base import NotConstant, Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.sequence import ListValue, SequenceValue, SliceValue
from girih.frontend.capture.values.symbol import NumberValue, SymbolValue
from girih.frontend.capture.values.tensor import TensorValue

# Python's types, where torch wants a dtype.
_DTYPES = {
    int: torch.int64,
    float: torch.float64,
    bool: torch.bool,
    complex: torch.complex128,
}

# What the code of a graph module can spell.
_PRINTABLE = (
    *(int, float, complex, str, bytes, bool, type(None), type(Ellipsis), range),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format, torch.qscheme),
    *(enum.Enum, torch._ops.OpOverload, torch._ops.OpOverloadPacket),
)


def _not_an_argument(value: Value) -> None:
    unsupported(
        kind="argument of a torch function",
        context=f"a {value.python_type().__name__}",
        explanation="Only tensors, numbers and containers of them can be arguments of "
        "an operation in a graph.",
    )


class SizeItems(tuple):
    """Items of a ``torch.Size`` that a call is to get as one.

    FX makes plain tuples of its arguments' tuples, so a node has to make it.
    """


class CallArguments:
    """The arguments of one call, as nodes and as tensors without data.

    Args:
        target: What is called: a function or the name of a method.
        fixes_numbers: SizeItems and numbers that may vary are fixed for this entry.
    """

    def __init__(self, target: Any = None, fixes_numbers: bool = False):
        self.by_fake: dict[int, Value] = {}
        self.has_numbers = False
        self._target = target
        self._keeps_sizes = _tells_sizes_from_tuples(target)
        self._fixes_numbers = fixes_numbers

    def convert(self, value: Value) -> tuple[Any, Any]:
        """The argument of the node, and the one to evaluate with."""
        if isinstance(value, SymbolValue) and value.real is not None:
            value = self._number(value)
        if isinstance(value, (TensorValue, SymbolValue)):
            self.by_fake[id(value.fake)] = value
            return node_of(value), value.fake
        if isinstance(value, Constant):
            return self._known(value, value.value)
        if isinstance(value, SequenceValue):
            return self._sequence(value)
        if isinstance(value, SliceValue):
            pairs = [self.convert(part) for part in value.parts]
            return slice(*(p[0] for p in pairs)), slice(*(p[1] for p in pairs))
        if isinstance(value, DictValue) and value.real is None:
            return self._mapping(value)
        return self._other(value)

    def _number(self, value: SymbolValue) -> Value:
        self.has_numbers = True
        if self._fixes_numbers:
            return Constant(value.specialize())
        if isinstance(value.real, NUMBERS):
            python_number(value.real, self._target)  # refuses where types matter
        return value.placed if isinstance(value, NumberValue) else value

    def _sequence(self, value: SequenceValue) -> tuple[Any, Any]:
        pairs = [self.convert(item) for item in value.items]
        nodes, fakes = [p[0] for p in pairs], [p[1] for p in pairs]
        if value.cls is torch.Size and self._keeps_sizes:
            return SizeItems(nodes), torch.Size(fakes)
        cls = list if isinstance(value, ListValue) else tuple
        return cls(nodes), cls(fakes)

    def _mapping(self, value: DictValue) -> tuple[dict, dict]:
        pairs = {
            _without_class(key.value.as_python()): self.convert(item)
            for key, item in value.items.items()
        }
        nodes = {key: pair[0] for key, pair in pairs.items()}
        return nodes, {key: pair[1] for key, pair in pairs.items()}

    def _other(self, value: Value) -> tuple[Any, Any]:
        try:
            return self._known(value, value.as_python())
        except NotConstant:
            _not_an_argument(value)

    def _known(self, value: Value, python: Any) -> tuple[Any, Any]:
        if isinstance(python, type):
            python = _DTYPES.get(python, python)
        number = python
        if isinstance(python, NUMBERS):
            number = python_number(python, self._target)
        if not isinstance(number, _PRINTABLE):
            _not_an_argument(value)
        number = _without_class(number)
        return number, number


def _tells_sizes_from_tuples(target: Any) -> bool:
    """Whether a call may do something else with a ``torch.Size`` than with a tuple.

    Constructors of old do: a size is the result's, a tuple is its data. So may the
    program's own functions; torch's other operations read both alike.
    """
    if isinstance(target, str):
        return target == "new"
    if getattr(target, "__module__", None) == "_operator":
        return False
    return target is not None and not is_operation(target)


# How a number or text of a subclass becomes one of the class itself, which prints as
# what it is: graphs are code.
_TO_THE_CLASS: dict[type, Callable[[Any], Any]] = {
    int: int.__pos__,
    float: float.__pos__,
    complex: complex.__pos__,
    str: str.__str__,
}


def _without_class(value: Any) -> Any:
    """A number or text as one of Python's own class; others as they are."""
    if type(value) in _TO_THE_CLASS or isinstance(value, bool):
        return value
    for base, convert in _TO_THE_CLASS.items():
        if isinstance(value, base):
            return convert(value)
    return value


def node_of(value: Value):
    """The node that computes a value; not one that was cut out of the graph."""
    if value.node._erased:
        unsupported(
            kind="value that left the function that made it",
            context=repr(value),
            explanation="A torch operation (such as torch.cond) calls this function. "
            "The rest of the graph can use only what the function returns.",
            hints=("Return the value.",),
        )
    return value.node
