"""Import rules of activations."""

from __future__ import annotations

import torch

from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.elementwise import rounded
from girih.frontend.importer.gradients import followed
from girih.frontend.importer.registry import effects, imports
from girih.frontend.importer.schema import with_defaults


def _activation(b: Builder, name: str, x: Operand, **attributes) -> Operand:
    return b.op(name, [x], attributes, (x.shape, x.dtype))


@imports("celu")
def celu(b: Builder, self, alpha=1.0):
    """As elu, smooth for every alpha."""
    factors = {"alpha": float(alpha), "scale": 1.0, "input_scale": 1.0 / alpha}
    return _activation(b, "elu", self, **factors)


@imports("log_sigmoid_forward")
def log_sigmoid(b: Builder, self):
    """log(sigmoid(x)), and what its derivative reads on the CPU: exp(-|x|)."""
    if self.shape != b.out[1].shape:
        return log_sigmoid_of(b, self), b.full(b.out[1].shape, 0, self.dtype)
    distance = b.unary("neg", b.unary("abs", self))
    return log_sigmoid_of(b, self), b.unary("exp", distance)


def log_sigmoid_of(b: Builder, x: Operand) -> Operand:
    """log(sigmoid(x)), without overflow."""
    return _activation(b, "log_sigmoid", x)


@imports("_prelu_kernel")
def prelu(b: Builder, self, weight):
    """x, or weight * x below 0."""
    self, weight = followed(b, self), followed(b, weight)
    zero = b.constant(0, self.dtype)
    positive = b.compare("gt", self, zero)
    # Masked, so that the gradient of the weight has no 0 * infinity.
    below = b.mul(weight, b.where(positive, zero, self))
    return b.where(positive, self, below)


@imports("threshold")
def threshold(b: Builder, self, threshold, value):
    """x above a threshold, else a number."""
    self = followed(b, self)
    below = b.compare("le", self, b.constant(threshold, self.dtype))
    return b.where(below, rounded(b, value, self.dtype), self)


@imports("hardshrink")
def hardshrink(b: Builder, self, lambd=0.5):
    """x, but 0 between -lambd and lambd."""
    self = followed(b, self)
    low = b.compare("ge", self, rounded(b, -lambd, self.dtype))
    high = b.compare("le", self, rounded(b, lambd, self.dtype))
    inside = b.binary("logical_and", low, high)
    return b.where(inside, b.constant(0, self.dtype), self)


@imports("softshrink")
def softshrink(b: Builder, self, lambd=0.5):
    """x moved towards 0 by lambd; NaN stays NaN."""
    self = followed(b, self)
    amount, zero = b.constant(lambd, self.dtype), b.constant(0, self.dtype)
    low = b.compare("ge", self, b.constant(-lambd, self.dtype))
    high = b.compare("le", self, amount)
    above = b.compare("gt", self, zero)
    moved = b.where(above, b.sub(self, amount), b.add(self, amount))
    return b.where(b.binary("logical_and", low, high), zero, moved)


@imports("glu")
def glu(b: Builder, self, dim=-1):
    """One half times the sigmoid of the other."""
    dim = dim % self.rank
    half = b.out[0].shape[dim]
    first = b.slice(self, dim, 0, half)
    second = b.slice(self, dim, half, half)
    return b.mul(first, b.unary("sigmoid", second))


@imports("rrelu_with_noise_functional")
def rrelu(b: Builder, self, noise, lower=0.125, upper=1 / 3, training=False, *rest):
    """In evaluation: x, or the mean slope times x below 0."""
    if training:
        return NotImplemented
    slope = float((lower + upper) / 2)
    return _activation(b, "leaky_relu", self, negative_slope=slope), noise


@effects("rrelu_with_noise")
def rrelu_with_noise(recorder, func, args, kwargs):
    """Writes the slopes that it draws, in training, to its second argument."""
    result, noise = func(*args, **kwargs), args[1]
    twin = torch.ops.aten.rrelu_with_noise_functional.default
    args = with_defaults(func, args)
    value, slopes = recorder.compute(twin, args, kwargs, [result, noise])
    recorder.add_value(result, value)
    recorder.write(noise, slopes, unseen=True)
    return result
