"""Python's data model: what operators and builtins do with objects of odd classes.

Each class defines special methods in another way (or sets them to None, or has them
return what they must not); each operation is tried on an object of each class, captured
and plain. What a class lacks, reflects, inherits or forbids has Python's meaning.
"""

import dataclasses
import functools
import math
import operator
import re
import typing

import pytest
import torch
from capture_differential import compile_eagerly


class Plain:
    pass


class Equal:
    """Has ``__eq__``, so ``!=`` is its opposite and there is no hash."""

    def __eq__(self, other):
        return isinstance(other, Equal)


class Undecided:
    def __eq__(self, other):
        return NotImplemented

    def __add__(self, other):
        return NotImplemented

    def __iadd__(self, other):
        return NotImplemented

    def __lt__(self, other):
        return NotImplemented


class Unusual:
    """Answers comparisons with what is no bool."""

    def __eq__(self, other):
        return [1]

    def __lt__(self, other):
        return "less"

    def __hash__(self):
        return 2**70


class Reflected(Unusual):
    def __radd__(self, other):
        return "radd"

    def __rmul__(self, other):
        return "rmul"

    def __rdivmod__(self, other):
        return "rdivmod"


@dataclasses.dataclass
class Record:
    width: int = 1


@dataclasses.dataclass(frozen=True, order=True)
class Frozen:
    width: int = 1


@dataclasses.dataclass(slots=True)
class Slotted:
    width: int = 1


@functools.total_ordering
class Ordered:
    def __eq__(self, other):
        return isinstance(other, int) and other == 1 or isinstance(other, Ordered)

    def __lt__(self, other):
        return isinstance(other, int) and 1 < other


class Forbidden:
    """None in the place of a special method."""

    __add__ = __lt__ = __eq__ = __len__ = __call__ = __getitem__ = None
    __iter__ = __contains__ = __hash__ = __reversed__ = __bool__ = None


class Liar:
    """Special methods that return what they must not."""

    def __bool__(self):
        return 1

    def __len__(self):
        return -1

    def __str__(self):
        return 3

    __repr__ = __int__ = __float__ = __index__ = __complex__ = __str__

    def __hash__(self):
        return "x"

    def __format__(self, spec):
        return 3

    def __iter__(self):
        return 1


class Number:
    def __index__(self):
        return 2

    def __round__(self, digits=None):
        return ("round", digits)

    def __neg__(self):
        return "neg"

    def __contains__(self, item):
        return "yes"


class ByIndex:
    def __getitem__(self, index):
        if index > 2:
            raise IndexError
        return index * 2

    def __len__(self):
        return 3


class Hidden:
    """Properties and slots whose errors are attributes that ``__getattr__`` gives."""

    __slots__ = ("empty",)

    @property
    def bad(self):
        raise AttributeError("inner")

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return ("found", name)


class SetOnly:
    def __set__(self, owner, value):
        owner.__dict__["width"] = ("set", value)


class Described:
    width = SetOnly()


class Pretender:
    @property
    def __class__(self):
        return int


class Pair(typing.NamedTuple):
    width: int = 1
    height: int = 2


class OddPair(Pair):
    def __eq__(self, other):
        return "odd"

    def __len__(self):
        return 77

    def __getitem__(self, index):
        return "item"

    def __add__(self, other):
        return "sum"


class OddInt(int):
    def __eq__(self, other):
        return "odd"

    def __str__(self):
        return "text"

    def __index__(self):
        return 44

    __hash__ = int.__hash__


class OddList(list):
    def __len__(self):
        return 9

    def __contains__(self, item):
        return item == "in"


class OddMeta(type):
    def __eq__(cls, other):
        return "odd"

    def __hash__(cls):
        return 7

    def __bool__(cls):
        return False

    def __instancecheck__(cls, other):
        return "yes" if other == 1 else ""


class OddClass(metaclass=OddMeta):
    pass


