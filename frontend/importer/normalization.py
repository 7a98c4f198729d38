"""Import rules of layer, group and batch normalisation."""

from __future__ import annotations

import torch

from girih.dialects.dims import Dim, product
from girih.dialects.graph.differentiation import DetachOp
from girih.frontend.importer.builder import Builder, Operand, Scalar
from girih.frontend.importer.classification import widened
from girih.frontend.importer.registry import effects, imports


@imports("native_layer_norm")
def layer_norm(b: Builder, input, normalized_shape, weight, bias, eps):
    """Normalised over the last dims; also mean and rstd."""
    if isinstance(eps, Scalar):
        dims = range(input.rank - len(normalized_shape), input.rank)
        return _written_out(b, input, dims, weight, bias, eps)
    attributes = {"normalized_rank": len(normalized_shape), "eps": float(eps)}
    results = [(spec.shape, spec.dtype) for spec in b.out]
    return b.multi_op("layer_norm", [input, weight, bias], attributes, *results)


def _attached(statistic: Operand) -> Operand:
    """A statistic as ATen's backward ops take it: for them it depends on x.

    Where gradients are asked for, the recorder detached it, as eager does.
    """
    op = statistic.value.owner
    is_detached = isinstance(op, DetachOp)
    return statistic._replace(value=op.x) if is_detached else statistic


@imports("native_group_norm")
def group_norm(b: Builder, input, weight, bias, N, C, HxW, group, eps):
    """Normalised within groups of channels; also mean and rstd."""
    if isinstance(eps, Scalar):
        return _groups_written_out(b, input, weight, bias, group, eps)
    attributes = {"groups": group, "eps": float(eps)}
    results = [(spec.shape, spec.dtype) for spec in b.out]
    return b.multi_op("group_norm", [input, weight, bias], attributes, *results)


@imports("_native_batch_norm_legit_no_training")
def batch_norm(
    b: Builder, input, weight, bias, running_mean, running_var, momentum, eps
):
    """Normalised with given statistics; the other results are empty."""
    if isinstance(eps, Scalar):
        y = _by_statistics(b, input, weight, bias, running_mean, running_var, eps)
        return y, *(b.full(spec.shape, 0, spec.dtype) for spec in b.out[1:])
    operands = [input, weight, bias, running_mean, running_var]
    y = b.op("batch_norm", operands, {"eps": float(eps)}, (input.shape, input.dtype))
    return y, *(b.full(spec.shape, 0, spec.dtype) for spec in b.out[1:])


@imports("_native_batch_norm_legit.no_stats")
def batch_norm_without_statistics(
    b: Builder, input, weight, bias, training, momentum, eps
):
    """Normalised with the batch's own statistics."""
    return _training(b, input, weight, bias, eps)


def _training(b: Builder, x: Operand, weight, bias, eps) -> list[Operand]:
    if isinstance(eps, Scalar):
        weight, bias = (_of_channels(b, value, x) for value in (weight, bias))
        dims = [dim for dim in range(x.rank) if dim != 1]
        return _written_out(b, x, dims, weight, bias, eps)
    results = [(spec.shape, spec.dtype) for spec in b.out]
    attributes = {"eps": float(eps)}
    return b.multi_op("batch_norm_training", [x, weight, bias], attributes, *results)


def _of_channels(b: Builder, value: Operand | None, x: Operand) -> Operand | None:
    """A value for each channel, in a shape that broadcasts with x."""
    return value and b.reshape(value, (x.shape[1], *(1 for _ in x.shape[2:])))


def _written_out(
    b: Builder, x: Operand, dims, weight, bias, eps: Scalar
) -> list[Operand]:
    """The three results of a normalisation whose eps is an input of the graph."""
    wide = widened(b, x)
    mean = b.reduce("mean", wide, list(dims))
    centered = b.sub(wide, mean)
    variance = b.reduce("mean", b.mul(centered, centered), list(dims))
    rstd = b.unary("rsqrt", b.add(variance, b.constant(eps, wide.dtype)))
    y = _scaled(b, b.mul(centered, rstd), weight, bias)
    return _fitted(b, (y, mean, rstd))


