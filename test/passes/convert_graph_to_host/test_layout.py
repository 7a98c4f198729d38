"""Layouts agree with what ATen's own views do."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from girih.dialects.dims import parse, symbol
from girih.passes.convert_graph_to_host import layout as layouts
from girih.passes.convert_graph_to_host.layout import Layout

SIZES = st.sampled_from([0, 1, 1, 2, 3, 4, 6])


def layout_of(tensor, base):
    offset = tensor.storage_offset() - base.storage_offset()
    return Layout(tuple(tensor.shape), tuple(tensor.stride()), offset)


@st.composite
def strided_tensors(draw):
    """A tensor with gaps, permuted dims and broadcast dims."""
    shape = draw(st.lists(SIZES, max_size=4))
    storage = torch.arange(math.prod(2 * size + 1 for size in shape))
    tensor = storage.reshape([2 * size + 1 for size in shape])
    for dim, size in enumerate(shape):
        step = draw(st.sampled_from([1, 1, 2]))
        tensor = tensor.narrow(dim, draw(st.integers(0, 1)), step * size)
        tensor = tensor[(slice(None),) * dim + (slice(None, None, step),)]
        if size == 1 and draw(st.booleans()):
            tensor = tensor.expand([*tensor.shape[:dim], 3, *tensor.shape[dim + 1 :]])
    return tensor.permute(draw(st.permutations(range(tensor.dim()))))


@st.composite
def reshapes(draw):
    """A tensor and another shape with as many elements."""
    tensor = draw(strided_tensors())
    shape = list(tensor.shape)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(shape)))
        if draw(st.booleans()) and at < len(shape) and shape[at] % 2 == 0:
            shape[at : at + 1] = [2, shape[at] // 2]
        elif at + 1 < len(shape):
            shape[at : at + 2] = [shape[at] * shape[at + 1]]
        else:
            shape.insert(at, 1)
    return tensor, shape


@settings(max_examples=400, deadline=None)
@given(reshapes())
def test_reshape_aliases_exactly_where_aten_does(case):
    tensor, shape = case
    got = layouts.reshape(layout_of(tensor, tensor), shape)
    try:
        expected = tensor.view(shape)
    except RuntimeError:
        assert got is None
        return
    assert got is not None and got.shape == tuple(shape)
    assert torch.equal(tensor.as_strided(got.shape, got.strides), expected)


@settings(max_examples=100, deadline=None)
@given(strided_tensors())
def test_dense_layout_follows_the_order_of_dims(tensor):
    got = layouts.dense_like(tensor.shape, tensor.stride())
    if got is None:
        assert 0 in tensor.stride()
        return
    assert layouts.is_dense(got)
    expected = torch.empty_like(tensor).stride()
    assert layouts.same_strides(tensor.shape, got.strides, expected)


@settings(max_examples=100, deadline=None)
@given(strided_tensors(), st.data())
def test_slices_and_broadcasts(tensor, data):
    starts = [data.draw(st.integers(0, size)) for size in tensor.shape]
    steps = [data.draw(st.integers(1, 3)) for _ in tensor.shape]
    cuts = tuple(slice(a, None, b) for a, b in zip(starts, steps, strict=True))
    expected = tensor[cuts]
    base = layout_of(tensor, tensor)
    got = layouts.slice_(base, starts, steps, expected.shape)
    if expected.numel():
        assert got == layout_of(expected, tensor)
    wide = layouts.broadcast_to(got, (2, *expected.shape))
    assert wide.strides == (0, *got.strides)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0, 3), (4, 1, 5)])
def test_contiguous_strides_are_atens(shape):
    assert layouts.contiguous_strides(shape) == torch.empty(shape).stride()


def test_symbolic_reshape():
    s0 = symbol("s0")
    packed = layouts.contiguous((s0, 4, 8))
    assert layouts.reshape(packed, (s0 * 4, 8)) == layouts.contiguous((s0 * 4, 8))
    assert layouts.reshape(packed, (s0, 32)) == layouts.contiguous((s0, 32))
    back = layouts.reshape(layouts.contiguous((s0 * 32,)), (s0, 4, 8))
    assert back == packed
    swapped = layouts.permute(packed, (1, 0, 2))
    assert layouts.reshape(swapped, (s0 * 4, 8)) is None
    assert layouts.reshape(swapped, (4, s0, 2, 4)).strides == (8, 32, 4, 1)


def test_symbolic_slice_moves_the_offset():
    packed = layouts.contiguous((symbol("s0"), 8))
    got = layouts.slice_(packed, (parse("s0 - 1"), 2), (1, 3), (1, 2))
    assert got == Layout((1, 2), (8, 3), parse("8*s0 - 6"))


def test_a_size_that_guards_say_is_one_takes_a_copy():
    one = symbol("s0") // 9
    assert layouts.reshape(layouts.contiguous((1, 6)), (1, one, 2, 3)) is None


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 1, 2), (1, 1, 1), (2, 2), (5,)])
def test_parts_that_are_apart_share_no_element(shape):
    base = torch.arange(math.prod(shape)).reshape(shape)
    parts = [base]
    for dim, size in enumerate(shape):
        for start in range(size):
            parts.append(base.select(dim, start))
            lengths = range(1, size - start + 1)
            parts += [base.narrow(dim, start, length) for length in lengths]
    whole = layout_of(base, base)
    found = 0
    for one in parts:
        for other in parts:
            laid_out = layout_of(one, base), layout_of(other, base)
            if layouts.are_apart(whole, *laid_out):
                found += 1
                elements = set(one.flatten().tolist())
                assert elements.isdisjoint(other.flatten().tolist())
    assert bool(found) == (max(shape) > 1)
