"""Ops of `arith` that are not the same on tensors: constants, casts, divisions."""

from __future__ import annotations

from girih.dialects.bindings import ir
from girih.dialects.tt.base import element_of
from girih.passes.convert_tile_to_tt import builder as b
from girih.passes.convert_tile_to_tt.float8 import (
    lower_extended_float8,
    lower_narrowed_float8,
)
from girih.passes.convert_tile_to_tt.lowering import Lowering, lowers


@lowers("arith.constant")
def lower_constant(lowering: Lowering, op: ir.OpView) -> None:
    """A number, one for all lanes, or the numbers of the lanes."""
    attribute, type = op.attributes["value"], lowering.type(op.results[0].type)
    if not isinstance(attribute, ir.DenseElementsAttr):
        is_float = isinstance(attribute, ir.FloatAttr)
        kind = ir.FloatAttr if is_float else ir.IntegerAttr
        attribute = attribute if is_float else kind.get(type, _number(attribute))
    elif attribute.is_splat:
        item = attribute.get_splat_value()
        if not isinstance(item, ir.FloatAttr):
            item = ir.IntegerAttr.get(element_of(type), _number(item))
        attribute = ir.DenseElementsAttr.get_splat(type, item)
    else:
        if list(attribute) != list(range(len(attribute))):
            raise ValueError(
                "expected a vector constant with equal elements or the elements 0, 1, "
                f"2, ..., got {attribute}"
            )
        lowering.set(op, b.resized(b.lanes(len(attribute)), element_of(type)))
        return
    lowering.set(op, b.value("arith.constant", type, [], {"value": attribute}))


def _number(attribute: ir.Attribute) -> int:
    return int(attribute.value)


@lowers("arith.index_cast", "arith.index_castui")
def lower_index_cast(lowering: Lowering, op: ir.OpView) -> None:
    """Indices are integers already: at most their width changes."""
    element = element_of(lowering.type(op.results[0].type))
    signed = op.operation.name == "arith.index_cast"
    source = lowering.new(op.operands[0])
    lowering.set(op, b.resized(source, element, signed=signed))


# Two numbers rounded to 16 bits by one instruction. Triton rounds one at a time, which
# a GPU does at the speed of its special functions: an eighth of that of additions.
ROUNDED_PAIRS = {
    "bf16": "{ .reg .b32 t, u; cvt.rn.bf16x2.f32 t, $3, $2; shl.b32 u, t, 16;"
    " mov.b32 $0, u; and.b32 u, t, 0xffff0000; mov.b32 $1, u; }",
    "f16": "{ .reg .b32 t; .reg .b16 a, b; cvt.rn.f16x2.f32 t, $3, $2;"
    " mov.b32 {a, b}, t; cvt.f32.f16 $0, a; cvt.f32.f16 $1, b; }",
}


@lowers("arith.truncf")
def lower_truncf(lowering: Lowering, op: ir.OpView) -> None:
    """The same op; what is extended again is rounded by pairs first.

    Also where that is only stored: the instruction of a pair keeps what computes it
    together. Without it Triton's compiler takes each operation for all elements of a
    thread in turn, which needs more registers. Softmax of 4096 x 16384 in f16 has 64 so
    and takes 75 us, else 101 and 115 (H200, 2026-11-28).
    """
    if lower_narrowed_float8(lowering, op):
        return
    if lowering.library != "cuda" or not _is_extended_again(op):
        lowering.keep(op)
        return
    operand = lowering.new(op.operands[0])
    asm = {
        "asm_string": ROUNDED_PAIRS[str(op.results[0].type.element_type)],
        "constraints": "=f,=f,f,f",
        "packed_element": 2,
    }
    pairs = b.make("elementwise_inline_asm", [[operand]], asm, operand.type)
    type = lowering.type(op.results[0].type)
    lowering.set(op, b.value("arith.truncf", type, [pairs]))


def _is_extended_again(op: ir.OpView) -> bool:
    """Whether a vector of float32 is rounded to 16 bits that are read as float32."""
    wide, narrow = op.operands[0].type, op.results[0].type
    if not isinstance(wide, ir.VectorType) or wide.element_type != ir.F32Type.get():
        return False
    is_known = str(narrow.element_type) in ROUNDED_PAIRS
    users = (use.owner for use in op.results[0].uses)
    return is_known and any(
        user.operation.name == "arith.extf" and user.results[0].type == wide
        for user in users
    )


