"""hold-bfloat16-as-bits: what LLVM sees of bfloat16 is integers of 16 bits.

Requires: functions after `convert-tile-to-cpu`, which move values of bfloat16, widen
and narrow them, and compute on nothing narrower than float32.
Establishes: no type `bf16`.

    %1 = arith.extf %0 : bf16 to f32         %1 = arith.extui %0 : i16 to i32
                                             %2 = arith.shli %1, 16
                                             %3 = arith.bitcast %2 : i32 to f32

Where LLVM sees the type it moves comparisons, and constants, across the conversion, to
instructions that it then can't select (a comparison whose mask is widened to 16 bits,
on processors with AVX512-BF16, ended the process), and its own conversion is an
instruction that takes subnormal numbers for zeros.
"""

from __future__ import annotations

import struct

from girih.dialects.bindings import ir
from girih.passes.convert_tile_to_cpu import builder as b
from girih.passes.registry import register_pass

_SHIFT = 16  # from the bits of bfloat16 to those of float32
_UPPER_HALF = -(1 << _SHIFT)
_QUIET_NAN = 0x7FC0
_BELOW_HALF = 0x7FFF  # of a unit in the last place

# Besides these, ops of `arith` and `math` would compute on 16 bits.
_MOVES = frozenset({"arith.constant", "arith.select"})
_UNORDERED = 14  # the predicate of arith.cmpf


@register_pass("hold-bfloat16-as-bits")
def run(op: ir.Operation, options: None) -> None:
    """Gives every value of the type bfloat16 the type i16, which holds its bits."""
    bfloat16, bits = ir.BF16Type.get(), b.integer(16)
    if not _has_values_of(op, bfloat16):
        return  # as most programs
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if _mentions(operation, bfloat16):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    for operation in found:
        _retype(operation, bfloat16, bits)
    for operation in found:
        rule = _CONVERSIONS.get(operation.name)
        if rule is not None:
            with operation.location, ir.InsertionPoint(operation):
                value = rule(operation.operands[0], operation.results[0].type)
            operation.results[0].replace_all_uses_with(value)
            operation.erase()