def _groups_written_out(
    b: Builder, x: Operand, weight, bias, group: int, eps: Scalar
) -> list[Operand]:
    shape = (x.shape[0], group, x.shape[1] // group, *x.shape[2:])
    split = b.reshape(widened(b, x), shape)
    dims = list(range(2, len(shape)))
    mean = b.reduce("mean", split, dims)
    centered = b.sub(split, mean)
    variance = b.reduce("mean", b.mul(centered, centered), dims)
    rstd = b.unary("rsqrt", b.add(variance, b.constant(eps, split.dtype)))
    z = b.reshape(b.mul(centered, rstd), x.shape)
    weight, bias = (_of_channels(b, value, x) for value in (weight, bias))
    return _fitted(b, (_scaled(b, z, weight, bias), mean, rstd))


def _by_statistics(
    b: Builder, x: Operand, weight, bias, mean: Operand, variance: Operand, eps: Scalar
) -> Operand:
    wide = widened(b, x)
    variance = b.cast(variance, wide.dtype)
    rstd = b.unary("rsqrt", b.add(variance, b.constant(eps, wide.dtype)))
    mean, rstd, weight, bias = (
        _of_channels(b, value and b.cast(value, wide.dtype), x)
        for value in (mean, rstd, weight, bias)
    )
    y = b.mul(b.sub(wide, mean), rstd)
    return b.cast(_scaled(b, y, weight, bias), x.dtype)


def _scaled(b: Builder, z: Operand, weight, bias) -> Operand:
    if weight is not None:
        z = b.mul(z, b.cast(weight, z.dtype))
    return z if bias is None else b.add(z, b.cast(bias, z.dtype))


def _fitted(b: Builder, values) -> list[Operand]:
    """Values in the dtypes and shapes of the results."""
    return [
        b.reshape(b.cast(value, spec.dtype), spec.shape)
        for value, spec in zip(values, b.out, strict=True)
    ]


@effects("native_batch_norm", "_native_batch_norm_legit")
def batch_norm_with_statistics(recorder, func, args, kwargs):
    """Batch normalisation which, when training, updates the running statistics."""
    result = func(*args, **kwargs)
    input, weight, bias, mean, variance, training, momentum, eps = recorder.plain(args)
    b = recorder.builder
    recorder.expect(list(result))
    if training:
        values = _training(b, input, weight, bias, eps)
    else:
        values = batch_norm(b, input, weight, bias, mean, variance, momentum, eps)
    values = recorder.seen("native_batch_norm", values, [input])
    for tensor, value in zip(result, values, strict=True):
        recorder.add_value(tensor, value)
    if training and mean is not None:
        _move_statistics(recorder, args, input, values[1])
    return result


@effects("cudnn_batch_norm")
def cudnn_batch_norm(recorder, func, args, kwargs):
    """The same op, as ATen names it on GPUs for many shapes and dtypes.

    cuDNN's own numbers for its backward pass are none of ours: zeros stand for them.
    """
    result = func(*args, **kwargs)
    input, weight, bias, mean, variance, training, momentum, eps = recorder.plain(args)
    b = recorder.builder
    *own, reserved = result
    recorder.expect(own)
    if training:
        values = _training(b, input, weight, bias, eps)
    else:
        values = batch_norm(b, input, weight, bias, mean, variance, momentum, eps)
    values = recorder.seen("native_batch_norm", values, [input])
    for tensor, value in zip(own, values, strict=True):
        recorder.add_value(tensor, value)
    recorder.add_value(reserved, b.full(tuple(reserved.shape), 0, reserved.dtype))
    if training and mean is not None:
        _move_statistics(recorder, args, input, values[1])
    return result


def _move_statistics(recorder, args, input: Operand, batch_mean: Operand) -> None:
    """Moves the running statistics towards those of the batch."""
    _, _, _, mean, variance, _, momentum, _ = recorder.plain(args)
    b = recorder.builder
    dims = [0, *range(2, input.rank)]
    count = product([input.shape[dim] for dim in dims])
    unbiased = _unbiased_variance(b, input, dims, count)
    moved = _moved(b, mean, batch_mean, momentum)
    _write_uncounted(recorder, args[3], moved)
    moved = _moved(b, variance, unbiased, momentum)
    _write_uncounted(recorder, args[4], moved)


def _write_uncounted(recorder, target, value: Operand) -> None:
    """Writes a tensor that keeps its version in eager, too."""
    storage = recorder.tracked(target).storage
    before = storage.version
    recorder.write(target, value, unseen=True)
    storage.uncounted += storage.version - before


def _unbiased_variance(b: Builder, x: Operand, dims: list[int], count) -> Operand:
    shape = tuple(1 if dim in dims else size for dim, size in enumerate(x.shape))
    # One value has no unbiased variance: eager gives inf or NaN there, as 0 / 0 does.
    correction = 1.0 if isinstance(count, Dim) or count else 0.0
    attributes = {"dims": dims, "correction": correction}
    y = b.op("var", [x], attributes, (shape, x.dtype))
    return b.reshape(y, (x.shape[1],))


def _rest(b: Builder, share: float | Scalar) -> float | Scalar:
    """1 - share, in float64."""
    if not isinstance(share, Scalar):
        return 1 - share
    one = b.constant(1.0, torch.float64)
    return Scalar(b.sub(one, b.cast(share.operand, torch.float64)))


def _moved(
    b: Builder, running: Operand, batch: Operand, momentum: float | Scalar
) -> Operand:
    batch = b.cast(batch, running.dtype)
    old = b.mul(running, b.constant(_rest(b, momentum), running.dtype))
    return b.add(old, b.mul(batch, b.constant(momentum, running.dtype)))


@imports("_weight_norm_interface")
def weight_norm(b: Builder, v, g, dim=0):
    """v * (g / norm), the norms over all dims but one; also the norms."""
    x = widened(b, v)
    dims = [d for d in range(v.rank) if d != dim % v.rank]
    norm = b.unary("sqrt", b.reduce("reduce_sum", b.mul(x, x), dims))
    y = b.mul(x, b.div(b.cast(g, x.dtype), norm))
    norm = b.cast(b.reshape(norm, b.out[1].shape), b.out[1].dtype)
    return b.cast(y, v.dtype), norm


# Gradients ----------------------------------------------------------------------


class _Normalized:
    """What gradients of a normalisation are computed from, in one shape.

    Attributes:
        x: The operand, widened, in the shape in which it is normalised.
        rstd: 1 / sqrt(variance + eps).
        z: The normalised x.
    """

    def __init__(self, b: Builder, x: Operand, shape, dims, mean, rstd):
        """Args: x is normalised in ``shape`` over ``dims`` with these statistics.

        Without dims the statistics do not depend on x.
        """
        self._builder = b
        self._dims = dims
        self._own_shape = x.shape
        self.x = b.reshape(widened(b, x), shape)
        mean, self.rstd = (b.cast(value, self.x.dtype) for value in (mean, rstd))
        self.z = b.mul(b.sub(self.x, mean), self.rstd)

    def _fit(self, value: Operand, shape) -> Operand:
        b = self._builder
        return b.reshape(b.cast(value, self.x.dtype), shape)

    def gradients(self, g: Operand, weight: Operand | None, parameters, mask) -> list:
        """The gradients of x, weight and bias; None for those not asked for.

        Args:
            g: The gradient of the result.
            weight: The factor, or None.
            parameters: The shape in which weight and bias broadcast with x.
            mask: Which gradients are asked for.
        """
        b = self._builder
        g = self._fit(g, self.x.shape)
        of_x = self._of_x(g, weight, parameters) if mask[0] else None
        found = [of_x and b.reshape(of_x, self._own_shape)]
        for wanted, each in zip(mask[1:], (b.mul(g, self.z), g), strict=True):
            found.append(self._summed(each, parameters) if wanted else None)
        return found

    def _of_x(self, g: Operand, weight: Operand | None, parameters) -> Operand:
        """rstd (g w - mean(g w) - z mean(g w z)), or rstd g w."""
        b = self._builder
        if weight is not None:
            g = b.mul(g, self._fit(weight, parameters))
        if not self._dims:
            return b.mul(self.rstd, g)
        along = b.reduce("mean", b.mul(g, self.z), self._dims)
        centered = b.sub(g, b.reduce("mean", g, self._dims))
        return b.mul(self.rstd, b.sub(centered, b.mul(self.z, along)))

    def _summed(self, x: Operand, shape) -> Operand:
        """x summed over the dims that a parameter of this shape does not have."""
        leading = x.rank - len(shape)
        repeated = [leading + d for d, size in enumerate(shape) if size == 1]
        return self._builder.reduce("reduce_sum", x, [*range(leading), *repeated])


def _as_results(b: Builder, gradients: list[Operand | None]) -> list[Operand]:
    """The gradients that are there, as eager gives them."""
    present = [gradient for gradient in gradients if gradient is not None]
    return [
        b.cast(b.reshape(gradient, spec.shape), spec.dtype)
        for gradient, spec in zip(present, b.out, strict=True)
    ]


@imports("native_layer_norm_backward")
def layer_norm_backward(
    b: Builder, grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask
):
    """Gradients of a normalisation over the last dims."""
    start = input.rank - len(normalized_shape)
    dims = range(start, input.rank)
    mean, rstd = _attached(mean), _attached(rstd)
    normalized = _Normalized(b, input, input.shape, dims, mean, rstd)
    shape = input.shape[start:]
    return _as_results(b, normalized.gradients(grad_out, weight, shape, output_mask))


@imports("native_group_norm_backward")
def group_norm_backward(
    b: Builder, grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask
):
    """Gradients of a normalisation within groups of channels."""
    spatial = input.shape[2:]
    split = (group, input.shape[1] // group)
    shape = (input.shape[0], *split, *spatial)
    kept = (*shape[:2], *(1 for _ in shape[2:]))
    mean, rstd = (b.reshape(value, kept) for value in (mean, rstd))
    normalized = _Normalized(b, input, shape, range(2, len(shape)), mean, rstd)
    parameters = (*split, *(1 for _ in spatial))
    found = normalized.gradients(grad_out, weight, parameters, output_mask)
    return _as_results(b, found)


@imports("native_batch_norm_backward")
def batch_norm_backward(
    b: Builder,
    grad_out,
    input,
    weight,
    running_mean,
    running_var,
    save_mean,
    save_invstd,
    train,
    eps,
    output_mask,
):
    """Gradients of a normalisation of channels, with own or given statistics."""
    if train and (save_mean is None or save_invstd is None):
        return NotImplemented
    # On fake tensors x gets its gradient, asked for or not.
    output_mask = (True, *output_mask[1:])
    by_channel = (input.shape[1], *(1 for _ in input.shape[2:]))
    dims = [dim for dim in range(input.rank) if dim != 1] if train else []
    if train:
        mean, rstd = _attached(save_mean), _attached(save_invstd)
    else:
        variance = widened(b, running_var)
        eps = b.constant(eps, variance.dtype)
        mean, rstd = running_mean, b.unary("rsqrt", b.add(variance, eps))
    mean, rstd = (b.reshape(value, by_channel) for value in (mean, rstd))
    normalized = _Normalized(b, input, input.shape, dims, mean, rstd)
    found = normalized.gradients(grad_out, weight, by_channel, output_mask)
    return _as_results(b, found)


@imports("cudnn_batch_norm_backward")
def cudnn_batch_norm_backward(
    b: Builder,
    input,
    grad_output,
    weight,
    running_mean,
    running_var,
    save_mean,
    save_var,
    epsilon,
    reserveSpace,  # noqa: N803  (ATen's name)
):
    """The same; cuDNN's takes part in training alone."""
    return batch_norm_backward(
        *(b, grad_output, input, weight, running_mean, running_var),
        *(save_mean, save_var, True, epsilon, (True, True, True)),
    )
