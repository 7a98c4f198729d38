"""The table of canonicalisations, and what a rule may ask about the program."""

from collections.abc import Callable
from typing import Any

from girih.dialects import additions
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import rule_name
from girih.dialects.rule_table import is_again, note
from girih.passes.canonicalize_graph.numbers import Number
from girih.passes.graph_builder import GraphBuilder


class Simplifier(GraphBuilder):
    """Builds ops before ``op`` and knows what is before it.

    Attributes:
        created: the ops that a rule made, in order.
    """

    def __init__(self, op: ir.OpView, facts: "Facts"):
        super().__init__(op)
        self.created: list[ir.OpView] = []
        self._facts = facts

    def _make(self, name, operands, attributes, results) -> ir.Value:
        value = super()._make(name, operands, attributes, results)
        self.created.append(value.owner.opview)
        return value

    def producer(self, value: ir.Value, *names: str) -> ir.OpView | None:
        """Returns the op that makes ``value`` if it is one of ``names``."""
        op = self._facts.producers.get(value)
        if op is None or rule_name(op) not in names:
            return None
        return op

    def number(self, value: ir.Value) -> Number | None:
        """Returns the number that every element of ``value`` is, None if unknown."""
        return self._facts.numbers.get(value)

    def filled(self, number: Number, type_: ir.RankedTensorType) -> ir.Value:
        """Returns a tensor of ``type_`` whose elements are all ``number``."""
        shape = ty.shape_of(type_)
        if not shape:
            return self.constant(number, type_.element_type)
        return self.typed("full", [], shape, type_.element_type, value=number)

    def broadcast(self, x: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
        """Returns ``x`` broadcast to the shape of ``type_``."""
        shape = ty.shape_of(type_)
        if ty.shape_of(x.type) == shape:
            return x
        return self.typed("broadcast_to", [x], shape, x.type.element_type)


class Facts:
    """What is known about the values before the op that is looked at."""

    def __init__(self) -> None:
        self.producers: dict[ir.Value, ir.OpView] = {}
        self.numbers: dict[ir.Value, Number] = {}

    def record(self, op: ir.OpView, name: str) -> None:
        """Adds what ``op`` makes known."""
        result = op.results[0]
        self.producers[result] = op
        if name in ("constant", "full"):
            self.numbers[result] = op.value


# A rule returns the value that replaces the op's result, None where it does not apply.
Rule = Callable[[Any, Simplifier], ir.Value | None]

RULES: dict[str, list[Rule]] = {}


def canonicalizes(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule for the ops ``graph.NAME``; rules are tried in order."""

    def register(rule: Rule) -> Rule:
        for name in names:
            known = RULES.get(name, [])
            others = [other for other in known if not is_again(other, rule)]
            additions.put(RULES, name, [*others, rule], rule)
            note(f"canonicalization {rule.__qualname__} of {name}", rule)
        return rule

    return register
