"""What the layout of the sources promises is counted."""

import ast
import functools

import pytest

from girih.tools import house


@pytest.fixture(autouse=True, scope="module")
def _sources_are_counted_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(house, "counts", functools.cache(house.counts))
        yield


def test_nothing_grew():
    assert not house.problems()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("A = {'graph.add', 'graph.mul'}", 1),
        ("A: tuple = ('add', 'mul')", 1),
        ("A = 'add mul'.split()", 1),
        ("A = {'graph.add'}", 0),
        ("A = {'left', 'right'}", 0),
        ("def f():\n    return {'graph.add', 'graph.mul'}", 0),
    ],
)
def test_sets_of_ops_are_seen(text, count):
    assert len(list(house._sets_of_ops(ast.parse(text).body))) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [("x['graph.strides']", 1), ("x['graph.add']", 0), ("x['graphics.a']", 0)],
)
def test_raw_keys_are_seen(text, count):
    assert len(list(house._raw_keys(ast.parse(text)))) == count


def test_more_or_less_than_the_bound_is_a_problem(monkeypatch):
    rule = next(iter(house.BOUNDS))
    for bound in (-1, 1):
        monkeypatch.setitem(house.BOUNDS, rule, bound)
        assert len(house.problems()) == 1
