"""Import rules of losses that compare elements."""

from __future__ import annotations

from girih.frontend.importer.activation import log_sigmoid_of
from girih.frontend.importer.builder import Builder, Operand, broadcast_shapes
from girih.frontend.importer.gradients import with_gradient
from girih.frontend.importer.registry import imports


def reduced_loss(b: Builder, loss: Operand, reduction: int) -> Operand:
    """A loss as it is (0), its mean (1) or its sum (2)."""
    if reduction == 0 or loss.rank == 0:
        return loss
    dims = list(range(loss.rank))
    shape = (1,) * loss.rank
    if reduction == 1:
        total = b.op("mean", [loss], {"dims": dims}, (shape, loss.dtype))
    else:
        total = b.reduce("reduce_sum", loss, dims)
    return b.reshape(total, ())


@imports("mse_loss")
def mse_loss(b: Builder, self, target, reduction=1):
    """The squared difference."""
    if self.dtype != target.dtype:
        return NotImplemented
    difference = b.sub(self, target)
    return reduced_loss(b, b.mul(difference, difference), reduction)


@imports("smooth_l1_loss")
def smooth_l1_loss(b: Builder, self, target, reduction=1, beta=1.0):
    """Squared near 0, else linear."""
    if self.dtype != target.dtype or beta == 0:
        return NotImplemented
    size = b.unary("abs", b.sub(self, target))
    half, bound = b.constant(0.5, size.dtype), b.constant(beta, size.dtype)
    is_near = b.compare("lt", size, bound)
    near = _masked(b, is_near, size)
    squared = b.div(b.mul(b.mul(near, near), half), bound)
    far = b.sub(size, b.mul(bound, half))
    return reduced_loss(b, b.where(is_near, squared, far), reduction)


@imports("huber_loss")
def huber_loss(b: Builder, self, target, reduction=1, delta=1.0):
    """Squared up to delta, else linear."""
    if self.dtype != target.dtype:
        return NotImplemented
    size = b.unary("abs", b.sub(self, target))
    half, bound = b.constant(0.5, size.dtype), b.constant(delta, size.dtype)
    is_near = b.compare("le", size, bound)
    near = _masked(b, is_near, size)
    squared = b.mul(b.mul(near, near), half)
    far = b.mul(bound, b.sub(size, b.mul(bound, half)))
    return reduced_loss(b, b.where(is_near, squared, far), reduction)


def _masked(b: Builder, condition: Operand, x: Operand) -> Operand:
    """x where the condition holds: squares of the others have infinite derivatives."""
    return b.where(condition, x, b.constant(0, x.dtype))


@imports("soft_margin_loss")
def soft_margin_loss(b: Builder, self, target, reduction=1):
    """log(1 + exp(-target * x))."""
    if self.dtype != target.dtype:
        return NotImplemented
    power = b.unary("exp", b.mul(b.unary("neg", target), self))
    return reduced_loss(b, b.unary("log1p", power), reduction)


@imports("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    b: Builder, self, target, weight=None, pos_weight=None, reduction=1
):
    """(1 - target) * x - (1 + (pos_weight - 1) * target) * log(sigmoid(x))."""
    given = (self, target, weight, pos_weight)
    if any(value is not None and value.dtype != self.dtype for value in given):
        return NotImplemented
    loss = _with_logits(b, self, target, pos_weight)
    if weight is not None:
        loss = b.mul(loss, weight)
    return reduced_loss(b, loss, reduction)


def _with_logits(
    b: Builder, x: Operand, target: Operand, pos_weight: Operand | None
) -> Operand:
    """The loss; its gradient by x is sigmoid(x) - target, which loses no digits."""
    one = b.constant(1, x.dtype)
    slope, positive = one, target
    if pos_weight is not None:
        slope = b.add(b.mul(b.sub(pos_weight, one), target), one)
        positive = b.mul(pos_weight, target)
    operands = (x, target, slope, positive)
    shape = broadcast_shapes(*(operand.shape for operand in operands))
    x, target, slope, positive = (b.broadcast_to(v, shape) for v in operands)
    logarithm = log_sigmoid_of(b, x)
    value = b.sub(b.mul(b.sub(one, target), x), b.mul(slope, logarithm))

    def gradient(g: Operand) -> list[Operand]:
        share = b.sub(b.mul(slope, b.unary("sigmoid", x)), positive)
        by_target, by_slope = (b.mul(b.unary("neg", g), v) for v in (x, logarithm))
        return [b.mul(g, share), by_target, by_slope]

    return with_gradient(b, value, [x, target, slope], gradient)
