"""Every primitive that may stand in a kernel has a rule, and no rule is unused."""

from girih.dialects import graph
from girih.dialects.definition import has
from girih.dialects.tile import scan
from girih.dialects.traits import (
    ACCUMULATES,
    ELEMENTWISE,
    FINDS_PLACE,
    REDUCES,
    SCANS,
    Cost,
    Role,
)
from girih.passes.tile import access, emit
from girih.passes.tile.access import evaluator
from girih.passes.tile.emit import quotient, rules

PRIMITIVES = graph.ops_with(role=Role.PRIMITIVE)
# Cheap, because what is saved is its seed: no operand is in memory.
MADE_OF_A_SEED = "philox"


def reductions() -> set[str]:
    """The names of the reductions that are emitted, without the dialect's."""
    return {cls.SHORT_NAME for cls in PRIMITIVES if has(cls, REDUCES)}


def scans() -> set[str]:
    """The names of the scans."""
    return {cls.SHORT_NAME for cls in PRIMITIVES if has(cls, SCANS)}


def test_every_primitive_has_one_rule():
    assert access and emit
    views = {name.removeprefix("graph.") for name in evaluator._RULES}
    scatters = {cls.SHORT_NAME for cls in PRIMITIVES if has(cls, ACCUMULATES)}
    computed = set(rules.RULES) - {*quotient.NAMES}
    kinds = [views, computed, reductions(), scans(), scatters]
    assert sum(map(len, kinds)) == len(set.union(*kinds)), "a name has two rules"
    assert set.union(*kinds) == {cls.SHORT_NAME for cls in PRIMITIVES}


def test_every_reduction_says_how_it_combines():
    for cls in (graph.OPS[f"graph.{name}"] for name in reductions()):
        joins = cls.FOLD.joins
        assert joins.op in rules.RULES, cls.SHORT_NAME
        assert graph.OPS[f"graph.{joins.over}"].FOLD.joins == joins, cls.SHORT_NAME
        assert (len(cls.FOLD.start) > 1) == has(cls, FINDS_PLACE), cls.SHORT_NAME


def test_every_scan_says_how_it_combines():
    for name in scans():
        joins = graph.OPS[f"graph.{name}"].FOLD.joins
        assert (joins.op in rules.RULES) != (joins.op in scan.COMBINATIONS), name


def test_what_takes_many_instructions_is_not_cheap():
    for cls in PRIMITIVES:
        if has(cls, ELEMENTWISE) and cls.SHORT_NAME != MADE_OF_A_SEED:
            is_one = cls.INSTRUCTIONS == 1
            assert is_one == (cls.COST is Cost.CHEAP), cls.SHORT_NAME
