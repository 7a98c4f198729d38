"""What a captured program rests on and may change between calls: functions, classes."""

import operator

import pytest
import torch
from capture_differential import compile_eagerly

import girih


def helper(x):
    return x + 1


def calls_helper(x):
    return helper(x)


def asks_helper(x):
    return x * getattr(helper, "factor", 1), hasattr(helper, "other")


def test_a_function_gets_other_code(monkeypatch):
    compiled, x = compile_eagerly(calls_helper), torch.ones(2)
    assert torch.equal(compiled(x), calls_helper(x))
    for code in ((lambda x: x - 50).__code__, (lambda x: x * 3).__code__):
        monkeypatch.setattr(helper, "__code__", code)
        assert torch.equal(compiled(x), calls_helper(x))
    monkeypatch.undo()
    assert torch.equal(compiled(x), calls_helper(x))


def test_a_function_gets_an_attribute(monkeypatch):
    compiled, x = compile_eagerly(asks_helper), torch.ones(2)
    for name in ("factor", "other"):
        monkeypatch.setattr(helper, name, 5, raising=False)
        expected = asks_helper(x)
        assert torch.equal(compiled(x)[0], expected[0])
        assert compiled(x)[1] == expected[1]
    monkeypatch.undo()
    assert torch.equal(compiled(x)[0], x)


class Meta(type):
    scale = 3

    def __getitem__(cls, index):
        return cls.table[index]

    def __len__(cls):
        return len(cls.table)

    def __iter__(cls):
        return iter(cls.table)

    def __contains__(cls, item):
        return item in cls.table

    @property
    def first(cls):
        return cls.table[0]


class OfClass:
    def __get__(self, owner, cls):
        return cls.table[-1]


class Local(metaclass=Meta):
    table = [1, 2]
    last = OfClass()


ASKING = {
    "item": lambda: Local[0],
    "length": lambda: len(Local),
    "iteration": lambda: sum(Local),
    "membership": lambda: 7 if 2 in Local else 8,
    "truth": lambda: 7 if Local else 8,
    "property": lambda: Local.first,
    "attribute": lambda: Local.scale,
    "descriptor": lambda: Local.last,
}


@pytest.mark.parametrize("asks", ASKING.values(), ids=ASKING)
def test_what_a_metaclass_reads(monkeypatch, asks):
    def program(x):
        return x * asks()

    compiled, x = compile_eagerly(program), torch.ones(2)
    assert torch.equal(compiled(x), program(x))
    monkeypatch.setattr(Meta, "scale", 4)
    for table in ([5, 6, 7], []):
        monkeypatch.setattr(Local, "table", table)
        if table or asks in (ASKING["length"], ASKING["truth"], ASKING["membership"]):
            assert torch.equal(compiled(x), program(x))
    monkeypatch.undo()
    assert torch.equal(compiled(x), program(x))


def test_a_method_of_a_metaclass_has_effects():
    class Counting(type):
        def __getitem__(cls, index):
            cls.asked += 1
            return cls.asked

    class Counted(metaclass=Counting):
        asked = 0

    compiled = girih.compile(lambda x: x * Counted[0], backend="eager")
    found = [compiled(torch.ones(1)).item() for _ in range(3)]
    assert found == [1, 2, 3]


class Base:
    @compile_eagerly
    def method(self, x):
        return x + 1

    @compile_eagerly
    def __call__(self, x):
        return x * 5


class Derived(Base):
    @compile_eagerly
    def method(self, x):
        return super().method(x) * 2

    @compile_eagerly
    def __call__(self, x):
        return super().__call__(x) + Base.method(self, x)


def test_compiled_methods_of_base_classes(monkeypatch):
    derived, x = Derived(), torch.ones(2)
    outer = compile_eagerly(lambda x: derived(x))
    called = operator.methodcaller("method", x)
    assert torch.equal(derived.method(x), x * 4)
    assert torch.equal(called(derived), x * 4)
    assert torch.equal(derived(x), x * 7)
    assert torch.equal(outer(x), x * 7)
    monkeypatch.setattr(Base, "method", lambda self, x: x - 1)
    assert torch.equal(derived.method(x), x * 0)
    assert torch.equal(derived(x), x * 5)
