"""Sizes that eager refuses are refused, by all functions of PyTorch's own table.

Each tensor of a sample call is given one dim more or less, a dim one longer or shorter,
of one element or of none. Where eager raises, fake tensors do, or the compiled call.
"""

import os

import pytest
import torch
from support.refusals import FUNCTIONS, error_of, is_taken, refused_calls

import girih

# Eager itself reads or writes beyond the operands, and ends the process.
UNCHECKED = {
    "_batch_norm_with_update",
    "_native_batch_norm_legit",
    "_segment_reduce offsets",
    "lu_unpack",
    "native_batch_norm",
    "nn.functional.embedding_bag",
}
PARTS = 16


def changed(tensor):
    """The tensor with other sizes."""
    for dim, extent in enumerate(tensor.shape):
        if extent:
            yield torch.cat([tensor, tensor.narrow(dim, 0, 1)], dim)
            yield tensor.narrow(dim, 0, 0).clone()
            yield tensor.select(dim, 0).clone()
        if extent > 1:
            yield tensor.narrow(dim, 0, extent - 1).clone()
            yield tensor.narrow(dim, 0, 1).clone()
    yield tensor[None].clone()


def changes(leaves):
    """The leaves, with one tensor changed."""
    for place, leaf in enumerate(leaves):
        is_tensor = isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided
        if is_tensor and leaf.numel() < 10_000:
            for other in changed(leaf):
                yield (*leaves[:place], other, *leaves[place + 1 :])


@pytest.mark.parametrize("function", [torch.softmax, torch.log_softmax, torch.sort])
def test_dims_that_symbolic_sizes_have_not(function):
    compiled = girih.compile(lambda x: function(x, 1), dynamic=True)
    compiled(torch.ones(5, 5))
    for outcome in (lambda x: function(x, 1), compiled):
        with pytest.raises(IndexError, match="expected to be in range"):
            outcome(torch.ones(5))


def compiled_error(function, leaves):
    """What both entrances raise behind fake tensors that took the call."""
    girih.reset()
    yield error_of(girih.compile(function, dynamic=True), leaves)
    torch._dynamo.reset()
    yield error_of(torch.compile(function, backend="girih", dynamic=True), leaves)


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore")
def test_what_eager_refuses(part):
    refused = 0
    names = sorted(FUNCTIONS.keys() - UNCHECKED)[part::PARTS]
    for label, function, leaves, expected in refused_calls(names, changes):
        refused += 1
        if is_taken(function, leaves, dynamic=False):
            assert error_of(girih.compile(function), leaves) == expected, label
    assert refused > 100


# torch's kernels in Python, which fake tensors of symbolic sizes get, take more.
WRITTEN_OUT = ("interpolate", "stft", "batch_norm")


@pytest.mark.filterwarnings("ignore")
def test_what_kernels_in_python_take():
    kept = "" if os.environ.get("GIRIH_TEST_LONG") else WRITTEN_OUT
    names = [
        name
        for name in sorted(FUNCTIONS.keys() - UNCHECKED)
        if not kept or any(part in name for part in kept)
    ]
    found = []
    for label, function, leaves, expected in refused_calls(names, changes):
        if is_taken(function, leaves, dynamic=True):
            errors = list(compiled_error(function, leaves))
            if errors[0] != expected or errors[1] is None:
                found.append((label, expected, errors))
    assert not found
