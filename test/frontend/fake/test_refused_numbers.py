"""Numbers that eager refuses are refused, by all functions of PyTorch's own table.

Each int of a sample call becomes -1, 0, one more, its negative, 7, -7, or what stands
before it. Where eager raises, fake tensors do, or the compiled call with eager's error.
"""

import os

import pytest
import torch
from support.refusals import FUNCTIONS, error_of, is_taken, refused_calls
from torch.library import custom_op

import girih

PARTS = 8
SAMPLES = 6 if os.environ.get("GIRIH_TEST_LONG") else 1
MOST_ELEMENTS = 20_000
# Eager itself reads or writes beyond the operands, and ends the process.
UNCHECKED = {
    "_batch_norm_with_update",
    "_native_batch_norm_legit",
    "_segment_reduce offsets",
    "lu_unpack",
    "native_batch_norm",
    "nn.functional.embedding_bag",
}


def changes(leaves):
    """The leaves, with one int changed."""
    before = None
    for place, leaf in enumerate(leaves):
        if type(leaf) is not int:
            before = None
            continue
        others = {-1, 0, leaf + 1, -leaf - 1, 7, -7, leaf if before is None else before}
        for other in sorted(others - {leaf}):
            yield (*leaves[:place], other, *leaves[place + 1 :])
        before = leaf


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore")
def test_what_eager_refuses(part):
    names = sorted(FUNCTIONS.keys() - UNCHECKED)[part::PARTS]
    refused, found = 0, []
    for label, function, leaves, expected in refused_calls(names, changes, SAMPLES):
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if any(tensor.numel() > MOST_ELEMENTS for tensor in tensors):
            continue
        refused += 1
        if is_taken(function, leaves, dynamic=False):
            actual = error_of(girih.compile(function), leaves)
            if actual != expected:
                found.append((label, expected, actual))
    assert refused > 20 and not found


def test_windows_of_no_elements():
    pool = torch.nn.functional
    cases = [
        (lambda x: pool.avg_pool2d(x, (0, 1), stride=1), (1, 1, 4, 3)),
        (lambda x: pool.max_pool2d(x, (0, 1), stride=1), (1, 1, 4, 3)),
        (lambda x: pool.max_pool2d(x, 2, dilation=0), (1, 1, 4, 3)),
        (lambda x: pool.max_pool2d(x, 2, dilation=-1), (1, 1, 4, 3)),
        (lambda x: pool.avg_pool2d(x, 2, divisor_override=0), (1, 1, 4, 3)),
        (lambda x: pool.avg_pool2d(x, 2, stride=(0, 1)), (1, 1, 4, 3)),
        (lambda x: pool.avg_pool1d(x, 0, 1), (1, 4, 3)),
        (lambda x: pool.lp_pool2d(x, 2, 0, stride=1), (1, 1, 4, 3)),
        (lambda x: pool.local_response_norm(x, 0), (1, 4, 3)),
        (lambda x: x.roll(1, 5), (4, 3)),
        (lambda x: x.roll((1, 1), (0, 2)), (4, 3)),
        (lambda x: x.flip((1, -1)), (4, 3)),
        (lambda x: x.logsumexp(()), (4, 3)),
    ]
    for number, (function, shape) in enumerate(cases):
        leaves = (torch.randn(shape),)
        expected = error_of(function, leaves)
        assert expected is not None, number
        for dynamic in (False, True):
            compiled = girih.compile(function, dynamic=dynamic)
            assert error_of(compiled, leaves) == expected, number


@custom_op("girih_test::plus", mutates_args=())
def plus(x: torch.Tensor, n: int) -> torch.Tensor:
    """Adds a number."""
    return x + n


@plus.register_fake
def _(x, n):
    return torch.empty_like(x)


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
@pytest.mark.parametrize("dynamic", [None, True])
def test_floats_where_operators_want_ints(dynamic):
    compiled = girih.compile(lambda x, n: plus(x, n), dynamic=dynamic)
    x = torch.ones(3)
    for n in (1, 2, 1.5, 2.0, 3):
        assert error_of(compiled, (x, n)) == error_of(plus, (x, n)), n
    assert torch.equal(compiled(x, 5), x + 5)
