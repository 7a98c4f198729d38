"""Calls of linear algebra that compute no more than is read."""

from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS
from girih.passes.graph_builder import GraphBuilder


def singular_values(op, b: GraphBuilder) -> list[ir.Value] | None:
    """The singular values alone, where nothing reads the vectors.

    ATen's ``svdvals`` asks for vectors while it is captured, and not where it runs
    without gradients; they take as much time again, or twice as much.
    """
    u, values, vh = op.outputs
    if any(True for result in (u, vh) for _ in result.uses) or len(op.args) > 2:
        return None
    types = [ty.tensor_type((0,), x.type.element_type) for x in (u, vh)]
    made = OPS["graph.extern"].build(
        [list(op.inputs)],
        {"op": op.op, "args": [OperandRef(0), False, False], "kwargs": op.kwargs},
        results=[types[0], values.type, types[1]],
        loc=b.loc,
        ip=b.ip,
    )
    b.mark(made)
    return [_unread(b, u), made.results[1], _unread(b, vh)]


def _unread(b: GraphBuilder, x: ir.Value) -> ir.Value:
    """A value of the type of x."""
    return b.typed("full", [], ty.shape_of(x.type), x.type.element_type, value=0)
