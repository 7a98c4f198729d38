"""ATen's backward ops of views, as transforms of ``torch.func`` bring them."""

from __future__ import annotations

import pytest
import torch
from importing import assert_imports

aten = torch.ops.aten


def randn(*shape):
    return torch.randn(shape, dtype=torch.float64)


@pytest.mark.parametrize(("dim", "index"), [(0, 2), (1, -1), (-1, 0)])
def test_select(dim, index):
    sizes = [4, 3, 5]
    g = randn(*sizes).select(dim, index)
    assert_imports(
        lambda g: aten.select_backward(g, sizes, dim, index), g, exact=True, native=True
    )


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(0, 7, 1), (2, 5, 1), (-3, -1, 1), (1, 100, 2), (0, 7, 3), (5, 2, 1), (6, 7, 4)],
)
def test_slice(start, end, step):
    g = randn(3, 7)[:, start:end:step]
    assert_imports(
        lambda g: aten.slice_backward(g, [3, 7], 1, start, end, step),
        g,
        exact=True,
        native=True,
    )


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_diagonal(offset):
    g = randn(5, 2, 3).diagonal(offset, 0, 2)
    assert_imports(
        lambda g: aten.diagonal_backward(g, [5, 2, 3], offset, 0, 2),
        g,
        exact=True,
        native=True,
    )
