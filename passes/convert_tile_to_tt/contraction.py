"""Products of blocks."""

from __future__ import annotations

from girih.dialects.bindings import ir
from girih.passes.convert_tile_to_tt import builder as b
from girih.passes.convert_tile_to_tt.lowering import Lowering, lowers

# Triton's numbers of how float32 operands are rounded.
_TF32, _IEEE = 0, 2


@lowers("tile.dot")
def lower_dot(lowering: Lowering, op: ir.OpView) -> None:
    """A product on tensor cores; float32 stays float32 unless tf32 is allowed."""
    precision = _TF32 if lowering.allow_tf32 else _IEEE
    operands = lowering.all(op.operands)
    lowering.set(op, b.make("dot", operands, {"inputPrecision": precision}))
