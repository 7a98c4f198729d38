"""Calls that only a complete set of guards tells apart."""

import collections
import functools

import torch
from torch import nn

from differential.program import compiles, ints, program, rand


@program(rand(3), 1).then(rand(3), True).then(rand(3), 1.0).then(rand(3), 1 + 0j)
def equal_numbers_of_other_types(x, n):
    return x, n, type(n).__name__, n * 2


@program(rand(3), 0.0).then(rand(3), -0.0).then(rand(3), float("nan"))
def zeros_and_nan(x, f):
    return x, f, f == 0, str(f), x * f


@program(rand(3), [1, 2]).then(rand(3), (1, 2)).then(rand(3), range(1, 3))
def sequences_of_other_types(x, items):
    return x + sum(items), type(items).__name__


@program(rand(3), {"a": 1, "b": 2}).then(rand(3), {"b": 2, "a": 1})
def order_of_keys(x, table):
    return x, list(table), [x * v for v in table.values()]


@program(rand(3), {"a": 1}).then(rand(3), collections.OrderedDict(a=1))
def dicts_of_other_types(x, table):
    return x + table["a"], type(table) is dict


@program(rand(3), {"a": 1}).then(rand(3), {"a": 1, "b": 5}).then(rand(3), {"a": 2})
def only_one_key_is_read(x, table):
    return x + table["a"]


@program(rand(3), {"a": 1}).then(rand(3), {"b": 1}).then(rand(3), {})
def absent_key(x, table):
    return x + 1 if "a" in table else x - table.get("b", 7)


@program(rand(3), []).then(rand(3), [0]).then(rand(3), [0, 0])
def length_only(x, items):
    return x + len(items)


@program(rand(3), [1, "a"]).then(rand(3), [1, "b"]).then(rand(3), [2, "a"])
def items_of_a_list(x, items):
    return (x + items[0], items[1] == "a")


@program(rand(3), [1, 2, 3]).then(rand(3), [1, 5, 3])
def only_one_item_is_read(x, items):
    return x + items[0] + items[-1]


@program(rand(3), {1, 2}).then(rand(3), {1, 3}).then(rand(3), frozenset({1, 2}))
def members_of_sets(x, s):
    return x + 1 if 2 in s else x - 1


@program(rand(3), torch.relu).then(rand(3), torch.sigmoid).then(rand(3), abs)
def functions(x, f):
    return f(x)


def adder(n):
    return lambda x: x + n


@program(rand(3), adder(1)).then(rand(3), adder(2)).then(rand(3), adder(2.5))
def closures_of_one_function(x, f):
    return f(x)


def with_default(n):
    def f(x, m=n):
        return x * m

    return f


@program(rand(3), with_default(1)).then(rand(3), with_default(2))
def defaults_of_one_function(x, f):
    return f(x)


@program(rand(3), functools.partial(torch.add, alpha=2)).then(
    rand(3), functools.partial(torch.add, alpha=3)
)
def partials(x, f):
    return f(x, x)


class Scale:
    def __init__(self, n, kind="a"):
        self.n = n
        self.kind = kind

    def apply(self, x):
        return x * self.n


class Other(Scale):
    def apply(self, x):
        return x + self.n


@program(rand(3), Scale(1)).then(rand(3), Scale(2)).then(rand(3), Other(1))
def objects(x, s):
    return s.apply(x)


@(
    program(rand(3), Scale(2).apply)
    .then(rand(3), Scale(3).apply)
    .then(rand(3), Other(1).apply)
)
def bound_methods(x, f):
    return f(x)


@program(rand(3), Scale(1, "a")).then(rand(3), Scale(1, "b"))
def attribute_that_is_not_read(x, s):
    return x * s.n


@program(rand(3), int).then(rand(3), float).then(rand(3), Scale)
def classes(x, cls):
    return x, cls(2) if cls is not Scale else cls(2).n, cls.__name__


@program(rand(3), None).then(rand(3), 0).then(rand(3), False).then(rand(3), "")
def falsy_values(x, v):
    return x if v is None else (x + 1, v) if not v else x


