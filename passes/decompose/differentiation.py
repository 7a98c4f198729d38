"""Ops of differentiation: their values, once all derivatives have been taken."""

from girih.dialects.bindings import ir
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder


@decomposes("detach")
def decompose_detach(op, b: GraphBuilder) -> list[ir.Value]:
    """The operand."""
    return [op.x]


@decomposes("alias")
def decompose_alias(op, b: GraphBuilder) -> list[ir.Value]:
    """The operand."""
    return [op.x]


@decomposes("substitute")
def decompose_substitute(op, b: GraphBuilder) -> list[ir.Value]:
    """The value that replaced the original."""
    return [op.value]


@decomposes("custom_vjp")
def decompose_custom_vjp(op, b: GraphBuilder) -> list[ir.Value]:
    """The values; the region has said how gradients go."""
    return op.values
