"""Interpolation of images as kernels that read at computed places.

ATen's kernels read the activation that a kernel has just written, and write one that
the next kernel reads. Here each result reads its own neighbours (``take``), with
indices and weights that the kernel computes as ATen does: in f32, or in f64 for the
weights of f64.

A rule returns None, and the call stays one of the library, where ATen's targets differ
(``_is_ambiguous``), for images of bytes, and with anti-aliasing.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.graph_builder import GraphBuilder

_A = -0.75
"""The parameter of ATen's cubic polynomials."""

_MOST_TRIED = 4096
"""Elements of a dim, for each of which girih asks where ATen's rounding leads."""

_MOST_TIMES = 17
"""Factors of symbolic sizes are looked for below this one."""


def interpolate(op, b: GraphBuilder) -> list[ir.Value] | None:
    """Writes out one of the ``CALLS``, or returns None."""
    (x,) = op.inputs
    if op.kwargs or not ty.is_float(x.type.element_type):
        return None
    # One channel lies as eager puts it: kernels choose any stride for it.
    if ty.shape_of(x.type)[1] == 1:
        return None
    return CALLS[op.op](op, b, x)


@dataclass(frozen=True)
class _Axis:
    """One dim that is resized.

    Attributes:
        dim: its number.
        size, out: elements of the operand and of the result along it.
        scale: the factor that the program gave, None where sizes alone count.
    """

    dim: int
    size: Size
    out: Size
    scale: float | None

    @property
    def is_kept(self) -> bool:
        """Whether nothing changes along the dim."""
        return self.size == self.out

    def is_ambiguous(self, shortcuts: Sequence[int]) -> bool:
        """Whether ATen's CPU may take sizes for the factor, where its CUDA does not.

        Args:
            shortcuts: for how many times as many results as elements it does so.
        """
        if self.scale is None or self.scale in (1.0, 2.0):
            return False
        if isinstance(self.size, int) and isinstance(self.out, int):
            return self.out in [times * self.size for times in shortcuts]
        # Beyond, these are as many where there is one element, which all results read.
        return any(times < self.scale < times + 0.5 for times in shortcuts)


def _axes(
    op, x: ir.Value, scales: Sequence[float | None], shortcuts: Sequence[int]
) -> list[_Axis] | None:
    """The dims that a call resizes, outermost first; None where it is left alone."""
    sizes, outs = ty.shape_of(x.type)[2:], ty.shape_of(op.outputs[0].type)[2:]
    if not all(scale is None or isinstance(scale, float) for scale in scales):
        return None
    given = (scale if scale is not None and scale > 0 else None for scale in scales)
    axes = [
        _Axis(n + 2, size, out, scale)
        for n, (size, out, scale) in enumerate(zip_longest(sizes, outs, given))
    ]
    return None if any(axis.is_ambiguous(shortcuts) for axis in axes) else axes


# Neighbours ---------------------------------------------------------------------------


def _nearest(op, b: GraphBuilder, x: ir.Value) -> list[ir.Value] | None:
    """One element for each result: x[floor(i * scale)]."""
    return _one_neighbour(op, b, x, 0.0)


def _nearest_exact(op, b: GraphBuilder, x: ir.Value) -> list[ir.Value] | None:
    """One element for each result: x[floor((i + 0.5) * scale)]."""
    return _one_neighbour(op, b, x, 0.5)


def _one_neighbour(
    op, b: GraphBuilder, x: ir.Value, offset: float
) -> list[ir.Value] | None:
    axes = _axes(op, x, op.args[2:], (1, 2))
    if axes is None:
        return None
    times = {axis.dim: _times(axis, offset) for axis in axes}
    for axis in axes:
        if times[axis.dim] is None:
            x = _taken(b, x, axis, offset)
    return [_repeated(b, x, {dim: n for dim, n in times.items() if n is not None})]


def _taken(b: GraphBuilder, x: ir.Value, axis: _Axis, offset: float) -> ir.Value:
    place = _counter(b, axis, ir.F32Type.get())
    if offset:
        place = b.op("add", place, b.like(offset, place))
    place = b.op("mul", place, _ratio(b, axis, False, ir.F32Type.get()))
    return b.op("take", x, _clamped(b, _whole(b, place), axis), dim=axis.dim)


