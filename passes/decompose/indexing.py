"""Embeddings, indexing with tensors, triangles."""

from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder


@decomposes("embedding")
def decompose_embedding(op, b: GraphBuilder) -> list[ir.Value]:
    """Rows of the weight."""
    return [b.op("take", op.weight, op.index, dim=0)]


@decomposes("index")
def decompose_index(op, b: GraphBuilder) -> list[ir.Value]:
    """One index: whole slices. Several: ATen's own indexing."""
    if len(op.dims) == 1:
        return [b.op("take", op.x, op.indices[0], dim=op.dims[0], from_end=True)]
    rank = len(ty.shape_of(op.x.type))
    indices: list[OperandRef | None] = [None] * rank
    for operand, dim in enumerate(op.dims, start=1):
        indices[dim] = OperandRef(operand)
    made = OPS["graph.extern"].build(
        [[op.x, *op.indices]],
        {"op": "aten.index.Tensor", "args": [OperandRef(0), indices]},
        results=[op.y.type],
        loc=b.loc,
        ip=b.ip,
    )
    return list(made.results)


@decomposes("tril")
def decompose_tril(op, b: GraphBuilder) -> list[ir.Value]:
    """x where column <= row + diagonal, else 0."""
    return [_triangle(op, b, "le")]


@decomposes("triu")
def decompose_triu(op, b: GraphBuilder) -> list[ir.Value]:
    """x where column >= row + diagonal, else 0."""
    return [_triangle(op, b, "ge")]


def _triangle(op, b: GraphBuilder, comparison: str) -> ir.Value:
    rows, columns = ty.shape_of(op.x.type)[-2:]
    column = b.typed("iota", [], (columns,), ty.i64(), start=0, step=1)
    row = b.typed("iota", [], (rows,), ty.i64(), start=op.diagonal, step=1)
    inside = b.op(comparison, column, b.reshape(row, (rows, 1)))
    element = op.x.type.element_type
    zero = b.constant(False if ty.is_bool(element) else 0, element)
    return b.op("where", inside, op.x, zero)
