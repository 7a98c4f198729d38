"""Derivatives of calls of ATen on signals: resampling, windows, Fourier transforms.

The adjoint of each is an op of ATen that needs no second run of the call itself.
"""

from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import Dim, OperandRef
from girih.dialects.bindings import ir
from girih.passes.autograd.extern import calls
from girih.passes.autograd.indexing import call_aten
from girih.passes.autograd.rules import VjpBuilder
from girih.passes.autograd.shape import pad_with_zeros, slice_along

X = OperandRef(0)

# Resampling -----------------------------------------------------------------------

_UPSAMPLING = tuple(
    f"aten.{name}.default"
    for name in (
        "_upsample_bicubic2d_aa",
        "_upsample_bilinear2d_aa",
        "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d",
        "_upsample_nearest_exact3d",
        "upsample_bicubic2d",
        "upsample_bilinear2d",
        "upsample_linear1d",
        "upsample_nearest1d",
        "upsample_nearest2d",
        "upsample_nearest3d",
        "upsample_trilinear3d",
    )
)


@calls(*_UPSAMPLING)
def vjp_upsample(op, cotangents, b: VjpBuilder) -> Any:
    """ATen's adjoint op, which needs the sizes alone."""
    if len(op.inputs) != 1 or op.kwargs:
        return NotImplemented
    _, size, *rest = op.args
    (x,) = op.inputs
    arguments = [OperandRef(0), size, ty.shape_of(x.type), *rest]
    name = op.op.replace(".default", "_backward.default")
    return [call_aten(b, name, [cotangents[0]], arguments, x.type)]


@calls("aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default")
def vjp_grid_sampler(op, cotangents, b: VjpBuilder) -> Any:
    """ATen's adjoint op, for the image and for where it is looked at."""
    image, grid = op.inputs
    arguments = [X, OperandRef(1), OperandRef(2), *op.args[2:], (True, True)]
    made = b.make(
        "extern",
        [[cotangents[0], image, grid]],
        {"op": op.op.replace(".default", "_backward.default"), "args": arguments},
        results=[image.type, grid.type],
    )
    return list(made.results)


# Windows --------------------------------------------------------------------------


@calls("aten.im2col.default")
def vjp_im2col(op, cotangents, b: VjpBuilder) -> Any:
    """What was copied into several windows is summed."""
    (x,) = op.inputs
    arguments = [X, ty.shape_of(x.type)[-2:], *op.args[1:]]
    return [call_aten(b, "aten.col2im.default", cotangents, arguments, x.type)]


@calls("aten.col2im.default")
def vjp_col2im(op, cotangents, b: VjpBuilder) -> Any:
    """What was summed is copied into the windows."""
    (x,) = op.inputs
    arguments = [X, *op.args[2:]]
    return [call_aten(b, "aten.im2col.default", cotangents, arguments, x.type)]


# Fourier transforms ---------------------------------------------------------------


@calls("aten._fft_c2c.default")
def vjp_fft(op, cotangents, b: VjpBuilder) -> Any:
    """The transform in the other direction, with the same factor."""
    _, dims, factor, forward = op.args
    arguments = [OperandRef(0), dims, factor, not forward]
    (x,) = op.inputs
    return [call_aten(b, op.op, [cotangents[0]], arguments, x.type)]


@calls("aten._fft_r2c.default")
def vjp_fft_of_reals(op, cotangents, b: VjpBuilder) -> Any:
    """The real part of the transform back; the half left out counts as zeros."""
    (g,), (x,) = cotangents, op.inputs
    _, dims, factor, is_half = op.args
    shape = ty.shape_of(x.type)
    if is_half:
        high = [0] * len(shape)
        last = dims[-1] % len(shape)
        high[last] = shape[last] - ty.shape_of(g.type)[last]
        g = pad_with_zeros(b, g, [0] * len(shape), high)
    arguments = [X, dims, factor, False]
    back = call_aten(b, "aten._fft_c2c.default", [g], arguments, g.type)
    real = slice_along(b, _as_real(b, back, x), len(shape), 0, 1)
    return [b.reshape(real, shape)]


@calls("aten._fft_c2r.default")
def vjp_fft_to_reals(op, cotangents, b: VjpBuilder) -> Any:
    """The transform back; what stands for two frequencies counts twice."""
    (g,), (x,) = cotangents, op.inputs
    _, dims, factor, _ = op.args
    shape = ty.shape_of(x.type)
    last = dims[-1] % len(shape)
    count, full = shape[last], ty.shape_of(g.type)[last]
    if isinstance(count, Dim) or isinstance(full, Dim):
        return NotImplemented
    arguments = [X, dims, factor, True]
    half = _as_real(b, call_aten(b, "aten._fft_r2c.default", [g], arguments, x.type), g)
    position = b.typed("iota", [], (count,), ty.i64(), start=0, step=1)
    column = b.reshape(position, (count,) + (1,) * (len(shape) - last))
    after = b.op("ge", column, b.like(1, column))
    is_double = b.op(
        "logical_and", after, b.op("le", column, b.like(full - count, column))
    )
    doubled = b.where(is_double, b.add(half, half), half)
    name = "aten.view_as_complex_copy.default"
    return [call_aten(b, name, [doubled], [X], x.type)]


def _as_real(b: VjpBuilder, x: ir.Value, like: ir.Value) -> ir.Value:
    """The parts of complex numbers in a last dim, with the elements of ``like``."""
    type_ = ty.tensor_type((*ty.shape_of(x.type), 2), like.type.element_type)
    return call_aten(b, "aten.view_as_real_copy.default", [x], [X], type_)
