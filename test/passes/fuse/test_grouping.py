"""Paths between groups: what may join without making a cycle."""

import pytest

from girih.passes.choices import USUAL
from girih.passes.fuse.grouping import Group, _Grouper
from girih.passes.fuse.plan import FuseOptions, Level, Placement
from girih.passes.fuse.program import Kind, Node, Program


def grouper(edges, groups, count, barriers=()):
    """A grouper over ``count`` ops with these edges between them and groups made."""
    nodes = [
        Node(p, "op", Kind.BARRIER if p in barriers else Kind.POINTWISE, (4,), (), ())
        for p in range(count)
    ]
    for source, target in edges:
        nodes[source].successors.append(target)
    made = _Grouper(Program(nodes, []), FuseOptions(), USUAL)
    for members in groups:
        placement = Placement((4,), frozenset(), dict.fromkeys(members, Level.FULL))
        after = {target for source, target in edges if source in members}
        group = Group(placement, members[0], members[-1], set(), after)
        made.group_of.update(dict.fromkeys(members, group))
    return made


def is_path(made, source, target, *, direct=False):
    return made._is_path(made.group_of[source], made.group_of[target], direct=direct)


def test_direct_edge():
    made = grouper([(0, 1)], [[0], [1]], 2)
    assert not is_path(made, 0, 1)
    assert is_path(made, 0, 1, direct=True)


def test_path_through_a_barrier():
    made = grouper([(0, 1), (1, 2), (0, 2)], [[0], [2]], 3, barriers=[1])
    assert is_path(made, 0, 2)


@pytest.mark.parametrize("is_spanned", [True, False])
def test_path_through_a_later_group(is_spanned):
    """Op 4 comes after the target 3, but its reader shares a group with op 1."""
    spanning = [[1, 5]] if is_spanned else [[1], [5]]
    edges = [(0, 3), (0, 4), (4, 5), (1, 3)]
    made = grouper(edges, [[0], [3], *spanning], 6, barriers=[4])
    assert is_path(made, 0, 3) is is_spanned


def test_two_spans():
    """The path leaves the target's span twice."""
    edges = [(0, 3), (0, 8), (8, 9), (6, 7), (5, 3)]
    made = grouper(edges, [[0], [3], [5, 7], [6, 9]], 10, barriers=[8])
    assert is_path(made, 0, 3) is False  # 6 and 9 lead to 5 and 7, which start later
    made = grouper([*edges, (1, 3)], [[0], [3], [1, 7], [6, 9]], 10, barriers=[8])
    assert is_path(made, 0, 3)
