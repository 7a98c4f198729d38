"""A backward pass goes on behind functions that return None, as in eager.

What is behind a compiled graph runs without a gradient, and may give one of its own.
"""

from __future__ import annotations

import pytest
import torch

import girih


class Two(torch.autograd.Function):
    """Runs eager: it asks not to be given zeros, and has two results."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        given = 5.0 if first is None else first
        return torch.full((3,), 1.0) * given


class Plain(torch.autograd.Function):
    """Can be compiled, and asks not to be given zeros."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2

    @staticmethod
    def backward(ctx, cotangent):
        return torch.full((3,), 5.0)


class Stop(torch.autograd.Function):
    """Gives no gradient."""

    @staticmethod
    def forward(ctx, x):
        return x + 1

    @staticmethod
    def backward(ctx, cotangent):
        return None


class Half(torch.autograd.Function):
    """Gives a gradient to one of two."""

    @staticmethod
    def forward(ctx, x, y):
        return x * y

    @staticmethod
    def backward(ctx, cotangent):
        return None, cotangent * 2


def _written(a, y):
    a = a.clone()
    stopped = Stop.apply(a) * 2
    return stopped, a.mul_(y)


def _inner(a, y):
    state = y * a
    return state, state.sin(), Stop.apply(a), (state * Stop.apply(a)).cos()


def _of_views(a, y):
    stopped = Stop.apply(a * y)
    return stopped[1:], stopped, stopped.view(3, 1)


# Name: what comes behind a function that runs eager.
BEHIND = {
    "one result": lambda a, y: Stop.apply(a) * 2,
    "another way": lambda a, y: Stop.apply(a) * 2 + y,
    "another result": lambda a, y: (Stop.apply(a) * 2, a * y),
    "two results": lambda a, y: (Stop.apply(a) + y, y * 3),
    "view": lambda a, y: Stop.apply(a)[1:],
    "view of an argument": lambda a, y: Stop.apply(a[1:]).view(2, 1),
    "views": _of_views,
    "one of two": lambda a, y: (Half.apply(a, y), Half.apply(y, a).sin()),
    "inner results": _inner,
    "written": _written,
}


def _gradients(function) -> list:
    """Of each result alone, and then of all, to leaves and what is on the way."""
    x, y = (torch.linspace(n, 2, 3).requires_grad_() for n in (-1, 0.5))
    results = function(x, y)
    results = results if isinstance(results, tuple) else (results,)
    found = []
    for result in results:
        given = {"allow_unused": True, "retain_graph": True}
        found += torch.autograd.grad(result.sum(), [x, y], **given)
    sum(result.sum() for result in results).backward()
    return [*found, x.grad, y.grad]


def _check(function, compiled) -> None:
    found, wanted = _gradients(compiled), _gradients(function)
    assert [g is None for g in found] == [g is None for g in wanted]
    torch.testing.assert_close(
        [g for g in found if g is not None], [g for g in wanted if g is not None]
    )


@pytest.mark.parametrize("name", BEHIND)
def test_what_is_in_front_of_a_graph_runs_without_a_gradient(name):
    program = BEHIND[name]
    compiled = girih.compile(program, fullgraph=True, options={"fallback": False})
    _check(
        lambda x, y: program(Two.apply(x)[0], y),
        lambda x, y: compiled(Two.apply(x)[0], y),
    )


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_function_in_the_graph_that_gets_none_is_left_to_eager(is_alone):
    def function(x, y):
        result = Stop.apply(Plain.apply(x)) * 2
        return result if is_alone else result * y

    with pytest.warns(girih.FallbackWarning, match="set_materialize_grads"):
        _check(function, girih.compile(function))
