"""Views: how each is computed from its base, and how a write through it goes back."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from girih.dialects.dims import Dim, Size, maximum, product
from girih.dialects.written_parts import argument_of
from girih.errors import unsupported
from girih.frontend.fake.layout import is_contiguous
from girih.frontend.importer.builder import Builder, Operand, Shape
from girih.frontend.importer.extern import build_extern
from girih.frontend.importer.insertion import insert
from girih.frontend.importer.lazy_bits import bits_of
from girih.frontend.importer.registry import WHOLE, ViewStep, effects, views
from girih.frontend.importer.symbols import Symbols


def wrap(dim: int, rank: int) -> int:
    """A dim counted from 0."""
    return dim % max(rank, 1)


# The same elements in another shape ---------------------------------------------


@views("alias", "detach", "lift_fresh", "lift_fresh_copy", "detach_")
def alias(b: Builder, shape: Shape) -> ViewStep:
    """The tensor itself."""
    return WHOLE


@views(
    "view",
    "_unsafe_view",
    "_reshape_alias",
    "squeeze",
    "squeeze.dim",
    "squeeze.dims",
    "unsqueeze",
    "squeeze_",
    "squeeze_.dim",
    "squeeze_.dims",
    "unsqueeze_",
)
def view(b: Builder, shape: Shape, *args) -> ViewStep:
    """A reshape; eager's result tells the shape."""
    return _reshape_step(b, shape, b.out[0].shape)


def _reshape_step(b: Builder, shape: Shape, result: Shape) -> ViewStep:
    return ViewStep(
        lambda base: b.reshape(base, result), lambda base, new: b.reshape(new, shape)
    )


def _permute_step(b: Builder, order: list[int]) -> ViewStep:
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return ViewStep(
        lambda base: b.permute(base, order), lambda base, new: b.permute(new, inverse)
    )


@views("permute")
def permute(b: Builder, shape: Shape, dims: list[int]) -> ViewStep:
    """Dims in another order."""
    return _permute_step(b, [wrap(dim, len(shape)) for dim in dims])


@views("transpose.int", "transpose_")
def transpose(b: Builder, shape: Shape, dim0: int, dim1: int) -> ViewStep:
    """Two dims swapped."""
    order = list(range(len(shape)))
    if order:
        first, second = wrap(dim0, len(order)), wrap(dim1, len(order))
        order[first], order[second] = order[second], order[first]
    return _permute_step(b, order)


@views("t", "t_")
def matrix_transpose(b: Builder, shape: Shape) -> ViewStep:
    """A matrix transposed; a vector as it is."""
    return _permute_step(b, list(range(len(shape)))[::-1])


@views("expand")
def expand(b: Builder, shape: Shape, size, implicit: bool = False) -> ViewStep:
    """Dims of size 1 repeated."""
    result = b.out[0].shape
    added = len(result) - len(shape)
    inverse = None
    if (1,) * added + shape == result:
        inverse = lambda base, new: b.reshape(new, shape)  # noqa: E731
    return ViewStep(lambda base: b.broadcast_to(base, result), inverse)


# Parts of the elements ----------------------------------------------------------


def slice_step(b: Builder, dim: int, start: Size, size: Size, step: int) -> ViewStep:
    """``size`` elements along ``dim``; a write puts them among the others."""
    if isinstance(step, Dim):
        unsupported(
            kind="symbolic step",
            context=f"{step} as step of a slice",
            explanation="girih has slices with constant steps only.",
        )

    def inverse(base: Operand, new: Operand) -> Operand:
        if step != 1 or argument_of(base.value) is not None:
            return insert(b, base, new, (dim, start, size, step))
        end = start + size
        rest = base.shape[dim] - end
        before = [] if start == 0 else [b.slice(base, dim, 0, start)]
        after = [] if rest == 0 else [b.slice(base, dim, end, rest)]
        return b.concat([*before, new, *after], dim)

    return ViewStep(lambda base: b.slice(base, dim, start, size, step), inverse)


