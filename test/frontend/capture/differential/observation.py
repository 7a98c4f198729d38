"""What a call did, as a description that two calls can be compared by.

A description is a tree of ``Node``. Objects with an identity are numbered in the order
in which they are met, so equal descriptions also mean equal sharing.
"""

from __future__ import annotations

import collections
import enum
import functools
import math
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy
import torch

LONGEST_ITERATOR = 50
_FIRST_LINES = "first lines"
_DTYPES = (torch.dtype, torch.device, torch.layout, torch.memory_format)
_LITERALS = (
    *(type(None), bool, int, str, bytes, range, type(Ellipsis), type(NotImplemented)),
    *_DTYPES,
)


@dataclass
class Node:
    """A part of a description.

    Attributes:
        kind: Name of the type, or "again" for an object that was met before.
        facts: What has to be equal.
        parts: Descriptions of what the object holds, by the path to it.
        number: A number, or None; floats are close where rounding is allowed.
        tensor: Values of a tensor, or None.
    """

    kind: str
    facts: tuple = ()
    parts: tuple[tuple[str, Node], ...] = ()
    number: float | complex | None = None
    tensor: torch.Tensor | None = None


@dataclass
class Lines:
    """Functions and lines of a traceback.

    Attributes:
        lines: Name and number of each, the outermost first.
        is_whole: None is missing at the end. What a graph does has no lines.
    """

    lines: tuple[tuple[str, int], ...]
    is_whole: bool


def type_name(cls: type) -> str:
    """Name of a type; the same for classes that a program makes at each call."""
    return f"{cls.__module__}.{cls.__qualname__}"


class Describer:
    """Describes the objects of one call."""

    def __init__(self):
        self._numbers: dict[int, int] = {}
        self._storages: dict[int, int] = {}
        self._alive: list[Any] = []

    def describe(self, obj: Any) -> Node:
        """The description of an object and of all that it holds."""
        cls = type(obj)
        if isinstance(obj, enum.Enum):
            return Node(type_name(cls), (obj.name,))
        if cls in _LITERALS:
            return Node(type_name(cls), (obj,))
        if cls in (float, complex):
            return Node(type_name(cls), number=obj)
        if isinstance(obj, numpy.generic):
            return Node(type_name(cls), (str(obj.dtype),), number=obj.item())
        if isinstance(obj, type):
            return Node("type", (type_name(obj),))
        if isinstance(obj, Lines):
            return Node("lines" if obj.is_whole else _FIRST_LINES, obj.lines)
        if isinstance(obj, types.ModuleType):
            return Node("module", (obj.__name__,))
        return self._object(obj)

    def _object(self, obj: Any) -> Node:
        cls = type(obj)
        if cls is not tuple:  # equal tuples may be one object or two
            if id(obj) in self._numbers:
                return Node("again", (self._numbers[id(obj)],))
            self._numbers[id(obj)] = len(self._numbers)
            self._alive.append(obj)
        for kind, describe in _DESCRIBERS:
            if isinstance(obj, kind):
                facts, parts, *tensor = describe(self, obj)
                described = tuple((k, self.describe(v)) for k, v in parts)
                return Node(type_name(cls), facts, described, None, *tensor)
        raise AssertionError(f"no description of {cls}")

    def storage(self, tensor: torch.Tensor) -> int:
        """Number of the memory of a tensor."""
        storage = tensor.untyped_storage()
        self._alive.append(storage)
        return self._storages.setdefault(storage._cdata, len(self._storages))


def _tensor(describer: Describer, obj: torch.Tensor):
    # The attribute grad of other tensors warns.
    grad = obj.grad if obj.is_leaf else None
    parts = [(".grad", grad), *_attributes(obj)]
    facts = (obj.dtype, obj.device, obj.layout, obj.requires_grad, obj.is_leaf)
    facts += (obj.is_inference(), tuple(obj.shape))
    if obj.layout is not torch.strided:
        return facts, parts, obj.detach().to_dense().clone()
    facts += (obj.stride(), obj.storage_offset(), describer.storage(obj))
    return facts, parts, obj.detach().as_subclass(torch.Tensor).clone()


def _uninitialised(describer: Describer, obj: torch.Tensor):
    return (), []


def _array(describer: Describer, obj: numpy.ndarray):
    facts = (str(obj.dtype), obj.shape, obj.strides)
    if obj.dtype.hasobject:
        return (*facts, repr(obj)), []
    return facts, [], torch.from_numpy(obj.copy())


def _sequence(describer: Describer, obj: Any):
    facts = (len(obj), getattr(obj, "maxlen", None))
    parts = [(f"[{i}]", item) for i, item in enumerate(obj)]
    return facts, [*parts, *_attributes(obj)]


def _mapping(describer: Describer, obj: Any):
    parts = [(".default_factory", getattr(obj, "default_factory", None))]
    for i, (key, value) in enumerate(obj.items()):
        parts += [(f" key {i}", key), (f"[{key!r:.40}]", value)]
    return (len(obj),), [*parts, *_attributes(obj)]


def _set(describer: Describer, obj: Any):
    items = sorted(obj, key=lambda item: (type_name(type(item)), str(item)))
    parts = [(f" item {i}", item) for i, item in enumerate(items)]
    return (len(obj),), [*parts, *_attributes(obj)]


