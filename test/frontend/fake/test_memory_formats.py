"""Memory formats of what functions of images give, where they are to be derived.

The functions are those of PyTorch's own table of operators: where girih has no shape
rule, a meta kernel of PyTorch's may have other strides than the kernel.
"""

from functools import partial

import pytest
import torch
from extent import extent
from operator_table import op_db
from torch.utils._pytree import tree_leaves

import girih

FORMATS = {4: torch.channels_last, 5: torch.channels_last_3d}
# They draw random numbers, or give sizes that depend on data.
LEFT_OUT = (
    *("rand", "normal", "bernoulli", "dropout", "uniform", "exponential", "cauchy"),
    *("geometric", "rrelu", "fractional", "empty", "resize", "nonzero", "unique"),
    *("masked_select", "argwhere", "to_sparse", "jiterator", "multinomial", "item"),
)
PARTS = extent(8, long=16)
FUNCTIONS = {
    f"{op.name} {op.variant_test_name}".strip(): op
    for op in op_db
    if torch.float64 in op.dtypes and not any(part in op.name for part in LEFT_OUT)
}


def with_channels_innermost(value):
    if not isinstance(value, torch.Tensor) or value.dim() not in FORMATS:
        return value
    made = value.detach().contiguous(memory_format=FORMATS[value.dim()])
    return made.requires_grad_(value.is_floating_point())


def images_of(op):
    """Some of the operator's samples whose first tensor may be a batch of images."""
    found = []
    for sample in op.sample_inputs("cpu", torch.float64, requires_grad=False):
        x = sample.input
        if isinstance(x, torch.Tensor) and x.dim() in FORMATS and x.numel():
            args = [with_channels_innermost(value) for value in (x, *sample.args)]
            found.append((args, sample.kwargs))
        if len(found) == extent(1, long=2):
            break
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_strides(part):
    count = 0
    for place, name in enumerate(sorted(FUNCTIONS)[part::PARTS]):
        op = FUNCTIONS[name]
        try:
            calls = images_of(op)
        except Exception:  # some samples need libraries that are not here
            continue
        for number, (args, kwargs) in enumerate(calls):
            # In turns: of most functions two samples are tried.
            for dynamic in extent([bool((place + number) % 2)], long=[False, True]):
                check(name, partial(call, op.op, kwargs), args, dynamic)
        count += len(calls)
    assert count > 4


COMPLEX = {
    f"{op.name} {op.variant_test_name}".strip(): op
    for op in op_db
    if torch.complex64 in op.dtypes
    and hasattr(op, "reference_numerics_filter")  # a function of one tensor
    and not any(part in op.name for part in (*LEFT_OUT, "fill"))
}


def complex_layouts():
    x = torch.randn(2, 3, 4, 5, dtype=torch.complex64) / 2
    return {
        "transposed": x[0, 0].T,
        "permuted": x[0].permute(2, 0, 1),
        "channels innermost": x.contiguous(memory_format=torch.channels_last),
        "with gaps": x[:, ::2].transpose(0, 1),
        "a dim of one": x[0].as_strided((3, 1, 5), (5, 7, 1)),
    }


@pytest.mark.parametrize("name", sorted(COMPLEX))
def test_strides_of_complex_functions(name):
    for number, x in enumerate(complex_layouts().values()):
        for dynamic in extent([bool(number % 2)], long=[False, True]):
            check(name, partial(call, COMPLEX[name].op, {}), [x], dynamic)


def call(function, kwargs, *args):
    return function(*args, **kwargs)


def check(name, program, args, dynamic):
    expected = tree_leaves(program(*args))
    found = tree_leaves(girih.compile(program, dynamic=dynamic)(*args))
    for actual, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(actual, wanted, msg=lambda m: f"{name}: {m}")
        if isinstance(wanted, torch.Tensor):
            assert actual.stride() == wanted.stride(), name
