"""Which arguments a function written in C takes, as CPython itself says it.

A model of such a function is a Python function, which takes its parameters by any of
their names and gives those that were left out a default of its own. What calls it has
to be told apart from what calls the function: by the function's own signature.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any

_MANY = 1 << 30

_C_TYPES = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    type,
)
# Elsewhere than here, signatures are the promises of other projects.
_MODULES = frozenset(
    """builtins math operator _operator itertools functools _functools collections
    _collections types weakref _weakref""".split()
)


@dataclass(frozen=True)
class Arity:
    """How many arguments a function takes, and under which names.

    Attributes:
        least: How many have to be given by position.
        most: How many may be.
        names: Those that may be given by name, with their positions; None for any.
        required: Those that may be given by name, and have to be given somehow.
    """

    least: int
    most: int
    names: dict[str, int] | None
    required: tuple[str, ...] = ()

    def takes(self, count: int, names) -> bool:
        """Whether a call may have so many positional arguments and these keywords."""
        if count > self.most or count < self.least:
            return False
        if self.names is None:
            return True
        if any(self.names.get(name, -1) < count for name in names):
            return False
        return all(n in names or self.names[n] < count for n in self.required)


def _fixed(least: int, most: int) -> Arity:
    return Arity(least, most, {})


_NONE, _ONE, _ANY = _fixed(0, 0), _fixed(1, 1), _fixed(0, _MANY)
OPEN = Arity(0, _MANY, None)
"""Takes anything: what a function takes is not known."""

# What CPython 3.11 to 3.13 takes where it gives no signature.
_UNSIGNED: dict[Any, Arity] = {
    bool: _fixed(0, 1),
    bytes: Arity(0, 3, {"source": 0, "encoding": 1, "errors": 2}),
    dict: Arity(0, 1, None),
    OrderedDict: Arity(0, 1, None),
    defaultdict: Arity(0, 2, None),
    filter: _fixed(2, 2),
    frozenset: _fixed(0, 1),
    getattr: _fixed(2, 3),
    int: Arity(0, 2, {"base": 1}),
    iter: _fixed(1, 2),
    map: _fixed(2, _MANY),
    max: Arity(1, _MANY, {"key": _MANY, "default": _MANY}),
    min: Arity(1, _MANY, {"key": _MANY, "default": _MANY}),
    next: _fixed(1, 2),
    range: _fixed(1, 3),
    set: _fixed(0, 1),
    slice: _fixed(1, 3),
    super: _fixed(0, 2),
    str: Arity(0, 3, {"object": 0, "encoding": 1, "errors": 2}),
    vars: _fixed(0, 1),
    zip: Arity(0, _MANY, {"strict": _MANY}),
    dir: _fixed(0, 1),
    deque: Arity(0, 2, {"iterable": 0, "maxlen": 1}),
    dict.fromkeys: _fixed(1, 2),
    types.MappingProxyType: Arity(1, 1, {"mapping": 0}),
    functools.partial: Arity(1, _MANY, None),
    functools.reduce: _fixed(2, 3),
    itertools.chain: _ANY,
    itertools.islice: _fixed(2, 4),
    itertools.product: Arity(0, _MANY, {"repeat": _MANY}),
    itertools.repeat: Arity(0, 2, {"object": 0, "times": 1}, ("object",)),
    itertools.zip_longest: Arity(0, _MANY, {"fillvalue": _MANY}),
    operator.itemgetter: _fixed(1, _MANY),
    operator.attrgetter: _fixed(1, _MANY),
    operator.methodcaller: Arity(1, _MANY, None),
    weakref.ref: _fixed(1, 2),
    object.__new__: Arity(1, _MANY, None),
    tuple.__new__: _fixed(1, 2),
    types.SimpleNamespace: Arity(0, 1, None),
    type: Arity(1, 3, None),
}

# The same for methods, without the object that they are of.
_UNSIGNED_METHODS = {
    "__contains__": _ONE,
    "__getitem__": _ONE,
    "add": _ONE,
    "append": _ONE,
    "appendleft": _ONE,
    "clear": _NONE,
    "copy": _NONE,
    "count": _ONE,
    "difference": _ANY,
    "difference_update": _ANY,
    "discard": _ONE,
    "extend": _ONE,
    "extendleft": _ONE,
    "index": _fixed(1, 3),
    "insert": _fixed(2, 2),
    "intersection": _ANY,
    "intersection_update": _ANY,
    "isdisjoint": _ONE,
    "issubset": _ONE,
    "issuperset": _ONE,
    "items": _NONE,
    "keys": _NONE,
    "pop": _fixed(0, 1),
    "popleft": _NONE,
    "remove": _ONE,
    "reverse": _NONE,
    "rotate": _fixed(0, 1),
    "symmetric_difference": _ONE,
    "symmetric_difference_update": _ONE,
    "union": _ANY,
    "update": _ANY,
    "values": _NONE,
}
_SPECIAL_METHODS: dict[Any, Arity] = {
    dict.pop: _fixed(1, 2),
    dict.update: Arity(0, 1, None),
    OrderedDict.pop: Arity(0, 2, {"key": 0, "default": 1}, ("key",)),
    OrderedDict.update: Arity(0, 1, None),
    set.pop: _NONE,
    deque.pop: _NONE,
    **{cls.__init__: _UNSIGNED[cls] for cls in (dict, set, deque)},
    OrderedDict.__init__: _UNSIGNED[OrderedDict],
    defaultdict.__init__: _UNSIGNED[defaultdict],
    list.__init__: _fixed(0, 1),
}


def arity_of(function: Any) -> Arity:
    """The arity of a function or class written in C; an open one where unknown."""
    if not isinstance(function, _C_TYPES):
        return OPEN
    if getattr(function, "__module__", None) not in _MODULES:
        return OPEN
    return _arity_of_function(function)


@functools.cache
def _arity_of_function(function: Any) -> Arity:
    found = _UNSIGNED.get(function)
    return _signed(function) if found is None else found


def arity_of_method(cls: type, name: str) -> Arity:
    """The arity of a C method of a class, without the object that it is of."""
    method = getattr(cls, name, None)
    owner = getattr(method, "__objclass__", None)
    if not isinstance(method, _C_TYPES) or getattr(owner, "__module__", "") not in (
        _MODULES
    ):
        return OPEN
    return _arity_of_descriptor(method)


@functools.cache
def _arity_of_descriptor(method: Any) -> Arity:
    if method in _SPECIAL_METHODS:
        return _SPECIAL_METHODS[method]
    found = _signed(method, bound=True)
    return _UNSIGNED_METHODS.get(method.__name__, OPEN) if found is OPEN else found


def _signed(function: Any, bound: bool = False) -> Arity:
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return OPEN
    return arity_of_parameters(list(signature.parameters.values())[bound:])


def arity_of_parameters(parameters: list[inspect.Parameter]) -> Arity:
    """The arity of a function that has these parameters."""
    least, most, required = 0, 0, []
    names: dict[str, int] | None = {}
    for index, parameter in enumerate(parameters):
        has_default = parameter.default is not inspect.Parameter.empty
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            most = _MANY
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            names = None
        elif parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            most, least = index + 1, least + (not has_default)
        else:
            is_named = parameter.kind is inspect.Parameter.KEYWORD_ONLY
            most = most if is_named else index + 1
            if names is not None:
                names[parameter.name] = _MANY if is_named else index
                required += [] if has_default else [parameter.name]
    return Arity(least, most, names, tuple(required))
