"""Derivatives of contractions: contractions again, so of every order.

Transposed operands are views, which matrix products take as they are. What a product
gives for a transposed operand is transposed too: after the way back it is contiguous.

The gradient of a weight is computed before that of what it was multiplied with: the
latter is as large as the saved value that nobody needs after the former.
"""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import product
from girih.passes.autograd.elementwise import refuse_complex
from girih.passes.autograd.rules import VjpBuilder, vjp


@vjp("mm", "bmm")
def vjp_matmul(op, cotangents, b: VjpBuilder) -> list:
    """d/dA A @ B = g @ B^T; d/dB = A^T @ g."""
    refuse_complex(op)
    (g,) = cotangents
    lhs = rhs = None
    if b.needs(op.rhs):
        rhs = _multiplied(b, _transposed(b, op.lhs), g, op.rhs)
    if b.needs(op.lhs):
        lhs = _multiplied(b, g, _transposed(b, op.rhs), op.lhs)
    return [lhs, rhs]


@vjp("addmm", "baddbmm")
def vjp_add_matmul(op, cotangents, b: VjpBuilder) -> list:
    """As mm and bmm, times alpha; beta for the bias."""
    (g,) = cotangents
    bias = None
    if b.needs(op.bias):
        bias = b.unbroadcast(_scaled(b, g, op.beta), op.bias)
    products = vjp_matmul(op, cotangents, b)
    return [bias, *(p if p is None else _scaled(b, p, op.alpha) for p in products)]


def _scaled(b: VjpBuilder, x: ir.Value, factor: float) -> ir.Value:
    return x if factor == 1 else b.mul(x, factor)


@vjp("linear")
def vjp_linear(op, cotangents, b: VjpBuilder) -> list:
    """d/dX X @ W^T = g @ W; d/dW = g^T @ X: one product each, over all rows."""
    refuse_complex(op)
    (g,) = cotangents
    x = weight = bias = None
    rows = _as_rows(b, g)
    if b.needs(op.weight):
        columns = _transposed(b, rows)
        weight = _multiplied(b, columns, _as_rows(b, op.x), op.weight)
    if b.needs(op.x):
        product = _multiplied(b, rows, op.weight, op.x)
        x = b.reshape(product, ty.shape_of(op.x.type))
    if b.needs(op.bias):
        bias = b.unbroadcast(g, op.bias)
    return [x, weight, bias]


def _as_rows(b: VjpBuilder, x: ir.Value) -> ir.Value:
    *batch, width = ty.shape_of(x.type)
    return b.reshape(x, (product(batch), width))


def _multiplied(
    b: VjpBuilder, lhs: ir.Value, rhs: ir.Value, like: ir.Value
) -> ir.Value:
    """lhs @ rhs, transposed in memory if ``like`` is the transpose of something."""
    name = "mm" if len(ty.shape_of(lhs.type)) == 2 else "bmm"
    if _source_of_transpose(like) is None:
        return b.op(name, lhs, rhs)
    swapped = b.op(name, _transposed(b, rhs), _transposed(b, lhs))
    return b.transpose(swapped)


def _transposed(b: VjpBuilder, x: ir.Value) -> ir.Value:
    source = _source_of_transpose(x)
    return b.transpose(x) if source is None else source


def _source_of_transpose(x: ir.Value) -> ir.Value | None:
    """What x is the transpose of, in its last two dims."""
    if isinstance(x, ir.BlockArgument):
        return None
    maker = x.owner.opview
    if maker.operation.name != "graph.permute":
        return None
    rank = len(ty.shape_of(x.type))
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    return maker.x if tuple(maker.permutation) == swapped else None
