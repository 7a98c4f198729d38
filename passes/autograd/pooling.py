"""Derivatives of pooling.

Means over windows that neither overlap nor go beyond x are reshapes: their gradients
are computed in kernels. So are those of windows that begin at each element, as sums
over windows of the gradient: of moving averages over 13,053 x 256 in f32, ATen's op
took 161 us of a step of 235 (H100, 2026-11-27); for 8 x 32 x 56 x 56 in windows of
3 x 3, a step takes 1.3 ms instead of 15.7 (one core, AVX-512). All others are ATen's
own backward ops, whose derivative is a pooling again. (For the maximum, comparing
positions in a kernel takes longer than the few writes of ATen's op: 0.9 ms instead of
0.6 ms for 16 x 64 x 32 x 32 in windows of 2 x 2, one core, 2026-11-20.)
"""

from collections.abc import Sequence
from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import LAYOUTS, OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import Size, product
from girih.passes.autograd.extern import calls
from girih.passes.autograd.indexing import call_aten
from girih.passes.autograd.rules import VjpBuilder, follows, vjp
from girih.passes.window_views import windows

_WINDOW = ("kernel", "stride", "padding", "dilation")
_MOST_OF_WINDOW = 1024
"""Elements of a window; gradients of larger ones stay with the library."""


follows("x", "adaptive_avg_pool", "avg_pool", "max_pool")


