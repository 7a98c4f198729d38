"""Gradients that import rules give themselves, and gradients of import rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.frontend.importer.builder import Builder, Operand, Spec


def with_gradient(
    b: Builder,
    value: Operand,
    inputs: Sequence[Operand],
    gradient: Callable[[Operand], Sequence[Operand | None]],
) -> Operand:
    """A value whose derivative is not that of the ops it is made of.

    Args:
        b: The builder.
        value: What ``inputs`` give.
        inputs: What gradients go to.
        gradient: Takes the cotangent of the value; returns one gradient for each
            input, of its shape and dtype, or None for zeros.
    """
    type_ = (value.shape, value.dtype)
    made, block = b.region_op("custom_vjp", [[value], list(inputs)], [type_], type_)
    with b.inside(block):
        found = gradient(Operand(block.arguments[0], *type_))
        pairs = zip(inputs, found, strict=True)
        b.finish([_given(b, x, gradient) for x, gradient in pairs])
    return made[0]


def _given(b: Builder, x: Operand, gradient: Operand | None) -> Operand:
    if gradient is None:
        return b.op("constant", [], {"value": 0.0}, ((), x.dtype))
    return gradient


def followed(b: Builder, x: Operand) -> Operand:
    """An operand of a rule; what the rule gives it has a derivative by it, of zeros.

    Eager's gradient has one where it compares with x in a kernel of its own.
    """
    return b.op("alias", [x], {"followed": True}, (x.shape, x.dtype))


def gradients_of(
    b: Builder,
    forward: Callable[..., Operand],
    inputs: Sequence[Operand],
    cotangent: Operand,
) -> list[Operand]:
    """What ``forward(*inputs)`` gives its inputs for a cotangent of its result.

    Args:
        b: The builder.
        forward: Makes the value of a result, as the rule of an ATen op does.
        inputs: What it is derived by.
        cotangent: Of the shape and dtype of the result.

    Returns:
        A gradient for each input, or NotImplemented where the rule says that.
    """
    own = [b.op("alias", [x], {}, (x.shape, x.dtype)) for x in inputs]
    specs, b.out = b.out, [Spec(cotangent.shape, cotangent.dtype)]
    value = forward(*own)
    b.out = specs
    if value is NotImplemented or value[1:3] != cotangent[1:3]:
        return NotImplemented
    types = [(x.shape, x.dtype) for x in inputs]
    operands = [[value], own, [cotangent]]
    return b.multi_op("gradient", operands, {"create_graph": True}, *types)
