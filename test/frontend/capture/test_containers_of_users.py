"""Containers whose classes override ``__len__`` and ``__contains__``.

The methods run as often as in Python, whatever capture reads of the container for its
guards and graphs.
"""

from collections import OrderedDict, deque

import pytest
from capture_differential import compile_eagerly, rand


def counting(base):
    """A class derived from ``base`` that notes what was called."""

    class Counting(base):
        def __init__(self, *args):
            self.calls = []

        def __len__(self):
            self.calls.append("len")
            return base.__len__(self)

        def __contains__(self, item):
            self.calls.append("in")
            return base.__contains__(self, item)

    return Counting


def made_of(cls):
    made = cls([1, 3])
    if issubclass(cls, dict):
        made.update({1: 2, 3: 4})
    elif issubclass(cls, (list, deque)):
        made.extend([1, 3])
    elif issubclass(cls, set):
        made.update([1, 3])
    return made


CLASSES = {
    base.__name__: counting(base)
    for base in (dict, OrderedDict, set, frozenset, list, tuple, deque)
}
USES = {
    "len": len,
    "len by name": lambda c: c.__len__(),
    "in": lambda c: (1 in c, 7 in c),
    "in by name": lambda c: c.__contains__(1),
    "truth": lambda c: 1 if c else 0,
    "list": list,
    "tuple": tuple,
    "sorted": sorted,
    "sum": sum,
    "for": lambda c: [item for item in c],
    "star": lambda c: max(*c),
    "star in a list": lambda c: [0, *c],
    "extend": lambda c: [0].extend(c),
    "zip": lambda c: list(zip(c, c, strict=True)),
    "enumerate": lambda c: list(enumerate(c)),
    "set": lambda c: set(c),
    "deque": lambda c: list(deque(c)),
    "equal": lambda c: c == c,
}
OF_ONE_KIND = {
    "keys": (dict, lambda c: (len(c.keys()), 1 in c.keys())),
    "items": (dict, lambda c: list(c.items())),
    "pop": (set, lambda c: c.pop() in (1, 3)),
    "union": (set, lambda c: sorted(c | {5})),
    "difference": (frozenset, lambda c: sorted(c.difference([1]))),
    "subset": (frozenset, lambda c: (c.issubset([1, 3]), c.isdisjoint([3]))),
    "add": (set, lambda c: c.add(9)),
    "reversed": (tuple, lambda c: list(reversed(c))),
    "next of reversed": (tuple, lambda c: next(reversed(c))),
    "reversed list": (list, lambda c: list(reversed(c))),
    "index": (list, lambda c: (c.index(3), c.count(1), c[-1])),
}


def assert_as_often(use, cls, is_outside):
    def program(x, given):
        container = given if is_outside else made_of(cls)
        return x + 1, use(container), list(container.calls)

    # The methods of deques break a graph.
    compiled = compile_eagerly(program, fullgraph=not issubclass(cls, deque))
    for _ in range(3):
        mine, theirs = made_of(cls), made_of(cls)
        assert compiled(rand(3), mine)[1:] == program(rand(3), theirs)[1:]
        assert mine.calls == theirs.calls


@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("base", CLASSES)
def test_methods_of_containers_from_outside(base, name):
    assert_as_often(USES[name], CLASSES[base], is_outside=True)


@pytest.mark.parametrize("is_outside", [False, True], ids=["made", "argument"])
@pytest.mark.parametrize("name", OF_ONE_KIND)
def test_methods_of_one_kind(name, is_outside):
    base, use = OF_ONE_KIND[name]
    assert_as_often(use, CLASSES[base.__name__], is_outside)
