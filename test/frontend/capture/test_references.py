"""Reference counts: each path through the C files gives back what it took.

Under a debug build of CPython (``make test-debug``) all references are counted, else
those of the objects that pass through.
"""

import gc
import sys
from collections import deque

import pytest

from girih.frontend.capture import _frame
from girih.frontend.capture.guard import GuardSet, GuardTree
from girih.frontend.capture.source import Roots

CALLS = 300


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Unusual:
    """Comparisons and attributes of it raise."""

    __hash__ = None

    def __eq__(self, other):
        raise ZeroDivisionError

    @property
    def broken(self):
        raise ZeroDivisionError


def assert_balanced(function, *objects):
    """Calls a function often; the counts of all references stay as they were."""
    total = getattr(sys, "gettotalrefcount", lambda: 0)
    for _ in range(5):
        function()
    gc.collect()
    counts, before = [sys.getrefcount(thing) for thing in objects], total()
    for _ in range(CALLS):
        function()
    assert [sys.getrefcount(thing) for thing in objects] == counts
    assert total() - before < CALLS


def entry(result=None, *, names=("a", "b"), guards=(), single=-1, call=None):
    roots, found = Roots(names), GuardSet()
    for make in guards:
        found.add(*make(roots))
    slots = [roots.local(index) for index in range(len(names))]
    tree = GuardTree(found, slots).build(0, None, None, None)
    return _frame.Entry(tree, call or (lambda *slots: result), single)


def dispatcher(function, *entries, miss=None, admit=None):
    made = _frame.Dispatcher(function, miss or (lambda *given: None), admit)
    made.entries.extend(entries)
    return made


def two(a, b=2, *rest, key=3, **named):
    return a


NAMES = ("a", "b", "key", "rest", "named")


@pytest.mark.parametrize(
    "guard",
    [
        lambda roots: (roots.local(0), "type", Thing),
        lambda roots: (roots.local(0).in_instance("items").index(0), "equals", 1),
        lambda roots: (roots.local(0).in_instance("items"), "length", 9),
        lambda roots: (roots.local(0).in_instance("missing"), "is", None),
        lambda roots: (roots.local(0).attribute("broken"), "is", None),
        lambda roots: (roots.local(0).in_instance("odd"), "equals", Unusual()),
        lambda roots: (roots.local(0).in_instance("table"), "contains", Unusual()),
        lambda roots: (roots.local(0).in_instance("table"), "keys", ("k",)),
        lambda roots: (roots.local(0).in_instance("table").dict_item("k"), "is", 5),
        lambda roots: (roots.local(0), "call", lambda value: 1 / 0),
        lambda roots: (roots.local(1), "distinct", roots.local(0)),
        lambda roots: (
            roots.local(1),
            "all_distinct",
            (roots.local(1), roots.local(0)),
        ),
        lambda roots: (roots.local(1), "same_as", roots.local(0)),
    ],
)
def test_guards(guard):
    thing = Thing(items=[1, 2], table={"k": 1}, odd=Unusual())
    roots = Roots(("a", "b"))
    found = GuardSet()
    found.add(*guard(roots))
    guards = GuardTree(found, [roots.local(0)]).build(0, None, None, None)
    values = (thing, thing.items)
    assert_balanced(
        lambda: guards.check(two, values), thing, thing.items, thing.table, guards
    )


CALLS_OF_TWO = {
    "positional": ((1, 2), {}),
    "default": ((1,), {}),
    "keywords": ((1,), {"key": 4, "b": 5}),
    "rest": ((1, 2, 3, 4), {"other": 5}),
    "missing": ((), {}),
    "twice": ((1, 2), {"a": 3}),
}


@pytest.mark.parametrize("call", CALLS_OF_TWO.values(), ids=CALLS_OF_TWO)
@pytest.mark.parametrize("with_entry", [True, False])
def test_binding(call, with_entry):
    result = object()
    entries = [entry(result, names=NAMES)] if with_entry else []
    compiled = dispatcher(two, *entries)
    args, kwargs = call

    def run():
        try:
            compiled(*args, **kwargs)
        except TypeError:
            pass

    assert_balanced(run, result, compiled, two)


def test_results_of_entries():
    item = object()
    for result in ((item, 1), [item, 1], deque([item, 1])):
        compiled = dispatcher(lambda a, b: a, entry(result, single=0))
        assert compiled(1, 2) is item
        assert_balanced(lambda f=compiled: f(1, 2), item, result, compiled)


def test_failing_entries():
    def fails(*slots):
        raise ZeroDivisionError

    other = entry(1, guards=[lambda roots: (roots.local(0), "equals", "never")])
    for entries in ([entry(call=fails)], [other, entry(call=fails)], [other]):
        compiled = dispatcher(lambda a, b: a, *entries)

        def run(compiled=compiled):
            try:
                compiled("a", "b")
            except ZeroDivisionError:
                pass

        assert_balanced(run, compiled, entries[0])


def test_entries_change_places():
    is_int = entry(1, guards=[lambda roots: (roots.local(0), "type", int)])
    is_str = entry(2, guards=[lambda roots: (roots.local(0), "type", str)])
    compiled = dispatcher(lambda a, b: a, is_int, is_str)

    def run():
        assert (compiled(1, 0), compiled("a", 0)) == (1, 2)

    assert_balanced(run, is_int, is_str, compiled)


def test_misses():
    def fails(*given):
        raise ZeroDivisionError

    fresh = entry(7)
    for miss in (fails, lambda *given: fresh, lambda *given: None):
        compiled = dispatcher(lambda a, b: a, miss=miss)

        def run(compiled=compiled):
            try:
                compiled("a", "b")
            except ZeroDivisionError:
                pass

        assert_balanced(run, fresh, compiled, miss)


def test_tails():
    argument = object()

    def last(value, other):
        return value

    def step(value):
        return _frame.Tail(last, (value, 1), True)

    for call in (
        lambda *slots: _frame.Tail(step, (argument,), True),
        lambda *slots: _frame.Tail(step, (argument,), False),
        lambda *slots: _frame.Tail(last, (1,), True),
    ):
        compiled = dispatcher(
            lambda a, b: a, entry(call=call), admit=lambda function: None
        )

        def run(compiled=compiled):
            try:
                assert compiled(1, 2) is argument
            except SystemError:
                pass

        assert_balanced(run, argument, compiled, last, step)


def test_a_tail_runs_once():
    tail = _frame.Tail(lambda value: value, (1,), True)
    compiled = dispatcher(
        lambda a, b: a, entry(call=lambda *slots: tail), admit=lambda function: None
    )
    assert compiled(1, 2) == 1
    with pytest.raises(SystemError, match="girih bug"):
        compiled(1, 2)
