"""Small functions, captured in one graph, against plain Python."""

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import math
import operator

import pytest
import torch
import torch.nn.functional as F
from capture_differential import check

CASES = []


def case(*args, **kwargs):
    """Registers a function with the arguments to call it with."""

    def register(function):
        CASES.append(pytest.param(function, args, kwargs, id=function.__name__))
        return function

    return register


def rand(*shape):
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(*shape, generator=generator)


SCALE = 3.0
TABLE = {"a": 2.0, "b": [1, 2, 3]}


class Color(enum.Enum):
    RED = 1
    BLUE = 2


Point = collections.namedtuple("Point", "x y")


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


# Straight lines


@case(rand(3, 4), rand(3, 4))
def arithmetic(x, y):
    z = x + y * 2 - 1 / (y.abs() + 1)
    return -(z**2) // 3 % 2


@case(rand(3, 4), rand(4, 5))
def matrix_product(x, y):
    return (x @ y).relu()


@case(rand(3, 4))
def methods(x):
    return x.sum(dim=1, keepdim=True).expand(3, 4).transpose(0, 1).contiguous()


@case(rand(3, 4))
def reflected(x):
    return 2 - x, 2 / x, 2 * x, 2**x, 1 + x


@case(rand(3, 4), rand(3, 4))
def comparisons(x, y):
    return x < y, x == y, (x > 0) & (y > 0), ~(x != y)


@case(rand(4, 5, 6))
def indexing(x):
    return x[0], x[1:3], x[..., -1], x[:, None, 2], x[::2, 1:4], x[(0, 1)]


@case(rand(4, 5), torch.tensor([0, 2]))
def tensor_index(x, i):
    return x[i], x[:, i], x[x > 0].sum() if False else x.index_select(0, i)


@case(rand(3, 4))
def in_place(x):
    y = x.clone()
    y += 1
    y *= 2
    y.add_(x)
    y[0] = 0
    y[:, 1:] = x[:, 1:]
    return y


@case(rand(3, 4))
def mutates_argument(x):
    x.add_(1)
    return x


@case(rand(3, 4))
def mutates_argument_and_returns_none(x):
    x[0] = 7


@case(rand(3, 4))
def returns_input(x):
    return x


@case(rand(3, 4))
def returns_view(x):
    return x.t(), x.view(-1), x


@case(rand(3, 4))
def returns_same_twice(x):
    y = x + 1
    return y, [y, y], {"k": y}


@case(rand(2, 8))
def split_and_unpack(x):
    a, b = x.chunk(2, dim=1)
    c, *rest, d = x.unbind(1)
    values, indices = x.max(dim=1)
    top = torch.topk(x, 2)
    return a + b, c + d, len(rest), values, indices, top.values, top[1]


@case(rand(3, 4))
def shapes(x):
    n, m = x.shape
    return x.reshape(m, n), x.size(0), x.size(), x.numel(), x.dim(), x.ndim, len(x)


@case(rand(3, 4))
def metadata(x):
    out = x * (2 if x.dtype == torch.float32 else 3)
    if x.is_floating_point() and x.device.type == "cpu" and not x.is_cuda:
        out = out + 1
    return out, x.dtype, x.device, x.is_contiguous(), x.stride(), x.element_size()


@case()
def creation():
    a = torch.zeros(2, 3)
    b = torch.ones(2, 3, dtype=torch.float64)
    c = torch.arange(6).reshape(2, 3)
    d = torch.full((2, 3), 7.0) + torch.tensor([1.0, 2.0, 3.0])
    return a + c, b, d, torch.eye(2), torch.linspace(0, 1, 3)


@case(rand(3, 4))
def random_numbers(x):
    return F.dropout(x, 0.5) + torch.rand(3, 4) + torch.randn_like(x)


@case(rand(3, 4))
def casts(x):
    return x.to(torch.float64), x.int(), x.half().float(), x.type(torch.int32), x.to(x)


@case(rand(2, 3, 8, 8), rand(4, 3, 3, 3))
def functional(x, w):
    y = F.conv2d(x, w, padding=1)
    y = F.max_pool2d(F.gelu(y), 2)
    y = F.layer_norm(y, y.shape[1:])
    return F.softmax(y.flatten(1), dim=-1)


@case(rand(1, 2, 5, 4))
def attention(q):
    out = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    return out.transpose(1, 2).reshape(1, 5, 8)


@case(rand(3, 4))
def no_grad_region(x):
    y = x * 2
    with torch.no_grad():
        z = y * 3
    return y + z


@case(rand(3, 4).requires_grad_())
def gradient_modes(x):
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 3
    with torch.set_grad_enabled(False):
        c = x * 4
    return a, b, c, x * 5


