"""Import rules of layer, group and batch normalisation."""

from __future__ import annotations

from girih.dialects.dims import Dim, product
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.registry import effects, imports


@imports("native_layer_norm")
def layer_norm(b: Builder, input, normalized_shape, weight, bias, eps):
    """Normalised over the last dims; also mean and rstd."""
    attributes = {"normalized_rank": len(normalized_shape), "eps": float(eps)}
    results = [(spec.shape, spec.dtype) for spec in b.out]
    return b.multi_op("layer_norm", [input, weight, bias], attributes, *results)


@imports("native_group_norm")
def group_norm(b: Builder, input, weight, bias, N, C, HxW, group, eps):
    """Normalised within groups of channels; also mean and rstd."""
    attributes = {"groups": group, "eps": float(eps)}
    results = [(spec.shape, spec.dtype) for spec in b.out]
    return b.multi_op("group_norm", [input, weight, bias], attributes, *results)


@imports("_native_batch_norm_legit_no_training")
def batch_norm(
    b: Builder, input, weight, bias, running_mean, running_var, momentum, eps
):
    """Normalised with given statistics; the other results are empty."""
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
    results = [(spec.shape, spec.dtype) for spec in b.out]
    attributes = {"eps": float(eps)}
    return b.multi_op("batch_norm_training", [x, weight, bias], attributes, *results)


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
    for tensor, value in zip(result, values, strict=True):
        recorder.add_value(tensor, value)
    if training and mean is not None:
        dims = [0, *range(2, input.rank)]
        count = product([input.shape[dim] for dim in dims])
        unbiased = _unbiased_variance(b, input, dims, count)
        moved = _moved(b, mean, values[1], momentum)
        recorder.write(args[3], moved, unseen=True)
        moved = _moved(b, variance, unbiased, momentum)
        recorder.write(args[4], moved, unseen=True)
    return result


def _unbiased_variance(b: Builder, x: Operand, dims: list[int], count) -> Operand:
    shape = tuple(1 if dim in dims else size for dim, size in enumerate(x.shape))
    # One value has no unbiased variance: eager gives inf or NaN there, as 0 / 0 does.
    correction = 1.0 if isinstance(count, Dim) or count else 0.0
    attributes = {"dims": dims, "correction": correction}
    y = b.op("var", [x], attributes, (shape, x.dtype))
    return b.reshape(y, (x.shape[1],))


def _moved(b: Builder, running: Operand, batch: Operand, momentum: float) -> Operand:
    batch = b.cast(batch, running.dtype)
    old = b.mul(running, b.constant(1 - momentum, running.dtype))
    return b.add(old, b.mul(batch, b.constant(momentum, running.dtype)))
