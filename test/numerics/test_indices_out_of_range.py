"""Indices and classes that eager refuses, or counts from the end."""

import pytest
import torch
import torch.nn.functional as F

import girih

FUNCTIONS = {
    "embedding": lambda x, i: F.embedding(i, x),
    "index_select": lambda x, i: x.index_select(0, i),
    "gather": lambda x, i: x.gather(0, i[:, None]),
    "take_along_dim": lambda x, i: torch.take_along_dim(x, i[:, None], 0),
    "take": lambda x, i: x.take(i),
    "index": lambda x, i: x[i] * 2,
    "indices": lambda x, i: x[i, i % 3],
    "cross_entropy": lambda x, i: F.cross_entropy(x.t()[:2], i),
    "cross_entropy_ignored": lambda x, i: F.cross_entropy(
        x.t()[:2], i, ignore_index=-1
    ),
    "nll_loss": lambda x, i: F.nll_loss(x.t()[:2], i, torch.arange(5.0)),
    "one_hot": lambda x, i: F.one_hot(i, 5) * 2,
}


@pytest.mark.parametrize("index", [0, 4, -1, -5, -6, 5, -15, 15, -16, 1 << 40])
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_like_eager(name, dynamic, index):
    compiled = girih.compile(
        FUNCTIONS[name], dynamic=dynamic, options={"fallback": False}
    )
    x, good = torch.arange(15.0).reshape(5, 3), torch.tensor([0, 3])
    torch.testing.assert_close(compiled(x, good), FUNCTIONS[name](x, good))
    indices = torch.tensor([1, index])
    assert _outcome(compiled, x, indices) == _outcome(FUNCTIONS[name], x, indices)


def _outcome(function, *inputs):
    try:
        return function(*inputs).tolist()
    except Exception as error:
        return type(error), str(error)
