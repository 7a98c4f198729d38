"""Buffers in a workspace that are alive together never overlap."""

from hypothesis import given, settings
from hypothesis import strategies as st

from girih.dialects.dims import evaluate, symbol
from girih.passes.plan_memory import Lifetime, place_static, place_symbolic

SPANS = st.tuples(st.integers(0, 8), st.integers(0, 4))
SYMBOLIC_SIZES = [symbol("s0") * 64, symbol("s1") * 64, symbol("s0") * 128]


def lifetimes(spans, sizes):
    return [
        Lifetime(number, first, first + length, size)
        for number, ((first, length), size) in enumerate(zip(spans, sizes, strict=True))
    ]


def assert_apart(placed, offsets, end, values):
    for one in placed:
        start = evaluate(offsets[one.buffer], values)
        stop = start + evaluate(one.size, values)
        assert 0 <= start <= stop <= evaluate(end, values)
        for other in placed[: one.buffer]:
            if one.first <= other.last and other.first <= one.last:
                low = evaluate(offsets[other.buffer], values)
                assert low + evaluate(other.size, values) <= start or stop <= low


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(SPANS, st.integers(0, 6)), max_size=12))
def test_static_sizes(cases):
    placed = lifetimes([span for span, _ in cases], [64 * n for _, n in cases])
    offsets, end = place_static(placed)
    assert_apart(placed, offsets, end, {})
    assert end <= sum(lifetime.size for lifetime in placed)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(SPANS, st.sampled_from(SYMBOLIC_SIZES)), max_size=12),
    st.integers(0, 5),
    st.integers(0, 5),
)
def test_symbolic_sizes(cases, s0, s1):
    placed = lifetimes([span for span, _ in cases], [size for _, size in cases])
    offsets, end = place_symbolic(placed, 128)
    assert_apart(placed, offsets, end, {"s0": s0, "s1": s1})


def test_a_dead_buffers_place_is_taken_again():
    chain = lifetimes([(0, 1), (1, 1), (2, 1), (3, 1)], [64] * 4)
    assert place_static(chain)[1] == 128
    equal = lifetimes([(0, 0), (1, 0)], [symbol("s0") * 64] * 2)
    assert place_symbolic(equal, 0)[1] == symbol("s0") * 64
