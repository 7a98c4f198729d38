"""Ops that are ATen calls already."""

from girih.dialects.bindings import ir

from .rules import AtenCall, calls_aten


@calls_aten("graph.extern")
def call_extern(op: ir.OpView) -> AtenCall:
    """The call that the op spells out."""
    return AtenCall(op.op, op.args, op.kwargs)