def clamp_index(b: Builder, index: Size | None, size: Size, default: Size) -> Size:
    """A slice bound as Python counts it: from the end if negative, within the size."""
    if index is None:
        return default
    if isinstance(index, int):
        if index < 0:
            return maximum(size + index, 0)
        if isinstance(size, int):
            return min(index, size)
    return size if b.is_negative(size - index) else index


@views("slice.Tensor")
def slice_(b: Builder, shape, dim=0, start=None, end=None, step=1) -> ViewStep:
    """A Python slice. Eager's result tells the size."""
    dim = wrap(dim, len(shape))
    first = clamp_index(b, start, shape[dim], 0)
    return slice_step(b, dim, first, b.out[0].shape[dim], step)


@views("select.int")
def select(b: Builder, shape: Shape, dim: int, index: Size) -> ViewStep:
    """One entry of a dim, which goes away."""
    dim = wrap(dim, len(shape))
    if isinstance(index, int) and index < 0:
        index = shape[dim] + index
    whole = slice_step(b, dim, index, 1, 1)
    single = (*shape[:dim], 1, *shape[dim + 1 :])
    result = b.out[0].shape
    return ViewStep(
        lambda base: b.reshape(whole.forward(base), result),
        lambda base, new: whole.inverse(base, b.reshape(new, single)),
    )


@views("split.Tensor", "split_with_sizes")
def split(b: Builder, shape: Shape, sizes, dim: int = 0) -> list[ViewStep]:
    """Pieces along a dim, one after the other."""
    dim = wrap(dim, len(shape))
    steps, start = [], 0
    for spec in b.out:
        size = spec.shape[dim]
        steps.append(slice_step(b, dim, start, size, 1))
        start = start + size
    return steps


@views("unbind.int")
def unbind(b: Builder, shape: Shape, dim: int = 0) -> list[ViewStep]:
    """All entries of a dim."""
    count = shape[wrap(dim, len(shape))]
    if isinstance(count, Dim):
        unsupported(
            kind="number of results",
            context=f"unbind of {count} entries",
            explanation="The number of results has to be known at compilation.",
        )
    return [select(b, shape, dim, index) for index in range(count)]


# Views by the ATen op that copies them ------------------------------------------


def _extern_step(b: Builder, copy, args: tuple, put=None, put_args: tuple = ()):
    """A view made by the op that copies it, and written by its scatter twin."""
    specs = list(b.out)

    def forward(base: Operand) -> Operand:
        return _extern(b, specs, copy, (base, *args))

    def inverse(base: Operand, new: Operand) -> Operand:
        spec = specs[0]._replace(shape=base.shape, dtype=base.dtype, strides=None)
        given = (base, new) if put_args is not None else (new,)
        return _extern(b, [spec], put, (*given, *(put_args or ())))

    return ViewStep(forward, inverse if put is not None else None)


def _extern(b: Builder, specs: list, func, args: tuple) -> Operand:
    outer, b.out = b.out, [spec._replace(strides=None) for spec in specs]
    try:
        args = tuple(
            arg._replace(strides=None) if isinstance(arg, Operand) else arg
            for arg in args
        )
        return build_extern(b, func, args, {}, ordered=False)[0]
    finally:
        b.out = outer


@views("diagonal")
def diagonal(b: Builder, shape: Shape, offset=0, dim1=0, dim2=1) -> ViewStep:
    """A diagonal of two dims: of both as one dim it is a slice with steps."""
    rows, columns = (wrap(dim, len(shape)) for dim in (dim1, dim2))
    sizes = shape[rows], shape[columns], offset
    if any(isinstance(size, Dim) for size in sizes) or 0 in b.out[0].shape:
        return _copied_diagonal(b, offset, dim1, dim2)
    rest = [dim for dim in range(len(shape)) if dim not in (rows, columns)]
    order = [*rest, rows, columns]
    permuted = tuple(shape[dim] for dim in order)
    flat = (*permuted[:-2], permuted[-2] * permuted[-1])
    start = offset if offset >= 0 else -offset * shape[columns]
    count, step = b.out[0].shape[-1], shape[columns] + 1
    steps = [
        _permute_step(b, order),
        _reshape_step(b, permuted, flat),
        slice_step(b, len(flat) - 1, start, count, step),
    ]
    return _chained(steps)