_A, _B = Scale(1), Scale(1)


@program(rand(3), _A, _A).then(rand(3), _A, _B)
def same_object_or_not(x, a, b):
    a.n = a.n + 1
    return x * b.n


_LIST = [1]


@program(rand(3), [1], [1]).then(rand(3), _LIST, _LIST)
def same_list_or_not(x, a, b):
    a.append(2)
    return x + len(b)


_TENSOR = rand(3)


@program(_TENSOR, _TENSOR).then(_TENSOR, rand(3).clone()).then(_TENSOR, _TENSOR[:])
def same_tensor_or_not(x, y):
    x.add_(1)
    return y * 2, x is y


@(
    program(rand(4))
    .then(rand(8)[::2])
    .then(rand(4).double())
    .then(ints(4))
    .then(rand(4, 1))
)
def layouts_and_dtypes(x):
    return x * 2, x.stride(), x.dtype, x.view(-1)[0] if x.is_contiguous() else x


@program(rand(3)).then(rand(3, requires_grad=True)).then(nn.Parameter(rand(3)))
def kinds_of_tensors(x):
    return x * 2, x.requires_grad, isinstance(x, nn.Parameter), type(x).__name__


@program(rand(2)).then(rand(1)).then(rand(0)).then(rand(7)).then(rand(1))
def special_sizes(x):
    return x * x.shape[0], x.sum(), x.expand(3) if x.shape[0] == 1 else x


@program(rand(2, 2)).then(rand(2, 3)).then(rand(3, 3)).then(rand(4, 3)).then(rand(5, 5))
def equal_sizes(x):
    return x + x.t() if x.shape[0] == x.shape[1] else x


@(
    program(rand(2, 3), rand(3, 4))
    .then(rand(5, 6), rand(6, 7))
    .then(rand(5, 6), rand(5, 7))
)
def matching_sizes(x, y):
    return x @ y


@(
    program(rand(3), rand(3))
    .then(rand(4), rand(4))
    .then(rand(5), rand(1))
    .then(rand(6), rand(6))
)
def broadcast_sizes(x, y):
    return x + y


@program(rand(4)).then(rand(6)).then(rand(7)).then(rand(12)).then(rand(9))
def divisible_sizes(x):
    return x.view(-1, 3) if x.shape[0] % 3 == 0 else x.view(1, -1)


@(
    program(rand(3), 2)
    .then(rand(3), 3)
    .then(rand(3), 4)
    .then(rand(3), 0)
    .then(rand(3), -1)
)
def growing_integer(x, n):
    return x * n, n > 2, [n] * 2


@program(rand(3), 0.1).then(rand(3), 0.2).then(rand(3), 0.3).then(rand(3), float("inf"))
def changing_float(x, f):
    return x * f, f * 2, f + 1


@program(rand(3), "a").then(rand(3), "b").then(rand(3), "").then(rand(3), "a")
def strings(x, s):
    return x + len(s), s.upper(), {"a": 1}.get(s)


@program(rand(3), 1, 2).then(rand(3)).then(rand(3), 1).then(rand(3), 1, 2, 3)
def number_of_arguments(x, *args):
    return x + sum(args), len(args)


@program(rand(3), a=1).then(rand(3), b=1).then(rand(3)).then(rand(3), b=1, a=2)
def names_of_keywords(x, **kwargs):
    return x + sum(kwargs.values()), list(kwargs)


@program([rand(3)]).then([rand(3), rand(3)]).then([rand(4)]).then([])
def lists_of_tensors(items):
    return [item * 2 for item in items], len(items)


FACTOR = 2
NAMES = ["a"]


@compiles(rand(3))
def global_is_rebound(compile, x):
    global FACTOR
    f = compile(lambda v: v * FACTOR)
    first = f(x)
    FACTOR = 5
    second = f(x)
    FACTOR = torch.ones(3)
    return first, second, f(x)


