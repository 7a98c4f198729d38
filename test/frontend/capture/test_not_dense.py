"""Tensors that are not dense: operations on them run as Python, between graphs."""

import pytest
import torch

import girih

INDICES = torch.tensor([[0, 1], [2, 0]])
VALUES = torch.tensor([1.0, 2.0])
DENSE = torch.arange(9.0).reshape(3, 3)


def made():
    return torch.sparse_coo_tensor(INDICES, VALUES, (3, 3), check_invariants=False)


PROGRAMS = {
    "scaled": lambda x: (made() * 2).to_dense() + x,
    "relu": lambda x: x.to_sparse().relu().to_dense() + 1,
    "negative": lambda x: (-x.to_sparse()).to_dense() * 2,
    "returned": lambda x: (x + 1, made()),
    "transposed": lambda x: made().t().to_dense() + x,
    "product": lambda x: torch.sparse.mm(x.to_sparse(), x).sin(),
    "rows": lambda x: (x.to_sparse_csr() @ x) + 1,
    "sum": lambda x: (x.to_sparse() + x.to_sparse()).coalesce().values() * 2,
    "onednn": lambda x: x.to_mkldnn().to_dense() + 1,
}


def dense(value):
    if isinstance(value, tuple):
        return tuple(map(dense, value))
    return value.to_dense()


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_makes(name, dynamic):
    compiled = girih.compile(PROGRAMS[name], dynamic=dynamic)
    for x in (DENSE, DENSE - 3):
        expected, actual = PROGRAMS[name](x), compiled(x)
        torch.testing.assert_close(dense(actual), dense(expected))
        if isinstance(expected, torch.Tensor):
            assert actual.layout == expected.layout


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize(
    "function",
    [
        lambda s: (s * 2).to_dense(),
        lambda s: s.relu().to_dense() + 1,
        lambda s: torch.sparse.mm(s, DENSE),
        lambda s: s + s,
    ],
)
def test_what_a_program_is_given(function):
    sparse = DENSE.to_sparse()
    actual, expected = girih.compile(function)(sparse), function(sparse)
    assert actual.layout == expected.layout
    torch.testing.assert_close(dense(actual), dense(expected))


@pytest.mark.parametrize("shape", [(2,), (0,), (2, 3), (0, 3)])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: bool(x),
        lambda x: x in [x + 1],
        lambda x: [x + 1].index(x),
        lambda x: x in x,
        lambda x: 1.0 in x,
        lambda x: torch.ones(4) in x,
        lambda x: "a" in x,
    ],
)
def test_truth_and_membership(function, shape):
    def program(x):
        try:
            return function(x)
        except RuntimeError as error:
            return str(error)

    x = torch.ones(shape)
    assert girih.compile(program)(x) == program(x)