def _assigned(name):
    def assign(o):
        setattr(o, name, 5)
        found = getattr(o, name)
        delattr(o, name)  # of a class, too, which all operations share
        return found

    return assign


def _deleted(name):
    def delete(o):
        delattr(o, name)
        return hasattr(o, name)

    return delete


def _added(o):
    o += 1
    return o


def _unpacked(o):
    first, *rest = o
    return first, rest


MAYBE_RECORD = typing.Optional[Record]  # noqa: UP045 (another class than that of `|`)
ANY_OF_TWO = typing.Union[int, list]  # noqa: UP007


OPERATIONS = (
    lambda o: (o == o, o != o, o == 1, o != 1, 1 == o, 1 != o),  # noqa: PLR0124
    lambda o: (o == Plain(), o != Equal(), Equal() != o, o == Unusual()),
    lambda o: ([o] == [1], [o] != [1], (o,) in [(1,)], o in [1, Plain()], [1].count(o)),
    lambda o: (o == Pair(), Pair() != o, Record() != o, o == Record()),
    lambda o: o < 1,
    lambda o: 1 >= o,
    lambda o: sorted([o, o]) and None,
    lambda o: o + 1,
    lambda o: 1 + o,
    lambda o: 2 * o,
    lambda o: o - o,
    lambda o: o**2,
    lambda o: divmod(1, o),
    lambda o: o @ o,
    lambda o: -o,
    lambda o: ~o,
    lambda o: abs(o),
    _added,
    lambda o: bool(o),
    lambda o: not o,
    lambda o: len(o),
    lambda o: 2 in o,
    lambda o: list(o),
    lambda o: list(reversed(o)),
    _unpacked,
    lambda o: o[0],
    lambda o: [1, 2, 3][o],
    lambda o: "abc"[:o],
    lambda o: hash(o) and None,
    lambda o: {o: 1}[o],
    lambda o: len({o, o}),
    lambda o: int(o),
    lambda o: float(o),
    lambda o: complex(o),
    lambda o: round(o),
    lambda o: math.floor(o),
    lambda o: operator.index(o),
    lambda o: str(o) and None,
    lambda o: repr(o) and None,
    lambda o: f"{o:>9}",
    lambda o: f"{o}" and None,
    lambda o: o(),
    lambda o: o.width,
    lambda o: o.missing,
    lambda o: o.bad,
    lambda o: o.empty,
    _assigned("width"),
    _assigned("new"),
    _deleted("width"),
    _deleted("empty"),
    lambda o: isinstance(o, int | list),
    lambda o: isinstance(o, (Plain | None, MAYBE_RECORD)),
    lambda o: isinstance(o, list[int]),
    lambda o: isinstance(o, OddClass),
    lambda o: isinstance(1, o),
    lambda o: issubclass(type(o), Plain | tuple),
    lambda o: issubclass(type(o), ANY_OF_TWO),
)
OBJECTS = {
    cls.__name__: cls
    for cls in (
        *(Plain, Equal, Undecided, Unusual, Reflected, Record, Frozen, Slotted),
        *(Ordered, Forbidden, Liar, Number, ByIndex, Hidden, Described, Pretender),
        *(Pair, OddPair, OddInt, OddList),
    )
} | {"OddClass": lambda: OddClass, "number": lambda: 3, "None": lambda: None}


def outcomes(x, make, operations):
    found = []
    for operation in operations:
        try:
            found.append(operation(make()))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return x + 1, found


def as_text(value):
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_operations(make):
    compiled = compile_eagerly(outcomes, fullgraph=False)
    # A refused operation breaks the loop; in parts, the others are traced all the same.
    for start in range(0, len(OPERATIONS), 8):
        part = OPERATIONS[start : start + 8]
        found = compiled(torch.ones(2), make, part)[1]
        expected = outcomes(torch.ones(2), make, part)[1]
        for place, pair in enumerate(zip(found, expected, strict=True)):
            mine, theirs = map(as_text, pair)
            assert mine == theirs, f"operation {start + place}"
