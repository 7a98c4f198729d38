"""Batches of cotangents, which torch's older vmap makes."""

import pytest
import torch
from torch._vmap_internals import _vmap

import girih
from girih.codegen.runtime.batches import entries_of, is_batch, outside_of_batches

X = torch.linspace(-1, 1, 4, dtype=torch.float64)
ROWS = torch.eye(4, dtype=torch.float64)
PLAIN = torch.ones(3, dtype=torch.float64)


def one_by_one(*tensors):
    """The sum of tensors, computed for each entry of the innermost batch."""
    entries, batch = entries_of(tensors)
    return batch(torch.stack([sum(entry) for entry in entries]))


def test_only_batches_are_batches():
    seen = []
    _vmap(lambda row: seen.append((is_batch([PLAIN, row]), is_batch([PLAIN]))) or row)(
        ROWS
    )
    assert seen == [(True, False)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_entries_of_a_batch(count):
    rows = torch.randn(count, 3).double()
    found = _vmap(lambda row: one_by_one(PLAIN, row, row))(rows)
    torch.testing.assert_close(found, PLAIN + rows + rows)


@pytest.mark.parametrize("count", [1, 2])
def test_batches_in_batches(count):
    rows, others = torch.randn(count, 3), torch.randn(2, 3)

    def over(function, row):
        return _vmap(lambda other: function(row, other))(others)

    for pick in (
        lambda *given: sum(given),
        lambda row, other: one_by_one(row, other),
        lambda row, other: one_by_one(row, row) + other,
        lambda row, other: one_by_one(other, other) + row,
    ):
        expected = torch.stack(
            [
                torch.stack([_entry(pick, row, other) for other in others])
                for row in rows
            ]
        )
        found = _vmap(lambda row, pick=pick: over(pick, row))(rows)
        torch.testing.assert_close(found, expected)


def _entry(pick, row, other):
    """What a function gives for one entry, in batches of one."""
    return _vmap(lambda r: _vmap(lambda o: pick(r, o))(other[None]))(row[None])[0, 0]


def test_random_numbers_outside_of_batches():
    def draw(row):
        with outside_of_batches():
            drawn = torch.rand(3)
        with pytest.raises(RuntimeError, match="random"):
            torch.rand(3)
        return row + drawn

    assert _vmap(draw)(ROWS[:, :3]).shape == (4, 3)


@pytest.mark.filterwarnings("error::girih.FallbackWarning")
def test_gradients_of_results_that_their_derivatives_keep():
    def function(x):
        return x.tanh() * x, x.exp()

    def second(compiled):
        x = X.clone().requires_grad_()
        _, kept = compiled(x)
        found = torch.autograd.grad(
            kept, x, ROWS, is_grads_batched=True, create_graph=True
        )
        return torch.autograd.grad(found[0].sum(), [kept, x], allow_unused=True)

    torch.testing.assert_close(second(girih.compile(function)), second(function))
