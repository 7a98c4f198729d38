"""Every name, asked of values of every kind: what is there is what Python finds."""

import collections
import dataclasses
import enum
import functools
import itertools
import os
import random
import types

import pytest
import torch

import girih
from girih.errors import UnsupportedError
from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import NotConstant, Raised
from girih.frontend.capture.values.constant import Constant

LONG = os.environ.get("GIRIH_TEST_LONG") == "1"
_ASKED: dict = {}
_NOTHING = "nothing of the kind"


class Meta(type):
    """A class of classes with attributes of its own."""

    flag = 3

    def hello(cls):
        """A method of classes."""
        return cls.flag

    @property
    def shown(cls):
        """A property of classes."""
        return 4


class Plain:
    """No more than an object."""


class Made(metaclass=Meta):
    """An object whose class has a metaclass."""

    here = 1


class Callable:
    """An object with methods of all kinds."""

    def __call__(self):
        return 1

    @property
    def held(self):
        """A property."""
        return 2

    @property
    def lacking(self):
        """A property that is not there."""
        raise AttributeError("lacking")

    @staticmethod
    def static():
        """A static method."""

    @classmethod
    def of_class(cls):
        """A class method."""

    @functools.cached_property
    def cached(self):
        """A cached property."""
        return 5


class Asked:
    """An object that answers for some of the names it lacks."""

    def __getattr__(self, name):
        if name.startswith("made"):
            return name
        raise AttributeError(name)


class Slots:
    """An object with places, of which one is empty."""

    __slots__ = ("a", "b")

    def __init__(self):
        self.a = 1


@dataclasses.dataclass
class Data:
    """A dataclass."""

    a: int = 1


class Color(enum.Enum):
    """An enumeration."""

    RED = 1


class Grade(enum.IntEnum):
    """An enumeration of numbers."""

    LOW = 1


class Longer(list):
    """A list with more."""

    extra = 1


class Wide(dict):
    """A dict with more."""

    def more(self):
        """A method."""


Pair = collections.namedtuple("Pair", "a b")


def _function(a, b=1):
    """A function."""
    return a, b


def _generator():
    yield 1


