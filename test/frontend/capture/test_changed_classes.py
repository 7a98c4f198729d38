"""What a captured program took from classes, and what changes there between calls."""

import pytest
import torch
from capture_differential import compile_eagerly

import girih

# Each case has classes of its own.
_WORLD = """
import abc
import collections.abc
import enum

class Meta(type):
    answer = False
    above = 3

class Asked(type):
    answer = False

    def __subclasscheck__(cls, other):
        return cls.answer

class Root:
    value = 1

    def method(self):
        return 2

    @classmethod
    def of_class(cls):
        return 2

    @property
    def read(self):
        return 2

class Base(Root):
    pass

class Thing(Base, metaclass=Meta):
    "a"

    note: int

    def method(self):
        return super().method()

    @classmethod
    def of_class(cls):
        return super().of_class()

    @property
    def read(self):
        return super().read

    def missing(self):
        return getattr(super(), "lacking", 3)

    def __init__(self):
        super().__init__()

    def __new__(cls):
        return super().__new__(cls)

    def __getitem__(self, index):
        if index:
            raise IndexError
        return 1

    def __len__(self):
        return 1

    def keys(self):
        return ["key"]

    def get(self, key, default=None):
        return 1

    __match_args__ = ("value", "above")

    @classmethod
    def __class_getitem__(cls, index):
        return index

class Other(Root):
    def method(self):
        return 5

class Abstract(abc.ABC):
    pass

class Narrow(Abstract):
    pass

class Described:
    pass

class Holder:
    held = Described()

class Listed(list):
    pass

class Tupled(tuple):
    __slots__ = ()

class Color(enum.Enum):
    RED = 1

    def shade(self):
        return 2

class Failure(Exception):
    pass

class Plain:
    pass

class Added:
    def __add__(self, other):
        return 2

class More(Added):
    pass

class Asks(metaclass=Asked):
    pass

thing, holder = Thing(), Holder()
"""


def _world():
    world = dict(globals())
    exec(_WORLD, world)
    return world


def _kind_of(value, abstract):
    match value:
        case abstract.Mapping():
            return 2
        case {"key": _}:
            return 3
        case [_]:
            return 4
    return 5


def _first_of(value, cls):
    match value:
        case cls(first):
            return first
    return 9


def _raised(cls, caught):
    try:
        raise cls
    except caught:
        return 2
    except Exception:
        return 3