def _repeated(b: GraphBuilder, x: ir.Value, times: dict[int, int]) -> ir.Value:
    """Each element as often as its dim says, in one view: stored, it is one copy."""
    ones, many, whole = [], [], []
    for dim, size in enumerate(ty.shape_of(x.type)):
        count = times.get(dim, 1)
        ones += [size] if count == 1 else [size, 1]
        many += [size] if count == 1 else [size, count]
        whole.append(size * count)
    if ones == whole:
        return x
    element = x.type.element_type
    repeated = b.typed("broadcast_to", [b.reshape(x, ones)], many, element)
    return b.reshape(repeated, whole)


def _times(axis: _Axis, offset: float) -> int | None:
    """How often each element stands in the result; None where that varies.

    ATen multiplies by the rounded 1 / times, which may lead to the element before.
    """
    times = _quotient(axis.out, axis.size)
    if times is None or axis.scale not in (None, float(times)):
        return None
    if times & (times - 1) == 0:
        return times
    if not isinstance(axis.size, int) or axis.size > _MOST_TRIED:
        return None
    ratio = _as_f32(1 / times)
    for n in range(axis.size):
        first, last = n * times + offset, n * times + times - 1 + offset
        if any(int(_as_f32(place * ratio)) != n for place in (first, last)):
            return None
    return times


def _quotient(out: Size, size: Size) -> int | None:
    """How many times ``size`` the size ``out`` is, if that is a whole number."""
    if isinstance(out, int) and isinstance(size, int):
        return None if not size or out % size else out // size
    return next((times for times in range(2, _MOST_TIMES) if size * times == out), None)


def _as_f32(number: float) -> float:
    return struct.unpack("f", struct.pack("f", number))[0]


def _linear(op, b: GraphBuilder, x: ir.Value) -> list[ir.Value] | None:
    """Weighted sums of two neighbours in each dim."""
    return _weighted(op, b, x, _linear_terms)


def _cubic(op, b: GraphBuilder, x: ir.Value) -> list[ir.Value] | None:
    """Weighted sums of four neighbours in each dim."""
    return _weighted(op, b, x, _cubic_terms)


_Term = tuple[ir.Value, ir.Value]
"""An index and a weight, each [results along a dim]."""


def _weighted(
    op, b: GraphBuilder, x: ir.Value, terms: Callable[..., list[_Term]]
) -> list[ir.Value] | None:
    is_aligned = op.args[2]
    axes = _axes(op, x, op.args[3:], (1,))
    if axes is None:
        return None
    element = x.type.element_type
    wide = element if str(element) == "f64" else ir.F32Type.get()
    resized = [axis for axis in axes if not axis.is_kept]
    found = [(axis, terms(b, axis, is_aligned, wide)) for axis in resized]
    return [b.cast(_sum_of_terms(b, x, found, wide), element)]


def _sum_of_terms(
    b: GraphBuilder, x: ir.Value, found: list[tuple[_Axis, list[_Term]]], wide: ir.Type
) -> ir.Value:
    """The sums along the last dim inside of those along the first, as in ATen."""
    if not found:
        return b.cast(x, wide)
    (axis, terms), *others = found
    total = None
    for index, weight in terms:
        taken = b.op("take", x, index, dim=axis.dim)
        after = len(ty.shape_of(x.type)) - axis.dim - 1
        weight = b.reshape(weight, (axis.out, *(1,) * after))
        term = b.op("mul", _sum_of_terms(b, taken, others, wide), weight)
        total = term if total is None else b.op("add", total, term)
    return total


def _linear_terms(
    b: GraphBuilder, axis: _Axis, is_aligned: bool, wide: ir.Type
) -> list[_Term]:
    source = _source(b, axis, is_aligned, wide)
    if not is_aligned:
        zero = b.like(0.0, source)
        source = b.op("where", b.op("gt", source, zero), source, zero)
    first, after = _split(b, source, axis)
    second = b.op("add", first, b.like(1, first))
    second = b.op("minimum", second, b.like(axis.size - 1, first))
    before = b.op("sub", b.like(1.0, after), after)
    return [(first, before), (second, after)]


