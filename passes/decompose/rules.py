"""The table of decompositions: one rule for each composite op of ``graph``."""

from collections.abc import Callable
from typing import Any

from girih.dialects.bindings import ir
from girih.passes.graph_builder import GraphBuilder

Rule = Callable[[Any, GraphBuilder], list[ir.Value]]

RULES: dict[str, Rule] = {}


def decomposes(name: str) -> Callable[[Rule], Rule]:
    """Registers the rule for the op ``graph.name``.

    A rule takes the op and a builder in front of it, and returns one value for each
    result.
    """

    def register(rule: Rule) -> Rule:
        if name in RULES:
            raise ValueError(f"two rules decompose the op 'graph.{name}'")
        RULES[name] = rule
        return rule

    return register
