"""Formulas of folds as nodes; ``dialects/graph/folds.py`` says what these are."""

from __future__ import annotations

from girih.dialects.graph.folds import Join
from girih.passes.tile.nodes import ComputeNode, Node, NodeTable, ReduceNode


class NodeTerm:
    """A value in a formula.

    Attributes:
        value: Its node.
    """

    def __init__(self, table: NodeTable, value: Node):
        self._table = table
        self.value = value

    def __add__(self, other: NodeTerm) -> NodeTerm:
        return self._made("add", other)

    def __sub__(self, other: NodeTerm) -> NodeTerm:
        return self._made("sub", other)

    def __mul__(self, other: NodeTerm) -> NodeTerm:
        return self._made("mul", other)

    def __truediv__(self, other: NodeTerm) -> NodeTerm:
        return self._made("div", other)

    def _made(self, name: str, other: NodeTerm) -> NodeTerm:
        operands = (self.value, other.value)
        made = ComputeNode(self.value.element, operands, name=name)
        return NodeTerm(self._table, self._table.add(made))


class NodeFunctions:
    """The functions of formulas over the results of parts, each of which is a lane."""

    def __init__(self, table: NodeTable):
        self._table = table

    def value(self, node: Node) -> NodeTerm:
        """A node as formulas take it."""
        return NodeTerm(self._table, node)

    def exp(self, x: NodeTerm) -> NodeTerm:
        """e**x."""
        made = ComputeNode(x.value.element, (x.value,), name="exp")
        return self.value(self._table.add(made))

    def over(self, join: Join, x: NodeTerm) -> NodeTerm:
        """The values of all parts as one."""
        made = ReduceNode(x.value.element, (x.value,), name=join.over)
        return self.value(self._table.add(made))

    def everywhere(self, x: NodeTerm, like: NodeTerm) -> NodeTerm:
        """The same: nodes are values at each point."""
        return x
