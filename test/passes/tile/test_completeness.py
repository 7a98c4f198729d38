"""Every primitive that may stand in a kernel has a rule, and no rule is unused."""

from girih.dialects import graph
from girih.passes.tile import access, emit
from girih.passes.tile.access import evaluator
from girih.passes.tile.cost import FUNCTION_COSTS, SLOW_INSTRUCTIONS
from girih.passes.tile.emit import reduction, rules

# Primitive by family (docs/architecture.md); of these, the ops that are composite.
FAMILIES = ("creation", "elementwise", "indexing", "reduction", "shape")
COMPOSITE = {"embedding", "index", "mean", "tril", "triu", "var"}


def primitives() -> set[str]:
    """The names of all primitives, without the dialect's."""
    names = {
        cls.OPERATION_NAME.removeprefix("graph.")
        for family in FAMILIES
        for cls in graph.OPS_BY_FAMILY[family]
    }
    return {name for name in names - COMPOSITE if not is_library(name)} | {"philox"}


def is_library(name: str) -> bool:
    """Ops of these families that run as the ATen op that they name."""
    return name in {"cumsum", "index_put", "scatter", "scatter_add", "sort", "topk"}


def test_every_primitive_has_one_rule():
    assert access and emit
    views = {name.removeprefix("graph.") for name in evaluator._RULES}
    kinds = [views, set(rules.RULES), set(reduction.SUPPORTED)]
    assert sum(map(len, kinds)) == len(set.union(*kinds)), "a name has two rules"
    assert set.union(*kinds) == primitives()


def test_costs_name_primitives():
    assert set(FUNCTION_COSTS) | set(SLOW_INSTRUCTIONS) <= primitives()