# Each makes a value; the function is traced where the value is made inside.
MAKERS = {
    "none": lambda: None,
    "bool": lambda: True,
    "int": lambda: 3,
    "float": lambda: 1.5,
    "complex": lambda: 1j,
    "str": lambda: "a",
    "bytes": lambda: b"a",
    "ellipsis": lambda: ...,
    "not implemented": lambda: NotImplemented,
    "tuple": lambda: (1, 2),
    "empty tuple": lambda: (),
    "list": lambda: [1],
    "dict": lambda: {"a": 1},
    "set": lambda: {1},
    "frozenset": lambda: frozenset((1,)),
    "range": lambda: range(3),
    "slice": lambda: slice(1, 2),
    "function": lambda: _function,
    "lambda": lambda: lambda: 1,
    "method": lambda: Plain().__init__,
    "bound": lambda: Callable().of_class,
    "method of a list": lambda: [].append,
    "method of a text": lambda: "".join,
    "operator of a list": lambda: [].__add__,
    "builtin": lambda: len,
    "partial": lambda: functools.partial(int, "3"),
    "generator": lambda: _generator(),
    "iterator": lambda: iter([1]),
    "iterator of a tuple": lambda: iter((1,)),
    "iterator of a dict": lambda: iter({1: 2}),
    "iterator of a set": lambda: iter({1}),
    "reversed": lambda: reversed([1]),
    "enumerate": lambda: enumerate([1]),
    "zip": lambda: zip([1], [2], strict=True),
    "map": lambda: map(abs, [1]),
    "filter": lambda: filter(None, [1]),
    "count": lambda: itertools.count(),
    "chain": lambda: itertools.chain([1], [2]),
    "keys": lambda: {"a": 1}.keys(),
    "values": lambda: {"a": 1}.values(),
    "items": lambda: {"a": 1}.items(),
    "ordered": lambda: collections.OrderedDict(a=1),
    "default": lambda: collections.defaultdict(list),
    "counter": lambda: collections.Counter("a"),
    "deque": lambda: collections.deque([1]),
    "error": lambda: ValueError("a"),
    "key error": lambda: KeyError("a"),
    "stop": lambda: StopIteration(1),
    "error class": lambda: ValueError,
    "int class": lambda: int,
    "type": lambda: type,
    "plain class": lambda: Plain,
    "made class": lambda: Made,
    "enumeration": lambda: Color,
    "module class": lambda: torch.nn.Linear,
    "tensor class": lambda: torch.Tensor,
    "python module": lambda: itertools,
    "python package": lambda: torch.nn,
    "named tuple": lambda: Pair(1, 2),
    "named tuple class": lambda: Pair,
    "data": lambda: Data(),
    "member": lambda: Color.RED,
    "grade": lambda: Grade.LOW,
    "size": lambda: torch.ones(2, 3).shape,
    "dtype": lambda: torch.float32,
    "device": lambda: torch.device("cpu"),
    "layout": lambda: torch.strided,
    "memory format": lambda: torch.contiguous_format,
    "return type": lambda: torch.ones(2, 2).max(0),
    "tensor": lambda: torch.ones(2, 2),
    "scalar": lambda: torch.tensor(1),
    "parameter": lambda: torch.nn.Parameter(torch.ones(1, 1)),
    "relu": lambda: torch.nn.ReLU(),
    "linear": lambda: torch.nn.Linear(2, 2),
    "module list": lambda: torch.nn.ModuleList([torch.nn.ReLU()]),
    "sequential": lambda: torch.nn.Sequential(torch.nn.ReLU()),
    "plain": lambda: Plain(),
    "made": lambda: Made(),
    "callable": lambda: Callable(),
    "asked": lambda: Asked(),
    "slots": lambda: Slots(),
    "longer list": lambda: Longer([1]),
    "wide dict": lambda: Wide(a=1),
    "proxy": lambda: types.MappingProxyType({"a": 1}),
    "namespace": lambda: types.SimpleNamespace(a=1),
    "super": lambda: super(Made, Made()),
    "property": lambda: property(_function),
}


@functools.cache
def every_name() -> list[str]:
    """The names that any of the values, their classes and metaclasses have."""
    names = {"nope", "_nope", "__nope__", "made_up", "_fields", "n_fields", ""}
    for make in MAKERS.values():
        value = make()
        names.update(dir(value))
        for cls in type(value).__mro__:
            names.update(vars(cls), dir(type(cls)), vars(type(cls)))
    return sorted(names)


def ask(value, key):
    """Asks a value for names; a model of it does so with the traced value."""


@models(ask)
def _ask(tracer, value, key):
    answers = _ASKED[key.as_python()]
    for name in list(answers):
        answers[name] = _answer(tracer, value, name)
    return tracer.constant(None)


def _answer(tracer, value, name: str) -> tuple | None:
    """What a traced value has under a name; None where that is refused."""
    given = _read(tracer, value, name)
    is_there = _asked(tracer, hasattr, value, name)
    if given is None:
        return None if is_there is None else ("asked", is_there)
    instead = _asked(tracer, getattr, value, name, _NOTHING)
    if given[0] == "raises" and given[1] is AttributeError:
        fits = is_there in (None, False) and instead in (None, _NOTHING)
    elif given[0] == "raises":
        fits = is_there in (None, given[1]) and instead in (None, given[1])
    else:
        fits = is_there in (None, True) and instead in (None, given[1])
    return given if fits else ("differ", given, is_there, instead)