def _has_values_of(op: ir.Operation, element: ir.Type) -> bool:
    """Whether an op within another makes a value, or an address, of this type."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        made = [*operation.results]
        made += (a for r in operation.regions for k in r.blocks for a in k.arguments)
        if operation.name == "llvm.getelementptr":
            is_one = operation.attributes["elem_type"].value == element
        else:
            is_one = any(b.element_of(value.type) == element for value in made)
        if not is_one:
            return ir.WalkResult.ADVANCE
        found.append(operation)
        return ir.WalkResult.INTERRUPT

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return bool(found)


def _mentions(operation: ir.Operation, element: ir.Type) -> bool:
    """Whether an op has operands, results, blocks or addresses of this type."""
    if operation.name == "llvm.getelementptr":
        return operation.attributes["elem_type"].value == element
    values = [*operation.operands, *operation.results]
    values += (a for r in operation.regions for k in r.blocks for a in k.arguments)
    return any(b.element_of(value.type) == element for value in values)


def _retype(operation: ir.Operation, old: ir.Type, new: ir.Type) -> None:
    """Gives results, block arguments, constants and addresses the new element type."""
    name = operation.name
    dialect = name.partition(".")[0]
    is_known = name in _MOVES or name in _CONVERSIONS
    if dialect in ("arith", "math") and not is_known:
        raise ValueError(f"girih bug: {name} computes on bfloat16: {operation}")
    if name == "llvm.getelementptr":
        operation.attributes["elem_type"] = ir.TypeAttr.get(new)
    values = list(operation.results)
    values += (a for r in operation.regions for k in r.blocks for a in k.arguments)
    for value in values:
        if b.element_of(value.type) == old:
            value.set_type(b.with_element(value.type, new))
    if name == "arith.constant":
        type = operation.results[0].type
        operation.attributes["value"] = _bits_of(operation.attributes["value"], type)


def _bits_of(number: ir.Attribute, type: ir.Type) -> ir.Attribute:
    """A constant of bfloat16, in each lane the same one, as a constant of its bits."""
    if isinstance(number, ir.DenseElementsAttr):
        if not number.is_splat:
            raise ValueError(f"girih bug: lanes of bfloat16 differ in {number}")
        number = number.get_splat_value()
    packed = struct.pack("<f", ir.FloatAttr(number).value)
    (pattern,) = struct.unpack("<I", packed)
    element = ir.IntegerAttr.get(b.element_of(type), pattern >> _SHIFT)
    if isinstance(type, ir.VectorType):
        return ir.DenseElementsAttr.get_splat(type, element)
    return element


def _widened(bits: ir.Value, type: ir.Type) -> ir.Value:
    """The float32 or float64 with the upper half given; every value is kept."""
    integers = b.with_element(bits.type, b.integer(32))
    floats = b.with_element(bits.type, ir.F32Type.get())
    wide = _upper_half_of(bits)
    if wide is None:
        wide = b.value("arith.extui", integers, [bits])
        wide = b.same("arith.shli", wide, b.splat(integers, _SHIFT))
    else:
        wide = b.same("arith.andi", wide, b.splat(integers, _UPPER_HALF))
    value = b.value("arith.bitcast", floats, [wide])
    return value if type == floats else b.value("arith.extf", type, [value])


def _upper_half_of(bits: ir.Value) -> ir.Value | None:
    """The integers of 32 bits whose upper halves these are.

    What is rounded and computed on needs none of the instructions that put halves next
    to each other, and take them apart: means of 1.6 million numbers that are rounded
    before take 300 us instead of 420 (AVX-512, 2026-11-28).
    """
    shifted = _operand_of(bits, "arith.trunci")
    if shifted is None or b.element_of(shifted.type) != b.integer(32):
        return None
    whole = _operand_of(shifted, "arith.shrui")
    is_half = whole is not None and _number(shifted.owner.operands[1]) == _SHIFT
    return whole if is_half else None


def _number(value: ir.Value) -> int | None:
    """The integer that a constant holds, in each lane; None for what is none."""
    if isinstance(value.owner, ir.Block) or value.owner.name != "arith.constant":
        return None
    attribute = value.owner.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr) and attribute.is_splat:
        attribute = attribute.get_splat_value()
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def _operand_of(value: ir.Value, name: str) -> ir.Value | None:
    """The first operand of the op of this name that made a value."""
    owner = value.owner
    is_one = not isinstance(owner, ir.Block) and owner.name == name
    return owner.operands[0] if is_one else None


def _narrowed(value: ir.Value, type: ir.Type) -> ir.Value:
    """The upper half of a float32, rounded to nearest, ties to even."""
    floats = b.with_element(value.type, ir.F32Type.get())
    if value.type != floats:
        value = b.value("arith.truncf", floats, [value])
    integers = b.with_element(value.type, b.integer(32))
    wide = b.value("arith.bitcast", integers, [value])
    shift = b.splat(integers, _SHIFT)
    odd = b.same("arith.shrui", wide, shift)
    odd = b.same("arith.andi", odd, b.splat(integers, 1))
    wide = b.add(b.add(wide, b.splat(integers, _BELOW_HALF)), odd)
    mask = b.with_element(value.type, b.integer(1))
    predicate = {"predicate": b.number(_UNORDERED)}
    is_nan = b.value("arith.cmpf", mask, [value, value], predicate)
    operands = [is_nan, b.splat(integers, _QUIET_NAN << _SHIFT), wide]
    wide = b.value("arith.select", integers, operands)
    return b.value("arith.trunci", type, [b.same("arith.shrui", wide, shift)])


def _same_bits(value: ir.Value, type: ir.Type) -> ir.Value:
    return value if value.type == type else b.value("arith.bitcast", type, [value])


_CONVERSIONS = {
    "arith.bitcast": _same_bits,
    "arith.extf": _widened,
    "arith.truncf": _narrowed,
}
