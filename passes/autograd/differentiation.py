"""Derivatives of the ops of differentiation themselves."""

from collections.abc import Mapping, Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.passes.autograd.rules import (
    NotDifferentiable,
    VjpBuilder,
    not_differentiable,
    vjp,
)

not_differentiable("no derivative goes through it", "detach", inactive=True)
not_differentiable("it is resolved before", "gradient", inactive=True)


@vjp("alias")
def vjp_alias(op, cotangents, b: VjpBuilder) -> list:
    """d/dx x = 1."""
    if op.once:
        raise NotDifferentiable(
            "the gradient of an autograd.Function marked with once_differentiable "
            "can't be differentiated again, nor more than three times that of one "
            "whose backward applies the function itself"
        )
    return [cotangents[0]]


@vjp("substitute")
def vjp_substitute(op, cotangents, b: VjpBuilder) -> list:
    """The value is a constant; the derivative is the original's."""
    return [None, cotangents[0]]


@vjp("custom_vjp")
def vjp_custom(op, cotangents, b: VjpBuilder) -> list:
    """What the region says: its ops are copied to where the cotangents are."""
    given = [
        b.zeros(value.type) if cotangent is None else cotangent
        for value, cotangent in zip(op.values, cotangents, strict=True)
    ]
    block = op.body.blocks[0]
    has_outputs = len(block.arguments) > len(given)
    given += list(op.outputs) if has_outputs else []
    gradients = _inlined(block, given, b)
    absent = op.absent or ()
    full = [
        None if n in absent else b.broadcast_to(gradient, ty.shape_of(value.type))
        for n, (gradient, value) in enumerate(zip(gradients, op.inputs, strict=True))
    ]
    return [None, full]


def _inlined(
    block: ir.Block, arguments: Sequence[ir.Value], b: VjpBuilder
) -> list[ir.Value]:
    """Copies a block's ops; returns what it would yield for these arguments."""
    values = dict(zip(block.arguments, arguments, strict=True))
    *body, last = block.operations
    for op in body:
        copy = op.operation.clone(ip=b.ip)
        _replace_operands(copy, values)
        values.update(zip(op.results, copy.results, strict=True))
    return [values.get(value, value) for value in last.operands]


def _replace_operands(op: ir.Operation, values: Mapping[ir.Value, ir.Value]) -> None:
    """Has an op, and those of its regions, read other values."""
    for index, operand in enumerate(op.operands):
        if operand in values:
            op.operands[index] = values[operand]
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                _replace_operands(inner.operation, values)
