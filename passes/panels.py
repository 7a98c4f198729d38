"""Weights in panels: pieces of memory that the kernel of a product reads in turn.

A kernel multiplies some rows by a panel of columns at a time. Columns of a matrix lie
apart, so it would copy them first, and memory would give them slowly. A panel is read
as it lies, and the next one is fetched meanwhile (``passes/tile/ahead.py``). Of 128
rows by matrices of 768 x 3072 f32 in main memory that is 110 GFLOP/s, and 97 in oneDNN;
of 4 rows 36 and 21 (one thread of an AMD EPYC with AVX-512, 2026-11-28).
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef, TorchConstant
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.graph_builder import GraphBuilder

_COPY = "aten.clone.default"
_CONTIGUOUS = TorchConstant("memory_format", "contiguous_format")
LARGE = 1 << 17
"""Elements of half of the second-level cache: larger weights do not stay there, and
larger panels would be read again from main memory for each block of rows."""
# Vectors of a panel, the best number first, such that a kernel holds the sums of some
# rows in registers: there are 32 of 512 bits, and 16 of 256. Others were not measured.
_VECTORS = {512: (4, 5, 3, 6, 2, 1), 256: (2, 3, 1)}


@dataclass(frozen=True)
class PanelOptions:
    """Options of the passes that lay weights in panels."""

    vector_bits: int = 512
    """Bits of the processor's vectors."""


def columns_of(columns: int, depth: int, options: PanelOptions) -> int | None:
    """Columns of a panel of large weights; None where there is no number of them."""
    width = options.vector_bits // 32
    vectors = _VECTORS.get(options.vector_bits, ())
    fitting = [each * width for each in vectors if each * width * depth <= LARGE]
    return next((each for each in fitting if columns % each == 0), None)


def in_panels(b: GraphBuilder, weight: ir.Value, columns: int) -> ir.Value:
    """A copy of a matrix [n, k] as panels [n // columns, k, columns]."""
    n, depth = ty.shape_of(weight.type)
    parts = b.reshape(weight, (n // columns, columns, depth))
    turned = b.op("permute", parts, permutation=(0, 2, 1))
    return b.typed(
        "extern",
        [[turned]],
        ty.shape_of(turned.type),
        turned.type.element_type,
        op=_COPY,
        args=(OperandRef(0),),
        kwargs={"memory_format": _CONTIGUOUS},
    )


def as_matrix(b: GraphBuilder, panels: ir.Value) -> ir.Value:
    """The matrix [n, k] whose panels are given; nothing is copied for ``panels_of``."""
    number, depth, columns = ty.shape_of(panels.type)
    turned = b.op("permute", panels, permutation=(0, 2, 1))
    return b.reshape(turned, (number * columns, depth))


def panels_of(weight: ir.Value) -> ir.Value | None:
    """The panels of which ``as_matrix`` made a matrix; None where it made none."""
    while not isinstance(weight.owner, ir.Block):
        op = weight.owner.opview
        if op.operation.name == "graph.permute" and tuple(op.permutation) == (0, 2, 1):
            return op.x
        if op.operation.name != "graph.reshape":
            return None
        weight = op.x
    return None


def multiply(b: GraphBuilder, x: ir.Value, panels: ir.Value) -> ir.Value:
    """y[r, n] = sum over k of x[r, k] * weight[n, k], of panels of the weight."""
    rows: Size
    rows, depth = ty.shape_of(x.type)
    number, _, columns = ty.shape_of(panels.type)
    every = (number, rows, depth)
    x = b.typed("broadcast_to", [x], every, x.type.element_type)
    y = b.op("permute", b.op("bmm", x, panels), permutation=(1, 0, 2))
    return b.reshape(y, (rows, number * columns))
