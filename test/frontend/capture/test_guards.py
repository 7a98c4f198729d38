"""Guards: the C tree on its own, and how guards print."""

import gc

import numpy
import pytest
import torch
from capture_differential import compile_eagerly

from girih.frontend.capture.failures import failure_of
from girih.frontend.capture.guard import GuardSet, GuardTree
from girih.frontend.capture.source import Roots


class Thing:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def guards_of(*records, slots=()):
    guards = GuardSet()
    for record in records:
        guards.add(*record)
    tree = GuardTree(guards, list(slots))
    return tree, tree.build(0, None, None, None)


@pytest.fixture
def roots():
    return Roots(("a", "b"))


def holds(guards, *values):
    return guards.check(holds, values) is not None


def test_values_and_types(roots):
    a = roots.local(0)
    for record, good, bad in (
        (("type", int), 3, True),
        (("equals", 3), 3, 4),
        (("equals", 0.0), 0.0, -0.0),
        (("equals", "x"), "x", "y"),
        (("is", None), None, 0),
        (("length", 2), [1, 2], [1]),
        (("contains", 1), {1: 2}, {}),
        (("absent", 1), set(), {1}),
        (("keys", ("x", "y")), {"x": 1, "y": 2}, {"y": 2, "x": 1}),
    ):
        _, guards = guards_of((a, *record))
        assert holds(guards, good, None), record
        assert not holds(guards, bad, None), record


def test_nan_equals_itself(roots):
    _, guards = guards_of((roots.local(0), "equals", float("nan")))
    assert holds(guards, float("nan"), None)


@pytest.mark.parametrize(
    "make",
    [
        numpy.float16,
        numpy.float32,
        numpy.float64,
        numpy.complex64,
        complex,
        lambda part: complex(0, part),
    ],
)
def test_the_sign_of_a_zero_is_part_of_a_number(roots, make):
    _, guards = guards_of((roots.local(0), "equals", make(0.0)))
    assert holds(guards, make(0.0), None)
    assert not holds(guards, make(-0.0), None)


def test_a_type_is_part_of_a_value(roots):
    _, guards = guards_of((roots.local(0), "equals", 1))
    assert not holds(guards, True, None)
    assert not holds(guards, 1.0, None)


def test_missing_values_fail(roots):
    source = roots.local(0).in_instance("x")
    _, guards = guards_of((source, "equals", 1))
    assert holds(guards, Thing(x=1), None)
    assert not holds(guards, Thing(), None)
    assert not holds(guards, object(), None)


def test_slots_are_fetched(roots):
    a, b = roots.local(0), roots.local(1)
    sources = [b.index(1), a.in_instance("x")]
    _, guards = guards_of(slots=sources)
    assert guards.check(holds, (Thing(x="value"), [1, 2])) == (2, "value")


def test_relations(roots):
    a, b = roots.local(0), roots.local(1)
    _, same = guards_of((b, "same_as", a))
    _, other = guards_of((b, "distinct", a))
    x, y = [], []
    assert holds(same, x, x) and not holds(same, x, y)
    assert holds(other, x, y) and not holds(other, x, x)


def test_sets_of_distinct_objects(roots):
    sources = tuple(roots.local(0).index(index) for index in range(40))
    _, guards = guards_of((sources[0], "all_distinct", sources))
    values = [[index] for index in range(40)]
    assert holds(guards, values, None) and holds(guards, values[::-1], None)
    for left, right in ((0, 1), (0, 39), (20, 21), (38, 39)):
        again = list(values)
        again[left] = again[right]
        assert not holds(guards, again, None)


# Regions that are pinned by version tags


def nested(value=1):
    return Thing(inner=Thing(table={"k": value}), other=2)


def nested_guards(roots):
    inner = roots.local(0).in_instance("inner")
    table = inner.in_instance("table")
    return guards_of(
        (roots.local(0), "type", Thing),
        (inner, "type", Thing),
        (table, "type", dict),
        (table.dict_item("k"), "equals", 1),
    )


def test_pinned_regions_see_every_change(roots):
    _, guards = nested_guards(roots)
    thing = nested()

    def changed(change, undo):
        for _ in range(3):
            assert holds(guards, thing, None)
        change()
        assert not holds(guards, thing, None)
        undo()

    table = thing.inner.table
    changed(lambda: table.update(k=2), lambda: table.update(k=1))
    changed(table.clear, lambda: table.update(k=1))
    changed(
        lambda: setattr(thing.inner, "table", {"k": 3}),
        lambda: setattr(thing.inner, "table", table),
    )
    inner = thing.inner
    changed(
        lambda: setattr(thing, "inner", nested(5).inner),
        lambda: setattr(thing, "inner", inner),
    )
    other = type("Other", (Thing,), {})
    changed(
        lambda: setattr(inner, "__class__", other),
        lambda: setattr(inner, "__class__", Thing),
    )
    changed(
        lambda: setattr(inner, "__dict__", {"table": {"k": 9}}),
        lambda: setattr(inner, "__dict__", {"table": table}),
    )
    assert holds(guards, thing, None)


def test_pinned_regions_serve_other_objects(roots):
    _, guards = nested_guards(roots)
    things = [nested(), nested(), nested(2)]
    for _ in range(50):
        assert [holds(guards, thing, None) for thing in things] == [True, True, False]


