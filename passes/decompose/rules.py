"""The table of decompositions: one rule for each composite op of ``graph``."""

from collections.abc import Callable
from typing import Any

from girih.dialects.bindings import ir
from girih.dialects.rule_table import RuleTable
from girih.passes.graph_builder import GraphBuilder

Rule = Callable[[Any, GraphBuilder], list[ir.Value] | None]

RULES: dict[str, Rule] = RuleTable(
    "decomposition of the op graph.", "@plugin.decomposes({name!r})"
)


def decomposes(name: str) -> Callable[[Rule], Rule]:
    """Registers the rule for the op ``graph.name``.

    A rule takes the op and a builder before it, and returns one value for each
    result. That of a library op may return None: the op stays.
    """
    return RULES.registering(name)