@compiles(rand(3))
def global_list_is_changed(compile, x):
    f = compile(lambda v: v + len(NAMES))
    first = f(x)
    NAMES.append("b")
    return first, f(x)


def helper(x):
    return x + 1


@compiles(rand(3))
def global_function_is_replaced(compile, x):
    global helper
    f = compile(lambda v: helper(v))
    first, original = f(x), helper
    helper = torch.neg
    try:
        return first, f(x)
    finally:
        helper = original


@compiles(rand(3))
def code_of_a_function_is_replaced(compile, x):
    def inner(v):
        return v + 1

    f = compile(lambda v: inner(v))
    first = f(x)
    inner.__code__ = (lambda v: v * 3).__code__
    return first, f(x)


@compiles(rand(3))
def default_is_replaced(compile, x):
    def inner(v, n=1):
        return v * n

    f = compile(inner)
    first = f(x)
    inner.__defaults__ = (4,)
    return first, f(x)


@compiles(rand(3))
def cell_is_changed(compile, x):
    n = 1
    f = compile(lambda v: v * n)
    first = f(x)
    n = 3
    second = f(x)
    n = "ab"
    return first, second, compile(lambda v: (v, n))(x)


@compiles(rand(3))
def method_of_a_class_is_replaced(compile, x):
    class Local:
        def apply(self, v):
            return v + 1

    local = Local()
    f = compile(lambda v: local.apply(v))
    first = f(x)
    Local.apply = lambda self, v: v * 7
    second = f(x)
    local.apply = lambda v: v * 0
    return first, second, f(x)


@compiles(rand(3))
def class_attribute_is_replaced(compile, x):
    class Local:
        n = 1

    local = Local()
    f = compile(lambda v: v * local.n)
    first = f(x)
    Local.n = 2
    second = f(x)
    local.n = 3
    third = f(x)
    del local.n
    return first, second, third, f(x)


@compiles(rand(3))
def class_of_an_object_is_replaced(compile, x):
    a = Scale(3)
    f = compile(lambda v: a.apply(v))
    first = f(x)
    a.__class__ = Other
    return first, f(x)


@compiles(rand(3))
def base_class_is_changed(compile, x):
    class Base:
        pass

    class Local(Base):
        pass

    local = Local()
    f = compile(lambda v: v + getattr(local, "n", 1))
    first = f(x)
    Base.n = 10
    return first, f(x)


@compiles(rand(2, 3))
def modules_change_between_calls(compile, x):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
    f = compile(lambda v: net(v))
    net.eval()
    results = [f(x)]
    net[0].weight = nn.Parameter(torch.ones(3, 3))
    results.append(f(x))
    net[1] = nn.ReLU()
    results.append(f(x))
    net.append(nn.Tanh())
    results.append(f(x))
    net[0].bias = None
    results.append(f(x))
    net[0].register_forward_hook(lambda module, args, out: out + 1)
    return [*results, f(x)]


@compiles(rand(2, 3))
def parameters_change_between_calls(compile, x):
    net = nn.Linear(3, 2, bias=False)
    f = compile(lambda v: net(v))
    results = []
    with torch.no_grad():
        for factor in range(3):
            net.weight.fill_(factor)
            results.append(f(x))
    net.double()
    results.append(f(x.double()))
    net.weight.requires_grad_(False)
    return [*results, f(x.double())]


@compiles(rand(3))
def objects_change_between_calls(compile, x):
    box = Scale(1)
    f = compile(lambda v: box.apply(v) if hasattr(box, "n") else v)
    results = [f(x)]
    box.n = 2.5
    results.append(f(x))
    box.n = torch.ones(3) * 4
    results.append(f(x))
    box.apply = torch.neg
    results.append(f(x))
    del box.n
    return [*results, f(x)]


@compiles(rand(3))
def lists_change_between_calls(compile, x):
    items = [1]
    f = compile(lambda v: v * sum(items))
    results = [f(x)]
    items.append(2)
    results.append(f(x))
    items[0] = 10
    results.append(f(x))
    items.clear()
    return [*results, f(x)]
