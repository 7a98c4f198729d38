"""The normal form of access chains: what a chain reads never changes."""

import random

import pytest
import torch

from girih.dialects.dims import symbol
from girih.passes.fuse.chain import (
    Broadcast,
    Flip,
    Gather,
    Pad,
    Permute,
    Reshape,
    Slice,
    Take,
    Windows,
    extend,
    is_reshape_only,
    result_shape,
    without_trailing_broadcast,
)

INDEX = torch.tensor([[0, 1], [1, 0]])


def apply(x, chain):
    for step in chain:
        x = apply_step(x, step)
        assert tuple(x.shape) == tuple(step.shape)
    return x


def apply_step(x, step):
    match step:
        case Reshape(shape):
            return x.reshape(shape)
        case Broadcast(shape):
            return x.broadcast_to(shape)
        case Permute(_, permutation):
            return x.permute(permutation)
        case Slice(shape, starts, steps):
            ends = [a + n * s for a, n, s in zip(starts, shape, steps, strict=True)]
            return x[tuple(map(slice, starts, ends, steps))]
        case Flip(_, dims):
            return x.flip(dims)
        case Windows(shape, dim, step):
            return x.unfold(dim, shape[-1], step)
        case Pad(_, low, high, value):
            widths = [
                w for pair in zip(low[::-1], high[::-1], strict=True) for w in pair
            ]
            return torch.nn.functional.pad(x, widths, value=value)
        case Take(_, dim, index, _):
            taken = x.index_select(dim, index.reshape(-1))
            return taken.reshape(*x.shape[:dim], *index.shape, *x.shape[dim + 1 :])
        case Gather(_, dim, index):
            return x.gather(dim, index)
    raise AssertionError(step)


def random_step(rng, shape):
    """A step that fits a tensor of this shape."""
    rank = len(shape)
    kind = rng.choice([Reshape, Broadcast, Permute, Slice, Flip, Windows, Pad, Take])
    if kind is Reshape:
        merged = (*shape[:-2], shape[-2] * shape[-1]) if rank > 1 else shape
        unit = rng.randint(0, rank)
        return Reshape(rng.choice([merged, (*shape[:unit], 1, *shape[unit:])]))
    if kind is Broadcast:
        wide = tuple(rng.choice([1, 2]) if size == 1 else size for size in shape)
        return Broadcast((2, *wide) if rng.random() < 0.3 and rank < 4 else wide)
    if kind is Permute:
        order = tuple(rng.sample(range(rank), rank))
        return Permute(tuple(shape[dim] for dim in order), order)
    if kind is Slice:
        starts = tuple(rng.randint(0, size - 1) for size in shape)
        pairs = zip(shape, starts, strict=True)
        sizes = tuple(rng.randint(1, size - start) for size, start in pairs)
        return Slice(sizes, starts, (1,) * rank)
    if kind is Windows and rank < 4:
        dim, step = rng.randrange(rank), rng.choice([1, 2])
        length = rng.randint(1, shape[dim])
        count = (shape[dim] - length) // step + 1
        return Windows((*shape[:dim], count, *shape[dim + 1 :], length), dim, step)
    if kind is Flip:
        return Flip(shape, (rng.randrange(rank),))
    if kind is Pad:
        low = tuple(rng.choice([0, 0, 1]) for _ in shape)
        return Pad(tuple(map(sum, zip(shape, low, strict=True))), low, (0,) * rank, 7.0)
    dim = rng.randrange(rank)
    if shape[dim] < 2 or rank > 3:
        return Flip(shape, (dim,))
    taken = (*shape[:dim], *INDEX.shape, *shape[dim + 1 :])
    return Take(taken, dim, INDEX, INDEX.dim())


@pytest.mark.parametrize("seed", range(40))
def test_normal_form_reads_the_same_elements(seed):
    rng = random.Random(seed)
    for _ in range(20):
        source = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(1, 3)))
        x = torch.arange(float(torch.tensor(source).prod())).reshape(source)
        plain, chain, shape = (), (), source
        for _ in range(5):
            step = random_step(rng, shape)
            plain, shape = (*plain, step), step.shape
            chain = extend(source, chain, [step])
        assert result_shape(source, chain) == shape
        assert torch.equal(apply(x, chain), apply(x, plain))


def test_reshapes_merge():
    assert extend((6, 4), (), [Reshape((24,)), Reshape((2, 12))]) == (Reshape((2, 12)),)
    assert extend((6, 4), (), [Reshape((24,)), Reshape((6, 4))]) == ()


def test_reshape_does_not_pass_a_permute():
    steps = [Permute((4, 6), (1, 0)), Reshape((24,))]
    assert len(extend((6, 4), (), steps)) == 2


def test_broadcasts_move_to_the_end():
    steps = [Broadcast((5, 4)), Permute((4, 5), (1, 0)), Reshape((4, 5, 1))]
    chain = extend((4,), (), steps)
    assert isinstance(chain[-1], Broadcast)
    assert without_trailing_broadcast(chain) == (Reshape((4, 1, 1)),)


def test_reshape_that_merges_part_of_a_broadcast_stays():
    chain = extend((4,), (), [Broadcast((5, 4)), Reshape((20,))])
    assert chain == (Broadcast((5, 4)), Reshape((20,)))


def test_gather_of_what_is_equal_along_its_dim_reads_nothing_special():
    step = Gather((5, 1), 1, INDEX)
    assert extend((5, 1), (), [Broadcast((5, 4)), step]) == ()


def test_gather_of_other_dims_stays():
    step = Gather((5, 1), 1, INDEX)
    assert extend((1, 4), (), [Broadcast((5, 4)), step])[-1] == step


def test_unread_padding_along_a_broadcast_dim_is_nothing():
    step = Pad((7, 4), (2, 0), (0, 0), None)
    assert extend((4,), (), [Broadcast((5, 4)), step, Broadcast((7, 4))])[-1] == (
        Broadcast((7, 4))
    )


def test_symbolic_sizes():
    n = symbol("s0")
    chain = extend((n, 12), (), [Reshape((n, 3, 4)), Reshape((n * 3, 4))])
    assert chain == (Reshape((n * 3, 4)),)
    assert is_reshape_only((n, 12), chain)
    wide = extend((12,), (), [Broadcast((n, 12)), Reshape((n, 3, 4))])
    assert without_trailing_broadcast(wide) == (Reshape((1, 3, 4)),)
