"""Functions and objects, captured in one graph, against plain Python."""

import collections
import contextlib
import dataclasses
import enum
import functools

import pytest
import torch
from capture_differential import Cases, check, rand

case = Cases()
SCALE = 3.0
TABLE = {"a": 2.0, "b": [1, 2, 3]}


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Box:
    value: torch.Tensor
    name: str = "box"
    extra: list = dataclasses.field(default_factory=list)

    def double(self):
        return self.value * 2

    @property
    def half(self):
        return self.value / 2

    @classmethod
    def of(cls, value):
        return cls(value)

    @staticmethod
    def scaled(value, factor):
        return value * factor


class Counter:
    def __init__(self, step=1):
        self.step = step
        self.total = 0

    def __call__(self, x):
        self.total += self.step
        return x + self.total

    def __getitem__(self, index):
        return index * self.step

    def __len__(self):
        return 3

    def __add__(self, other):
        return other + self.step

    def __radd__(self, other):
        return other - self.step


class Output(collections.OrderedDict):
    def __init__(self, **fields):
        super().__init__()
        for name, value in fields.items():
            self[name] = value

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b


class Base:
    factor = 2

    def apply(self, x):
        return x * self.factor


class Derived(Base):
    factor = 5

    def apply(self, x):
        return super().apply(x) + 1


class Proxy:
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return len(name)


# Functions


def helper(x, factor=2, *, bias=1):
    return x * factor + bias


@case(rand(3))
def inlined_calls(x):
    return helper(x) + helper(x, 3) + helper(x, bias=5) + helper(factor=1, x=x)


@case(rand(3))
def closures(x):
    count = 0

    def bump(y):
        nonlocal count
        count += 1
        return y + count

    return bump(bump(x)), count, (lambda v: v * SCALE)(x)


@case(rand(3), 4)
def recursion(x, n):
    def go(y, k):
        return y if k == 0 else go(y + k, k - 1)

    return go(x, n)


@case(rand(3))
def decorated(x):
    def twice(f):
        @functools.wraps(f)
        def wrapper(*args, **kwargs):
            return f(f(*args, **kwargs))

        return wrapper

    @twice
    def inc(y):
        return y + 1

    return inc(x), inc.__name__


@case(rand(3))
def generators(x):
    def numbers(n):
        for i in range(n):
            received = yield x + i
            if received:
                yield received
        return 5

    def outer():
        result = yield from numbers(2)
        yield x * result

    g = numbers(3)
    first = next(g)
    return list(outer()), first, next(g), sum(numbers(2)), [*numbers(1)]


@case(rand(3))
def global_values(x):
    return x * SCALE + TABLE["a"] + len(TABLE["b"]) + sum(TABLE["b"])


@case(rand(3))
def returned_function(x):
    y = x + 1

    def inner(z):
        return z + y

    return inner(x)


# Objects


@case(rand(3), Counter(2))
def mutated_object(x, counter):
    y = counter(x)
    y = counter(y)
    counter.name = "used"
    return y, counter.total, counter[4], len(counter), counter + x, x + counter


@case(rand(3))
def new_objects(x):
    box = Box(x)
    box.name = "new"
    box.extra.append(x + 1)
    other = Box.of(x * 2)
    return box, other.double(), other.half, Box.scaled(x, 3), box.name, Box.__name__


@case(rand(3))
def builtin_subclasses(x):
    made = Output(a=x, b=x + 1)
    return made, list(made.items()), list(made), made.a, made["b"], "a" in made


@case(rand(3, 4))
def new_modules(x):
    loss = torch.nn.CrossEntropyLoss()
    layers = torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Tanh()])
    for layer in layers[:1]:
        x = layer(x)
    return loss(x, x.softmax(-1)), x


@case(rand(3))
def inheritance(x):
    d = Derived()
    return d.apply(x), isinstance(d, Base), Derived.factor, type(d).__name__


@case(rand(3), Slotted(1, rand(3)))
def slots(x, s):
    s.a = s.a + 1
    t = Slotted(x, s.b)
    return x + s.a + s.b, t.a + t.b


@case(rand(3), Proxy())
def dynamic_attributes(x, p):
    return x + p.four + p.sixsix


@case(rand(3), Color.RED)
def enumerations(x, color):
    if color is Color.RED or color == Color.BLUE:
        x = x + color.value
    return x, color.name, Color.BLUE, Color(2), [c.name for c in Color]


@case(rand(3), [1, 2])
def mutated_list_argument(x, items):
    items.append(3)
    items[0] = x + 1
    return x + items[1]


@case(rand(3), {"a": 1})
def mutated_dict_argument(x, mapping):
    mapping["b"] = x * 2
    mapping["a"] += 1
    return mapping["b"]


@case(rand(3))
def context_managers(x):
    @contextlib.contextmanager
    def scale(factor):
        yield x * factor

    with scale(2) as y, contextlib.nullcontext(3) as z:
        x = x + y * z
    return x


@case(rand(3))
def handled_exceptions(x):
    try:
        raise ValueError("no")
    except (KeyError, ValueError) as error:
        x = x + len(error.args)
    finally:
        x = x * 2
    try:
        {}["missing"]
    except KeyError:
        x = x + 1
    else:
        x = x + 100
    return x


@case(rand(3))
def stop_iteration(x):
    it = iter([1, 2])
    total = 0
    while True:
        try:
            total += next(it)
        except StopIteration:
            break
    return x + total, next(it, 9)


@case(rand(3))
def deletions(x):
    y = x + 1
    z = [y]
    del y
    try:
        y  # noqa: B018, F821
    except UnboundLocalError:
        return z[0]


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)
