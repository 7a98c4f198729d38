"""Derivatives of calls of ATen that cost less than asking ATen for them.

ATen's own derivative of a call makes the call again. These are of the calls that are
met in training and whose derivative is one other op.
"""

from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import Argument, ItemRef, OperandRef
from girih.dialects.bindings import ir
from girih.passes.autograd.extern import calls
from girih.passes.autograd.indexing import call_aten
from girih.passes.autograd.rules import NotDifferentiable, VjpBuilder


def _operand(op, argument: Argument) -> ir.Value | None:
    return op.inputs[argument.index] if isinstance(argument, OperandRef) else None


def _placed(op, b: VjpBuilder, *pairs: tuple[Argument, ir.Value | None]) -> list:
    """Gradients of arguments as those of the operands that stand for them."""
    gradients: list[ir.Value | None] = [None] * len(op.inputs)
    for argument, gradient in pairs:
        if gradient is not None and isinstance(argument, OperandRef):
            known = gradients[argument.index]
            total = gradient if known is None else b.add(known, gradient)
            gradients[argument.index] = total
    return gradients


# Factors --------------------------------------------------------------------------


@calls("aten.deg2rad.default", "aten.rad2deg.default")
def vjp_angle(op, cotangents, b: VjpBuilder) -> Any:
    """The same factor; what it is multiplied with is not read."""
    (g,) = cotangents
    return [call_aten(b, op.op, [g], [OperandRef(0)], g.type)]


@calls("aten.round.decimals")
def vjp_round_decimals(op, cotangents, b: VjpBuilder) -> Any:
    """Nothing: it has steps alone."""
    return [b.zeros(op.inputs[0].type)]


@calls("aten.dot.default", "aten.vdot.default")
def vjp_dot(op, cotangents, b: VjpBuilder) -> Any:
    """The other factor."""
    (g,) = cotangents
    if _is_complex(g):
        return NotImplemented
    x, y = (_operand(op, argument) for argument in op.args)
    pairs = zip(op.args, (x, y), (y, x), strict=True)
    return _placed(
        op, b, *((place, b.mul(other, g)) for place, x, other in pairs if b.needs(x))
    )


# Writes at indices ----------------------------------------------------------------


def _index_of(op, argument: Argument, b: VjpBuilder) -> ir.Value:
    """An index of rank 1; torch takes one without dims too."""
    index = _operand(op, argument)
    return index if ty.shape_of(index.type) else b.reshape(index, (1,))


def _read(op, g: ir.Value, target: ir.Value, b: VjpBuilder) -> ir.Value | None:
    """What stands at the index of an op like ``index_add``, in the target's shape."""
    if not b.needs(target):
        return None
    dim = op.args[1] % len(ty.shape_of(g.type))
    taken = b.op("take", g, _index_of(op, op.args[2], b), dim=dim)
    return b.reshape(taken, ty.shape_of(target.type))


def _cleared(op, g: ir.Value, b: VjpBuilder) -> ir.Value | None:
    """The gradient with zeros where ``index_copy`` or ``index_fill`` wrote."""
    if not b.needs(_operand(op, op.args[0])):
        return None
    arguments = [OperandRef(0), op.args[1], OperandRef(1), 0]
    operands = [g, _operand(op, op.args[2])]
    return call_aten(b, "aten.index_fill.int_Scalar", operands, arguments, g.type)


def _has_dims(op) -> bool:
    return len(ty.shape_of(op.inputs[0].type)) > 0


@calls("aten.index_add.default")
def vjp_index_add(op, cotangents, b: VjpBuilder) -> Any:
    """x: 1; src: the gradient at the index, times alpha."""
    (g,) = cotangents
    alpha = op.kwargs.get("alpha", 1)
    is_complex = isinstance(g.type.element_type, ir.ComplexType)
    if isinstance(alpha, ItemRef) or is_complex or not _has_dims(op):
        return NotImplemented
    read = _read(op, g, _operand(op, op.args[3]), b)
    if read is not None and alpha != 1:
        read = b.mul(read, alpha)
    return _placed(op, b, (op.args[0], g), (op.args[3], read))


@calls("aten.index_copy.default")
def vjp_index_copy(op, cotangents, b: VjpBuilder) -> Any:
    """x: nothing where something was written; src: what is there now."""
    (g,) = cotangents
    if not _has_dims(op):
        return NotImplemented
    read = _read(op, g, _operand(op, op.args[3]), b)
    return _placed(op, b, (op.args[0], _cleared(op, g, b)), (op.args[3], read))


@calls("aten.index_fill.int_Scalar")
def vjp_index_fill(op, cotangents, b: VjpBuilder) -> Any:
    """x: nothing where something was written."""
    return _placed(op, b, (op.args[0], _cleared(op, cotangents[0], b)))


