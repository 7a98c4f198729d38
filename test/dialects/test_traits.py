"""What passes may ask of an op."""

import pytest

from girih.dialects import graph, tile
from girih.dialects.definition import class_of, has, has_any, role_of
from girih.dialects.traits import (
    BIJECTIVE,
    CREATES,
    ELEMENTWISE,
    REDUCES,
    REINDEXES,
    VIEW,
    Cost,
    Role,
    Trait,
)


def test_an_op_is_asked_by_class_or_by_name():
    for op in (graph.PermuteOp, "graph.permute"):
        assert has(op, VIEW) and has_any(op, ELEMENTWISE, BIJECTIVE)
        assert not has_any(op, ELEMENTWISE, REDUCES)
        assert role_of(op) is Role.PRIMITIVE
        assert class_of(op) is graph.PermuteOp


def test_ops_of_other_dialects_have_none():
    for op in ("arith.addf", None):
        assert class_of(op) is None and role_of(op) is None
        assert not has(op, ELEMENTWISE) and not has_any(op, *Trait)


def test_subclasses_have_the_traits_of_their_bases():
    assert has(graph.BroadcastToOp, VIEW) and not has(graph.BroadcastToOp, BIJECTIVE)
    assert has(graph.ReshapeOp, VIEW) and has(graph.ReshapeOp, BIJECTIVE)


def test_ops_with_traits():
    found = {cls.SHORT_NAME for cls in graph.ops_with(CREATES)}
    assert found == {"constant", "full", "iota", "size"}
    composites = graph.ops_with(REDUCES, role=Role.COMPOSITE)
    assert [cls.SHORT_NAME for cls in composites] == ["mean", "var"]


def test_every_op_of_graph_has_a_role():
    assert all(isinstance(cls.ROLE, Role) for cls in graph.OPS.values())
    assert tile.OPS and not any(cls.ROLE for cls in tile.OPS.values())


def test_every_trait_is_of_some_op():
    known = {
        trait
        for cls in (*graph.OPS.values(), *tile.OPS.values())
        for trait in cls.TRAITS
    }
    assert known == set(Trait)


def test_views_reindex_unless_they_are_made_of_a_library():
    for cls in graph.ops_with(VIEW, role=Role.PRIMITIVE):
        assert has(cls, REINDEXES) and cls.COST is Cost.CHEAP, cls.SHORT_NAME


def test_operands_that_make_zero_are_declared():
    for cls in graph.OPS.values():
        names = {field.name for field in cls.OPERANDS}
        assert names.issuperset(name for group in cls.ZERO_IF for name in group)


@pytest.mark.parametrize("traits", [{"nonsense"}, "VIEW", Trait.VIEW, 3])
def test_what_is_no_trait_is_an_error_that_lists_all(traits):
    with pytest.raises(TypeError, match=", ".join(Trait.__members__)):

        class _Bad(graph.PermuteOp, traits=traits):
            pass
