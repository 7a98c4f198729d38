"""Gradients of compiled elementwise functions and activations, against eager's."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from compiled_gradients import check_gradients
from extent import spread
from tensors import FLOATS, LAYOUTS

import girih

INF = math.inf

# name: (function, from, to)
UNARY = {
    "abs": (torch.abs, -2, 2),
    "acos": (torch.acos, -0.9, 0.9),
    "acosh": (torch.acosh, 1.1, 3),
    "asin": (torch.asin, -0.9, 0.9),
    "asinh": (torch.asinh, -2, 2),
    "atan": (torch.atan, -2, 2),
    "atanh": (torch.atanh, -0.9, 0.9),
    "celu": (lambda x: F.celu(x, 1.5), -3, 3),
    "clamp": (lambda x: x.clamp(-0.5, 0.8), -2, 2),
    "cos": (torch.cos, -3, 3),
    "cosh": (torch.cosh, -2, 2),
    "cube": (lambda x: x**3, -2, 2),
    "elu": (F.elu, -3, 3),
    "erf": (torch.erf, -2, 2),
    "erfc": (torch.erfc, -2, 2),
    "exp": (torch.exp, -2, 2),
    "exp2": (torch.exp2, -2, 2),
    "expm1": (torch.expm1, -2, 2),
    "floor": (torch.floor, -3, 3),
    "frac": (torch.frac, -3, 3),
    "gelu": (F.gelu, -3, 3),
    "gelu-tanh": (lambda x: F.gelu(x, approximate="tanh"), -3, 3),
    "glu": (F.glu, -3, 3),
    "hardshrink": (F.hardshrink, -2, 2),
    "hardsigmoid": (F.hardsigmoid, -5, 5),
    "hardswish": (F.hardswish, -5, 5),
    "hardtanh": (F.hardtanh, -3, 3),
    "inverse-square": (lambda x: x**-2, 0.5, 2),
    "leaky_relu": (F.leaky_relu, -2, 2),
    "log": (torch.log, 0.5, 3),
    "log10": (torch.log10, 0.5, 3),
    "log1p": (torch.log1p, -0.5, 3),
    "log2": (torch.log2, 0.5, 3),
    "logit": (torch.logit, 0.1, 0.9),
    "logit-eps": (lambda x: torch.logit(x, 0.2), 0.1, 0.9),
    "logsigmoid": (F.logsigmoid, -5, 5),
    "mish": (F.mish, -5, 5),
    "nan_to_num": (torch.nan_to_num, -2, 2),
    "neg": (torch.neg, -2, 2),
    "power": (lambda x: x**2.5, 0.5, 2),
    "reciprocal": (torch.reciprocal, 0.5, 2),
    "relu": (F.relu, -2, 2),
    "relu6": (F.relu6, -2, 8),
    "rsqrt": (torch.rsqrt, 0.5, 2),
    "selu": (F.selu, -3, 3),
    "sigmoid": (torch.sigmoid, -5, 5),
    "silu": (F.silu, -5, 5),
    "sin": (torch.sin, -3, 3),
    "sinh": (torch.sinh, -2, 2),
    "softplus": (F.softplus, -5, 5),
    "softshrink": (F.softshrink, -2, 2),
    "softsign": (F.softsign, -3, 3),
    "sqrt": (torch.sqrt, 0.5, 3),
    "square": (torch.square, -2, 2),
    "tan": (torch.tan, -1, 1),
    "tanh": (torch.tanh, -3, 3),
    "tanhshrink": (F.tanhshrink, -3, 3),
    "threshold": (lambda x: F.threshold(x, 0.5, -1.0), -2, 2),
}

BINARY = {
    "add": lambda x, y: torch.add(x, y, alpha=3),
    "addcdiv": lambda x, y: torch.addcdiv(x, x, y, value=0.5),
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.5),
    "atan2": torch.atan2,
    "clamp": lambda x, y: torch.clamp(x, y - 0.5, y),
    "copysign": torch.copysign,
    "div": torch.div,
    "div-floor": lambda x, y: x + torch.div(x, y, rounding_mode="floor"),
    "fmod": torch.fmod,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "logaddexp": torch.logaddexp,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "mul": torch.mul,
    "pow": torch.pow,
    "prelu": lambda x, y: torch.where(x > 1, x, y * x),
    "remainder": torch.remainder,
    "sub": torch.sub,
    "where": lambda x, y: torch.where(x > y, x, y * 2),
    "xlog1py": torch.special.xlog1py,
    "xlogy": torch.xlogy,
}

LOSSES = {
    "bce": F.binary_cross_entropy,
    "bce_with_logits": F.binary_cross_entropy_with_logits,
    "huber": lambda x, y: F.huber_loss(x, y, delta=0.3),
    "l1": F.l1_loss,
    "mse": F.mse_loss,
    "smooth_l1": lambda x, y: F.smooth_l1_loss(x, y, beta=0.3),
    "soft_margin": lambda x, y: F.soft_margin_loss(x, y.detach()),
}


def between(low: float, high: float, shape: tuple, dtype=torch.float64):
    torch.manual_seed(0)
    return (low + (high - low) * torch.rand(shape, dtype=torch.float64)).to(dtype)


@pytest.mark.parametrize(("name", "dtype"), spread(UNARY, FLOATS, every=2), ids=str)
def test_unary(name, dtype):
    function, low, high = UNARY[name]
    check_gradients(function, [between(low, high, (37, 38), dtype)])


@pytest.mark.parametrize(("name", "dtype"), spread(BINARY, FLOATS, every=2), ids=str)
def test_binary(name, dtype):
    x, y = between(0.6, 2, (2, 19, 23), dtype)
    check_gradients(BINARY[name], [x, y])


@pytest.mark.parametrize("name", ["add", "div", "maximum", "mul", "pow", "where"])
def test_broadcast(name):
    shapes = [((5, 1), (1, 7)), ((2, 3, 5), (5,)), ((33, 67), ()), ((0, 3), (1,))]
    for left, right in shapes:
        x, y = between(0.6, 2, left), between(0.6, 2, right)
        check_gradients(BINARY[name], [x, y], sums=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    x = LAYOUTS[layout](between(0.6, 2, (37, 19)))
    check_gradients(lambda x: torch.tanh(x) * x.exp(), [x])


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, dtype):
    x, y = between(0.1, 0.9, (2, 19, 23), dtype)
    check_gradients(LOSSES[name], [x, y], sums=True)


def test_weighted_cross_entropy():
    x, y = between(0.1, 0.9, (2, 6, 5))
    slope = between(0.5, 2, (5,))

    def loss(x, y, slope):
        slope = slope.detach()
        return F.binary_cross_entropy_with_logits(x, y, slope + 1, pos_weight=slope)

    check_gradients(loss, [x, y, slope], sums=True)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_at_its_bounds(reduction):
    x = torch.tensor([0.0, 1.0, 0.5, 1e-14, 0.3], dtype=torch.float64)
    target = torch.tensor([0.0, 1.0, 1.0, 0.5, 0.2], dtype=torch.float64)

    def loss(x, target, weight):
        weight, target = weight.detach(), target.detach()
        return F.binary_cross_entropy(x, target, weight, reduction=reduction)

    check_gradients(loss, [x, target, target + 1])


# Where eager's gradients are special: at kinks, ties, infinities.
SPECIAL = {
    "abs": (torch.abs, [0.0, -0.0, INF, -INF]),
    "clamp": (lambda x: x.clamp(-1, 1), [-1.0, 1.0, 2.0, INF]),
    "hardtanh": (F.hardtanh, [-1.0, 1.0, 2.0, INF]),
    "hardswish": (F.hardswish, [-3.0, 3.0, INF, -INF]),
    "inverse-square": (lambda x: x**-2, [0.0, 1e-30, -1e-30, INF]),
    "leaky_relu": (F.leaky_relu, [0.0, -0.0, INF, -INF]),
    "log": (torch.log, [0.0, INF, -1.0]),
    "logit": (torch.logit, [0.0, 1.0, 2.0, -1.0]),
    "pow-0": (lambda x: x**0, [0.0, INF, 1.0]),
    "relu": (F.relu, [0.0, -0.0, INF, -INF]),
    "softplus": (F.softplus, [20.0, 21.0, 200.0, -200.0]),
    "sqrt": (torch.sqrt, [0.0, INF, -1.0]),
    "xlogy": (lambda x: torch.xlogy(x, x + 1), [0.0, -1.0, INF]),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name):
    function, values = SPECIAL[name]
    check_gradients(function, [torch.tensor(values)])


def test_ties():
    x, y = torch.tensor([0.0, 1, 2]), torch.tensor([0.0, 2, 1])
    for function in (torch.maximum, torch.minimum, torch.fmax, torch.fmin):
        check_gradients(function, [x, y])


def test_numbers_win_over_nan():
    x, y = (
        torch.tensor([math.nan, 1, math.nan]),
        torch.tensor([0.0, math.nan, math.nan]),
    )
    check_gradients(lambda x, y: (torch.fmax(x, y), torch.fmin(x, y)), [x, y])


def test_logaddexp_of_infinities():
    x, y = torch.tensor([INF, -INF, INF, 0.0]), torch.tensor([0.0, 1.0, -INF, -INF])
    check_gradients(torch.logaddexp, [x, y])


def test_far_losses_have_gradients():
    far = torch.tensor([INF, -INF, 1e30, 0.0])
    for loss in (F.huber_loss, F.smooth_l1_loss):
        check_gradients(
            lambda x, y, f=loss: f(x, y, reduction="none"), [far, torch.zeros(4)]
        )


@pytest.mark.parametrize("number", [0.7, 0.3, 0.1])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_small_floats_near_a_number(dtype, number):
    """Eager rounds what it compares with, and no other number."""
    near = torch.tensor(number).to(dtype)
    up, down = (torch.nextafter(near, torch.tensor(v).to(dtype)) for v in (1.0, 0.0))
    x = torch.stack([down, near, up])
    functions = {
        "clamp": lambda x: x.clamp(-number, number),
        "hardshrink": lambda x: F.hardshrink(x, number),
        "hardtanh": lambda x: F.hardtanh(x, -number, number),
        "where": lambda x: torch.where(x > number, x, x * 2),
    }
    for function in functions.values():
        assert torch.equal(girih.compile(function)(x), function(x))
        check_gradients(function, [x])
