"""Containers and builtins, captured in one graph, against plain Python."""

import collections
import functools
import itertools
import math
import operator

import pytest
import torch
from capture_differential import Cases, check, compile_eagerly, rand

case = Cases()
Point = collections.namedtuple("Point", "x y")


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


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)


def test_sums_of_sizes():
    def program(x):
        return (2,) + x.shape, x.shape + (2,), (1, 2) + x.size(), () + x.shape[:1]

    x = torch.ones(2, 3)
    found, expected = compile_eagerly(program)(x), program(x)
    assert found == expected
    assert [type(size) for size in found] == [torch.Size] * 4
