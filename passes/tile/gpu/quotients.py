"""Rewrites divisions whose result products give: powers of two, softmaxes, rows.

[Note: one divisor] A division costs a GPU as much as ten products, and a branch. Where
all elements of a row have one divisor, as in a norm or in scaling to float8, its
reciprocal is computed once for the row; so is that of a number for the whole tensor.
``emit.quotient`` says why the elements are those of divisions. 4096 rows of 4096 to
float8, each with a scale: 19.3 us, with divisions 20.2 to 24.3; a copy takes 19.0. Of
5120 in blocks of 8192: 34 us, with divisions 48 (H100, 2026-11-27, torch 2.11, Triton
3.6).
"""

import math

from girih.passes.tile.domain import Formula, rebuild
from girih.passes.tile.elements import F32
from girih.passes.tile.gpu.one_pass import exponent_of, is_float_sum, operands_of
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import (
    ComputeNode,
    ConstantNode,
    Node,
    NodeTable,
    ReduceNode,
)

# Powers of two up to this one have a reciprocal in float16 too.
LARGEST_EXPONENT = 13


def with_reciprocals(formula: Formula) -> Formula:
    """The kernel with products in place of some divisions.

    Those by powers of two, which are exact, and those of softmaxes: a reciprocal for
    each row. A denominator is between 1 and the number of elements, so its reciprocal
    is as exact as any number, and the result off by one unit in the last place at most.
    And those by what a reduced row or the whole kernel shares, see [Note: one divisor].
    """
    nodes = formula.table.nodes
    reduces = any(isinstance(node, ReduceNode) for node in nodes)
    # Rows of kernels without reductions may become one with their columns.
    own = formula.reduced if reduces else formula.parallel + formula.reduced
    along = frozenset(own)

    def renew(node: Node, table: NodeTable) -> Node:
        found = _product(node, table) or _scaled(node, table)
        return found or _shared(node, table, along) or node

    has_division = any(operands_of(node, "div") for node in nodes)
    return rebuild(formula, renew) if has_division else formula


def _product(node: Node, table: NodeTable) -> Node | None:
    """``exp(x - max(x)) / sum(exp(x - max(x)))`` as a product."""
    if not operands_of(node, "div"):
        return None
    power, total = node.operands
    is_total = is_float_sum(total) and total.operands[0] is power
    if not is_total or exponent_of(total) is None:
        return None
    factor = table.add(ComputeNode(node.element, (total,), name="reciprocal"))
    product_ = ComputeNode(node.element, (power, factor), name="mul")
    return table.add(product_, node.location)


def _scaled(node: Node, table: NodeTable) -> Node | None:
    """``x / 2**k`` as ``x * 2**-k``."""
    operands = operands_of(node, "div") if node.element.is_float else ()
    if not operands or not isinstance(operands[1], ConstantNode):
        return None
    x, divisor = operands
    fraction, exponent = math.frexp(divisor.value)
    if abs(fraction) != 0.5 or abs(exponent) > LARGEST_EXPONENT:
        return None
    factor = table.add(ConstantNode(divisor.element, value=1.0 / divisor.value))
    product_ = ComputeNode(node.element, (x, factor), name="mul")
    return table.add(product_, node.location)


def _shared(node: Node, table: NodeTable, along: frozenset[Coordinate]) -> Node | None:
    """A division by one number for a row, as products with its reciprocal."""
    if not operands_of(node, "div") or node.element != F32:
        return None
    x, divisor = node.operands
    if divisor.coordinates & along or not x.coordinates & along:
        return None

    def add(name: str, *operands: Node) -> Node:
        return table.add(ComputeNode(F32, operands, name=name), node.location)

    scale = add("quotient_scale", divisor)
    size = add("mul", divisor, scale)
    return add("quotient", add("mul", x, scale), size, add("reciprocal", size))
