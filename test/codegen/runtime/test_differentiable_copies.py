"""Copies that compute nothing: who may write to which tensor before backward runs."""

import pytest
import torch
import torch.nn.functional as F
from training_scenario import Scenario, check, leaf, outcome_of

import girih

# What gives another tensor of equal numbers, or shows the same one.
SAME_NUMBERS = {
    "product with 1": lambda y: y * 1,
    "quotient": lambda y: y / 1.0,
    "difference": lambda y: y - 0,
    "negated twice": lambda y: y.neg().neg(),
    "choice of equals": lambda y: torch.where(y > 0, y, y),
    "clone": lambda y: y.clone(),
    "turned copy": lambda y: y.t().clone().t().contiguous(),
    "joined alone": lambda y: torch.cat([y]),
    "tiled once": lambda y: y.tile(1, 1),
    "rolled by 0": lambda y: y.roll(0, 0),
    "padded by 0": lambda y: F.pad(y, (0, 0)),
    "dropout of nothing": lambda y: F.dropout(y, 0.0, True),
    "same dtype": lambda y: y.to(y.dtype),
    "contiguous": lambda y: y.contiguous(),
    "view": lambda y: y.view(12).view(3, 4),
}

PLACES = {
    "both are results": lambda x, same: (y := x * 2, z := same(y), z.sin()),
    "argument and result": lambda x, same: (z := same(x), z.sin()),
}


def after_a_write(program, number):
    """The gradient, or the error, where result ``number`` is written before backward.

    Number -1 is the argument.
    """
    x = leaf(3, 4)
    argument = x * 3
    results = program(argument)
    with torch.no_grad():
        (argument if number < 0 else results[number]).add_(1)
    return outcome_of(results[-1].sum().backward), x.grad


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("same", SAME_NUMBERS)
def test_writes_are_noticed_as_by_eager(same, place):
    def program(x):
        return PLACES[place](x, SAME_NUMBERS[same])

    def run(compile):
        made = compile(program)
        written = range(-1, 2 if place == "both are results" else 1)
        return [after_a_write(made, number) for number in written]

    check(Scenario(run))


def test_what_eager_keeps_is_kept_without_a_copy():
    """The derivative reads a float32 copy of it; eager keeps the argument itself."""

    def function(x):
        return F.normalize(x, dim=-1)

    x = torch.randn(4, 32, dtype=torch.bfloat16, requires_grad=True)
    compiled = girih.compile(function)
    y = compiled(x)
    (graph,) = girih.report(compiled).graphs
    assert graph.launches == 1
    with torch.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_what_eager_does_not_keep_may_be_written():
    """Eager keeps the float32 copy, so the program keeps one of the argument."""
    x = torch.randn(4, 32, dtype=torch.bfloat16, requires_grad=True)
    compiled = girih.compile(lambda x: x.float().pow(2))
    y = compiled(x)
    expected = 2 * x.detach().clone()
    with torch.no_grad():
        x.mul_(2)
    y.sum().backward()
    torch.testing.assert_close(x.grad, expected)
