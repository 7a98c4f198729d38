"""Between the precision of memory and that of registers.

Floats of 16 bits are computed in 32, and have the digits of 32 from one op to the next
in a kernel. What jumps, a comparison or a rounding to integers, would then jump where
eager's does not, or find no element that is equal to the largest one; `decided_on`
gives such an op what eager would have stored.
"""

from collections.abc import Sequence

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import JUMPS, KEEPS_DIGITS, PASSES_DIGITS
from girih.passes.tile.elements import Element
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.nodes import ComputeNode, Node, OpNode, ReduceNode


def widened(b: Builder, value: Value, element: Element) -> Value:
    """A value as loaded, in its computing type."""
    if element.computing == element:
        return value
    return b.op("arith.extf", element.register_name, value)


def narrowed(b: Builder, value: Value, element: Element) -> Value:
    """A value in its computing type, as stored.

    What was widened has only the digits that are stored, and is not rounded again: for
    bfloat16, whose numbers LLVM takes for integers, nothing later would see that.
    """
    if element.computing == element:
        return value
    if _is_widened(b, value, element):
        return value.owner.operands[0]
    return b.op("arith.truncf", element.memory_name, value)


def _is_widened(b: Builder, value: Value, element: Element) -> bool:
    if isinstance(value.owner, ir.Block) or value.owner.name != "arith.extf":
        return False
    source = value.owner.operands[0].type
    if isinstance(source, ir.VectorType):
        source = source.element_type
    return source == b.type(element.memory_name, 0)


def rounded(b: Builder, value: Value, element: Element) -> Value:
    """A value rounded to the element's own precision, in its computing type."""
    return widened(b, narrowed(b, value, element), element)


def decided_on(
    b: Builder, node: ComputeNode | ReduceNode, values: Sequence[Value]
) -> Sequence[Value]:
    """The operands' values, as stored where the node's value jumps."""
    is_cast_to_float = node.name == "cast" and node.element.is_float
    if is_cast_to_float or not has(node.op, JUMPS):
        return values
    pairs = zip(node.operands, values, strict=True)
    return [
        rounded(b, value, operand.element) if _is_finer(operand) else value
        for operand, value in pairs
    ]


def _is_finer(node: Node) -> bool:
    """Whether a value may have more digits than its element keeps."""
    if node.element.computing == node.element:
        return False
    if not isinstance(node, OpNode):
        return False
    if has(node.op, PASSES_DIGITS):
        return _is_finer(node.operands[0])
    return not has(node.op, KEEPS_DIGITS)
