"""Refinements and runs of dims."""

from girih.dialects.dims import symbol
from girih.passes.fuse.shapes import (
    common_refinement,
    exact_quotient,
    matching_groups,
    reshape_before_broadcast,
)

N = symbol("s0")


def test_refinement_splits_both_shapes():
    refined = common_refinement((2, 3, 8), (2, 6, 4))
    assert refined.shape == (2, 3, 2, 4)
    assert refined.parts == ((0,), (1,), (2, 3))
    assert refined.dims([2]) == (2, 3)


def test_refinement_keeps_the_sizes_of_one_of_the_host():
    assert common_refinement((6, 1, 4), (6, 4, 1)).shape == (6, 1, 4)
    assert common_refinement((6, 4), (1, 6, 4)).shape == (6, 4)


def test_no_refinement():
    assert common_refinement((4, 6), (6, 4)) is None
    assert common_refinement((4, 6), (4, 7)) is None
    assert common_refinement((0, 6), (0, 6)) is None


def test_symbolic_refinement():
    assert common_refinement((N, 12), (N, 3, 4)).shape == (N, 3, 4)
    assert common_refinement((N * 12,), (N, 12)).shape == (N, 12)
    assert common_refinement((N, 12), (12, N)) is None


def test_exact_quotient():
    assert exact_quotient(12, 4) == 3
    assert exact_quotient(12, 5) is None
    assert exact_quotient(N * 12, N) == 12
    assert exact_quotient(N * 12, 6) == N * 2
    assert exact_quotient(N, 2) is None
    assert exact_quotient(5, 0) is None


def test_matching_groups():
    assert matching_groups((6, 4), (2, 3, 4)) == [([0], [0, 1]), ([1], [2])]
    assert matching_groups((2, 1, 3), (6,)) == [([0, 1, 2], [0])]
    assert matching_groups((4,), (4, 1)) == [([0], [0, 1])]
    assert matching_groups((0, 4), (0,)) is None
    assert matching_groups((2, 3), (7,)) is None


def test_reshape_before_broadcast():
    assert reshape_before_broadcast((4,), (5, 4), (5, 2, 2)) == (1, 2, 2)
    assert reshape_before_broadcast((5, 1), (5, 4), (5, 2, 2)) == (5, 1, 1)
    assert reshape_before_broadcast((4,), (5, 4), (20,)) is None
