"""Casts between element types, and between memory and registers.

Source: https://pytorch.org/docs/stable/generated/torch.Tensor.to.html; what C leaves
undefined (floats out of an integer's range) gives some integer and never traps.
"""

from collections.abc import Sequence

from girih.passes.tile.elements import BOOL, F32, Element
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.float8 import decoded, encoded
from girih.passes.tile.emit.logic import truth
from girih.passes.tile.emit.precision import rounded
from girih.passes.tile.emit.rules import emits
from girih.passes.tile.nodes import ComputeNode

# Integers of so many bits are numbers of every float type that is not of 8 bits.
_EXACT_BITS = 8


@emits("cast")
def emit_cast(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """The value in another element type."""
    return cast(b, values[0], node.operands[0].element, node.element)


def cast(b: Builder, value: Value, source: Element, target: Element) -> Value:
    """A register value of one element type as a register value of another."""
    if source == target:
        return value
    if source.is_float8:
        return cast(b, decoded(b, value, source), F32, target)
    if target.is_float8:
        return encoded(b, cast(b, value, source, F32), target)
    if target is BOOL:
        return truth(b, source, value)
    if target.is_float:
        wide = _to_float(b, value, source, target)
        is_exact = not source.is_float and source.bits <= _EXACT_BITS
        return wide if is_exact else rounded(b, wide, target)
    if source.is_float:
        return _float_to_integer(b, value, source, target)
    return _integer_to_integer(b, value, source, target)


def _to_float(b: Builder, value: Value, source: Element, target: Element) -> Value:
    name = target.register_name
    if not source.is_float:
        op = "arith.sitofp" if source.kind == "signed" else "arith.uitofp"
        return b.op(op, name, value)
    have, want = source.computing.bits, target.computing.bits
    if have == want:
        return value
    return b.op("arith.extf" if have < want else "arith.truncf", name, value)


def _float_to_integer(
    b: Builder, value: Value, source: Element, target: Element
) -> Value:
    if target.kind == "unsigned" and target.bits == 64:
        return _float_to_u64(b, value, source)
    # Narrow and unsigned targets keep the low bits of a wider signed integer, as the
    # vectorised eager kernels do.
    wide = 32 if target.bits < 32 else 64 if target.kind == "unsigned" else target.bits
    integer = b.op("arith.fptosi", f"i{wide}", value)
    if wide == target.bits:
        return integer
    return b.op("arith.trunci", target.register_name, integer)


def _float_to_u64(b: Builder, value: Value, source: Element) -> Value:
    limit = b.constant(2.0**63, source.register_name)
    is_large = b.compare_floats("oge", value, limit)
    small = b.select(is_large, b.same("arith.subf", value, limit), value)
    integer = b.op("arith.fptosi", "i64", small)
    top = b.constant(1 << 63, "i64")
    return b.select(is_large, b.same("arith.xori", integer, top), integer)


def _integer_to_integer(
    b: Builder, value: Value, source: Element, target: Element
) -> Value:
    if source.bits == target.bits:
        return value
    if source.bits > target.bits:
        return b.op("arith.trunci", target.register_name, value)
    name = "arith.extsi" if source.kind == "signed" else "arith.extui"
    return b.op(name, target.register_name, value)
