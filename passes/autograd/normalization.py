"""Derivatives of softmax and normalisations, in f32 where x is of a smaller type.

Formulas need x and the statistics, not the normalised x: that is computed again where
it is used, inside the kernel of a gradient.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.autograd.reduction import size_along
from girih.passes.autograd.rules import VjpBuilder, narrow, vjp

for _name in ("batch_norm_training", "group_norm", "layer_norm"):
    narrow(_name, mean="x", rstd="x")


def _row_sum(b: VjpBuilder, x: ir.Value, dim: int) -> ir.Value:
    return b.sum(x, [dim]) if ty.shape_of(x.type) else x


@vjp("softmax")
def vjp_softmax(op, cotangents, b: VjpBuilder) -> list:
    """y (g - sum(g y))."""
    y, g = b.widened(op.y), b.widened(cotangents[0])
    total = _row_sum(b, b.mul(g, y), op.dim)
    return [b.cast(b.mul(y, b.sub(g, total)), op.x.type.element_type)]


@vjp("log_softmax")
def vjp_log_softmax(op, cotangents, b: VjpBuilder) -> list:
    """g - exp(y) sum(g)."""
    y, g = b.widened(op.y), b.widened(cotangents[0])
    share = b.mul(b.op("exp", y), _row_sum(b, g, op.dim))
    return [b.cast(b.sub(g, share), op.x.type.element_type)]


@dataclass(frozen=True)
class _Shapes:
    """How a normalisation sees its operands.

    Attributes:
        x: The shape in which x is normalised.
        dims: The dims that statistics are over.
        parameters: The shape in which weight and bias broadcast with x.
    """

    x: tuple[Size, ...]
    dims: tuple[int, ...]
    parameters: tuple[Size, ...]

    @property
    def statistics(self) -> tuple[Size, ...]:
        """The shape of mean and rstd."""
        return tuple(1 if d in self.dims else n for d, n in enumerate(self.x))

    @property
    def shared(self) -> list[int]:
        """The dims of statistics along which weight and bias are constant."""
        leading = len(self.x) - len(self.parameters)
        sizes = (1,) * leading + self.parameters
        return [dim for dim in self.dims if sizes[dim] == 1]


def _last_dims(op) -> _Shapes:
    shape = ty.shape_of(op.x.type)
    start = len(shape) - op.normalized_rank
    return _Shapes(shape, tuple(range(start, len(shape))), shape[start:])


@vjp("layer_norm")
def vjp_layer_norm(op, cotangents, b: VjpBuilder) -> list:
    """Gradients of a normalisation over the last dims."""
    return _vjp_normalization(op, cotangents, b, _last_dims(op))


@vjp("group_norm")
def vjp_group_norm(op, cotangents, b: VjpBuilder) -> list:
    """Gradients of a normalisation of groups: [n, groups, channels of one, ...]."""
    batch, channels, *spatial = ty.shape_of(op.x.type)
    split = (op.groups, channels // op.groups)
    dims = tuple(range(2, 3 + len(spatial)))
    parameters = (*split, *(1 for _ in spatial))
    shapes = _Shapes((batch, *split, *spatial), dims, parameters)
    return _vjp_normalization(op, cotangents, b, shapes)


@vjp("batch_norm_training")
def vjp_batch_norm_training(op, cotangents, b: VjpBuilder) -> list:
    """Gradients of a normalisation of channels."""
    shape = ty.shape_of(op.x.type)
    dims = tuple(dim for dim in range(len(shape)) if dim != 1)
    shapes = _Shapes(shape, dims, (shape[1], *(1 for _ in shape[2:])))
    return _vjp_normalization(op, cotangents, b, shapes)


def _vjp_normalization(op, cotangents, b: VjpBuilder, shapes: _Shapes) -> list:
    """With z = (x - mean) rstd: rstd (g w - mean(g w) - z mean(g w z)); g z; g.

    [Note: sums of a normalisation's gradient] The sums for x take g w, those for the
    parameters g. Where the weight is constant along dims, the sums over these are
    shared: sum(g w) = w sum(g).
    """
    g, *of_statistics = cotangents
    x = b.reshape(b.widened(op.x), shapes.x)
    mean, rstd = _statistics(op, b, x, shapes)
    normal = b.mul(b.sub(x, mean), rstd)
    of_x, of_weight, of_bias = None, None, None
    if g is not None:
        g = b.reshape(b.widened(g), shapes.x)
        sums = [b.sum(value, shapes.shared) for value in (g, b.mul(g, normal))]
        of_bias = _of_parameter(b, sums[0], op.bias, shapes)
        of_weight = _of_parameter(b, sums[1], op.weight, shapes)
        if b.needs(op.x):
            of_x = _through_values(op, g, b, sums, (normal, rstd), shapes)
    if b.needs(op.x):
        of_x = _through_statistics(of_x, of_statistics, b, normal, rstd, shapes)
        of_x = _as_operand(b, of_x, op.x)
    return [of_x, of_weight, of_bias]


def _statistics(
    op, b: VjpBuilder, x: ir.Value, shapes: _Shapes
) -> tuple[ir.Value, ir.Value]:
    """Mean and rstd; found again where the op gives them rounded to a small type."""
    element = x.type.element_type
    if op.mean.type.element_type == element:
        kept = (b.reshape(value, shapes.statistics) for value in (op.mean, op.rstd))
        return tuple(kept)
    mean = b.op("mean", x, dims=shapes.dims)
    centered = b.sub(x, mean)
    variance = b.op("mean", b.mul(centered, centered), dims=shapes.dims)
    return mean, b.op("rsqrt", b.add(variance, b.like(op.eps, variance)))


def _of_parameter(
    b: VjpBuilder, gradient: ir.Value, parameter: ir.Value | None, shapes: _Shapes
) -> ir.Value | None:
    if not b.needs(parameter):
        return None
    return _as_operand(b, b.sum_to(gradient, shapes.parameters), parameter)


def _as_operand(b: VjpBuilder, gradient: ir.Value, operand: ir.Value) -> ir.Value:
    gradient = b.reshape(gradient, ty.shape_of(operand.type))
    return b.cast(gradient, operand.type.element_type)


def _weighted(
    b: VjpBuilder, x: ir.Value, weight: ir.Value | None, shape: Sequence[Size]
) -> ir.Value:
    if weight is None:
        return x
    return b.mul(x, _as(b, b.reshape(weight, shape), x))


def _through_values(
    op,
    g: ir.Value,
    b: VjpBuilder,
    sums: Sequence[ir.Value],
    normalized: tuple[ir.Value, ir.Value],
    shapes: _Shapes,
) -> ir.Value:
    normal, rstd = normalized
    rest = [dim for dim in shapes.dims if dim not in shapes.shared]
    count = size_along(b, normal, shapes.dims)
    weighted = [_weighted(b, value, op.weight, shapes.parameters) for value in sums]
    mean, along = (b.div(b.sum(value, rest), count) for value in weighted)
    g = _weighted(b, g, op.weight, shapes.parameters)
    return b.mul(rstd, b.sub(b.sub(g, mean), b.mul(normal, along)))


def _through_statistics(
    gradient: ir.Value | None,
    cotangents: Sequence[ir.Value | None],
    b: VjpBuilder,
    normal: ir.Value,
    rstd: ir.Value,
    shapes: _Shapes,
) -> ir.Value:
    """Adds what the results mean and rstd give: g / n; -g rstd**2 z / n."""
    of_mean, of_rstd = (
        None if g is None else b.reshape(_as(b, g, normal), shapes.statistics)
        for g in cotangents
    )
    count = size_along(b, normal, shapes.dims)
    parts = [] if gradient is None else [gradient]
    if of_rstd is not None:
        share = b.div(b.mul(of_rstd, b.mul(rstd, rstd)), count)
        parts.append(b.neg(b.mul(share, normal)))
    if of_mean is not None:
        parts.append(b.broadcast_to(b.div(of_mean, count), shapes.x))
    total = parts[0]
    for part in parts[1:]:
        total = b.add(total, part)
    return total


def _as(b: VjpBuilder, x: ir.Value, other: ir.Value) -> ir.Value:
    return b.cast(x, other.type.element_type)


@vjp("rms_norm")
def vjp_rms_norm(op, cotangents, b: VjpBuilder) -> list:
    """With r = 1 / sqrt(mean(x**2) + eps): r (g w - x r**2 mean(g w x)); g x r."""
    shapes = _last_dims(op)
    x, g = b.widened(op.x), b.widened(cotangents[0])
    mean = b.op("mean", b.mul(x, x), dims=shapes.dims)
    r = b.op("rsqrt", b.add(mean, b.like(op.eps, mean)))
    normal = b.mul(x, r)
    of_weight = _of_parameter(b, b.mul(g, normal), op.weight, shapes)
    if not b.needs(op.x):
        return [None, of_weight]
    g = _weighted(b, g, op.weight, shapes.parameters)
    along = b.op("mean", b.mul(g, normal), dims=shapes.dims)
    of_x = b.mul(r, b.sub(g, b.mul(normal, along)))
    return [_as_operand(b, of_x, op.x), of_weight]


@vjp("batch_norm")
def vjp_batch_norm(op, cotangents, b: VjpBuilder) -> list:
    """g w r; sum(g (x - mean)) r; sum(g), with r = 1 / sqrt(running_var + eps).

    As in eager, no derivative goes to the running statistics.
    """
    x, g = b.widened(op.x), b.widened(cotangents[0])
    shape = ty.shape_of(x.type)
    by_channel = (shape[1], *(1 for _ in shape[2:]))
    shapes = _Shapes(shape, (), by_channel)
    variance = b.op("detach", _as(b, op.running_var, x))
    mean = b.op("detach", _as(b, op.running_mean, x))
    r = b.op("rsqrt", b.add(variance, b.like(op.eps, variance)))
    mean, r = (b.reshape(value, by_channel) for value in (mean, r))
    of_weight = _of_parameter(b, b.mul(g, b.mul(b.sub(x, mean), r)), op.weight, shapes)
    of_bias = _of_parameter(b, g, op.bias, shapes)
    of_x = b.mul(g, _weighted(b, r, op.weight, by_channel))
    return [_as_operand(b, of_x, op.x), of_weight, of_bias, None, None]
