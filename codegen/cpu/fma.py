"""Fused multiply-adds of float32 for processors that have none.

LLVM would call libm's function for each element, which takes ten times as long on
vectors (2026-11-27). The product of two float32 is exact in float64, so that only the
sum is rounded twice: the result differs from the fused one by less than 2**-29 of its
last digit before it is rounded to float32.
"""

from __future__ import annotations

from girih.dialects.bindings import ir


def write_out_fma(module: ir.Module) -> None:
    """Replaces `llvm.intr.fma` on float32 by float64 arithmetic."""
    found: list[ir.Operation] = []

    def collect(op: ir.Operation) -> ir.WalkResult:
        if op.name == "llvm.intr.fma":
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(collect)
    with module.context, ir.Location.unknown():
        wide, narrow = ir.F64Type.get(), ir.F32Type.get()
        for op in found:
            type = op.results[0].type
            is_vector = isinstance(type, ir.VectorType)
            if (type.element_type if is_vector else type) == narrow:
                kind = ir.VectorType.get(type.shape, wide) if is_vector else wide
                _write_out(op, type, kind)


def _write_out(op: ir.Operation, type: ir.Type, wide: ir.Type) -> None:
    def made(name: str, result: ir.Type, *operands: ir.Value) -> ir.Value:
        return ir.Operation.create(name, [result], list(operands)).results[0]

    with ir.InsertionPoint(op), op.location:
        lhs, rhs, added = (made("llvm.fpext", wide, each) for each in op.operands)
        total = made("llvm.fadd", wide, made("llvm.fmul", wide, lhs, rhs), added)
        op.results[0].replace_all_uses_with(made("llvm.fptrunc", type, total))
    op.erase()
