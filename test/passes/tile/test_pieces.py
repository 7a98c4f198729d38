"""Computed indices: their linear pieces have the values of the formula."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from girih.dialects.dims import symbol
from girih.passes.tile.elements import I64
from girih.passes.tile.index import Coordinate, Dynamic, affine, of
from girih.passes.tile.nodes import (
    CheckedIndexNode,
    ComputeNode,
    ConstantNode,
    Guard,
    IndexNode,
    LoadNode,
    NodeTable,
    SelectNode,
)
from girih.passes.tile.pieces import (
    NotLinear,
    is_always_within,
    longest_stride,
    pieces_of,
    segments_along,
)

SIZE = 9
ALONG = Coordinate((0, 0), SIZE)
NUMBERS = st.integers(-12, 12)
EVALUATE = {
    "abs": abs,
    "add": lambda a, b: a + b,
    "maximum": max,
    "minimum": min,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "sub": lambda a, b: a - b,
}
COUNTERS = st.tuples(st.just("index"), st.integers(-3, 3), NUMBERS)
LEAVES = COUNTERS | st.tuples(st.just("constant"), NUMBERS)
FORMULAS = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(st.sampled_from(["abs", "neg"]), inner)
        | st.tuples(
            st.sampled_from(["add", "maximum", "minimum", "mul", "sub"]), inner, inner
        )
    ),
    max_leaves=6,
)


def value(formula, at):
    """The value of a formula at a coordinate."""
    name, *rest = formula
    if name == "index":
        return rest[0] * at + rest[1]
    if name == "constant":
        return rest[0]
    return EVALUATE[name](*(value(inner, at) for inner in rest))


def node(table, formula):
    """The node of a formula."""
    name, *rest = formula
    if name == "index":
        made = IndexNode(I64, expression=affine({ALONG: rest[0]}, rest[1]))
    elif name == "constant":
        made = ConstantNode(I64, value=rest[0])
    else:
        operands = tuple(node(table, inner) for inner in rest)
        made = ComputeNode(I64, operands, name=name)
    return table.add(made)


def value_of(expression, at):
    """The value of a linear expression at a coordinate."""
    return expression.const + sum(c * at for _, c in expression.terms)


@given(FORMULAS)
def test_pieces_are_the_formula(formula):
    try:
        pieces = pieces_of(node(NodeTable(frozenset()), formula), ALONG)
    except NotLinear:
        return
    found = [
        (at, value_of(piece.value, at))
        for piece in pieces
        for at in range(piece.low, piece.high)
    ]
    assert found == [(at, value(formula, at)) for at in range(SIZE)]


@given(FORMULAS, st.integers(1, 20))
def test_what_is_within_is_within(formula, size):
    made = node(NodeTable(frozenset()), formula)
    holds = all(0 <= value(formula, at) < size for at in range(SIZE))
    assert holds or not is_always_within(made, size)


CLAMPED = ("minimum", ("maximum", ("index", 1, -2), ("constant", 0)), ("constant", 4))
FOLDED = (
    "sub",
    ("constant", 5),
    ("abs", ("sub", ("constant", 5), ("abs", ("index", 1, -2)))),
)


@pytest.mark.parametrize(("formula", "count"), [(CLAMPED, 3), (FOLDED, 3)])
def test_borders_have_few_pieces(formula, count):
    made = node(NodeTable(frozenset()), formula)
    assert len(pieces_of(made, ALONG)) == count
    assert is_always_within(made, 6)
    assert not is_always_within(made, 4)


def test_symbolic_sizes():
    n = symbol("n")
    along = Coordinate((0, 0), n + 3)
    table = NodeTable(frozenset())
    index = table.add(IndexNode(I64, expression=affine({along: 1}, -2)))
    zero = table.add(ConstantNode(I64, value=0))
    last = table.add(IndexNode(I64, expression=affine({}, n - 1)))
    low = table.add(ComputeNode(I64, (index, zero), name="maximum"))
    clamped = table.add(ComputeNode(I64, (low, last), name="minimum"))
    ends = [(piece.low, piece.high) for piece in pieces_of(clamped, along)]
    assert ends == [(0, 2), (2, n + 2), (n + 2, n + 3)]
    assert is_always_within(clamped, n)
    assert not is_always_within(low, n)


def test_a_load_has_a_linear_offset_in_each_segment():
    table = NodeTable(frozenset())
    check = table.add(CheckedIndexNode(I64, (node(table, CLAMPED),), size=5))
    load = table.add(LoadNode(I64, offset=of(Dynamic(check, 5))))
    segments = segments_along([load], ALONG, table)
    assert [(s.low, s.high) for s in segments] == [(0, 2), (2, 7), (7, SIZE)]
    offsets = [dict(s.substitutes)[load].offset for s in segments]
    assert offsets == [affine({}, 0), affine({ALONG: 1}, -2), affine({}, 4)]


def test_a_select_beside_is_decided_in_each_segment():
    table = NodeTable(frozenset())
    guards = (Guard(affine({ALONG: 1}, -2), 0, 4),)
    own = affine({ALONG: 1}, -2)
    inside = table.add(LoadNode(I64, offset=own, guards=guards))
    check = table.add(CheckedIndexNode(I64, (node(table, CLAMPED),), size=5))
    load = table.add(LoadNode(I64, buffer=1, offset=of(Dynamic(check, 5))))
    outside = table.add(ConstantNode(I64, value=7))
    select = table.add(SelectNode(I64, (inside, outside), guards=guards))
    segments = segments_along([inside, select, load], ALONG, table)
    chosen = [dict(s.substitutes)[select] for s in segments]
    assert [s.high for s in segments] == [2, 6, 7, SIZE]
    assert chosen[0] is chosen[2] is chosen[3] is outside
    assert (chosen[1].offset, chosen[1].guards) == (inside.offset, ())


def test_numbers_that_may_wrap_around_are_not_linear():
    table = NodeTable(frozenset())
    large = ("mul", ("index", 1, 0), ("constant", 1 << 40))
    with pytest.raises(NotLinear):
        pieces_of(node(table, ("sub", large, large)), ALONG)


def test_what_is_read_at_run_time_is_not_cut():
    table = NodeTable(frozenset())
    index = table.add(LoadNode(I64, offset=of(ALONG)))
    load = table.add(LoadNode(I64, buffer=1, offset=of(Dynamic(index, 5))))
    assert segments_along([index, load], ALONG, table) == ()


def test_guards_alone_are_masks():
    table = NodeTable(frozenset())
    guards = (Guard(affine({ALONG: 1}, -2), 0, 4),)
    load = table.add(LoadNode(I64, offset=affine({ALONG: 1}, -2), guards=guards))
    assert segments_along([load], ALONG, table) == ()


def test_many_guarded_loads_are_cut():
    table = NodeTable(frozenset())
    guards = (Guard(affine({ALONG: 1}, -2), 0, 4),)
    loads = [
        table.add(LoadNode(I64, buffer=k, offset=of(ALONG), guards=guards))
        for k in range(3)
    ]
    segments = segments_along(loads, ALONG, table)
    assert [s.high for s in segments] == [2, 6, SIZE]
    assert all(dict(segments[1].substitutes)[load].guards == () for load in loads)


def clamped_along(table, along, start, last):
    """``min(max(coordinate + start, 0), last)``."""
    index = table.add(IndexNode(I64, expression=affine({along: 1}, start)))
    zero = table.add(ConstantNode(I64, value=0))
    low = table.add(ComputeNode(I64, (index, zero), name="maximum"))
    end = table.add(IndexNode(I64, expression=affine({}, last)))
    return table.add(ComputeNode(I64, (low, end), name="minimum"))


def test_a_size_of_unknown_sign_has_pieces_or_is_not_linear():
    """As ``s0 + a + b``, where numbers that may be negative pad: no piece is lost."""
    n, a = symbol("n"), symbol("a")
    along = Coordinate((0, 0), n + a - 4)
    table = NodeTable(frozenset())
    plain = table.add(IndexNode(I64, expression=affine({along: 1}, 0)))
    one = table.add(ConstantNode(I64, value=1))
    (piece,) = pieces_of(table.add(ComputeNode(I64, (plain, one), name="add")), along)
    assert (piece.low, piece.high) == (0, along.size)
    with pytest.raises(NotLinear):
        pieces_of(clamped_along(table, along, -2, n - 1), along)


def test_what_has_no_known_pieces_is_not_within():
    n, a = symbol("n"), symbol("a")
    along = Coordinate((0, 0), n + a - 4)
    table = NodeTable(frozenset())
    plain = table.add(IndexNode(I64, expression=affine({along: 1}, 0)))
    one = table.add(ConstantNode(I64, value=1))
    assert not is_always_within(
        table.add(ComputeNode(I64, (plain, one), name="add")), n
    )


@pytest.mark.parametrize("size", [0, symbol("n") + symbol("a") - 4])
def test_the_longest_stride_where_nothing_may_be(size):
    along = Coordinate((0, 0), size)
    table = NodeTable(frozenset())
    node = clamped_along(table, along, 0, symbol("n") - 1)
    assert longest_stride(of(Dynamic(node, symbol("n"))), along) in (None, 0)
