"""What rules and passes of plugins read is a part of the keys of what they make."""

import functools
import sys
import types

import pytest
import torch

from girih.passes.fingerprints import fingerprint
from test.support.plugin_programs import START, run

FACTOR = 2.0
settings = types.ModuleType("plugin_settings")
settings.inner = types.ModuleType("plugin_settings.inner")


class Slots:
    __slots__ = ("factor",)


class Words(str):
    pass


def reads_a_global():
    return FACTOR


def reads_an_attribute():
    return settings.factor


def reads_what_lies_deeper():
    return settings.inner.factor


def imports_what_it_reads():
    from plugin_settings import factor

    return factor


def reads_through_a_function():
    return settings.factor_of()


def reads_the_environment():
    import os

    return os.environ.get("PLUGIN_FACTOR"), os.getenv("PLUGIN_FACTOR")


def closes_over_a_module():
    module = settings
    return lambda: module.factor


def _factor_of():
    return FACTOR


@pytest.fixture(autouse=True)
def _modules(monkeypatch):
    monkeypatch.setitem(sys.modules, "plugin_settings", settings)
    for module in (settings, settings.inner):
        monkeypatch.setattr(module, "factor", 2.0, raising=False)
    monkeypatch.setattr(settings, "factor_of", _factor_of, raising=False)


def _set_global(patch):
    patch.setitem(globals(), "FACTOR", 3.0)


def _set_attribute(patch):
    patch.setattr(settings, "factor", 3.0)


def _set_inner(patch):
    patch.setattr(settings.inner, "factor", 3.0)


def _set_environment(patch):
    patch.setenv("PLUGIN_FACTOR", "3")


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        (reads_a_global, _set_global),
        (reads_an_attribute, _set_attribute),
        (reads_what_lies_deeper, _set_inner),
        (imports_what_it_reads, _set_attribute),
        (reads_through_a_function, _set_global),
        (reads_the_environment, _set_environment),
        (closes_over_a_module(), _set_attribute),
        (functools.partial(reads_an_attribute), _set_attribute),
    ],
)
def test_what_a_rule_reads_is_in_its_fingerprint(rule, change, monkeypatch):
    before = fingerprint(rule)
    assert fingerprint(rule) == before
    with monkeypatch.context() as patch:
        change(patch)
        assert fingerprint(rule) != before
    assert fingerprint(rule) == before


def test_other_attributes_of_a_module_are_not():
    before = fingerprint(reads_an_attribute)
    settings.unread = object()
    assert fingerprint(reads_an_attribute) == before


def _slots(factor):
    made = Slots()
    made.factor = factor
    return made


@pytest.mark.parametrize(
    "make",
    [_slots, torch.tensor, Words, lambda factor: {Words(factor)}],
    ids=["slots", "tensor", "subclass", "inside"],
)
def test_objects_whose_attributes_do_not_say_all_are_no_others(make):
    def rule_of(value):
        return lambda: value

    assert fingerprint(rule_of(make(2.0))) != fingerprint(rule_of(make(3.0)))


def test_classes_that_a_function_makes_differ_in_what_it_was_given():
    def made(factor):
        class Op:
            limit = factor
            listed = (factor,)

            @staticmethod
            def static():
                return 0

            @property
            def known(self):
                return 1

        return Op

    assert fingerprint(made(2.0)) == fingerprint(made(2.0))
    assert fingerprint(made(2.0)) != fingerprint(made(3.0))


def test_an_attribute_of_a_class_may_be_set(monkeypatch):
    monkeypatch.setattr(Slots, "limit", 2.0, raising=False)
    before = fingerprint(Slots)
    monkeypatch.setattr(Slots, "limit", 3.0)
    assert fingerprint(Slots) != before


CHANGED = """
import types
settings = types.ModuleType("settings")
twice = op("twice", mine.Unary)

@mine.emits("twice")
def rule(b, node, values):
    factor = b.constant(settings.factor, node.element.register_name)
    return b.same("arith.mulf", values[0], factor)

@mine.canonicalizes("graph.exp")
def simpler(op, b):
    if GOES:
        return b.op("sin", op.operands[0])

def values():
    girih.reset()
    compiled = girih.compile(lambda x: twice(x).exp(), options={"fallback": False})
    found = compiled(torch.ones(3)).tolist()[0]
    return round(found, 3), girih.report(compiled).graphs[0].cache

GOES = False
for settings.factor in (2.0, 2.0, 3.0):
    print(*values())
GOES = True
print(*values())
"""


def test_what_changes_in_a_process_compiles_anew(tmp_path):
    assert run(START + CHANGED, tmp_path).splitlines() == [
        "7.389 compiled",
        "7.389 disk",
        "20.086 compiled",
        "0.141 compiled",
    ]