@lowers("arith.extf")
def lower_extf(lowering: Lowering, op: ir.OpView) -> None:
    """The same op; numbers that are only rounded to 16 bits stay in their registers."""
    if lower_extended_float8(lowering, op):
        return
    rounding = op.operands[0].owner
    is_rounded = isinstance(rounding, ir.OpView) and (
        rounding.operation.name == "arith.truncf" and _is_extended_again(rounding)
    )
    if not is_rounded or lowering.library != "cuda":
        lowering.keep(op)
        return
    pairs = lowering.new(op.operands[0]).owner.operands[0]
    lowering.set(op, pairs)


# 1 / x of a float32 x from 1 on, rounded correctly like `div.rn` but without a branch,
# which keeps the elements of a thread from overlapping: the device's approximation and
# a step of Newton's. Above 2**100 x is scaled down, as results may be subnormal; these
# round twice. For infinity the approximation is 0, and `min` takes the place of an
# invalid product by 1.
INVERSE_ABOVE_ONE = (
    "{ .reg .pred p; .reg .f32 s, x, r, e; setp.gt.f32 p, $1, 0f71800000;"
    " selp.f32 s, 0f33800000, 0f3F800000, p; mul.rn.f32 x, $1, s;"
    " rcp.approx.ftz.f32 r, x; neg.f32 x, x; fma.rn.f32 e, x, r, 0f3F800000;"
    " min.f32 e, e, 0f3F800000; fma.rn.f32 r, r, e, r; mul.rn.f32 $0, r, s; }"
)


@lowers("arith.divf")
def lower_divf(lowering: Lowering, op: ir.OpView) -> None:
    """Rounded to nearest, as eager's; Triton's own is approximate in float32.

    That one (2 units in the last place, for all numbers) is taken where `fastmath` has
    `arcp`; with `afn` too, inverses are the device's, 0 for what is no normal number.
    """
    lhs, rhs = lowering.all(op.operands)
    is_rough = lowering.library == "cuda" and b.has_fastmath(op, "arcp")
    if element_of(lhs.type) == ir.F32Type.get() and not is_rough:
        if lowering.library == "cuda" and _is_inverse_above_one(op):
            result = b.assembled(INVERSE_ABOVE_ONE, rhs)
        else:
            result = b.make("precise_divf", [lhs, rhs])
    elif is_rough and b.has_fastmath(op, "afn") and _is_one(op.operands[0]):
        result = b.device_function("rcp.approx.ftz.f32", rhs)
    else:
        result = b.same("arith.divf", lhs, rhs)
    lowering.set(op, result)


def _is_inverse_above_one(op: ir.OpView) -> bool:
    """Whether an op is 1 / (1 + exp(x)), a sigmoid."""
    one, sum_ = op.operands
    owner = sum_.owner
    if not _is_one(one) or not _is_made_by(sum_, "arith.addf"):
        return False
    return any(map(_is_one, owner.operands)) and any(
        _is_made_by(value, "math.exp") for value in owner.operands
    )


def _is_made_by(value: ir.Value, name: str) -> bool:
    owner = value.owner
    return isinstance(owner, ir.OpView) and owner.operation.name == name


def _is_one(value: ir.Value) -> bool:
    """Whether a value is the number 1 in all lanes."""
    owner = value.owner
    if not isinstance(owner, ir.OpView) or owner.operation.name != "arith.constant":
        return False
    number = owner.operation.attributes["value"]
    if isinstance(number, ir.DenseElementsAttr):
        number = number.get_splat_value() if number.is_splat else None
    return isinstance(number, ir.FloatAttr) and number.value == 1


@lowers("arith.negf")
def lower_negf(lowering: Lowering, op: ir.OpView) -> None:
    """-0.0 - x, which negates zeros too; Triton has no negation."""
    operand = lowering.new(op.operands[0])
    zero = b.constant(operand.type, -0.0)
    lowering.set(op, b.same("arith.subf", zero, operand))
