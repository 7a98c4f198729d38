"""Import rules of ATen's backward ops, which transforms of ``torch.func`` bring.

An op that is given the operand of its forward op is the gradient of what the rule of
that op makes, so that each formula exists once, in ``passes/autograd``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from girih.frontend.importer import activation as forward
from girih.frontend.importer import declared, logarithms, losses  # noqa: F401  (rules)
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.classification import widened
from girih.frontend.importer.gradients import gradients_of
from girih.frontend.importer.registry import RULES, imports


def _gradient(b: Builder, rule: Callable, grad: Operand, x: Operand, *rest: Any):
    found = gradients_of(b, lambda x: rule(b, x, *rest), [x], grad)
    return found if found is NotImplemented else found[0]


# Their backward ops take the gradient, the operand, the rest of the forward op's
# arguments.
_OF_OPERAND = """gelu glu hardshrink hardsigmoid hardswish hardtanh huber_loss logit
mish mse_loss silu smooth_l1_loss soft_margin_loss softplus softshrink""".split()


def _backward(rule: Callable) -> Callable:
    def backward(b: Builder, grad, x, *rest, **options):
        return _gradient(b, rule, grad, x, *rest, *options.values())

    return backward


for _name in _OF_OPERAND:
    imports(f"{_name}_backward")(_backward(RULES[_name]))


@imports("log_sigmoid_backward")
def log_sigmoid_backward(b: Builder, grad_output, self, buffer):
    """As the others; the buffer is empty."""
    return _gradient(b, forward.log_sigmoid_of, grad_output, self)


@imports("leaky_relu_backward")
def leaky_relu_backward(b: Builder, grad_output, self, negative_slope, self_is_result):
    """As the others; the result has the operand's sign."""
    return _gradient(b, RULES["leaky_relu"], grad_output, self, negative_slope)


@imports("elu_backward")
def elu_backward(
    b: Builder, grad_output, alpha, scale, input_scale, is_result, self_or_result
):
    """As the others; of the result y: y + scale * alpha is the exponential."""
    if not is_result:
        parameters = (alpha, scale, input_scale)
        return _gradient(b, RULES["elu"], grad_output, self_or_result, *parameters)
    g, y = _promoted(b, grad_output, self_or_result)
    power = b.add(y, b.constant(scale * alpha, y.dtype))
    bent = b.mul(b.mul(g, b.constant(input_scale, g.dtype)), power)
    is_below = b.compare("le", y, b.constant(0, y.dtype))
    above = b.mul(g, b.constant(scale, g.dtype))
    return b.cast(b.where(is_below, bent, above), b.out[0].dtype)


@imports("_prelu_kernel_backward")
def prelu_backward(b: Builder, grad_output, self, weight):
    """Gradients of the operand and of the slopes."""
    inputs = [self, b.broadcast_to(weight, self.shape)]
    return gradients_of(b, lambda x, w: forward.prelu(b, x, w), inputs, grad_output)


# Of the result ----------------------------------------------------------------------


def _promoted(b: Builder, *operands: Operand) -> list[Operand]:
    """Operands of different dtypes in that of the result, as ATen computes with it."""
    return [widened(b, b.cast(operand, b.out[0].dtype)) for operand in operands]


@imports("threshold_backward")
def threshold_backward(b: Builder, grad_output, self, threshold):
    """The gradient above the threshold, else 0."""
    is_below = b.compare("le", self, b.constant(threshold, self.dtype))
    return b.where(is_below, b.constant(0, grad_output.dtype), grad_output)


@imports("sigmoid_backward")
def sigmoid_backward(b: Builder, grad_output, output):
    """g * (1 - y) * y."""
    g, y = _promoted(b, grad_output, output)
    slope = b.mul(b.sub(b.constant(1, y.dtype), y), y)
    return b.cast(b.mul(g, slope), b.out[0].dtype)


@imports("tanh_backward")
def tanh_backward(b: Builder, grad_output, output):
    """g * (1 - y * y)."""
    g, y = _promoted(b, grad_output, output)
    slope = b.sub(b.constant(1, y.dtype), b.mul(y, y))
    return b.cast(b.mul(g, slope), b.out[0].dtype)
