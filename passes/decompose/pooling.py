"""Pooling as reductions over windows, which fuse with what comes before and after.

ATen's pooling reads the activation that a kernel has just written, and on the CPU walks
images that lie row by row one result at a time. For 8 x 64 x 56 x 56 in f32 with relu
in front, windows of 3 x 3 (one core, AVX2, 2026-11-26): maxima with stride 2 3.0 ms
instead of 24, with stride 1 1.1 instead of 70; means with stride 1 0.8 instead of 28.

On the CPU a kernel finds the positions of maxima, too, which gradients need. ATen walks
such images one result at a time: 1 x 512 x 56 x 56 in windows of 3 x 3 with stride 2
take 2.1 ms instead of 12.5, and those of 8 x 64 x 32 x 32 of 2 x 2 0.3 instead of 2.8
(f32, one core, AVX-512, 2026-11-27). With the channels innermost ATen is faster.

A rule returns None, and the op stays a call of the library, where kernels do not
compute what ATen does: where sizes that positions or a divisor depend on are symbolic.
"""

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.attributes import LAYOUTS
from girih.dialects.bindings import ir
from girih.dialects.dims import Size, product
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder
from girih.passes.window_views import windows

_MOST_OF_WINDOW = 1024
"""Elements of a window; larger ones stay with the library."""
_OUTSIDE = 2**31 - 1
"""Stands for the place of what is outside of an image."""


@decomposes("max_pool")
def decompose_max_pool(op, b: GraphBuilder) -> list[ir.Value] | None:
    """The maximum of each window, outside of x the least value."""
    has_index = bool(list(op.index.uses))
    if has_index and not _finds_places(op, b):
        return None
    if product(op.kernel) > _MOST_OF_WINDOW:
        return None
    least = _least(op.x.type.element_type)
    if least is None:
        return None
    windows = _windows(op, b, op.x, op.dilation, least)
    if windows is None:
        return None
    largest = _over_windows(b, "reduce_max", windows, op)
    y = b.reshape(largest, _shape(op.y))
    if has_index:
        return [y, _index(op, b, windows, largest)]
    return [y, b.typed("full", [], _shape(op.y), ty.i64(), value=0)]


def _finds_places(op, b: GraphBuilder) -> bool:
    """Whether a kernel finds the positions of maxima."""
    sizes = _shape(op.x)[-len(op.kernel) :]
    outs = _shape(op.y)[-len(op.kernel) :]
    if b.target != "cpu" or not all(isinstance(size, int) for size in (*sizes, *outs)):
        return False
    if not 0 < product(sizes) < _OUTSIDE:
        return False
    windows = zip(op.padding, op.dilation, strict=True)
    if any(padding and distance > 1 for padding, distance in windows):
        return False  # a window may lie outside of x as a whole
    if "operand_strides" not in op.attributes:
        return True
    (layout,) = LAYOUTS.decode(op.attributes["operand_strides"])
    return layout[-1] == 1


def _places(op, b: GraphBuilder) -> ir.Value:
    """For each window the positions of its elements in an image."""
    sizes = _shape(op.x)[-len(op.kernel) :]
    shape = (*(1,) * (len(_shape(op.x)) - len(sizes)), *sizes)
    i32 = ir.IntegerType.get_signless(32)
    counter = b.typed("iota", [], (product(sizes),), i32, start=0, step=1)
    return _windows(op, b, b.reshape(counter, shape), op.dilation, _OUTSIDE)


def _index(op, b: GraphBuilder, windows: ir.Value, largest: ir.Value) -> ir.Value:
    """Where the maximum stands first, or the last element that is not a number."""
    places = _places(op, b)
    outside, none = b.like(_OUTSIDE, places), b.like(-1, places)
    first = b.op("where", b.op("eq", windows, largest), places, outside)
    first = _over_windows(b, "reduce_min", first, op)
    last = b.op("where", b.op("ne", windows, windows), places, none)
    last = _over_windows(b, "reduce_max", last, op)
    has_nan = b.op("ne", largest, largest)
    found = b.op("where", has_nan, last, first)
    return b.reshape(b.cast(found, ty.i64()), _shape(op.y))


@decomposes("avg_pool")
def decompose_avg_pool(op, b: GraphBuilder) -> list[ir.Value] | None:
    """The sum of each window, divided by how many of its elements count."""
    is_float = ty.is_float(op.x.type.element_type)
    if not is_float or product(op.kernel) > _MOST_OF_WINDOW:
        return None
    x = b.widened(op.x)
    counts = _counts(op, b, x.type.element_type)
    windows = _windows(op, b, x, [1] * len(op.kernel), 0.0)
    if counts is None or windows is None:
        return None
    total = b.reshape(_over_windows(b, "reduce_sum", windows, op), _shape(op.y))
    return [b.cast(b.op("div", total, counts), op.y.type.element_type)]


