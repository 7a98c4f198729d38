"""Import rules of activations and pointwise losses."""

from __future__ import annotations

from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.elements import is_integral
from girih.frontend.importer.registry import imports


def _activation(b: Builder, name: str, x: Operand, **attributes) -> Operand:
    return b.op(name, [x], attributes, (x.shape, x.dtype))


@imports("gelu")
def gelu(b: Builder, self, approximate="none"):
    """x * P(X <= x)."""
    return _activation(b, "gelu", self, approximate=approximate)


@imports("silu")
def silu(b: Builder, self):
    """x * sigmoid(x)."""
    return _activation(b, "silu", self)


@imports("mish")
def mish(b: Builder, self):
    """x * tanh(softplus(x))."""
    return _activation(b, "mish", self)


@imports("elu")
def elu(b: Builder, self, alpha=1.0, scale=1.0, input_scale=1.0):
    """x, or an exponential below 0."""
    factors = {"alpha": alpha, "scale": scale, "input_scale": input_scale}
    return _activation(b, "elu", self, **{k: float(v) for k, v in factors.items()})


@imports("celu")
def celu(b: Builder, self, alpha=1.0):
    """As elu, smooth for every alpha."""
    return elu(b, self, alpha, 1.0, 1.0 / alpha)


@imports("leaky_relu")
def leaky_relu(b: Builder, self, negative_slope=0.01):
    """x, or a part of it below 0."""
    return _activation(b, "leaky_relu", self, negative_slope=float(negative_slope))


@imports("softplus")
def softplus(b: Builder, self, beta=1.0, threshold=20.0):
    """log(1 + exp(x))."""
    return _activation(
        b, "softplus", self, beta=float(beta), threshold=float(threshold)
    )


@imports("log_sigmoid_forward")
def log_sigmoid(b: Builder, self):
    """log(sigmoid(x)); the second result is an empty buffer on the CPU."""
    buffer = b.full(b.out[1].shape, 0, self.dtype)
    return _activation(b, "log_sigmoid", self), buffer


@imports("hardsigmoid")
def hardsigmoid(b: Builder, self):
    """A line between 0 and 1."""
    return _activation(b, "hardsigmoid", self)


@imports("hardswish")
def hardswish(b: Builder, self):
    """x * hardsigmoid(x)."""
    return _activation(b, "hardswish", self)


@imports("hardtanh")
def hardtanh(b: Builder, self, min_val=-1, max_val=1):
    """x between two numbers."""
    kind = int if is_integral(self.dtype) else float
    bounds = {"min_value": kind(min_val), "max_value": kind(max_val)}
    return _activation(b, "hardtanh", self, **bounds)


@imports("_prelu_kernel")
def prelu(b: Builder, self, weight):
    """x, or weight * x below 0."""
    positive = b.compare("gt", self, b.constant(0, self.dtype))
    return b.where(positive, self, b.mul(weight, self))


@imports("threshold")
def threshold(b: Builder, self, threshold, value):
    """x above a threshold, else a number."""
    below = b.compare("le", self, b.constant(threshold, self.dtype))
    return b.where(below, b.constant(value, self.dtype), self)


@imports("hardshrink")
def hardshrink(b: Builder, self, lambd=0.5):
    """x, but 0 between -lambd and lambd."""
    low = b.compare("ge", self, b.constant(-lambd, self.dtype))
    high = b.compare("le", self, b.constant(lambd, self.dtype))
    inside = b.binary("logical_and", low, high)
    return b.where(inside, b.constant(0, self.dtype), self)


@imports("softshrink")
def softshrink(b: Builder, self, lambd=0.5):
    """x moved towards 0 by lambd; NaN stays NaN."""
    amount, zero = b.constant(lambd, self.dtype), b.constant(0, self.dtype)
    above = b.compare("gt", self, amount)
    below = b.compare("lt", self, b.constant(-lambd, self.dtype))
    # 0 * x is 0, but NaN for NaN.
    inside = b.mul(self, zero)
    outside = b.where(below, b.add(self, amount), inside)
    return b.where(above, b.sub(self, amount), outside)


@imports("glu")
def glu(b: Builder, self, dim=-1):
    """One half times the sigmoid of the other."""
    dim = dim % self.rank
    half = b.out[0].shape[dim]
    first = b.slice(self, dim, 0, half)
    second = b.slice(self, dim, half, half)
    return b.mul(first, b.unary("sigmoid", second))


# Losses -------------------------------------------------------------------------


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
    half = b.constant(0.5, size.dtype)
    bound = b.constant(beta, size.dtype)
    near = b.div(b.mul(b.mul(size, size), half), bound)
    far = b.sub(size, b.mul(bound, half))
    return reduced_loss(b, b.where(b.compare("lt", size, bound), near, far), reduction)


@imports("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    b: Builder, self, target, weight=None, pos_weight=None, reduction=1
):
    """(1 - target) * x - log(sigmoid(x)), without overflow."""
    if pos_weight is not None or self.dtype != target.dtype:
        return NotImplemented
    rest = b.sub(b.constant(1, target.dtype), target)
    logarithm = _activation(b, "log_sigmoid", self)
    loss = b.sub(b.mul(rest, self), logarithm)
    if weight is not None:
        loss = b.mul(loss, weight)
    return reduced_loss(b, loss, reduction)
