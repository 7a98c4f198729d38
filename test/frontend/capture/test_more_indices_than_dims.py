"""More indices than dims: eager's error, in a process that goes on."""

import operator

import pytest
import torch

import girih


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[-1][1],
        lambda x: x[-1][x.shape[0]],
        lambda x: x.sum()[..., 0],
        lambda x: x[0, 0],
        lambda x: torch.Tensor.__setitem__(x[-1], 1, 1.0),
        lambda x: x[-1].__getitem__((1,)),
        lambda x: operator.getitem(x[-1], 1),
    ],
)
@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
def test_more_indices_than_dims_are_eagers_error(function, dynamic):
    compiled = girih.compile(function, dynamic=dynamic)
    for size in (24, 25, 48):
        with pytest.raises(IndexError):
            compiled(torch.ones(size))
