"""Casts of float8 by instructions of NVIDIA's GPUs, four numbers at a time.

The tile pass makes these casts where the device has the instructions (sm_89 and later),
between `f32` and `f8E4M3FN` with a bitcast to or from the `i8` that a kernel holds.
They round to nearest even and give the largest number for what is too large, as eager
does, but forget the sign of NaN, which is put back.

Source: https://docs.nvidia.com/cuda/parallel-thread-execution, `cvt`.
"""

from __future__ import annotations

from girih.dialects.bindings import ir
from girih.dialects.types import is_float8
from girih.passes.convert_tile_to_tt import builder as b
from girih.passes.convert_tile_to_tt.lowering import Lowering, lowers

# Selectors of the first bytes of two words, to the low or the high half of a word.
ENCODE = (
    "{ .reg .b16 a, c; .reg .b32 w, s, t, x, y;"
    " cvt.rn.satfinite.e4m3x2.f32 a, $2, $1; cvt.rn.satfinite.e4m3x2.f32 c, $4, $3;"
    " mov.b32 w, {a, c};"
    " mov.b32 x, $1; mov.b32 y, $2; prmt.b32 s, x, y, 0x0073;"
    " mov.b32 x, $3; mov.b32 y, $4; prmt.b32 t, x, y, 0x0073;"
    " prmt.b32 s, s, t, 0x5410; and.b32 s, s, 0x80808080; or.b32 $0, w, s; }"
)
DECODE = (
    "{ .reg .b16 a, c, h; .reg .b32 u, v, w, x, s; .reg .f32 f;"
    " mov.b32 w, $4; mov.b32 {a, c}, w;"
    " cvt.rn.f16x2.e4m3x2 u, a; cvt.rn.f16x2.e4m3x2 v, c;"
    + "".join(
        f" {{ .reg .b16 l; mov.b32 {'{h, l}' if lane % 2 == 0 else '{l, h}'},"
        f" {'uv'[lane // 2]}; }} cvt.f32.f16 f, h; mov.b32 x, f;"
        f" shl.b32 s, w, {24 - 8 * lane}; and.b32 s, s, 0x80000000;"
        f" or.b32 x, x, s; mov.b32 ${lane}, x;"
        for lane in range(4)
    )
    + " }"
)
_PACKED = 4


@lowers("arith.bitcast")
def lower_bitcast(lowering: Lowering, op: ir.OpView) -> None:
    """Triton's own op for the same bits as another type; float8 is held as bits."""
    source, target = op.operands[0], op.results[0].type
    value = lowering.new(source)
    if not _has_float8(source.type) and not _has_float8(target):
        value = b.make("bitcast", [value], type=lowering.type(target))
    lowering.set(op, value)


def lower_narrowed_float8(lowering: Lowering, op: ir.OpView) -> bool:
    """Lowers an `arith.truncf` to float8, and says whether it is one."""
    if not _has_float8(op.results[0].type):
        return False
    operand = lowering.new(op.operands[0])
    lowering.set(op, _assembly(ENCODE, "=r,f,f,f,f", operand, b.integer(8)))
    return True


def lower_extended_float8(lowering: Lowering, op: ir.OpView) -> bool:
    """Lowers an `arith.extf` of float8, and says whether it is one."""
    if not _has_float8(op.operands[0].type):
        return False
    operand = lowering.new(op.operands[0])
    lowering.set(op, _assembly(DECODE, "=f,=f,=f,=f,r", operand, ir.F32Type.get()))
    return True


def _assembly(
    text: str, constraints: str, operand: ir.Value, element: ir.Type
) -> ir.Value:
    asm = {"asm_string": text, "constraints": constraints, "packed_element": _PACKED}
    type = ir.RankedTensorType.get(operand.type.shape, element)
    return b.make("elementwise_inline_asm", [[operand]], asm, type)


def _has_float8(type: ir.Type) -> bool:
    return isinstance(type, ir.VectorType) and is_float8(type.element_type)
