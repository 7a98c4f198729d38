"""Indices that are in range because they are clamped, and those that are not."""

import pytest

from girih.dialects.dims import symbol
from girih.passes.tile.elements import F32, I64
from girih.passes.tile.index import constant
from girih.passes.tile.nodes import ComputeNode, ConstantNode, IndexNode
from girih.passes.tile.ranges import is_clamped_within

UNKNOWN = ComputeNode(I64, (IndexNode(F32, expression=constant(0)),), name="cast")
SIZES = (9, symbol("s0") + 2)


def number(value):
    if isinstance(value, int):
        return ConstantNode(I64, value=value)
    return IndexNode(I64, expression=constant(value))


def op(name, *operands):
    return ComputeNode(I64, operands, name=name)


def clamped(size, low=0):
    return op("minimum", op("maximum", UNKNOWN, number(low)), number(size - 1))


@pytest.mark.parametrize("size", SIZES)
def test_clamped(size):
    assert is_clamped_within(clamped(size), size)
    last = number(size - 1)
    assert is_clamped_within(
        op("minimum", last, op("add", clamped(size), number(1))), size
    )
    assert is_clamped_within(number(0), size)


@pytest.mark.parametrize("size", SIZES)
def test_not_clamped(size):
    assert not is_clamped_within(UNKNOWN, size)
    assert not is_clamped_within(op("maximum", UNKNOWN, number(0)), size)
    assert not is_clamped_within(op("minimum", UNKNOWN, number(size - 1)), size)
    assert not is_clamped_within(clamped(size, -1), size)
    assert not is_clamped_within(clamped(size + 1), size)
    assert not is_clamped_within(op("add", clamped(size), number(1)), size)
    natural = op("maximum", UNKNOWN, number(0))
    wraps = op("add", natural, natural)
    assert not is_clamped_within(op("minimum", wraps, number(size - 1)), size)