def _exception(describer: Describer, obj: BaseException):
    chain = [(".__cause__", obj.__cause__), (".__context__", obj.__context__)]
    parts = [(".args", obj.args), *chain, *_attributes(obj)]
    return (str(obj), obj.__suppress_context__), parts


def _function(describer: Describer, obj: types.FunctionType):
    parts = [(".__defaults__", obj.__defaults__), (".__dict__", dict(vars(obj)))]
    parts += [(".__kwdefaults__", obj.__kwdefaults__)]
    return (obj.__qualname__,), [
        (name, value) for name, value in parts if name != ".__dict__" or value
    ]


def _method(describer: Describer, obj: types.MethodType):
    return (), [(".__self__", obj.__self__), (".__func__", obj.__func__)]


def _builtin(describer: Describer, obj: Any):
    owner = getattr(obj, "__self__", None)
    owners = [] if isinstance(owner, types.ModuleType) else [(".__self__", owner)]
    return (obj.__name__,), owners


def _partial(describer: Describer, obj: functools.partial):
    return (), [(".func", obj.func), (".args", obj.args), (".keywords", obj.keywords)]


def _slice(describer: Describer, obj: slice):
    return (), [(name, getattr(obj, name)) for name in ("start", "stop", "step")]


def _iterator(describer: Describer, obj: Iterator):
    items = []
    try:
        for item in obj:
            items.append(item)
            if len(items) == LONGEST_ITERATOR:
                break
    except Exception as error:
        items.append(error)
    return (len(items),), [(f" next {i}", item) for i, item in enumerate(items)]


def _instance(describer: Describer, obj: Any):
    return (), _attributes(obj)


def _attributes(obj: Any) -> list[tuple[str, Any]]:
    found = dict(getattr(obj, "__dict__", {}))
    for cls in type(obj).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(obj, name):
                found[name] = getattr(obj, name)
    return [(f".{name}", value) for name, value in found.items()]


_BUILTINS = (types.BuiltinFunctionType, types.WrapperDescriptorType)
_BUILTINS += (types.MethodWrapperType, types.MethodDescriptorType)
_DESCRIBERS: tuple[tuple[Any, Callable], ...] = (
    (torch.nn.parameter.UninitializedTensorMixin, _uninitialised),
    (torch.Tensor, _tensor),
    (numpy.ndarray, _array),
    ((dict, types.MappingProxyType), _mapping),
    ((set, frozenset, collections.abc.KeysView), _set),
    ((list, tuple, collections.deque, bytearray), _sequence),
    ((collections.abc.ValuesView, collections.abc.ItemsView), _sequence),
    (collections.abc.Mapping, _mapping),
    (BaseException, _exception),
    (types.FunctionType, _function),
    (types.MethodType, _method),
    (_BUILTINS, _builtin),
    (functools.partial, _partial),
    (slice, _slice),
    (collections.abc.Iterator, _iterator),
    (object, _instance),
)

_TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5}
_COARSE = 2e-2


def differences(actual: Node, expected: Node, is_exact: bool, path: str = "") -> list:
    """Where two descriptions differ, as text; empty where they are the same.

    Args:
        actual: One description.
        expected: The other.
        is_exact: Numbers have to be equal, not only close.
        path: Where in the whole the two stand.
    """
    if actual.kind == _FIRST_LINES:
        known = Node(_FIRST_LINES, expected.facts[: len(actual.facts)])
        expected = known if "lines" in expected.kind else expected
    if (actual.kind, actual.facts) != (expected.kind, expected.facts):
        got, want = (f"{n.kind} {n.facts}" for n in (actual, expected))
        return [f"{path}: expected {want}, got {got}"]
    found = []
    if not _same_numbers(actual.number, expected.number, is_exact):
        found.append(f"{path}: expected {expected.number!r}, got {actual.number!r}")
    if not _same_values(actual.tensor, expected.tensor, is_exact):
        found.append(f"{path}: expected {expected.tensor}, got {actual.tensor}")
    names, wanted = ([name for name, _ in n.parts] for n in (actual, expected))
    if names != wanted:
        return [*found, f"{path}: expected parts {wanted}, got {names}"]
    for (name, mine), (_, theirs) in zip(actual.parts, expected.parts, strict=True):
        found += differences(mine, theirs, is_exact, path + name)
    return found


def _same_numbers(actual, expected, is_exact: bool) -> bool:
    if actual is None or expected is None:
        return actual is expected
    if actual == expected or actual != actual and expected != expected:
        sign = [math.copysign(1, complex(v).real) for v in (actual, expected)]
        return not is_exact or sign[0] == sign[1] or actual != 0
    return not is_exact and abs(actual - expected) <= 2e-5 * (1 + abs(expected))


def _same_values(actual, expected, is_exact: bool) -> bool:
    if actual is None or expected is None:
        return actual is expected
    if is_exact or not (expected.is_floating_point() or expected.is_complex()):
        tolerance = 0.0
    else:
        tolerance = _TOLERANCE.get(expected.dtype, _COARSE)
        if expected.dtype is torch.complex64:
            tolerance = _TOLERANCE[torch.float32]
    return torch.allclose(actual, expected, tolerance, tolerance, equal_nan=True)
