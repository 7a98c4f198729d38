"""What the conversions of scheduled kernels know of upstream ops, for any target."""

from __future__ import annotations

from girih.dialects.bindings import ir

COMBINE = {
    "add": ("arith.addi", "arith.addf"),
    "and": ("arith.andi", ""),
    "maximumf": ("", "arith.maximumf"),
    "maxnumf": ("", "arith.maxnumf"),
    "maxsi": ("arith.maxsi", ""),
    "maxui": ("arith.maxui", ""),
    "minimumf": ("", "arith.minimumf"),
    "minnumf": ("", "arith.minnumf"),
    "minsi": ("arith.minsi", ""),
    "minui": ("arith.minui", ""),
    "mul": ("arith.muli", "arith.mulf"),
    "or": ("arith.ori", ""),
    "xor": ("arith.xori", ""),
}
"""How each kind of vector reduction combines two integers, or two floats."""


def constant_of(operand: ir.Value) -> int | None:
    """The number that an index or integer value holds, or None if it is not known."""
    owner = operand.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    attribute = owner.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def is_all_true(mask: ir.Value) -> bool:
    """Whether a mask is the constant with all lanes set."""
    owner = mask.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return False
    attribute = owner.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        return attribute.is_splat and bool(attribute.get_splat_value().value)
    return bool(attribute.value)