# An expression, and a change after which it is another number.
CHANGES = [
    # How attributes are looked up.
    ("thing.value", "Thing.__getattribute__ = lambda self, name: 7"),
    ("getattr(thing, 'lacking', 2)", "Thing.__getattr__ = lambda self, name: 7"),
    ("setattr(thing, 'value', 4) or thing.value", "Thing.value = property(int, id)"),
    ("Plain() and 2", "Plain.__new__ = lambda cls: 0"),
    ("hasattr(Plain(), 'made') + 2", "Plain.__init__ = lambda self: _made(self)"),
    ("len(Listed([1]))", "Listed.__init__ = lambda self, items: None"),
    ("len(Tupled([1]))", "Tupled.__new__ = lambda cls, items: (1, 2, 3)"),
    ("isinstance(holder.held, Described) + 2", "Described.__get__ = lambda *args: 5"),
    ("isinstance(Holder.held, Described) + 2", "Described.__get__ = lambda *args: 5"),
    ("Added() + More()", "More.__radd__ = lambda self, other: 7"),
    ("callable(holder) + 2", "Holder.__call__ = lambda self: 1"),
    ("Color.RED.shade()", "Color.shade = lambda self: 7"),
    ("2 if thing else 3", "Thing.__bool__ = lambda self: False"),
    # super() and bases.
    ("thing.method()", "Base.method = lambda self: 7"),
    ("thing.method()", "Thing.__bases__ = (Other,)"),
    ("Thing.of_class()", "Base.of_class = classmethod(lambda cls: 7)"),
    ("thing.read", "Base.read = property(lambda self: 7)"),
    ("thing.missing()", "Root.lacking = 7"),
    ("Thing().value", "Base.__init__ = lambda self: setattr(self, 'value', 7)"),
    ("Thing().value if Thing() else 3", "Base.__new__ = lambda cls: 0"),
    ("isinstance(thing, Other) + 2", "Thing.__bases__ = (Other,)"),
    ("issubclass(Thing, Other) + 2", "Base.__bases__ = (Other,)"),
    ("_raised(Failure, ValueError)", "Failure.__bases__ = (ValueError,)"),
    ("(Thing.__bases__[0] is Base) + 2", "Thing.__bases__ = (Other,)"),
    ("len(Thing.__mro__)", "Base.__bases__ = (Other,)"),
    ("(Other in Thing.mro()) + 2", "Thing.__bases__ = (Other,)"),
    ("len(Root.__subclasses__())", "_kept = type('Third', (Root,), {})"),
    # What a class is called, and what it says of itself.
    ("len(Thing.__name__)", "Thing.__name__ = 'Renamed'"),
    ("len(type(thing).__qualname__)", "Thing.__qualname__ = 'Renamed'"),
    ("len(thing.__class__.__module__)", "Thing.__module__ = 'renamed'"),
    ("len(Thing.__doc__)", "Thing.__doc__ = 'renamed'"),
    ("len(Thing.__annotations__)", "Thing.__annotations__ = {'a': 1, 'b': 2}"),
    # Metaclasses.
    ("Thing().value", "Meta.__call__ = lambda cls: Other()(7)"),
    ("2 if Thing else 3", "Meta.__bool__ = lambda cls: False"),
    ("2 if Thing else 3", "Meta.__len__ = lambda cls: 0"),
    ("Thing[2]", "Meta.__getitem__ = lambda cls, index: 7"),
    ("(Thing == 1) + 2", "Meta.__eq__ = lambda cls, other: True"),
    ("Thing.above", "Thing.above = 7"),
    ("Thing.value", "Meta.value = property(lambda cls: 7)"),
    ("Thing.value", "Meta.__getattribute__ = lambda cls, name: 7"),
    ("getattr(Thing, 'lacking', 2)", "Meta.__getattr__ = lambda cls, name: 7"),
    ("isinstance(1, Thing) + 2", "Meta.__instancecheck__ = lambda cls, it: True"),
    ("issubclass(int, Thing) + 2", "Meta.__subclasscheck__ = lambda cls, it: True"),
    ("issubclass(int, Asks) + 2", "Asked.answer = True"),
    ("isinstance(x, Asks) + 2", "Asked.__instancecheck__ = lambda cls, it: True"),
    # Abstract classes and patterns.
    ("isinstance(thing, Abstract) + 2", "Abstract.register(Thing)"),
    ("issubclass(Base, Abstract) + 2", "Abstract.register(Root)"),
    ("isinstance(thing, int | Abstract) + 2", "Abstract.register(Thing)"),
    ("isinstance(thing, (int, (str, Abstract))) + 2", "Narrow.register(Thing)"),
    ("isinstance(x, Abstract) + 2", "Abstract.register(torch.Tensor)"),
    ("isinstance(2, Abstract) + 2", "Abstract.register(int)"),
    ("_kind_of(thing, collections.abc)", "collections.abc.Mapping.register(Thing)"),
    ("_kind_of(thing, collections.abc)", "collections.abc.Sequence.register(Thing)"),
    ("_first_of(thing, Thing)", "Thing.__match_args__ = ('read',)"),
]


def _made(made):
    made.made = True


def _outcome(f, x):
    try:
        return f(x).item()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(("expression", "change"), CHANGES)
def test_a_change_is_seen(expression, change):
    world, x = _world(), torch.ones(1)
    f = eval(f"lambda x: x * ({expression})", world)
    compiled = compile_eagerly(f)
    before = _outcome(f, x)
    assert _outcome(compiled, x) == before
    exec(change, world)
    assert _outcome(f, x) != before
    assert _outcome(compiled, x) == _outcome(f, x)


def test_other_changes_compile_nothing():
    world, x = _world(), torch.ones(1)
    f = eval("lambda x: x * thing.method() * thing.value", world)
    world["thing"].value = 2
    compiled = compile_eagerly(f)
    compiled(x)
    captures = girih.counters()["captures"]
    for number in range(3):
        world["Thing"].count = number  # what nobody read
        world["Root"].value = number  # what the object hides
        assert torch.equal(compiled(x), x * 4)
    assert girih.counters()["captures"] == captures


def test_what_changed_is_said():
    world, x = _world(), torch.ones(1)
    f = eval("lambda x: x * thing.method()", world)
    compiled = compile_eagerly(f)
    compiled(x)
    explained = str(girih.explain(f, backend="eager")(x))
    assert "these attributes of <Base> are unchanged: method" in explained
