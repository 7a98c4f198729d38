"""What is said of a guard that did not hold, which asks nothing of the program."""

import collections
import types
import weakref

import pytest
import torch
from capture_differential import compile_eagerly

from girih.frontend.capture.class_facts import ClassFacts
from girih.frontend.capture.failures import differ, failure_of
from girih.frontend.capture.guard import GuardSet, GuardTree
from girih.frontend.capture.source import Roots


class Thing:
    inner = None


def guards_of(*records):
    guards = GuardSet()
    for record in records:
        guards.add(*record)
    tree = GuardTree(guards, [])
    return tree, tree.build(0, None, None, None)


@pytest.fixture
def roots():
    return Roots(("a", "b"))


def holds(guards, *values):
    return guards.check(holds, values) is not None


class Watched:
    """It notes what is asked of it."""

    def __init__(self):
        self.asked = []

    def __getattr__(self, name):
        self.asked.append(name)
        return 1

    def __len__(self):
        self.asked.append("__len__")
        return 2

    def __iter__(self):
        self.asked.append("__iter__")
        return iter(())

    def __getitem__(self, key):
        self.asked.append("__getitem__")
        return 1

    def __contains__(self, key):
        return True


class Raising:
    __len__ = __iter__ = __getitem__ = __contains__ = __eq__ = __hash__ = __repr__ = (
        lambda self, *rest: 1 / 0
    )


class WatchedList(Watched, list):
    pass


KINDS = (
    *(("type", list), ("is", None), ("equals", 3), ("equals", "text")),
    *(("equals", 1.5), ("length", 2), ("keys", ("x",)), ("keys", ())),
    *(("contains", "x"), ("absent", "x"), ("call", callable), ("empty_cell", None)),
    *(("code", (lambda: None).__code__), ("exists", None)),
)
VALUES = {
    "None": lambda: None,
    "int": lambda: 4,
    "float": lambda: float("nan"),
    "str": lambda: "ab",
    "list": lambda: [1],
    "tuple": lambda: (1, 2, 3),
    "dict": lambda: {"y": 1},
    "defaultdict": lambda: collections.defaultdict(int),
    "set": lambda: {1},
    "iterator": lambda: iter([1, 2]),
    "class": lambda: Thing,
    "function": lambda: guards_of,
    "cell": lambda: types.CellType(1),
    "reference": lambda: weakref.ref(Thing),
    "tensor": lambda: torch.ones(3),
    "object": object,
    "raising object": Raising,
    "module": torch.nn.Module,
}
PATHS = {
    "itself": lambda source: source,
    "attribute": lambda source: source.attribute("x"),
    "dict": lambda source: source.in_instance("x"),
    "dict item": lambda source: source.dict_item("x"),
    "index": lambda source: source.index(1),
    "item": lambda source: source.item("x"),
    "cell": lambda source: source.cell(),
    "closure": lambda source: source.closure(0),
    "referent": lambda source: source.referent(),
    "key_at": lambda source: source.key_at(0),
    "value_at": lambda source: source.value_at(0),
    "type": lambda source: source.type().type_lookup("x"),
}


def failed(tree, guards, *values):
    """What is said of a walk that has failed."""
    entry = types.SimpleNamespace(guards=guards)
    captured = types.SimpleNamespace(tree=tree, entry=entry)
    return failure_of(captured, holds, values)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]} {kind[1]}"[:20])
def test_every_guard_fails_at_values_of_every_kind(roots, path, kind):
    tree, guards = guards_of((PATHS[path](roots.local(0)), *kind))
    for make in VALUES.values():
        value = make()
        hold = holds(guards, value, None)
        if not hold:
            assert str(failed(tree, guards, value, None))
        if kind[0] in ("equals", "length", "keys"):
            assert differ(tree, tree.records, holds, (value, None)) is not hold, value
        if isinstance(value, collections.defaultdict) and path != "item":
            assert not value
        if isinstance(value, collections.abc.Iterator) and kind[1] != "x":
            assert list(value) == [1, 2]


@pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)
def test_a_class_that_changed_is_told_of_any_value(roots, make):
    facts = ClassFacts(type, {"inner": 1})
    tree, guards = guards_of((roots.local(0), "class", facts))
    value = make()
    if not holds(guards, value, None):
        assert str(failed(tree, guards, value, None))


@pytest.mark.parametrize("kind", [("equals", 1), ("length", 2), ("keys", ())])
@pytest.mark.parametrize("path", [p for p in PATHS if p != "type"])
@pytest.mark.parametrize("cls", [Watched, WatchedList])
def test_no_guard_asks_values_of_another_type(roots, cls, path, kind):
    source = PATHS[path](roots.local(0))
    records = [(roots.local(0), "type", Thing), (source, *kind)]
    if path == "itself" and kind[0] == "equals":
        records = records[1:]
    tree, guards = guards_of(*records)
    value = cls()
    assert not holds(guards, value, None)
    failed(tree, guards, value, None)
    differ(tree, tree.records[-1:], holds, (value, None))
    assert value.asked == []


def test_a_nan_does_not_differ_from_itself(roots):
    tree, _ = guards_of((roots.local(0), "equals", float("nan")))
    assert not differ(tree, tree.records, holds, (float("nan"), None))


# Whole captures


def length_of(x, d):
    return x if d is None else x * len(d)


def first_of(x, d):
    return x * d[0] if isinstance(d, list) else x


def keys_of(x, d):
    return x if d is None else x * sum(len(key) for key in d.keys())


def truth_of(x, d):
    return x * sum(d.values()) if d else x


def matched(x, d):
    match d:
        case [a, b]:
            return x * a + b
        case {"a": a}:
            return x * a
    return x + 1


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize(
    ("function", "values"),
    [
        (length_of, [[1, 2], None, {}, (1,), "ab", {"a": 1}, {1, 2}, None]),
        (first_of, [[7], [8], None, collections.UserList([1]), 3, (9,)]),
        (keys_of, [{"a": 1}, None, collections.OrderedDict(b=1), {}, None]),
        (
            truth_of,
            [{"a": 2}, {}, {"a": 1, "b": 2}, None, 0, "", collections.Counter()],
        ),
        (matched, [3, [2, 2], None, {"a": 1}, {}, "ab", (4, 5), 2.5]),
    ],
)
def test_an_argument_of_another_type_at_each_call(function, values, dynamic):
    compiled = compile_eagerly(function, dynamic=dynamic)
    for value in values:
        for size in (2, 3):
            x = torch.ones(size)
            assert torch.equal(compiled(x, value), function(x, value)), value


def test_a_recompilation_adds_no_key_to_a_defaultdict():
    def f(x, d):
        return x * (d["a"] if "a" in d else len(d))

    compiled = compile_eagerly(f)
    empty = collections.defaultdict(int)
    for value in ({"a": 1}, {"a": 2}, empty):
        compiled(torch.ones(2), value)
    assert not empty
