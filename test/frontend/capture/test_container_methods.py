"""Every method of builtin containers, with few and many arguments, against Python."""

import itertools
from collections import OrderedDict, deque
from copy import deepcopy

import pytest
import torch

import girih

CONTAINERS = {
    "list": [1, 2, 1, 3],
    "tuple": (1, 2, 1, 3),
    "deque": deque([1, 2, 1, 3]),
    "short deque": deque([1, 2, 1], maxlen=3),
    "str": "hello, world",
    "bytes": b"hello, world",
    "range": range(1, 9, 2),
    "dict": {1: 2, 3: "b", "l": 4},
    "OrderedDict": OrderedDict([(1, 2), (3, "b")]),
    "set": {1, 2, 3},
    "frozenset": frozenset({1, 2, 3}),
}
# A copy is another object, whose order of elements may be another one.
SKIPPED = {"__class__", "format", "format_map", "copy"}
NUMBERS = [1, 0, -1, 2, 100]
OTHERS = {"str": ["l", "o", "lo", ""], "bytes": [b"l", b"lo", 111]}
OTHERS |= {"set": [{1, 5}, [2]], "frozenset": [{1, 5}, [2]]}
OTHERS |= {"list": [[7, 8]], "deque": [[7, 8]], "dict": ["l", {1: 5}, None]}


def _arguments(kind):
    pool = [*OTHERS.get(kind.removeprefix("short "), []), *NUMBERS]
    yield from ([], *([one] for one in pool))
    yield from map(list, itertools.product(pool[:5], NUMBERS[:4]))
    yield from ([pool[0], start, stop] for start in (0, 1, -2) for stop in (0, 2, 9))
    yield [pool[0], 1, 2, 3]


def _cases():
    for kind, container in CONTAINERS.items():
        for name in dir(container):
            if not name.startswith("_") and name not in SKIPPED:
                if callable(getattr(container, name)):
                    yield kind, name


@pytest.mark.parametrize(("kind", "name"), list(_cases()))
def test_method(kind, name):
    calls = list(_arguments(kind))
    source = f"""
def program(x, container, calls):
    results = []
    for own, given in calls:
        try:
            result = own.{name}(*given)
        except Exception as error:
            result = type(error), str(error)
        results.append((result, own))
    return x + 1, results
"""
    scope = {}
    exec(compile(source, __file__, "exec"), scope)
    program, container = scope["program"], CONTAINERS[kind]
    for part in (calls[: len(calls) // 2], calls[len(calls) // 2 :]):
        found = []
        for function in (girih.compile(program), program):
            given = [(deepcopy(container), deepcopy(each)) for each in part]
            _, results = function(torch.ones(1), container, given)
            found.append([(_shown(result), own) for result, own in results])
        for each, got, expected in zip(part, *found, strict=True):
            assert _text(got) == _text(expected), each


def _shown(result):
    """Iterators and views by what they give."""
    is_iterator = hasattr(result, "__next__") or type(result).__name__.endswith(
        ("keys", "values", "items")
    )
    return list(result) if is_iterator else result


def _text(value):
    return f"{value!r} {type(value)}"
