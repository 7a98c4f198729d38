"""Functions that read all items of an iterable take iterators as they take lists."""

import collections
import itertools
import math
import operator
import statistics

import pytest
import torch

import girih

X = torch.arange(1.0, 4.0)


def yielding(items):
    yield from items


ITERABLES = {
    "expression": lambda items: (item for item in items),
    "generator": yielding,
    "zip": lambda items: (one for one, _ in zip(items, items, strict=True)),
    "map": lambda items: map(int, items),
    "filter": lambda items: filter(None, items),
    "enumerate": lambda items: (item for _, item in enumerate(items)),
    "keys": lambda items: dict.fromkeys(items).keys(),
    "values": lambda items: dict(enumerate(items)).values(),
    "dict": dict.fromkeys,
    "set": set,
    "deque": collections.deque,
    "iterator": iter,
    "reversed": reversed,
    "chain": lambda items: itertools.chain(items, items),
    "list": list,
}
CONSUMERS = {
    "prod": math.prod,
    "prod, start": lambda items: math.prod(items, start=0.5),
    "fsum": math.fsum,
    "fmean": statistics.fmean,
    "dist": lambda items: math.dist(items, (2, 1, 5)),
    "bytes": lambda items: len(bytes(items)),
    "from_bytes": lambda items: int.from_bytes(items, "big"),
    "OrderedDict": lambda items: list(collections.OrderedDict.fromkeys(items, 2)),
    "defaultdict": lambda items: list(collections.defaultdict.fromkeys(items)),
}


def result_of(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("make", ITERABLES.values(), ids=ITERABLES)
@pytest.mark.parametrize("consume", CONSUMERS.values(), ids=CONSUMERS)
def test_an_iterable_is_consumed_in_the_graph(consume, make):
    def function(x, items):
        return x + 1, consume(make(items))

    expected = result_of(function, X, (1, 2, 3))
    compiled = girih.compile(function, backend="eager", fullgraph=True)
    assert repr(result_of(compiled, X, (1, 2, 3))) == repr(expected)


ITEMS = {
    "a text": (1, "a", 2),
    "overflow": (1e308, 1e308, -1e308),
    "infinities": (math.inf, -math.inf),
    "floats": (1.5, -0.0, True),
    "a large int": (2**70, 2.5),
    "too large for a float": (10**400, 2.5),
    "too large for a byte": (300,),
    "nothing": (),
    "a number": 5,
}


@pytest.mark.parametrize("items", ITEMS.values(), ids=ITEMS)
@pytest.mark.parametrize("consume", CONSUMERS.values(), ids=CONSUMERS)
def test_items_are_taken_until_one_is_refused(consume, items):
    def function(x, items):
        taken = []
        given = items if items == 5 else (taken.append(i) or i for i in items)
        try:
            made = consume(given)
        except (TypeError, ValueError, OverflowError) as error:
            made = str(error)
        return x + 1, made, taken

    compiled = girih.compile(function, backend="eager", fullgraph=True)
    assert repr(compiled(X, items)) == repr(function(X, items))


@pytest.mark.parametrize("name", ["prod", "fsum", "bytes", "from_bytes", "OrderedDict"])
def test_what_the_generator_raises_comes_through(name):
    def raising(items):
        yield from items
        raise KeyError("failed")

    def function(x, items):
        try:
            CONSUMERS[name](raising(items))
        except KeyError as error:
            return x + 1, error.args

    compiled = girih.compile(function, backend="eager", fullgraph=True)
    assert repr(compiled(X, (1, 2))) == repr(function(X, (1, 2)))


def test_an_item_that_is_not_known_breaks_once_and_nothing_is_taken_twice():
    def function(x, items):
        taken = []
        total = math.fsum(taken.append(i) or i for i in (*items, x.sum()))
        return x + total, taken[:2], len(taken)

    compiled = girih.compile(function, backend="eager")
    with torch.no_grad():
        assert repr(compiled(X, (1, 2))) == repr(function(X, (1, 2)))


def test_products_of_sizes_and_tensors_stay_in_the_graph():
    def function(x):
        sizes = math.prod(size for size in x.shape)
        return x * sizes, math.prod(x.shape[1:]), math.prod(x), math.prod(iter([x, 2]))

    compiled = girih.compile(function, backend="eager", fullgraph=True, dynamic=True)
    girih.reset()
    for rows in (3, 5, 9):
        x = torch.rand(rows, 2)
        assert repr(compiled(x)) == repr(function(x))
    assert girih.counters()["recompilations"] <= 2  # `math.prod(x)` counts the rows
    sized = girih.compile(
        lambda x: x.reshape(math.prod(size for size in x.shape)) * math.prod(x.shape),
        backend="eager",
        fullgraph=True,
        dynamic=True,
    )
    girih.reset()
    for rows in (3, 5, 9):
        x = torch.rand(rows, 2)
        torch.testing.assert_close(sized(x), x.flatten() * x.numel())
    assert girih.counters()["recompilations"] == 0


def test_the_order_of_a_product_is_that_of_python():
    compiled = girih.compile(
        lambda x, items: (x, math.prod(iter(items)), operator.mul(*items[:2])),
        backend="eager",
        fullgraph=True,
    )
    items = (0.1, 3, 0.7, 2**60, 1e-9)
    assert compiled(X, items)[1] == math.prod(items)
