"""Python's object protocols, in one graph, against Python."""

import abc

import pytest
from capture_differential import Cases, check, rand

case = Cases()


class Ten:
    def __get__(self, instance, owner):
        return self if instance is None else 10

    def __set_name__(self, owner, name):
        self.name = name


class Checked:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        return getattr(instance, self.name)

    def __set__(self, instance, value):
        if value < 0:
            raise ValueError(f"negative {self.name}")
        setattr(instance, self.name, value)

    def __delete__(self, instance):
        delattr(instance, self.name)


class Meta(type):
    def __call__(cls, *args):
        made = super().__call__(*args)
        made.by_meta = True
        return made

    @property
    def label(cls):
        return cls.__name__.lower()

    def __len__(cls):
        return 7


class Full(metaclass=Meta):
    ten = Ten()
    size = Checked()

    def __init__(self, size=1):
        self.size = size

    def __getattr__(self, name):
        if name.startswith("get_"):
            return lambda: name[4:]
        raise AttributeError(name)

    def __class_getitem__(cls, item):
        return (cls.__name__, item)

    def __contains__(self, item):
        return item == self.size

    def __len__(self):
        return self.size

    def __index__(self):
        return self.size

    def __format__(self, spec):
        return f"<{spec}>"

    def __iadd__(self, other):
        self.size += other
        return self

    def __rsub__(self, other):
        return ("rsub", other)

    def __matmul__(self, other):
        return ("matmul", other)

    def __neg__(self):
        return -self.size

    def __divmod__(self, other):
        return (self.size, other)


@case(rand(3))
def protocols(x):
    full = Full(2)
    full += 1
    try:
        full.size = -1
    except ValueError as error:
        text = str(error)
    operators = 5 - full, full @ 2, -full, 3 in full, [0, 1, 2, 3][full], bool(full)
    return x, full.ten, full.get_name(), Full[int], f"{full:a}", operators, text


@case(rand(3))
def metaclasses(x):
    full = Full(2)
    del full.size
    return x, full.by_meta, Full.label, len(Full), hasattr(full, "size"), type(Full)


class Logging:
    def __init__(self):
        self.seen = []

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        if name != "seen":
            self.seen.append(name)
        return found

    def method(self):
        return 1


@case(rand(3))
def attribute_access_is_overridden(x):
    logging = Logging()
    return x, logging.method(), logging.seen


class Sized:
    __slots__ = ("a", "__dict__")

    def __init__(self):
        self.a = 1
        self.b = 2


@case(rand(3))
def slots_and_dicts(x):
    sized = Sized()
    sized.__dict__["c"] = 3
    del sized.b
    return x, sized.a, sized.c, sized.__dict__, hasattr(sized, "b")


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self):
        """To be defined."""


class EvenMeta(type):
    def __instancecheck__(cls, value):
        return isinstance(value, int) and value % 2 == 0


class Even(metaclass=EvenMeta):
    pass


class OnlySlots:
    __slots__ = ("a",)

    def __init__(self):
        self.a = 1


@case(rand(3), OnlySlots())
def checks_of_classes(x, slots):
    try:
        Shape()
    except TypeError as error:
        text = str(error)
    even = isinstance(2, Even), isinstance(3, Even), isinstance("a", (str, Even))
    return x, text, even, hasattr(slots, "__dict__"), hasattr(OnlySlots(), "__dict__")


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)
