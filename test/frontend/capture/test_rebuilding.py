"""Objects that were made while tracing come out as the real ones."""

import collections
import functools
import importlib
import pkgutil

import torch

import girih
from girih.frontend.capture import values
from girih.frontend.capture.rebuilding.families import writer_of
from girih.frontend.capture.values.base import Value


def captured(function, *args):
    """What a function gives, captured in one graph."""
    return girih.compile(function, backend="eager", fullgraph=True)(*args)


X = torch.ones(3)


def test_a_tuple_that_holds_itself():
    def through_tuple(x):
        made = ([], x + 1)
        made[0].append(made)
        return made

    def through_list(x):
        made = [x + 1]
        made.append(made)
        return (made,)

    first, second = captured(through_tuple, X), captured(through_list, X)
    assert first[0][0] is first and torch.equal(first[1], X + 1)
    assert second[0][1] is second[0]


def test_a_shared_object_stays_one():
    Pair = collections.namedtuple("Pair", "first second")

    def function(x):
        plain, named, part = (x + 1,), Pair(x, 1), slice(1, None)
        return [plain, plain, named, named, part, part], {1: plain}

    items, table = captured(function, X)
    assert items[0] is items[1] is table[1]
    assert items[2] is items[3] and items[2].first is X
    assert items[4] is items[5]


def test_a_function_in_its_own_closure():
    def function(x):
        def inner(n):
            return x if n == 0 else inner(n - 1) + 1

        inner.tag = inner
        return inner, inner(2)

    inner, result = captured(function, X)
    assert inner.tag is inner and inner.__closure__[0].cell_contents is inner
    assert torch.equal(result, X + 2) and torch.equal(inner(3), X + 3)


class Slotted:
    __slots__ = ("first", "second")


class SlottedAndMore(Slotted):
    pass


class Items(list):
    pass


class Row(tuple):
    pass


class Count(int):
    def twice(self):
        return self * 2


class Name(str):
    __slots__ = ()


class Fixed(frozenset):
    pass


class Increasing(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key, value + 1)


def test_slots_and_attributes():
    def function(x):
        made = SlottedAndMore()
        made.first, made.other = x + 1, made
        return made

    made = captured(function, X)
    assert made.other is made and "first" not in made.__dict__
    assert torch.equal(made.first, X + 1) and not hasattr(made, "second")


def test_subclasses_of_builtin_classes_that_hold_themselves():
    def function(x):
        items = Items([x + 1])
        items.append(items)
        row = Row((items, x))
        items.row = row
        return items, row

    items, row = captured(function, X)
    assert type(items) is Items and items[1] is items and items.row is row
    assert type(row) is Row and row[0] is items


def test_subclasses_with_a_constant_part():
    def function(x, count, name):
        made = Count(5)
        texts = name.upper() + "a", "b" + name, f"{name} {count}", {name: 1}["n"]
        numbers = made.twice(), -count, 2**count, count + made, count == 3
        return x * count, texts, numbers, made, Name("c"), Fixed([1])

    args = (X, Count(3), Name("n"))
    found, expected = captured(function, *args), function(*args)
    assert torch.equal(found[0], expected[0]) and found[1:] == expected[1:]
    assert [type(item) for item in found] == [type(item) for item in expected]
    changed = captured(function, X, Count(4), Name("n"))
    assert torch.equal(changed[0], X * 4)


def test_changes_go_past_overrides():
    def function(x, table, items):
        table["b"] = 1
        items.append(x.shape[0])
        return x + 1

    results = []
    for run in (captured, lambda f, *args: f(*args)):
        table, items = Increasing(a=1), Items([1])
        run(function, X, table, items)
        results.append((dict(table), list(items)))
    assert results[0] == results[1] == ({"a": 1, "b": 2}, [1, 3])


class Owner:
    def method(self):
        return 1

    def parent(self):
        return super()


def test_methods_and_views():
    def function(x):
        owner = Owner()
        method = owner.method
        partial = functools.partial(method, 1)
        table = {"a": x}
        return method, method, owner.parent(), partial, table.keys(), table, owner

    method, again, parent, partial, keys, table, owner = captured(function, X)
    assert method is again is partial.func and method.__self__ is owner
    assert parent.__self__ is owner and parent.__thisclass__ is Owner
    table["b"] = 2
    assert list(keys) == ["a", "b"]


def test_arguments_come_back_as_they_are():
    partial, part, items = functools.partial(print, 1), slice(1, 2), Items()

    def function(x, *rest):
        return x + 1, *rest

    rest = captured(function, X, partial, part, items, (1, 2))[1:]
    assert rest[0] is partial and rest[1] is part and rest[2] is items


# Values that are no objects, that are parts of others, or that have a source always.
WITHOUT_WRITER = {
    "GroupIterator": "a group of groupby() ends with its parent's next step",
    "IteratorValue": "abstract",
    "Null": "the NULL beside a callable",
    "OutsideValue": "is fetched from its source",
    "PullValue": "holds what only torch.func.vjp can make",
    "PreviousException": "a slot of the stack",
    "SequenceValue": "abstract",
    "SpecialMethods": "abstract",
    "TracebackValue": "only Python makes tracebacks",
    "WeakReferenceValue": "is fetched from its source",
}


def test_every_value_can_be_rebuilt():
    for module in pkgutil.walk_packages(values.__path__, f"{values.__name__}."):
        importlib.import_module(module.name)
    waiting, found = [Value], set()
    while waiting:
        waiting += (classes := waiting.pop().__subclasses__())
        found.update(classes)
    without = {cls.__name__ for cls in found if writer_of(cls.__new__(cls)) is None}
    assert without == set(WITHOUT_WRITER)