def _cubic_terms(
    b: GraphBuilder, axis: _Axis, is_aligned: bool, wide: ir.Type
) -> list[_Term]:
    source = _source(b, axis, is_aligned, wide)
    whole = b.op("floor", source)
    after = b.op("sub", source, whole)
    before = b.op("sub", b.like(1.0, after), after)
    weights = (
        _outer_weight(b, b.op("add", after, b.like(1.0, after))),
        _inner_weight(b, after),
        _inner_weight(b, before),
        _outer_weight(b, b.op("add", before, b.like(1.0, after))),
    )
    first = _whole(b, whole)
    indices = [b.op("add", first, b.like(n, first)) for n in (-1, 0, 1, 2)]
    return [
        (_clamped(b, index, axis), weight)
        for index, weight in zip(indices, weights, strict=True)
    ]


def _inner_weight(b: GraphBuilder, x: ir.Value) -> ir.Value:
    """The weight of a neighbour at most 1 away."""
    return _polynomial(b, x, (_A + 2, -(_A + 3), 0.0, 1.0))


def _outer_weight(b: GraphBuilder, x: ir.Value) -> ir.Value:
    """The weight of a neighbour that is 1 to 2 away."""
    return _polynomial(b, x, (_A, -5 * _A, 8 * _A, -4 * _A))


def _polynomial(b: GraphBuilder, x: ir.Value, factors: Sequence[float]) -> ir.Value:
    total = b.like(factors[0], x)
    for factor in factors[1:]:
        total = b.op("mul", total, x)
        if factor:
            total = b.op("add", total, b.like(factor, x))
    return total


# Places -------------------------------------------------------------------------------


def _counter(b: GraphBuilder, axis: _Axis, element: ir.Type) -> ir.Value:
    return b.typed("iota", [], (axis.out,), element, start=0.0, step=1.0)


def _ratio(b: GraphBuilder, axis: _Axis, is_aligned: bool, element: ir.Type):
    """How far apart the places of two results lie, in elements of the operand."""
    if is_aligned:
        size, out = axis.size - 1, axis.out - 1
    elif axis.scale is not None:
        return b.constant(1.0 / axis.scale, element)
    else:
        size, out = axis.size, axis.out
    if isinstance(size, int) and isinstance(out, int):
        return b.constant(size / out if out else 0.0, element)
    # One result alone lies at 0, whatever this gives.
    divisor = b.cast(b.constant(out, ty.i64()), element)
    divisor = b.op("maximum", divisor, b.constant(1.0, element))
    return b.op("div", b.cast(b.constant(size, ty.i64()), element), divisor)


def _source(b: GraphBuilder, axis: _Axis, is_aligned: bool, wide: ir.Type):
    """Where results lie between the elements of the operand."""
    place, ratio = _counter(b, axis, wide), _ratio(b, axis, is_aligned, wide)
    if is_aligned:
        return b.op("mul", place, ratio)
    half = b.constant(0.5, wide)
    return b.op("sub", b.op("mul", b.op("add", place, half), ratio), half)


def _split(b: GraphBuilder, source: ir.Value, axis: _Axis) -> _Term:
    """The element before a place, and how far behind it the place lies, in 0..1."""
    first = _clamped(b, _whole(b, source), axis)
    after = b.op("sub", source, b.cast(first, source.type.element_type))
    if axis.scale is None:
        return first, after
    # A factor that is not that of the sizes may lead beyond the last element.
    one = b.like(1.0, after)
    return first, b.op("where", b.op("lt", after, one), after, one)


def _whole(b: GraphBuilder, place: ir.Value) -> ir.Value:
    """Places as integers, rounded towards zero."""
    return b.cast(place, ty.i64())


def _clamped(b: GraphBuilder, index: ir.Value, axis: _Axis) -> ir.Value:
    """The nearest index that the operand has."""
    index = b.op("maximum", index, b.like(0, index))
    return b.op("minimum", index, b.like(axis.size - 1, index))


CALLS: dict[str, Callable] = {
    "aten._upsample_nearest_exact1d.default": _nearest_exact,
    "aten._upsample_nearest_exact2d.default": _nearest_exact,
    "aten._upsample_nearest_exact3d.default": _nearest_exact,
    "aten.upsample_bicubic2d.default": _cubic,
    "aten.upsample_bilinear2d.default": _linear,
    "aten.upsample_linear1d.default": _linear,
    "aten.upsample_nearest1d.default": _nearest,
    "aten.upsample_nearest2d.default": _nearest,
    "aten.upsample_nearest3d.default": _nearest,
    "aten.upsample_trilinear3d.default": _linear,
}
