"""Minimum cuts of small random networks, against all cuts there are."""

import itertools
import random

import pytest

from girih.passes.partition.max_flow import INFINITE, Network

Edges = list[tuple[int, int, int]]


def cost_of(edges: Edges, in_sink_side: list[bool]) -> int:
    """What crosses from the source's side to the sink's."""
    pairs = ((a, b, c) for a, b, c in edges if not in_sink_side[a] and in_sink_side[b])
    return sum(capacity for _, _, capacity in pairs)


def least_cost(edges: Edges, count: int) -> int:
    rest = itertools.product([False, True], repeat=count - 2)
    return min(cost_of(edges, [False, True, *sides]) for sides in rest)


def network_of(edges: Edges, count: int) -> Network:
    network = Network()
    for _ in range(count - 2):
        network.add_vertex()
    for edge in edges:
        network.add_edge(*edge)
    return network


@pytest.mark.parametrize("seed", range(100))
def test_minimum_cut(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(2, 9)
    edges = [
        (*rng.sample(range(count), 2), rng.randint(0, 6))
        for _ in range(rng.randint(1, 20))
    ]
    sides = network_of(edges, count).minimum_cut()
    assert not sides[Network.source]
    assert sides[Network.sink]
    assert cost_of(edges, sides) == least_cost(edges, count)


def test_of_equal_cuts_the_one_nearest_to_the_sink() -> None:
    edges = [(0, 2, 3), (2, 3, 3), (3, 1, 3)]
    assert network_of(edges, 4).minimum_cut() == [False, True, False, False]


def test_infinite_edges_are_not_cut() -> None:
    edges = [(0, 2, 5), (2, 3, INFINITE), (3, 1, 9)]
    assert network_of(edges, 4).minimum_cut() == [False, True, True, True]
    with pytest.raises(AssertionError, match="girih bug"):
        network_of([(0, 1, INFINITE)], 2).minimum_cut()


def test_long_chains() -> None:
    count = 5000
    chain = [0, *range(2, count), 1]
    edges = [(a, b, 2) for a, b in itertools.pairwise(chain)]
    edges[100] = (*edges[100][:2], 1)
    sides = network_of(edges, count).minimum_cut()
    assert cost_of(edges, sides) == 1