@calls("aten.scatter.value")
def vjp_scatter_value(op, cotangents, b: VjpBuilder) -> Any:
    """x: nothing where something was written."""
    (g,) = cotangents
    arguments = [OperandRef(0), op.args[1], OperandRef(1), 0]
    operands = [g, _operand(op, op.args[2])]
    cleared = call_aten(b, "aten.scatter.value", operands, arguments, g.type)
    return _placed(op, b, (op.args[0], cleared))


@calls("aten.masked_scatter.default")
def vjp_masked_scatter(op, cotangents, b: VjpBuilder) -> Any:
    """x: nothing where the mask holds; source: what is there, in order."""
    (g,) = cotangents
    x, mask, source = (_operand(op, argument) for argument in op.args[:3])
    kept = b.unbroadcast(b.where(mask, b.like(0.0, g), g), x) if b.needs(x) else None
    taken = None
    if b.needs(source):
        mask = b.broadcast_to(mask, ty.shape_of(g.type))
        arguments = [OperandRef(0), OperandRef(1), ty.shape_of(source.type)]
        name = "aten.masked_scatter_backward.default"
        taken = call_aten(b, name, [g, mask], arguments, source.type)
    return _placed(op, b, (op.args[0], kept), (op.args[2], taken))


@calls("aten.as_strided_scatter.default")
def vjp_as_strided_scatter(op, cotangents, b: VjpBuilder) -> Any:
    """x: nothing where something was written; src: what is there now.

    torch's own (2.13) keeps for x what was overwritten, and drops the rest.
    """
    (g,) = cotangents
    x, src = (_operand(op, argument) for argument in op.args[:2])
    where = op.args[2:]
    kept = read = None
    if b.needs(x):
        zeros = b.broadcast_to(b.like(0.0, g), ty.shape_of(src.type))
        arguments = [OperandRef(0), OperandRef(1), *where]
        kept = call_aten(b, op.op, [g, zeros], arguments, g.type)
    if b.needs(src):
        arguments = [OperandRef(0), *where]
        name = "aten.as_strided_copy.default"
        read = call_aten(b, name, [g], arguments, src.type)
    return _placed(op, b, (op.args[0], kept), (op.args[1], read))


@calls("aten.embedding.default")
def vjp_embedding(op, cotangents, b: VjpBuilder) -> Any:
    """Dense gradients are ATen's; sparse tensors are not for ``graph``."""
    if len(op.args) > 4 and op.args[4]:
        raise NotDifferentiable(f"{op.op} has a gradient that is a sparse tensor")
    return NotImplemented


@calls("aten.embedding_dense_backward.default")
def vjp_embedding_dense_backward(op, cotangents, b: VjpBuilder) -> Any:
    """Rows of the gradient; nothing for the padding."""
    (g,) = cotangents
    padding, is_scaled = op.args[3:5]
    if is_scaled or not isinstance(padding, int):
        return NotImplemented
    index = _operand(op, op.args[1])
    rows = b.op("take", g, index, dim=0)
    if padding >= 0:
        is_padding = b.op("eq", index, b.like(padding, index))
        column = b.reshape(is_padding, (*ty.shape_of(index.type), 1))
        rows = b.where(column, b.like(0.0, rows), rows)
    return _placed(op, b, (op.args[0], rows))


@calls("aten._embedding_bag_forward_only.default")
def vjp_embedding_bag(op, cotangents, b: VjpBuilder) -> Any:
    """By ATen's own op, which finds the bag of each index where nothing tells it."""
    weight, indices, offsets, *rest = op.args
    is_scaled, mode, is_sparse, weights, ends, padding = (
        *rest,
        *(False, 0, False, None, False, -1)[len(rest) :],
    )
    if op.kwargs or is_sparse or weights is not None or ends:
        return NotImplemented
    if any(cotangent is not None for cotangent in cotangents[1:]):
        return NotImplemented
    _, _, sizes, positions = op.outputs
    given = [cotangents[0], b.zeros(ty.tensor_type((0,), ty.i64())), sizes, positions]
    operands = [*op.inputs, *given]
    g, bags, sizes, positions = (OperandRef(len(op.inputs) + n) for n in range(4))
    type_ = op.inputs[weight.index].type
    count = ty.shape_of(type_)[0]
    arguments = [g, indices, offsets, bags, sizes, positions]
    arguments += [count, is_scaled, mode, False, None, padding]
    name = "aten._embedding_bag_backward.default"
    made = call_aten(b, name, operands, arguments, type_)
    return _placed(op, b, (weight, made))


@calls("aten.copy.default")
def vjp_copy(op, cotangents, b: VjpBuilder) -> Any:
    """What was overwritten gets nothing; torch has no derivative of this op."""
    (g,) = cotangents
    source = _operand(op, op.args[1])
    if source is None or source.type.element_type != g.type.element_type:
        raise NotDifferentiable(
            f"girih has no derivative of {op.op} between tensors of different dtypes"
        )
    return _placed(op, b, (op.args[1], b.unbroadcast(g, source)))


def _is_complex(value: ir.Value) -> bool:
    return isinstance(value.type.element_type, ir.ComplexType)