def _chained(steps: list[ViewStep]) -> ViewStep:
    """Views of views as one."""

    def forward(base: Operand) -> Operand:
        for step in steps:
            base = step.forward(base)
        return base

    def inverse(base: Operand, new: Operand) -> Operand:
        bases = [base]
        for step in steps[:-1]:
            bases.append(step.forward(bases[-1]))
        for step, inner in zip(reversed(steps), reversed(bases), strict=True):
            new = step.inverse(inner, new)
        return new

    return ViewStep(forward, inverse)


def _copied_diagonal(b: Builder, *args) -> ViewStep:
    aten = torch.ops.aten
    return _extern_step(
        b, aten.diagonal_copy.default, args, aten.diagonal_scatter.default, args
    )


@effects("contiguous")
def contiguous(recorder, func, args, kwargs):
    """A copy, or the tensor itself where it lies like that.

    Decompositions of PyTorch's call it where autograd does not see it.
    """
    where = kwargs.get("memory_format", torch.contiguous_format)
    if args[0].is_contiguous(memory_format=where):
        return args[0]
    clone = torch.ops.aten.clone.default
    return recorder.import_value(clone, args[:1], {"memory_format": where})


@effects("as_strided", "as_strided_")
def as_strided(recorder, func, args, kwargs):
    """Any sizes and strides over the memory of the base, which must have no gaps.

    Offsets are counted from the base's first element. Where in its storage that of an
    argument lies nobody may have checked; it may not be told where to begin there then.
    """
    viewed = recorder.tracked(args[0])
    is_alone = recorder.table.is_alone(args[0])
    recorder.leave(func, args[0])
    result = func(*args, **kwargs)
    base, memory = viewed.base, viewed.base.shown
    size = recorder.symbols.size
    offset = size(result.storage_offset()) - size(memory.storage_offset())
    inside = isinstance(offset, Dim) or offset >= 0
    is_argument = base.storage.argument is not None
    is_unknown = is_argument and not base.storage.is_placed
    is_placed = len(args) > 3 or kwargs.get("storage_offset") is not None
    order = memory_order(memory, recorder.symbols)
    is_moved = order is not None and order != sorted(order)
    strides = [size(stride) for stride in result.stride()]
    sizes = list(recorder.symbols.shape(result.shape))
    count = product(recorder.symbols.shape(memory.shape))
    # Only an argument that lies in rows is known to have eager's memory around it.
    inside = inside and not (is_moved and _goes_beyond(sizes, strides, offset, count))
    if order is None or not inside or (is_unknown and is_placed):
        unsupported(
            kind="as_strided",
            context=str(tuple(memory.stride())),
            explanation=(
                "girih compiles as_strided only if the base tensor has no gaps in "
                "memory, and the view does not leave it. Of an argument it has to be "
                "known where its storage begins, if a storage_offset is given."
            ),
            hints=("Call it on a contiguous clone.",),
        )
    if result is viewed.tensor is base.tensor and not is_alone:
        _expect_as_many(result, memory)
    recorder.expect([result])
    base.storage.placed_views += is_argument and is_placed
    where = (sizes, strides, offset, is_moved or not is_argument)
    # A write to some elements of windows that overlap is one to others, too.
    is_written = is_apart(result, recorder.symbols)
    b = recorder.builder
    step = offset == 0 and _whole_step(b, order, memory, result, recorder.symbols)
    step = step or window_step(b, order, where, is_written=is_written)
    if bits_of(result) != bits_of(memory):
        step = _chained([step, *_toggles(recorder.builder, result, memory)])
    recorder.add_view(result, base, step, is_cut=viewed.is_cut())
    return result


