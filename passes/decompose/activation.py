"""Activations as arithmetic, in f32 where the operand is of a smaller float type."""

from math import pi, sqrt

from girih.dialects.bindings import ir
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder


def _rounded(op, b: GraphBuilder, y: ir.Value) -> list[ir.Value]:
    return [b.cast(y, op.results[0].type.element_type)]


@decomposes("gelu")
def decompose_gelu(op, b: GraphBuilder) -> list[ir.Value]:
    """x/2 * (1 + erf(x / sqrt 2)), or with tanh; as ATen computes them."""
    x = b.widened(op.x)
    half = b.op("mul", x, b.like(0.5, x))
    inner = _gelu_tanh(b, x) if op.approximate == "tanh" else _gelu_erf(b, x)
    return _rounded(op, b, b.op("mul", half, b.op("add", inner, b.like(1.0, x))))


def _gelu_erf(b: GraphBuilder, x: ir.Value) -> ir.Value:
    return b.op("erf", b.op("mul", x, b.like(sqrt(0.5), x)))


def _gelu_tanh(b: GraphBuilder, x: ir.Value) -> ir.Value:
    cube = b.op("mul", b.op("mul", x, x), x)
    bent = b.op("add", x, b.op("mul", cube, b.like(0.044715, x)))
    return b.op("tanh", b.op("mul", bent, b.like(sqrt(2 / pi), x)))


@decomposes("silu")
def decompose_silu(op, b: GraphBuilder) -> list[ir.Value]:
    """x * sigmoid(x)."""
    x = b.widened(op.x)
    return _rounded(op, b, b.op("mul", x, b.op("sigmoid", x)))


@decomposes("mish")
def decompose_mish(op, b: GraphBuilder) -> list[ir.Value]:
    """x * tanh(log1p(exp x)); for large x the tanh is that of infinity, 1."""
    x = b.widened(op.x)
    softplus = b.op("log1p", b.op("exp", x))
    return _rounded(op, b, b.op("mul", x, b.op("tanh", softplus)))


@decomposes("elu")
def decompose_elu(op, b: GraphBuilder) -> list[ir.Value]:
    """Scale * x above 0, else scale * alpha * expm1(input_scale * x)."""
    x = b.widened(op.x)
    above = b.op("mul", x, b.like(op.scale, x))
    bent = b.op("expm1", b.op("mul", x, b.like(op.input_scale, x)))
    below = b.op("mul", bent, b.like(op.alpha * op.scale, x))
    is_above = b.op("gt", x, b.like(0.0, x))
    return _rounded(op, b, b.op("where", is_above, above, below))


@decomposes("leaky_relu")
def decompose_leaky_relu(op, b: GraphBuilder) -> list[ir.Value]:
    """x above 0, else negative_slope * x."""
    x = b.widened(op.x)
    below = b.op("mul", x, b.like(op.negative_slope, x))
    is_above = b.op("gt", x, b.like(0.0, x))
    return _rounded(op, b, b.op("where", is_above, x, below))


@decomposes("softplus")
def decompose_softplus(op, b: GraphBuilder) -> list[ir.Value]:
    """log1p(exp(beta * x)) / beta, and x itself above the threshold."""
    x = b.widened(op.x)
    beta = b.like(op.beta, x)
    scaled = b.op("mul", x, beta)
    soft = b.op("div", b.op("log1p", b.op("exp", scaled)), beta)
    is_linear = b.op("gt", scaled, b.like(op.threshold, x))
    return _rounded(op, b, b.op("where", is_linear, x, soft))


@decomposes("log_sigmoid")
def decompose_log_sigmoid(op, b: GraphBuilder) -> list[ir.Value]:
    """min(x, 0) - log1p(exp(-|x|)), which does not overflow."""
    x = b.widened(op.x)
    decay = b.op("exp", b.op("neg", b.op("abs", x)))
    low = b.op("minimum", x, b.like(0.0, x))
    return _rounded(op, b, b.op("sub", low, b.op("log1p", decay)))


@decomposes("hardsigmoid")
def decompose_hardsigmoid(op, b: GraphBuilder) -> list[ir.Value]:
    """min(max(x + 3, 0), 6) / 6."""
    x = b.widened(op.x)
    return _rounded(op, b, b.op("div", _relu6_of_shifted(b, x), b.like(6.0, x)))


@decomposes("hardswish")
def decompose_hardswish(op, b: GraphBuilder) -> list[ir.Value]:
    """x * min(max(x + 3, 0), 6) / 6."""
    x = b.widened(op.x)
    gated = b.op("mul", x, _relu6_of_shifted(b, x))
    return _rounded(op, b, b.op("div", gated, b.like(6.0, x)))


def _relu6_of_shifted(b: GraphBuilder, x: ir.Value) -> ir.Value:
    shifted = b.op("add", x, b.like(3.0, x))
    return b.op("minimum", b.op("relu", shifted), b.like(6.0, x))


@decomposes("hardtanh")
def decompose_hardtanh(op, b: GraphBuilder) -> list[ir.Value]:
    """min(max(x, min_value), max_value)."""
    low = b.op("maximum", op.x, b.like(op.min_value, op.x))
    return [b.op("minimum", low, b.like(op.max_value, op.x))]


@decomposes("clamp")
def decompose_clamp(op, b: GraphBuilder) -> list[ir.Value]:
    """min(max(x, low), high), so that high wins and NaN stays."""
    y, low, high = op.x, op.low, op.high
    if low is not None:
        y = b.op("maximum", y, low)
    if high is not None:
        y = b.op("minimum", y, high)
    return [y]