def _asked(tracer, function, value, name: str, *rest):
    """What ``hasattr``, or ``getattr`` with a default, gives, or raises."""
    args = [value, *map(tracer.constant, (name, *rest))]
    try:
        found = tracer.call(tracer.constant(function), args, {})
    except UnsupportedError:
        return None
    except Raised as raised:
        return raised.value.python_type()
    if function is hasattr or (isinstance(found, Constant) and found.value == _NOTHING):
        return found.as_python()
    return found.python_type()


def _read(tracer, value, name: str) -> tuple | None:
    try:
        found = tracer.get_attr(value, name)
    except UnsupportedError:
        return None
    except Raised as raised:
        error = raised.value
        texts = [arg.as_python() for arg in error.args[:1]]
        return ("raises", error.python_type(), *texts)
    kind = found.python_type()
    if isinstance(found, Constant):
        try:
            return ("known", kind, found.as_python())
        except NotConstant:
            pass
    return ("found", kind)


def expected(value, name: str) -> tuple:
    """What Python finds."""
    try:
        found = getattr(value, name)
    except Exception as error:
        return ("raises", type(error), *error.args[:1])
    return ("found", type(found), found)


def is_same(given: tuple, python: tuple) -> bool:
    """Whether the answer is Python's."""
    if given[0] == "asked":
        return given[1] == (python[0] == "found")
    if given[0] == "raises":
        return given == python
    if given[0] == "differ" or python[0] != "found" or given[1] is not python[1]:
        return False
    known = given[0] == "found" or repr(given[2]) == repr(python[2])
    return known or "at 0x" in repr(python[2])


def _inside(make):
    def inside(x):
        ask(make(), "now")
        return x + 1

    return inside


def _outside(x, value):
    ask(value, "now")
    return x + 1


def differences(kind: str, is_inside: bool, names) -> list:
    """What is answered otherwise than Python does; what is refused is no answer."""
    make = MAKERS[kind]
    value = make()
    wrong = []
    python = {name: expected(make(), name) for name in names}
    girih.reset()
    _ASKED["now"] = dict.fromkeys(names)
    if is_inside:
        girih.compile(_inside(make), fullgraph=True)(torch.zeros(1))
    else:
        girih.compile(_outside, fullgraph=True)(torch.zeros(1), value)
    # TorchDynamo, once loaded, refers weakly to each module that is made.
    if isinstance(value, torch.nn.Module):
        _ASKED["now"].pop("__weakref__", None)
    for name, given in _ASKED.pop("now").items():
        if given is not None and not is_same(given, python[name]):
            wrong.append((name, given, python[name][:2]))
    return wrong


# Parameters and properties are not made inside.
_ONLY_OUTSIDE = ("parameter", "linear", "property")
_CASES = [
    (kind, is_inside)
    for kind in MAKERS
    for is_inside in (False, True)
    if not (is_inside and kind in _ONLY_OUTSIDE)
]


def _names_of(kind: str) -> list[str]:
    """All names; in the short form those of the metaclass, and a sample."""
    names = every_name()
    if LONG:
        return names
    metaclasses = {name for cls in (type, Meta) for name in vars(cls)}
    sample = random.Random(kind).sample(names, 50)
    return sorted({*metaclasses, *sample, "_fields", "__weakref__", "__class__"})


@pytest.mark.parametrize(("kind", "is_inside"), _CASES)
def test_an_attribute_is_found_where_python_finds_it(kind, is_inside):
    """Existence, kind, value and errors of attributes; what is refused is told."""
    names = _names_of(kind)
    assert not differences(kind, is_inside, names)


def test_a_tuple_without_fields_takes_the_branch_of_plain_tuples():
    """The usual test for named tuples."""

    def double(values):
        if isinstance(values, tuple) and hasattr(values, "_fields"):
            return type(values)(*(value * 2 for value in values))
        return [value * 2 for value in values]

    compiled = girih.compile(double, fullgraph=True)
    one = torch.ones(2)
    assert type(compiled((one, one))) is list
    assert type(compiled(Pair(one, one))) is Pair
