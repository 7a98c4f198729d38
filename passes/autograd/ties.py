"""Gradients that depend on values in ways that have no derivative.

The gradient of ``relu`` is ``where(y > 0, g, 0)``: a function of x, whose derivative by
x is zero. Eager's gradient, made under ``create_graph``, requires a gradient then.
Sweeps see no derivative go through the comparison, so such a gradient is tied to one of
the values that it depends on, by a ``custom_vjp`` that gives that one zeros. What goes
to the gradient itself goes on: it may depend on values that are not looked at here.
"""

from collections.abc import Iterable, Sequence

from girih.dialects.bindings import ir
from girih.dialects.graph.differentiation import DetachOp
from girih.dialects.graph.structure import YieldOp
from girih.passes.autograd.reverse import active_values
from girih.passes.autograd.rules import VjpBuilder


def tied(
    gradients: Sequence[ir.Value],
    ops: Sequence[ir.OpView],
    inputs: Sequence[ir.Value],
    ip: ir.InsertionPoint,
) -> list[ir.Value]:
    """The gradients, active where they depend on inputs at all.

    Args:
        gradients: Values made by ``ops``, or inputs themselves.
        ops: The ops of the block before ``ip``.
        inputs: What derivatives may be taken by.
        ip: Where new ops go.
    """
    active = active_values(ops, inputs)
    if all(gradient in active for gradient in gradients):
        return list(gradients)
    source = _sources(ops, active)
    return [
        gradient
        if gradient in active or gradient not in source
        else _tie(gradient, source[gradient], ip)
        for gradient in gradients
    ]


def _sources(
    ops: Iterable[ir.OpView], active: set[ir.Value]
) -> dict[ir.Value, ir.Value]:
    """For values that depend on active ones, one of these."""
    source = {value: value for value in active}
    for op in ops:
        if op.operation.name != DetachOp.OPERATION_NAME:
            found = next((source[v] for v in op.operands if v in source), None)
            if found is not None:
                for value in op.results:
                    source.setdefault(value, found)
    return source


def _tie(gradient: ir.Value, source: ir.Value, ip: ir.InsertionPoint) -> ir.Value:
    b = VjpBuilder(ip, frozenset())
    op = b.make("custom_vjp", [[gradient], [gradient, source]])
    block = op.regions[0].blocks.append(gradient.type, arg_locs=[b.loc])
    inner = VjpBuilder(ir.InsertionPoint(block), frozenset())
    zero = inner.constant(0.0, source.type.element_type)
    YieldOp.build([[*block.arguments, zero]], loc=b.loc, ip=inner.ip)
    return op.results[0]