@decomposes("adaptive_avg_pool")
def decompose_adaptive_avg_pool(op, b: GraphBuilder) -> list[ir.Value] | None:
    """Where all windows have one size they lie side by side: the mean of each."""
    # Eager refuses images without elements, which the library's call finds.
    image = _shape(op.x)[-len(op.output_size) - 1 :]
    if not all(isinstance(size, int) and size > 0 for size in image):
        return None
    rank, count = len(_shape(op.x)), len(op.output_size)
    split = list(_shape(op.x)[: rank - count])
    dims, windows = [], []
    for size, out in zip(_shape(op.x)[rank - count :], op.output_size, strict=True):
        if out == 1:
            window = size
        elif isinstance(size, int) and isinstance(out, int) and out and not size % out:
            window = size // out
        else:
            return None
        split += [out, window]
        dims.append(len(split) - 1)
        windows.append(window)
    x = b.reshape(b.widened(op.x), split)
    total = b.reshape(b.op("reduce_sum", x, dims=tuple(dims)), _shape(op.y))
    y = b.op("div", total, b.count(windows, x.type.element_type))
    return [b.cast(y, op.y.type.element_type)]


def _shape(value: ir.Value) -> tuple[Size, ...]:
    return ty.shape_of(value.type)


def _least(element: ir.Type) -> float | int | None:
    """What no element is less than."""
    if ty.is_float(element):
        return float("-inf")
    return None


def _windows(
    op, b: GraphBuilder, x: ir.Value, dilation: Sequence[int], outside: float | int
) -> ir.Value | None:
    """All windows of x: [..., results in each dim, elements in each dim]."""
    padded = _padded(op, b, x, dilation, outside)
    if padded is None:
        return None
    outs = _shape(op.y)[len(_shape(x)) - len(op.kernel) :]
    return windows(b, padded, outs, op.kernel, op.stride, dilation)


def _padded(
    op, b: GraphBuilder, x: ir.Value, dilation: Sequence[int], outside: float | int
) -> ir.Value | None:
    """x with what windows read outside of it; None where that is not known."""
    shape, count = _shape(x), len(op.kernel)
    first = len(shape) - count
    low, high = [0] * first, [0] * first
    for n in range(count):
        size, out, padding = shape[first + n], _shape(op.y)[first + n], op.padding[n]
        low.append(padding)
        if isinstance(size, int) and isinstance(out, int):
            end = (out - 1) * op.stride[n] + dilation[n] * (op.kernel[n] - 1) + 1
            high.append(max(end - size - padding, 0))
        elif op.ceil_mode:
            return None
        else:
            high.append(padding)
    if not any(low) and not any(high):
        return x
    return b.op("pad", x, low=tuple(low), high=tuple(high), value=outside)


def _over_windows(b: GraphBuilder, name: str, windows: ir.Value, op) -> ir.Value:
    rank, count = len(_shape(windows)), len(op.kernel)
    return b.op(name, windows, dims=tuple(range(rank - count, rank)))


def _counts(op, b: GraphBuilder, element: ir.Type) -> ir.Value | None:
    """What sums are divided by, which broadcasts with them; None if not known."""
    if op.divisor:
        return b.constant(float(op.divisor), element)
    is_cut = op.ceil_mode or (any(op.padding) and not op.count_include_pad)
    if not is_cut:
        return b.constant(float(product(op.kernel)), element)
    first = len(_shape(op.x)) - len(op.kernel)
    pairs = [*zip(_shape(op.x)[first:], _shape(op.y)[first:], strict=True)]
    if not all(isinstance(size, int) for pair in pairs for size in pair):
        return None
    found = None
    for n, (size, out) in enumerate(pairs):
        own = b.cast(_inside(op, b, n, size, out), element)
        own = b.reshape(own, (out, *(1,) * (len(pairs) - 1 - n)))
        found = own if found is None else b.op("mul", found, own)
    return found


def _inside(op, b: GraphBuilder, n: int, size: int, out: int) -> ir.Value:
    """For each window of a dim, how many of its elements count."""
    padding, beyond = op.padding[n], op.padding[n] if op.count_include_pad else 0
    i64, step = ty.i64(), op.stride[n]
    start = b.typed("iota", [], (out,), i64, start=-padding, step=step)
    stop = b.typed("iota", [], (out,), i64, start=op.kernel[n] - padding, step=step)
    start = b.op("maximum", start, b.like(-beyond, start))
    stop = b.op("minimum", stop, b.like(size + beyond, stop))
    return b.op("sub", stop, start)