def _whole_step(
    b: Builder,
    order: list[int],
    memory: torch.Tensor,
    result: torch.Tensor,
    symbols: Symbols,
) -> ViewStep | None:
    """All elements of a tensor without gaps, with other sizes; None for other windows.

    Average pools that leave one pixel give it channels last in this way.
    """
    count = product(symbols.shape(memory.shape))
    own = memory_order(result, symbols)
    if own is None or count == 0:
        return None
    if not symbols.same((count,), (product(symbols.shape(result.shape)),)):
        return None
    shape, sizes = symbols.shape(memory.shape), symbols.shape(result.shape)
    back = sorted(range(len(own)), key=own.__getitem__)
    steps = [
        _permute_step(b, order),
        _reshape_step(
            b, tuple(shape[dim] for dim in order), tuple(sizes[dim] for dim in own)
        ),
        _permute_step(b, back),
    ]
    return _chained(steps)


def _expect_as_many(tensor: torch.Tensor, before: torch.Tensor) -> None:
    """Whether the owner of memory still shows all of it, which others show, too."""
    if tensor.numel() != before.numel():
        unsupported(
            kind="as_strided_",
            context=f"{tuple(before.shape)} as {tuple(tensor.shape)}",
            explanation="The tensor becomes a part of itself. Others share its memory.",
            hints=("Call as_strided instead.",),
        )


def window_step(b: Builder, order: list[int], where: tuple, *, is_written: bool):
    """The elements at sizes, strides and an offset of a tensor without gaps in memory.

    Args:
        b: The builder, which knows what eager gives.
        order: The dims of the tensor, from the slowest in memory to the fastest.
        where: Sizes, strides, offset, and whether nothing lies around the tensor.
        is_written: Whether the step has a way back.
    """
    # Names of codegen/runtime/windows.py.
    copy, scatter = "girih.as_strided_copy.default", "girih.as_strided_scatter.default"
    step = _extern_step(b, copy, where, scatter if is_written else None, where)
    if order == sorted(order):
        return step
    return _chained([_permute_step(b, order), step])


def memory_order(tensor: torch.Tensor, symbols: Symbols) -> list[int] | None:
    """The dims from the slowest in memory to the fastest; None where there are gaps."""
    if is_contiguous(tensor):
        return list(range(tensor.dim()))
    sizes = symbols.shape(tensor.shape)
    strides = [symbols.size(stride) for stride in tensor.stride()]
    rest, order, step = list(range(len(sizes))), [], 1
    while rest:
        # A dim of a single element may have any stride, also that of another dim.
        fitting = [dim for dim in rest if symbols.same((sizes[dim],), (1,))]
        fitting += [dim for dim in rest if symbols.same((strides[dim],), (step,))]
        if not fitting:
            return None
        rest.remove(fitting[0])
        order.insert(0, fitting[0])
        step = step * sizes[fitting[0]]
    return order


def _goes_beyond(
    sizes: Sequence[Size], strides: Sequence[Size], offset: Size, count: Size
) -> bool:
    """Whether a window evidently goes beyond a number of elements."""
    if any(isinstance(number, Dim) for number in (*sizes, *strides, offset, count)):
        return False  # looked at in each call
    steps = zip(sizes, strides, strict=True)
    last = offset + sum((size - 1) * stride for size, stride in steps)
    return 0 not in sizes and last >= count


def _toggles(b: Builder, view: torch.Tensor, base: torch.Tensor) -> list[ViewStep]:
    """What a view's bits make of the values in its memory, where the base has none."""
    steps = []
    if view.is_conj() != base.is_conj():
        steps.append(conjugate(b, b.out[0].shape))
    if view.is_neg() != base.is_neg():
        steps.append(negative(b, b.out[0].shape))
    return steps