@case(rand(3, 4), rand(4, 3))
def autocast_region(x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ y
        with torch.autocast("cpu", enabled=False):
            b = x @ y
    return a, b, x @ y, torch.compiler.is_compiling() or True


# Control flow on Python values


@case(rand(3, 4), 3)
def branches(x, n):
    if n > 2:
        x = x + 1
    elif n < 0:
        x = x - 1
    else:
        x = x * 2
    return x if n % 2 else -x


@case(rand(3, 4), 3)
def loops(x, n):
    for i in range(n):
        if i == 1:
            continue
        x = x + i
    while n > 0:
        n -= 1
        x = x * 2
        if n == 1:
            break
    else:
        x = x + 100
    return x


@case(rand(3, 4), None)
def none_checks(x, y=None):
    if y is None:
        y = torch.ones(3, 4)
    return x + y if x is not None else y


@case(rand(3, 4))
def logic(x):
    flag = x.ndim == 2 and x.size(0) == 3 or x.size(1) > 10
    return (x if not flag else x + 1), (None or 5), ("" and 1), 1 < x.ndim <= 2


@case(rand(3, 4), "gelu")
def match_statement(x, name):
    match name:
        case "relu":
            return F.relu(x)
        case "gelu" | "silu":
            return F.gelu(x)
        case _:
            return x


@case(rand(3, 4), (1, [2, 3], {"k": 4}))
def match_structure(x, value):
    match value:
        case (a, [b, c], {"k": d}):
            return x + a + b + c + d
    return x


@case(rand(3, 4))
def walrus_and_assert(x):
    assert (n := x.shape[0]) == 3, "wrong"
    assert isinstance(x, torch.Tensor)
    return x + n


@case(rand(3, 4), 3)
def chained_comparison(x, n):
    return x if 0 < n < 5 else x + 1


# Containers


@case([rand(2), rand(2)], {"a": rand(2), "b": [rand(2)]})
def nested_arguments(items, mapping):
    return items[0] + mapping["a"], {"out": [items[1], mapping["b"][0] * 2]}


@case(rand(3))
def lists(x):
    items = [x, x + 1]
    items.append(x + 2)
    items.extend([x, x])
    items.insert(0, x * 5)
    last = items.pop()
    items[1] = last
    items += [x]
    items.reverse()
    del items[0]
    return items, len(items), items[1:3], [*items, 1], items * 2, items + [x]


@case(rand(3))
def dicts(x):
    d = {"a": x, "b": x + 1}
    d["c"] = d["a"] * 2
    d.update(e=x, f=1)
    d.setdefault("g", x)
    del d["b"]
    popped = d.pop("e")
    merged = {**d, "h": popped} | {"i": 3}
    keys = [k for k in merged.keys() if k != "a"]
    return merged, keys, list(d.values()), [(k, v) for k, v in d.items()], "a" in d


@case(rand(3))
def sets(x):
    s = {1, 2, 3}
    s.add(4)
    s.discard(1)
    total = 0
    for item in sorted(s | {9}):
        total += item
    return x + total, s & {2, 3}, 3 in s, len(s), frozenset(s) - {4}


@case(rand(3))
def tuples(x):
    t = (x, 1, (x + 1,))
    a, b, (c,) = t
    return t + (2,), t[0], t[1:], len(t), a + b + c, (1, 2).index(2), (1, 2) < (1, 3)


@case(rand(3), Point(1, 2))
def named_tuples(x, p):
    q = Point(x + p.x, y=x * p.y)
    return q, q.x, q[1], q._replace(x=x), Point(*[x, x])


@case(rand(3))
def comprehensions(x):
    squares = [x * i for i in range(3)]
    table = {str(i): x + i for i in range(2)}
    total = sum(s for s in squares)
    nested = [a + b for a in squares for b in squares if a is not b]
    return squares, table, total, nested, {i % 2 for i in range(4)}


@case(rand(3))
def unpacking_calls(x):
    def add(a, b, *rest, c=0, **named):
        return a + b + sum(rest) + c + sum(named.values())

    args, kwargs = (x, 1), {"c": 2, "d": 3}
    return add(*args, **kwargs), add(x, *[1, 2, 3]), add(*args, 5, **{"e": x})


@case(rand(3), 1, 2, 3, key=4)
def star_arguments(x, *args, **kwargs):
    return x + sum(args) + kwargs["key"], args, kwargs


@case(rand(3))
def builtins_of_python(x):
    pairs = list(zip([1, 2], [x, x], strict=True))
    indexed = [i * t for i, t in enumerate([x, x], start=1)]
    mapped = list(map(lambda t: t + 1, indexed))
    kept = list(filter(None, [0, 1, 2]))
    first = next(iter(mapped))
    order = sorted([3, 1, 2], key=lambda v: -v)
    low, high = min(3, 1, 2), max([1, 5, 2])
    return (
        pairs,
        indexed,
        mapped,
        kept,
        first,
        order,
        low,
        high,
        any([0, 1]),
        all([]),
        abs(-3),
        round(2.567, 1),
        divmod(7, 2),
        int("3"),
        float(2),
        str(5),
        bool(0),
        list(reversed([1, 2])),
        isinstance(x, torch.Tensor),
        callable(len),
        type(x),
        hasattr(x, "shape"),
        getattr(x, "nope", 7),
        pow(2, 3),
        tuple([1]),
        repr("a"),
    )


@case(rand(3))
def strings(x):
    name = "abc"
    text = f"{name!r:>6}-{x.shape[0]:03d}-{2.5:.2f}"
    return text, name.upper(), ",".join(["a", "b"]), name + "!", name[1], name in text


@case(rand(3))
def mathematics(x):
    return x * math.sqrt(x.shape[0]) + math.pi + math.floor(2.7), operator.add(x, 1)


@case(rand(3))
def iterator_tools(x):
    total = x
    for a, b in itertools.product([1, 2], [3]):
        total = total + a * b
    for item in itertools.chain([1], (2, 3)):
        total = total + item
    partial = functools.partial(torch.add, x, alpha=2)
    return total, functools.reduce(lambda a, b: a * b, [x, 2, 3]), partial(x)


@case(rand(3))
def collections_types(x):
    ordered = collections.OrderedDict(a=x, b=x + 1)
    ordered.move_to_end("a")
    grouped = collections.defaultdict(list)
    grouped["k"].append(x)
    return ordered, grouped


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


@pytest.mark.parametrize("function, args, kwargs", CASES)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)
