"""Objects that nobody follows: passed on, compared, asked for their type."""

import array
import io
import threading

import pytest
import torch

import girih
from girih.errors import UnsupportedError


class Tagged(torch.Tensor):
    pass


def _generator():
    yield 1


OBJECTS = {
    "lock": threading.Lock,
    "file": io.StringIO,
    "iterator": lambda: iter([1, 2]),
    "generator": _generator,
    "exception": lambda: ValueError(3),
    "subclass": lambda: torch.ones(3).as_subclass(Tagged),
    "sparse": lambda: torch.eye(2).to_sparse(),
    "array": lambda: array.array("i", [1]),
    "random": torch.Generator,
    "method": lambda: [].append,
    "proxy": lambda: vars(Tagged),
}


def passes(x, value):
    """Everything that can be done to one without a break."""
    asked = value is None, type(value).__name__, isinstance(value, torch.Tensor)
    return x + 1, [value], {"a": value}, asked, callable(value)


def captured(function, *args):
    """What a function gives, captured in one graph."""
    return girih.compile(function, backend="eager", fullgraph=True)(*args)


@pytest.mark.parametrize("name", OBJECTS)
def test_is_passed_on(name):
    value = OBJECTS[name]()
    result, items, table, asked, is_callable = captured(passes, torch.ones(2), value)
    assert torch.equal(result, torch.full((2,), 2.0))
    assert items[0] is value and table["a"] is value
    assert asked == (False, type(value).__name__, isinstance(value, torch.Tensor))
    assert is_callable is callable(value)


@pytest.mark.parametrize("name", OBJECTS)
def test_one_entry_serves_all_of_a_type(name):
    calls = []

    def backend(graph, inputs):
        calls.append(graph)
        return graph.forward

    compiled = girih.compile(passes, backend=backend, fullgraph=True)
    for _ in range(3):
        compiled(torch.ones(2), OBJECTS[name]())
    assert len(calls) == 1


def test_identity_is_guarded():
    def function(x, first, second):
        return x + 1, first is second, first == second

    compiled = girih.compile(function, backend="eager", fullgraph=True)
    x, one, two = torch.ones(2), threading.Lock(), threading.Lock()
    for first, second in ((one, one), (one, two), (two, two), (two, one)):
        assert compiled(x, first, second)[1:] == (first is second,) * 2


@pytest.mark.parametrize(
    "use",
    [
        lambda x, v: x + next(v[0]),
        lambda x, v: [x + i for i in v[0]],
        lambda x, v: (x, v[1] == v[2]),
        lambda x, v: x + len(v[1]),
        lambda x, v: x + v[1][0],
        lambda x, v: x + v[3],
        lambda x, v: (x, v[4].acquire()),
        lambda x, v: (x, v[1] + v[2]),
        lambda x, v: (x, 1 in v[1]),
    ],
)
def test_other_uses_are_breaks(use):
    def values():
        return (
            iter([1, 2]),
            array.array("i", [1]),
            array.array("i", [1]),
            torch.ones(2).as_subclass(Tagged),
            threading.Lock(),
        )

    x = torch.ones(2)
    with pytest.raises(UnsupportedError):
        captured(use, x, values())
    found = girih.compile(use, backend="eager")(x, values())
    torch.testing.assert_close(found, use(x, values()))


def test_a_bound_builtin_method_of_an_argument():
    items = []

    def function(x, append):
        append(x.shape[0])
        return x + 1

    compiled = girih.compile(function, backend="eager", fullgraph=True)
    compiled(torch.ones(2), items.append)
    compiled(torch.ones(2), items.append)
    assert items == [2, 2]