def is_apart(window: torch.Tensor, symbols: Symbols) -> bool:
    """Whether elements of a window have a place each; guards say so of symbolic sizes.

    Dims that interleave (of 2 and 3 elements, 3 and 2 apart) are not looked at.
    """
    sizes = symbols.shape(window.shape)
    if any(symbols.same((size,), (0,)) for size in sizes):
        return True
    strides = [symbols.size(stride) for stride in window.stride()]
    rest = [
        (stride, size)
        for stride, size in zip(strides, sizes, strict=True)
        if not symbols.same((size,), (1,))
    ]
    end: Size = 0
    while rest:
        fastest = rest[0]
        for dim in rest[1:]:
            if symbols.is_negative(dim[0] - fastest[0]):
                fastest = dim
        stride, size = fastest
        if symbols.is_negative(stride - end - 1):
            return False
        end = end + (size - 1) * stride
        rest.remove(fastest)
    return True


@views("unfold")
def unfold(b: Builder, shape: Shape, dimension: int, size: int, step: int) -> ViewStep:
    """Windows along a dim; which of them a write would come from is not told."""
    result = b.out[0].shape
    if not shape and size == 0:
        return ViewStep(lambda base: b.full(result, 0, base.dtype), None)
    if not shape:
        return _reshape_step(b, shape, result)
    dim = wrap(dimension, len(shape))
    inverse = None
    if isinstance(size, int) and isinstance(step, int) and 0 < size <= step:
        inverse = functools.partial(_put_windows, b, dim, step)
    return ViewStep(lambda base: b.window(base, dim, step, result), inverse)


def _put_windows(b: Builder, dim: int, step: int, base: Operand, new: Operand):
    """Windows that share no element, put among those that lie between them."""
    order = [*range(len(new.shape) - 1)]
    order.insert(dim + 1, len(new.shape) - 1)
    count, size = new.shape[dim], new.shape[-1]
    windows = b.permute(new, order)
    before, after = base.shape[:dim], base.shape[dim + 1 :]
    last = b.reshape(b.slice(windows, dim, count - 1, 1), (*before, size, *after))
    parts = [last]
    if not (isinstance(count, int) and count == 1):
        whole = (*before, count - 1, step, *after)
        rows = b.reshape(b.slice(base, dim, 0, (count - 1) * step), whole)
        first = b.slice(windows, dim, 0, count - 1)
        between = b.slice(rows, dim + 1, size, step - size) if step > size else None
        filled = first if between is None else b.concat([first, between], dim + 1)
        parts = [b.reshape(filled, (*before, (count - 1) * step, *after)), last]
    end = (count - 1) * step + size
    rest = base.shape[dim] - end
    if not (isinstance(rest, int) and rest == 0):
        parts.append(b.slice(base, dim, end, rest))
    return b.concat(parts, dim) if len(parts) > 1 else parts[0]


@views("view.dtype")
def view_dtype(b: Builder, shape: Shape, dtype: torch.dtype) -> ViewStep:
    """The same bytes as elements of another type."""
    copy, specs = torch.ops.aten.view_copy.dtype, list(b.out)

    def inverse(base: Operand, new: Operand) -> Operand:
        spec = specs[0]._replace(shape=base.shape, dtype=base.dtype)
        return _extern(b, [spec], copy, (new, base.dtype))

    return _extern_step(b, copy, (dtype,))._replace(inverse=inverse)


@views("view_as_real")
def view_as_real(b: Builder, shape: Shape) -> ViewStep:
    """Real and imaginary parts in a last dim."""
    aten = torch.ops.aten
    return _extern_step(
        b, aten.view_as_real_copy.default, (), aten.view_as_complex_copy.default, None
    )


@views("view_as_complex")
def view_as_complex(b: Builder, shape: Shape) -> ViewStep:
    """Pairs in the last dim as complex numbers."""
    aten = torch.ops.aten
    return _extern_step(
        b, aten.view_as_complex_copy.default, (), aten.view_as_real_copy.default, None
    )


@views("_conj")
def conjugate(b: Builder, shape: Shape) -> ViewStep:
    """The conjugate, which eager computes when it is read."""
    func = torch.ops.aten._conj_physical.default
    return _extern_step(b, func, (), func, None)


@views("_neg_view")
def negative(b: Builder, shape: Shape) -> ViewStep:
    """The negative, which eager computes when it is read."""
    return ViewStep(
        lambda base: b.unary("neg", base), lambda base, new: b.unary("neg", new)
    )
