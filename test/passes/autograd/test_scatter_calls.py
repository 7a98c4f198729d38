"""Derivatives of reductions into places that an index names, against torch's."""

import pytest
import torch
from derivatives import check_op

from girih.dialects.attributes import OperandRef

X, AT, SOURCE = (OperandRef(n) for n in range(3))
INDEX = torch.tensor([[0, 2, 2], [1, 2, 0]])


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("kind", ["amax", "amin", "mean", "prod"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_reductions(kind, dim, include_self):
    x = torch.randn(4, 3, dtype=torch.float64)
    source = torch.randn(2, 3, dtype=torch.float64)
    check(x, INDEX, source, kind, dim, include_self)


@pytest.mark.parametrize("kind", ["amax", "amin", "mean"])
def test_ties_share(kind):
    x = torch.ones(4, 3, dtype=torch.float64)
    check(x, INDEX, torch.ones(2, 3, dtype=torch.float64), kind, 0, True)
    check(x, INDEX, 2 * torch.ones(2, 3, dtype=torch.float64), kind, 0, True)


@pytest.mark.parametrize("kind", ["amax", "mean"])
def test_nothing_to_reduce(kind):
    x, index = torch.randn(4, dtype=torch.float64), torch.zeros(0, dtype=torch.int64)
    check(x, index, torch.zeros(0, dtype=torch.float64), kind, 0, False)


def check(x, index, source, kind, dim, include_self):
    attributes = {
        "op": "aten.scatter_reduce.two",
        "args": [X, dim, AT, SOURCE, kind],
        "kwargs": {"include_self": include_self},
    }
    operands = [[x, index, source]]
    check_op("extern", operands, attributes, order=2, result_types=[x])
