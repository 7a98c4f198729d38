"""Access chains: the shape ops between a value and the place that reads it.

A chain is a tuple of steps in the order of the data flow. ``extend`` keeps it in a
normal form: adjacent steps of one kind are one step, steps that do nothing are gone,
and broadcasts move to the end (as far as they commute), since a broadcast at the end is
implicit in elementwise ops.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from girih.dialects.dims import Size, product
from girih.passes.fuse.shapes import (
    Shape,
    align_right,
    is_empty,
    reshape_before_broadcast,
)


@dataclass(frozen=True)
class Step:
    """One shape op; ``shape`` is the shape of its result."""

    shape: Shape


@dataclass(frozen=True)
class Reshape(Step):
    """The elements in row-major order under another shape."""


@dataclass(frozen=True)
class Broadcast(Step):
    """Right-aligned expansion of sizes of 1."""


@dataclass(frozen=True)
class Permute(Step):
    """``result dim i`` is ``source dim permutation[i]``."""

    permutation: tuple[int, ...]


@dataclass(frozen=True)
class Slice(Step):
    """``result[i] = source[start + step * i]`` in each dim."""

    starts: tuple[Size, ...]
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Flip(Step):
    """The dims of ``dims`` backwards."""

    dims: tuple[int, ...]


@dataclass(frozen=True)
class Windows(Step):
    """``result[..., i, ..., k] = source[..., i * step + k, ...]``, i at ``dim``."""

    dim: int
    step: Size


@dataclass(frozen=True)
class Pad(Step):
    """``low`` and ``high`` elements around each dim.

    ``value`` is the attribute of the padding's value; None where nothing reads it.
    """

    low: tuple[Size, ...]
    high: tuple[Size, ...]
    value: object | None


@dataclass(frozen=True)
class Take(Step):
    """``graph.take`` along ``dim``; ``index`` is the ``Read`` of the index operand."""

    dim: int
    index: object
    index_rank: int
    from_end: bool = False


@dataclass(frozen=True)
class Gather(Step):
    """``graph.gather`` along ``dim``; ``index`` is the ``Read`` of the index."""

    dim: int
    index: object


Chain = tuple[Step, ...]


def result_shape(source: Shape, chain: Chain) -> Shape:
    """Returns the shape at the end of ``chain``."""
    return chain[-1].shape if chain else source


def extend(source: Shape, chain: Chain, steps: Iterable[Step]) -> Chain:
    """Returns ``chain`` followed by ``steps``, in normal form.

    Args:
        source: the shape that the chain starts from.
        chain: a chain in normal form.
        steps: what to append.
    """
    for step in steps:
        chain = _RULES[type(step)](source, chain, step)
    return chain


def without_trailing_broadcast(chain: Chain) -> Chain:
    """Returns ``chain`` up to a broadcast at its end."""
    return chain[:-1] if chain and isinstance(chain[-1], Broadcast) else chain


def _pop(source: Shape, chain: Chain) -> tuple[Step | None, Chain, Shape]:
    """Returns the last step, what is before it, and the shape before it."""
    if not chain:
        return None, (), source
    return chain[-1], chain[:-1], result_shape(source, chain[:-1])


def _extend_reshape(source: Shape, chain: Chain, step: Reshape) -> Chain:
    if step.shape == result_shape(source, chain):
        return chain
    last, before, shape = _pop(source, chain)
    if isinstance(last, Reshape):
        return _extend_reshape(source, before, step)
    if isinstance(last, Broadcast):
        narrow = reshape_before_broadcast(shape, last.shape, step.shape)
        if narrow is not None:
            return extend(source, before, [Reshape(narrow), Broadcast(step.shape)])
    return (*chain, step)


def _extend_broadcast(source: Shape, chain: Chain, step: Broadcast) -> Chain:
    if step.shape == result_shape(source, chain):
        return chain
    last, before, _ = _pop(source, chain)
    if isinstance(last, Broadcast):
        return _extend_broadcast(source, before, step)
    return (*chain, step)


def _extend_permute(source: Shape, chain: Chain, step: Permute) -> Chain:
    if _moves_only_ones(result_shape(source, chain), step.permutation):
        return _extend_reshape(source, chain, Reshape(step.shape))
    last, before, shape = _pop(source, chain)
    if isinstance(last, Permute):
        merged = tuple(last.permutation[dim] for dim in step.permutation)
        return _extend_permute(source, before, Permute(step.shape, merged))
    if isinstance(last, Broadcast):
        aligned = align_right(shape, len(last.shape))
        narrow = Permute(_permuted(aligned, step.permutation), step.permutation)
        return extend(source, before, [Reshape(aligned), narrow, Broadcast(step.shape)])
    return (*chain, step)


def _extend_slice(source: Shape, chain: Chain, step: Slice) -> Chain:
    before_shape = result_shape(source, chain)
    starts_at_zero = all(start == 0 for start in step.starts)
    if step.shape == before_shape and starts_at_zero:
        return chain
    last, before, shape = _pop(source, chain)
    if isinstance(last, Slice):
        return (*before, _merged_slice(last, step))
    if isinstance(last, Broadcast):
        narrow = _slice_of_narrow(align_right(shape, len(last.shape)), last.shape, step)
        aligned = Reshape(align_right(shape, len(last.shape)))
        return extend(source, before, [aligned, narrow, Broadcast(step.shape)])
    return (*chain, step)


def _merged_slice(first: Slice, second: Slice) -> Slice:
    starts = tuple(
        start + step * offset
        for start, step, offset in zip(
            first.starts, first.steps, second.starts, strict=True
        )
    )
    steps = tuple(a * b for a, b in zip(first.steps, second.steps, strict=True))
    return Slice(second.shape, starts, steps)


def _slice_of_narrow(narrow: Shape, wide: Shape, step: Slice) -> Slice:
    """Slices the source of a broadcast: expanded dims keep their size of 1."""
    expanded = [n == 1 and w != 1 for n, w in zip(narrow, wide, strict=True)]
    return Slice(
        tuple(1 if e else s for e, s in zip(expanded, step.shape, strict=True)),
        tuple(0 if e else s for e, s in zip(expanded, step.starts, strict=True)),
        tuple(1 if e else s for e, s in zip(expanded, step.steps, strict=True)),
    )


def _extend_flip(source: Shape, chain: Chain, step: Flip) -> Chain:
    shape = result_shape(source, chain)
    dims = tuple(dim for dim in step.dims if shape[dim] != 1)
    if not dims:
        return chain
    last, before, narrow = _pop(source, chain)
    if isinstance(last, Flip):
        merged = tuple(sorted(set(last.dims) ^ set(dims)))
        return _extend_flip(source, before, replace(step, dims=merged))
    if isinstance(last, Broadcast):
        aligned = align_right(narrow, len(last.shape))
        steps = [Reshape(aligned), Flip(aligned, dims), Broadcast(step.shape)]
        return extend(source, before, steps)
    return (*chain, replace(step, dims=dims))


def _extend_window(source: Shape, chain: Chain, step: Windows) -> Chain:
    last, before, shape = _pop(source, chain)
    if not isinstance(last, Broadcast):
        return (*chain, step)
    aligned = align_right(shape, len(last.shape))
    if aligned[step.dim] == 1 and last.shape[step.dim] != 1:
        return extend(source, before, [Reshape((*aligned, 1)), Broadcast(step.shape)])
    count, length = step.shape[step.dim], step.shape[-1]
    kept = (*aligned[: step.dim], count, *aligned[step.dim + 1 :])
    narrow = replace(step, shape=(*kept, length))
    return extend(source, before, [Reshape(aligned), narrow, Broadcast(step.shape)])


def _extend_pad(source: Shape, chain: Chain, step: Pad) -> Chain:
    if all(width == 0 for width in (*step.low, *step.high)):
        return chain
    last, before, shape = _pop(source, chain)
    if not isinstance(last, Broadcast):
        return (*chain, step)
    aligned = align_right(shape, len(last.shape))
    unpadded = [a == 0 and b == 0 for a, b in zip(step.low, step.high, strict=True)]
    expanded = [n == 1 and w != 1 for n, w in zip(aligned, last.shape, strict=True)]
    if step.value is None:
        return _extend_free_pad(source, before, aligned, last.shape, step)
    if any(e and not u for e, u in zip(expanded, unpadded, strict=True)):
        return (*chain, step)
    narrow = tuple(1 if e else s for e, s in zip(expanded, step.shape, strict=True))
    steps = [Reshape(aligned), replace(step, shape=narrow), Broadcast(step.shape)]
    return extend(source, before, steps)


def _extend_free_pad(
    source: Shape, before: Chain, narrow: Shape, wide: Shape, step: Pad
) -> Chain:
    """A pad whose padding nobody reads is nothing at all along expanded dims."""
    expanded = [n == 1 and w != 1 for n, w in zip(narrow, wide, strict=True)]
    padded = Pad(
        tuple(1 if e else s for e, s in zip(expanded, step.shape, strict=True)),
        tuple(0 if e else s for e, s in zip(expanded, step.low, strict=True)),
        tuple(0 if e else s for e, s in zip(expanded, step.high, strict=True)),
        None,
    )
    return extend(source, before, [Reshape(narrow), padded, Broadcast(step.shape)])


def _extend_take(source: Shape, chain: Chain, step: Take) -> Chain:
    last, before, narrow = _pop(source, chain)
    if not isinstance(last, Broadcast):
        return (*chain, step)
    aligned = align_right(narrow, len(last.shape))
    if aligned[step.dim] != 1 or last.shape[step.dim] == 1:
        return (*chain, step)
    ones = (1,) * step.index_rank
    unit = (*aligned[: step.dim], *ones, *aligned[step.dim + 1 :])
    return extend(source, before, [Reshape(unit), Broadcast(step.shape)])


def _extend_gather(source: Shape, chain: Chain, step: Gather) -> Chain:
    last, before, narrow = _pop(source, chain)
    if not isinstance(last, Broadcast):
        return (*chain, step)
    wide = last.shape
    aligned = align_right(narrow, len(wide))
    others_kept = all(
        dim == step.dim or wide[dim] == size for dim, size in enumerate(step.shape)
    )
    if aligned[step.dim] != 1 or wide[step.dim] == 1 or not others_kept:
        return (*chain, step)
    return extend(source, before, [Broadcast(step.shape)])


_RULES: dict[type[Step], Callable[[Shape, Chain, Step], Chain]] = {
    Broadcast: _extend_broadcast,
    Flip: _extend_flip,
    Gather: _extend_gather,
    Pad: _extend_pad,
    Permute: _extend_permute,
    Reshape: _extend_reshape,
    Slice: _extend_slice,
    Take: _extend_take,
    Windows: _extend_window,
}


def _permuted(shape: Shape, permutation: tuple[int, ...]) -> Shape:
    return tuple(shape[dim] for dim in permutation)


def _moves_only_ones(shape: Shape, permutation: tuple[int, ...]) -> bool:
    """Returns whether the order of the sizes other than 1 stays."""
    kept = [dim for dim in permutation if shape[dim] != 1]
    return kept == sorted(kept)


def is_reshape_only(source: Shape, chain: Chain) -> bool:
    """Returns whether the chain keeps the elements and their order."""
    if not chain:
        return True
    return len(chain) == 1 and isinstance(chain[0], Reshape) and not is_empty(source)


def element_count(source: Shape, chain: Chain) -> Size:
    """Returns how many elements the end of the chain has."""
    return product(result_shape(source, chain))