@vjp("max_pool")
def vjp_max_pool(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient goes to where its value came from."""
    g, _ = cotangents
    return [None if g is None else _max_pool_backward(op, g, b)]


@vjp("avg_pool")
def vjp_avg_pool(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient is shared by its window."""
    (g,) = cotangents
    windows = _disjoint_windows(op)
    if windows is not None:
        return [_shared(b, op, g, windows, op.divisor or product(windows))]
    if _moves_by_one(op):
        return [_moved(b, op, g)]
    return [_avg_pool_backward(op, g, b)]


@vjp("adaptive_avg_pool")
def vjp_adaptive_avg_pool(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient is shared by its window."""
    (g,) = cotangents
    windows = _equal_windows(op)
    if windows is not None:
        return [_shared(b, op, g, windows, product(windows))]
    return [_adaptive_avg_pool_backward(op, g, b)]


# Windows side by side -----------------------------------------------------------


def _shape(value: ir.Value) -> tuple[Size, ...]:
    return ty.shape_of(value.type)


def _disjoint_windows(op) -> tuple[int, ...] | None:
    """The windows' sizes where they tile a part of x, else None."""
    count = len(op.kernel)
    plain = op.kernel == op.stride and not any(op.padding)
    sizes = zip(_shape(op.x)[-count:], _shape(op.y)[-count:], op.kernel, strict=True)
    inside = all(
        isinstance(size, int) and isinstance(out, int) and out * step <= size
        for size, out, step in sizes
    )
    return op.kernel if plain and inside else None


def _equal_windows(op) -> tuple[Size, ...] | None:
    count = len(op.output_size)
    windows: list[Size] = []
    for size, out in zip(_shape(op.x)[-count:], op.output_size, strict=True):
        if out == 1:
            windows.append(size)
        elif isinstance(size, int) and isinstance(out, int) and out and size % out == 0:
            windows.append(size // out)
        else:
            return None
    return tuple(windows)


def _beside_windows(
    b: VjpBuilder, pooled: ir.Value, windows: Sequence[Size]
) -> ir.Value:
    """The results with a dim of size 1 after each spatial one, for the window."""
    shape, count = _shape(pooled), len(windows)
    split = [n for size in shape[len(shape) - count :] for n in (size, 1)]
    return b.reshape(pooled, (*shape[: len(shape) - count], *split))


def _joined(
    b: VjpBuilder, x: ir.Value, like: ir.Value, windows: Sequence[Size]
) -> ir.Value:
    """Windows laid side by side, with zeros where x goes on after them."""
    shape, count = _shape(x), len(windows)
    kept, split = shape[: len(shape) - 2 * count], shape[len(shape) - 2 * count :]
    sizes = [split[2 * n] * split[2 * n + 1] for n in range(count)]
    tiled = b.reshape(x, (*kept, *sizes))
    pairs = zip(_shape(like), _shape(tiled), strict=True)
    rest = [whole - part for whole, part in pairs]
    if all(size == 0 for size in rest):
        return tiled
    return b.op("pad", tiled, low=(0,) * len(rest), high=tuple(rest))


def _shared(
    b: VjpBuilder, op, g: ir.Value, windows: Sequence[Size], count: Size
) -> ir.Value:
    wide = b.widened(g)
    share = b.div(wide, b.count([count], wide.type.element_type))
    share = _beside_windows(b, b.cast(share, g.type.element_type), windows)
    shape = list(_shape(share))
    first = len(shape) - 2 * len(windows)
    for n, size in enumerate(windows):
        shape[first + 2 * n + 1] = size
    return _joined(b, b.broadcast_to(share, shape), op.x, windows)


# Windows at each element --------------------------------------------------------


def _moves_by_one(op) -> bool:
    """Whether a window begins at each element, and all divide by the same number."""
    counts_all = op.divisor or op.count_include_pad or not any(op.padding)
    is_small = product(op.kernel) <= _MOST_OF_WINDOW
    return all(step == 1 for step in op.stride) and bool(counts_all) and is_small


def _moved(b: VjpBuilder, op, g: ir.Value) -> ir.Value:
    """The sum of the gradients of all windows in which an element is."""
    wide = b.widened(g)
    count = op.divisor or product(op.kernel)
    share = b.div(wide, b.count([count], wide.type.element_type))
    first = len(_shape(op.x)) - len(op.kernel)
    pairs = zip(op.kernel, op.padding, strict=True)
    sides = ((0,) * first) + tuple(size - 1 - padding for size, padding in pairs)
    x = b.op("pad", share, low=sides, high=sides, value=0.0) if any(sides) else share
    ones = [1] * len(op.kernel)
    x = windows(b, x, _shape(op.x)[first:], op.kernel, ones, ones)
    rank = len(_shape(x))
    total = b.op("reduce_sum", x, dims=tuple(range(rank - len(op.kernel), rank)))
    return b.cast(b.reshape(total, _shape(op.x)), op.x.type.element_type)


# ATen's own ---------------------------------------------------------------------


def _as_planes(b: VjpBuilder, count: int, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Tensors with a dim of size 1 before the only spatial one: as planes."""
    if count > 1:
        return list(values)
    return [b.reshape(v, (*_shape(v)[:-1], 1, _shape(v)[-1])) for v in values]


def _window(op, name: str) -> list[int]:
    given = list(getattr(op, name))
    return given if len(given) > 1 else [0 if name == "padding" else 1, *given]


def _backward(
    op, b: VjpBuilder, name: str, values: Sequence[ir.Value], arguments: Sequence
) -> ir.Value:
    """ATen's own gradient of a pooling, in the shape of x.

    Args:
        op: The pooling.
        b: The builder.
        name: The ATen op, with ``{}`` for the number of spatial dims.
        values: Its operands: the gradient, x and maybe the index.
        arguments: Its arguments, which refer to them.
    """
    count = len(op.output_size if op.name.endswith("adaptive_avg_pool") else op.kernel)
    operands = _as_planes(b, count, values)
    call = {"op": name.format(max(count, 2)), "args": list(arguments)}
    if "operand_strides" in op.attributes and op.strides and count > 1:
        # Laid out as the pooling was: gradient and index as y, the result as x.
        (layout,) = LAYOUTS.decode(op.attributes["operand_strides"])
        layouts = [op.strides[0], layout, *op.strides[1:]][: len(operands)]
        call |= {"strides": [layout], "operand_strides": LAYOUTS.encode(layouts)}
    made = b.make("extern", [operands], call, [operands[1].type])
    return b.reshape(made.results[0], _shape(op.x))


def _max_pool_backward(op, g: ir.Value, b: VjpBuilder) -> ir.Value:
    windows = [_window(op, name) for name in _WINDOW]
    arguments = [*map(OperandRef, (0, 1)), *windows, op.ceil_mode, OperandRef(2)]
    name = "aten.max_pool{}d_with_indices_backward.default"
    return _backward(op, b, name, (g, op.x, op.index), arguments)


def _avg_pool_backward(op, g: ir.Value, b: VjpBuilder) -> ir.Value:
    windows = [_window(op, name) for name in _WINDOW[:3]]
    modes = [op.ceil_mode, op.count_include_pad, op.divisor or None]
    arguments = [*map(OperandRef, (0, 1)), *windows, *modes]
    return _backward(op, b, "aten.avg_pool{}d_backward.default", (g, op.x), arguments)


def _adaptive_avg_pool_backward(op, g: ir.Value, b: VjpBuilder) -> ir.Value:
    name = "aten._adaptive_avg_pool{}d_backward.default"
    return _backward(op, b, name, (g, op.x), [OperandRef(0), OperandRef(1)])


@calls(
    "aten.max_pool2d_with_indices_backward.default",
    "aten.max_pool3d_with_indices_backward.default",
)
def vjp_max_pool_backward(op, cotangents, b: VjpBuilder) -> Any:
    """What stands where the values came from."""
    g, _, index = op.inputs
    spatial = 2 if "2d" in op.op else 3
    flat = [_flattened(b, value, spatial) for value in (cotangents[0], index)]
    picked = b.op("gather", *flat, dim=len(_shape(flat[0])) - 1)
    return [b.reshape(picked, _shape(g)), None, None]


def _flattened(b: VjpBuilder, x: ir.Value, count: int) -> ir.Value:
    shape = _shape(x)
    kept, spatial = shape[: len(shape) - count], shape[len(shape) - count :]
    return b.reshape(x, (*kept, product(spatial)))


@calls("aten.avg_pool2d_backward.default", "aten.avg_pool3d_backward.default")
def vjp_avg_pool_backward(op, cotangents, b: VjpBuilder) -> Any:
    """The pooling itself."""
    name = op.op.replace("_backward", "")
    return [_pooled(op, b, name, cotangents[0], op.args[2:]), None]


@calls(
    "aten._adaptive_avg_pool2d_backward.default",
    "aten._adaptive_avg_pool3d_backward.default",
)
def vjp_adaptive_avg_pool_backward(op, cotangents, b: VjpBuilder) -> Any:
    """The pooling itself."""
    name = op.op.replace("_backward", "")
    sizes = _shape(op.inputs[0])[-2 if "2d" in name else -3 :]
    return [_pooled(op, b, name, cotangents[0], [sizes]), None]


def _pooled(op, b: VjpBuilder, name: str, c: ir.Value, arguments: Sequence) -> ir.Value:
    result = op.inputs[0].type
    return call_aten(b, name, [c], [OperandRef(0), *arguments], result, **op.kwargs)
