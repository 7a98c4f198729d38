"""Sizes that eager refuses are refused, by all functions of PyTorch's own table.

Each tensor of a sample call is given one dim more or less, a dim one longer or shorter,
of one element or of none. Where eager raises, fake tensors do, or the compiled call.
"""

import itertools
import os

import pytest
import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_unflatten

import girih
from girih.frontend.fake import fake_like, make_fake_mode
from girih.frontend.fake.mode import python_dispatcher

# They draw random numbers, or give sizes that depend on data.
LEFT_OUT = (
    *("rand", "normal", "bernoulli", "dropout", "uniform", "exponential", "cauchy"),
    *("geometric", "rrelu", "fractional", "empty", "resize", "nonzero", "unique"),
    *("masked_select", "argwhere", "to_sparse", "jiterator", "multinomial", "item"),
)
# Eager itself reads or writes beyond the operands, and ends the process.
UNCHECKED = {
    "_batch_norm_with_update",
    "_native_batch_norm_legit",
    "_segment_reduce offsets",
    "lu_unpack",
    "native_batch_norm",
    "nn.functional.embedding_bag",
}
# Errors of the data, which calls that give no data to look at do not show.
OF_DATA = ("out of range", "out of bounds", "singular", "positive-definite", "converge")
DTYPES = (torch.float64, torch.float32, torch.int64, torch.bool, torch.complex128)
PARTS = 16
SAMPLES = 3
FUNCTIONS = {
    f"{op.name} {op.variant_test_name}".strip(): op
    for op in op_db
    if not any(part in op.name for part in LEFT_OUT)
    and not op.name.startswith(("sparse.", "svd", "linalg.svd"))
}


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


def changed_calls(op):
    dtype = next((dtype for dtype in DTYPES if dtype in op.dtypes), None)
    if dtype is None:
        return
    try:
        samples = op.sample_inputs("cpu", dtype, requires_grad=False)
        samples = list(itertools.islice(samples, SAMPLES))
    except Exception:  # some samples need libraries that are not here
        return
    for sample in samples:
        leaves, form = tree_flatten((sample.input, sample.args, sample.kwargs))
        for place, leaf in enumerate(leaves):
            is_tensor = isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided
            if is_tensor and leaf.numel() < 10_000:
                for other in changed(leaf):
                    yield (*leaves[:place], other, *leaves[place + 1 :]), form


def error_of(function, leaves):
    copies = [x.clone() if isinstance(x, torch.Tensor) else x for x in leaves]
    try:
        function(*copies)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def evaluated(function, leaves, dynamic):
    mode = make_fake_mode(ShapeEnv() if dynamic else None)
    fakes = [fake_like(mode, x) if isinstance(x, torch.Tensor) else x for x in leaves]
    with mode, python_dispatcher(mode):
        function(*fakes)


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


def changed_functions(names):
    """Calls of functions that eager refuses for sizes: name, call, operands, error."""
    for name in names:
        for leaves, form in changed_calls(FUNCTIONS[name]):

            def function(*leaves, op=FUNCTIONS[name].op, form=form):
                operand, args, kwargs = tree_unflatten(leaves, form)
                return op(operand, *args, **kwargs)

            expected = error_of(function, leaves)
            if expected and not any(text in expected for text in OF_DATA):
                sizes = [getattr(leaf, "shape", leaf) for leaf in leaves]
                yield f"{name} of {sizes}", function, leaves, expected


def is_taken(function, leaves, dynamic):
    call = lambda *leaves: evaluated(function, leaves, dynamic)  # noqa: E731
    return error_of(call, leaves) is None


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore")
def test_what_eager_refuses(part):
    refused = 0
    names = sorted(FUNCTIONS.keys() - UNCHECKED)[part::PARTS]
    for label, function, leaves, expected in changed_functions(names):
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
    for label, function, leaves, expected in changed_functions(names):
        if is_taken(function, leaves, dynamic=True):
            errors = list(compiled_error(function, leaves))
            if errors[0] != expected or errors[1] is None:
                found.append((label, expected, errors))
    assert not found
