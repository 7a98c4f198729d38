"""Less common parts of the language's object model."""

import abc
import enum
import functools
import typing

import torch

from differential.program import program, rand


class Shape(abc.ABC):
    """An abstract class."""

    @abc.abstractmethod
    def area(self): ...

    @property
    @abc.abstractmethod
    def name(self): ...


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side * self.side

    @property
    def name(self):
        return "square"


@typing.runtime_checkable
class HasArea(typing.Protocol):
    def area(self): ...


class Even(type):
    """Instances are numbers that are even."""

    def __instancecheck__(cls, obj):
        return isinstance(obj, int) and obj % 2 == 0

    def __contains__(cls, obj):
        return obj in (2, 4)

    def __len__(cls):
        return 2


class EvenNumber(metaclass=Even):
    pass


class Plugin:
    """Keeps a list of its subclasses."""

    plugins = []

    def __init_subclass__(cls, /, factor=1, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.factor = factor
        cls.plugins.append(cls.__name__)


class Twice(Plugin, factor=2):
    pass


class Field:
    """Knows its name."""

    def __set_name__(self, owner, name):
        self.name = f"_{name}"

    def __get__(self, obj, cls=None):
        return self if obj is None else getattr(obj, self.name, 0)

    def __set__(self, obj, value):
        setattr(obj, self.name, value)

    def __delete__(self, obj):
        delattr(obj, self.name)


class Record:
    first = Field()
    second = Field()

    def __init__(self, first):
        self.first = first


class Defaults(dict):
    """Makes what is missing."""

    def __missing__(self, key):
        self[key] = len(self)
        return self[key]


class Pair(typing.NamedTuple):
    """A named tuple with a method."""

    left: typing.Any
    right: int = 2

    def total(self):
        return self.left + self.right


class Generic:
    def __class_getitem__(cls, item):
        return (cls.__name__, item)


class Point:
    __slots__ = ("x", "y")
    __match_args__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y


class Point3(Point):
    __slots__ = ("z",)

    def __init__(self, x, y, z):
        super().__init__(x, y)
        self.z = z


class Lazy:
    """Finds attributes in several ways."""

    plain = 1

    def __getattribute__(self, name):
        if name == "always":
            return 7
        return super().__getattribute__(name)

    def __getattr__(self, name):
        if name == "never":
            raise AttributeError(name)
        return len(name)

    def __dir__(self):
        return ["always"]


class Matrix:
    def __init__(self, value):
        self.value = value

    def __matmul__(self, other):
        return Matrix(self.value * other.value)

    def __rmatmul__(self, other):
        return Matrix(other * self.value)

    def __imatmul__(self, other):
        self.value = self.value + other
        return self

    def __pow__(self, n, mod=None):
        return Matrix(self.value**n)

    def __divmod__(self, n):
        return self.value // n, self.value % n

    def __abs__(self):
        return self.value.abs()

    def __invert__(self):
        return -self.value

    def __round__(self, n=0):
        return self.value.round()

    def __reversed__(self):
        return iter([self.value, 1])


class Compared:
    """Compares by its key, or not at all."""

    def __init__(self, key):
        self.key = key

    def __eq__(self, other):
        return self.key == other.key if isinstance(other, Compared) else NotImplemented

    def __lt__(self, other):
        return self.key < other.key

    def __hash__(self):
        return hash(self.key)


Ordered = functools.total_ordering(Compared)


class Colour(enum.IntFlag):
    RED = enum.auto()
    GREEN = enum.auto()
    BOTH = RED | GREEN


@program(rand(3), Square(2))
def abstract_classes(x, shape):
    return x * shape.area(), shape.name, isinstance(shape, Shape), Square.__bases__


@program(rand(3))
def abstract_class_is_not_made(x):
    try:
        Shape()
    except TypeError as error:
        return x + 1, "abstract" in str(error)


@program(rand(3), Square(3)).then(rand(3), 5)
def protocol_at_run_time(x, shape):
    return x * shape.area() if isinstance(shape, HasArea) else x - shape


@program(rand(3), 2).then(rand(3), 3)
def instance_check_of_a_metaclass(x, n):
    if isinstance(n, EvenNumber):
        x = x * n
    return x, n in EvenNumber, len(EvenNumber)


@program(rand(3))
def subclass_hook(x):
    return x * Twice.factor, Plugin.plugins, Twice().factor


@program(rand(3))
def subclass_is_made_inside(x):
    class Local(Plugin, factor=5):
        pass

    return x * Local.factor, Plugin.plugins.pop()


@program(rand(3), Record(2))
def named_descriptors(x, record):
    record.second = record.first + 1
    y = x * record.second
    del record.first
    return y + record.first, Record.first.name


@program(rand(3), Defaults(a=5))
def missing_keys(x, table):
    return x * table["b"] + table["a"] + table["b"], table.get("c"), "c" in table


@program(rand(3), Pair(3)).then(rand(3), Pair(1, 1))
def typed_named_tuple(x, pair):
    left, right = pair
    other = pair._replace(left=x)
    return other.total(), left + right, pair._asdict(), Pair._fields, other


@program(rand(3))
def typed_named_tuple_is_made(x):
    pair = Pair(x + 1)
    return pair.total() * pair.right, pair[0], isinstance(pair, tuple), pair._fields


@program(rand(3))
def class_items(x):
    alias = list[int]
    return x + len(Generic[5]), Generic["a"], alias.__origin__ is list


@program(rand(3), Point3(1, 2, 3))
def inherited_slots(x, point):
    point.x += 1
    del point.y
    found = hasattr(point, "y"), hasattr(point, "__dict__")
    match point:
        case Point(x=2):
            x = x * point.z
    return x, found


@program(rand(3), Point(1, 2)).then(rand(3), Point(2, 2))
def slots_are_matched(x, point):
    match point:
        case Point(1, y):
            return x * y
        case Point(a, b) if a == b:
            return x - a


@program(rand(3))
def attribute_lookup_is_overridden(x):
    lazy = Lazy()
    y = x * lazy.always + lazy.plain + lazy.four
    return y, hasattr(lazy, "never"), getattr(lazy, "never", 0), dir(lazy)


@program(rand(3))
def rare_operators(x):
    a, b = Matrix(x), Matrix(x + 1)
    c = a @ b
    c @= 3
    return c.value, (a**2).value, abs(a), ~b, round(a), list(reversed(a)), divmod(b, 2)


@program(rand(3))
def total_ordering(x):
    a, b, c = Ordered(1), Ordered(2), Ordered(1)
    return a <= b, a >= b, a == c, a != b, sorted([b, a])[0] is a, x + (a > b)


@program(rand(3))
def equality_that_is_not_implemented(x):
    return Compared(1) == 1, Compared(1) != "a", len({Compared(1), Compared(1)}), x + 1


@program(rand(3), Colour.RED).then(rand(3), Colour.BOTH)
def flags(x, colour):
    if Colour.GREEN in colour:
        x = x * 2
    both = colour | Colour.GREEN
    return x + int(both), both is Colour.BOTH, both.name, colour & Colour.GREEN


@program(rand(3))
def callables_are_asked(x):
    asked = [len, 5, Square, Square(1), lambda: 0, torch.sin, x, functools.partial(len)]
    return [callable(a) for a in asked], x + 1


@program(rand(3))
def types_are_asked(x):
    kinds = [type(v).__name__ for v in (1, "a", x, [], None, Square(1), Square, len)]
    return kinds, type(x) is torch.Tensor, issubclass(bool, int), x + 1


@program(rand(3))
def types_with_three_arguments(x):
    made = type("Made", (Square,), {"factor": 3, "__doc__": "made"})
    return x * made(2).area() * made.factor, made.__name__, made.__mro__[1].__name__


@program(rand(3))
def memory_view_and_bytes(x):
    data = bytearray(b"abc")
    view = memoryview(data)
    view[0] = 100
    return x * view[0], bytes(view[1:]), data, len(view)


@program(rand(3), complex(1, 2)).then(rand(3), complex(0, -1))
def complex_numbers(x, z):
    w = z * z.conjugate() + 1j
    return x * w, abs(z), z.real + z.imag, complex("1+2j") == z


@program(rand(3))
def match_of_everything(x):
    found = []
    for item in (1, -2.5, "a", [1, 2, 3], {"k": 1, "m": 2}, None, True, Point(1, 2), x):
        match item:
            case True | None:
                found.append("single")
            case int() | float() as n if n > 0:
                found.append(n)
            case str(s):
                found.append(s)
            case [a, *rest]:
                found.append((a, rest))
            case {"k": k, **others}:
                found.append((k, others))
            case Point(x=a, y=b):
                found.append(a + b)
            case torch.Tensor():
                found.append(item + 1)
            case other:
                found.append(type(other).__name__)
    return found
