"""Derivatives of attention kernels: a kernel, and formulas beyond the first order."""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has_any, role_of
from girih.dialects.graph.flash_attention import (
    FlashAttentionBackwardOp,
    FlashAttentionOp,
    score_shape,
)
from girih.dialects.traits import ASSEMBLES, CREATES, ELEMENTWISE, REINDEXES, Role
from girih.passes.autograd.attention import gradients
from girih.passes.autograd.rules import NotDifferentiable, VjpBuilder, vjp
from girih.passes.canonicalize_graph import simplify
from girih.passes.write_out_attention import (
    inlined,
    written_logits,
    written_result,
)


@vjp("flash_attention")
def vjp_flash_attention(op, cotangents, b: VjpBuilder) -> list:
    """By a kernel; written out where the score function's operands have gradients.

    The kernel needs the sums g * y over rows, which are one more reduction.
    """
    g, *by_statistics = cotangents
    if any(cotangent is not None for cotangent in by_statistics):
        raise NotDifferentiable(
            "girih can differentiate only the first result of "
            f"'{op.operation.name}', and the program needs the gradient of another one"
        )
    if any(b.needs(value) for value in op.operands_of_score):
        return _written_out(op, g, b)
    block = op.operation.regions[0].blocks[0]
    rows = ty.shape_of(op.total.type)
    last = len(rows)
    products = b.mul(b.widened(g), b.widened(op.y))
    delta = b.reshape(b.sum(products, [last]), rows)
    inputs = (op.query, op.key, op.value)
    made = b.make(
        FlashAttentionBackwardOp.OPERATION_NAME.removeprefix("graph."),
        [g, *inputs, op.largest, op.total, delta, op.operands_of_score],
    )
    if not _fill(made, block):
        made.erase()
        return _written_out(op, g, b)
    return [*made.results, None]


def _fill(made: ir.Operation, block: ir.Block) -> bool:
    """Makes the region: the score function, and its derivative by the scores.

    False where the derivative is not elementwise.
    """
    forward = list(block.operations)[-1].operands[0].type
    scores, *others = [argument.type for argument in block.arguments]
    types = [scores, forward, *others]
    own = made.regions[0].blocks.append(*types, arg_locs=[made.location] * len(types))
    end = ir.InsertionPoint(own)
    b = VjpBuilder(end, frozenset())
    b.loc = made.location
    given, cotangent, *operands = own.arguments
    (result,) = inlined(b, block, [given, *operands])
    (gradient,) = gradients(b, [(result, cotangent)], [given])
    if gradient is None:
        gradient = b.zeros(scores)
    values = [result, gradient]
    ir.Operation.create("graph.yield", operands=values, loc=made.location, ip=end)
    simplify(own)
    return all(_stays_in_place(op) for op in own.operations)


def _stays_in_place(op: ir.OpView) -> bool:
    """Whether an op may stand in a score function."""
    return role_of(op) is Role.STRUCTURE or has_any(op, *_IN_PLACE)


_IN_PLACE = (ASSEMBLES, CREATES, ELEMENTWISE, REINDEXES)


def _written_out(op: FlashAttentionOp, g: ir.Value, b: VjpBuilder) -> list:
    """The gradients of the operands by those of the formula."""
    operands = [b.op("alias", value) for value in _operands(op)]
    y = _formula(b, operands, op.operation.regions[0].blocks[0])
    found = gradients(b, [(y, g)], operands)
    return [*found[:3], found[3:]]


def _operands(op) -> list[ir.Value]:
    return [op.query, op.key, op.value, *op.operands_of_score]


def _formula(b: VjpBuilder, operands: list[ir.Value], block: ir.Block) -> ir.Value:
    return written_result(b, written_logits(b, operands, block), operands[2])


@vjp("flash_attention_backward")
def vjp_flash_attention_backward(op, cotangents, b: VjpBuilder) -> list:
    """The derivative of the formula's derivative.

    The kernel's results are functions of the gradient, query, key, value and the score
    function's operands; the other two only save it work.
    """
    given = [op.gradient, *_operands(op)]
    g, *operands = [b.op("alias", value) for value in given]
    query, key, value, *others = operands
    block = op.operation.regions[0].blocks[0]
    # The score function's result does not depend on its gradient: any will do.
    shape = score_shape(query.type, key.type)
    result = list(block.operations)[-1].operands[0]
    unused = b.typed("full", [], shape, result.type.element_type, value=0.0)
    logits = written_logits(b, [query, key, value, unused, *others], block)
    y = written_result(b, logits, value)
    first = gradients(b, [(y, g)], operands[:3])
    seeds = [
        (value, cotangent)
        for value, cotangent in zip(first, cotangents, strict=True)
        if cotangent is not None
    ]
    found = gradients(b, seeds, [g, *operands])
    return [*found[:4], None, None, None, found[4:]]