def test_pinned_regions_do_not_keep_objects_alive(roots):
    _, guards = nested_guards(roots)
    for _ in range(100):
        assert holds(guards, nested(), None)
        gc.collect(0)


def test_lists_below_pinned_dicts_are_checked_each_time(roots):
    items = roots.local(0).in_instance("items")
    _, guards = guards_of(
        (items, "length", 2), (items.index(0), "equals", 1), slots=[items.index(1)]
    )
    thing = Thing(items=[1, "a"])
    assert guards.check(holds, (thing, None)) == ("a",)
    assert guards.check(holds, (thing, None)) == ("a",)
    thing.items[1] = "b"
    assert guards.check(holds, (thing, None)) == ("b",)
    thing.items[0] = 2
    assert not holds(guards, thing, None)
    thing.items[:] = [1]
    assert not holds(guards, thing, None)


def test_class_attributes_are_pinned_by_the_classes_version():
    class Local:
        value = 1

    roots = Roots(())
    source = roots.constant(Local).type_lookup("value")
    _, guards = guards_of((source, "equals", 1))
    for _ in range(3):
        assert holds(guards)
    Local.value = 2
    assert not holds(guards)
    Local.value = 1
    assert holds(guards)
    del Local.value
    assert not holds(guards)


# Whole captures


def printed(compiled):
    return [str(guard) for guard in compiled.girih_compiler.frames[0].tree.records]


def test_only_what_shaped_the_trace_is_guarded():
    def f(x, flag, unused, options):
        return x + 1 if flag else x * options["k"], unused

    compiled = compile_eagerly(f)
    compiled(torch.ones(2), True, 5, {"k": 2.0, "z": 1})
    assert "L['flag'] is True" in printed(compiled)
    assert not any("unused" in text for text in printed(compiled))
    compiled(torch.ones(2), True, 6, {"k": 3.0})
    compiled(torch.ones(2), True, "text", {})
    assert compiled.cache_statistics()["captures"] == 1


def test_guards_print_as_python():
    def f(x, n, items):
        return x * n + len(items) + items[0]

    compiled = compile_eagerly(f)
    compiled(torch.ones(2), 3, [1, 2])
    text = printed(compiled)
    assert "L['n'] == 3" in text
    assert "len(L['items']) == 2" in text
    assert "L['items'][0] == 1" in text
    arguments = (torch.ones(2), 4, [1, 2])
    compiled(*arguments)
    first = compiled.girih_compiler.frames[1]
    assert failure_of(first, f, arguments).guard == "L['n'] == 3"


def test_class_is_patched():
    class Model:
        def run(self, x):
            return x + 1

    def f(model, x):
        return model.run(x)

    compiled = compile_eagerly(f)
    model, x = Model(), torch.ones(2)
    assert compiled(model, x)[0] == 2
    Model.run = lambda self, x: x + 10
    assert compiled(model, x)[0] == 11


def test_function_code_is_replaced():
    def helper(x):
        return x + 1

    def f(x):
        return helper(x)

    compiled = compile_eagerly(f)
    assert compiled(torch.ones(2))[0] == 2
    helper.__code__ = (lambda x: x + 10).__code__
    assert compiled(torch.ones(2))[0] == 11


def test_parameters_in_place_changes():
    linear = torch.nn.Linear(2, 2)
    compiled = compile_eagerly(linear)
    x = torch.ones(1, 2)
    compiled(x)
    linear.weight.data = torch.zeros(2, 2, dtype=torch.float64)
    linear.bias.data = torch.zeros(2, dtype=torch.float64)
    assert compiled(x.double()).dtype == torch.float64
    linear.requires_grad_(False)
    assert not compiled(x.double()).requires_grad


class Base:
    pass


class Local(Base):
    pass


def attribute_or_one(x, o):
    return x + getattr(o, "n", 1)


def attribute_of_class(x, o):
    return x + (type(o).n if hasattr(type(o), "n") else 1)


def attribute_set_and_read(x, o):
    o.late = 3
    return x + o.late


def truth(x, o):
    return x + 1 if o else x - 1


def equal(x, o):
    return x + 1 if o == Base else x - 1


def set_twice(self, name, value):
    object.__setattr__(self, name, value * 2)


@pytest.mark.parametrize(
    ("function", "name", "member"),
    [
        (attribute_or_one, "n", 10),
        (attribute_or_one, "__getattr__", lambda self, name: 10),
        (attribute_of_class, "n", 10),
        (attribute_set_and_read, "__setattr__", set_twice),
        (truth, "__bool__", lambda self: False),
        (truth, "__len__", lambda self: 0),
        (equal, "__eq__", lambda self, other: True),
    ],
)
def test_base_class_gets_a_member(monkeypatch, function, name, member):
    compiled, x = compile_eagerly(function), torch.ones(2)
    assert torch.equal(compiled(x, Local()), function(x, Local()))
    monkeypatch.setattr(Base, name, member, raising=False)
    assert torch.equal(compiled(x, Local()), function(x, Local()))
    monkeypatch.undo()
    assert torch.equal(compiled(x, Local()), function(x, Local()))
