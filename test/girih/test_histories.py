"""Histories of what ``torch.func`` and ``torch.autograd.functional`` give."""

import pytest
import torch
import torch.autograd.functional as af
from extent import spread
from torch import func as tf
from torch.utils._pytree import tree_leaves

import girih

X = torch.linspace(-1, 1.5, 4, dtype=torch.float64)


def number(x):
    return (x.sin() * x.cos()).sum()


def vector(x):
    return x.sin() * x.cumsum(0)


def two(x, y):
    return x.sin() * y, (x * y * y).sum()


def of_two(x, y):
    return (x.sin() * y * y).sum()


def functionals(create_graph):
    """What ``torch.autograd.functional`` has, by name."""
    given = {"create_graph": create_graph}
    fast = {**given, "vectorize": True}
    return {
        "jacobian": lambda x: af.jacobian(vector, x, **given),
        "jacobian of two": lambda x: af.jacobian(two, (x, x * 2), **given),
        "jacobian of a constant": lambda x: af.jacobian(lambda y: X * 2, x, **given),
        "jacobian in one pass": lambda x: af.jacobian(vector, x, **fast),
        "jacobian of two in one pass": lambda x: af.jacobian(two, (x, x * 2), **fast),
        "linear jacobian in one pass": lambda x: af.jacobian(torch.neg, x, **fast),
        "hessian": lambda x: af.hessian(number, x, **given),
        "hessian in one pass": lambda x: af.hessian(number, x, **fast),
        "hessian of two in one pass": lambda x: af.hessian(of_two, (x, x * 2), **fast),
        "vjp": lambda x: af.vjp(vector, x, x + 1, **given),
        "jvp": lambda x: af.jvp(vector, x, x + 1, **given),
        "vhp": lambda x: af.vhp(number, x, x + 1, **given),
        "hvp": lambda x: af.hvp(number, x, x + 1, **given),
    }


def pulled_back(function, cotangent):
    def apply(x):
        value, pull = tf.vjp(function, x)
        return value, pull(cotangent)

    return apply


PROGRAMS = {
    **{f"{name}, created": f for name, f in functionals(True).items()},
    **functionals(False),
    "tf.grad": tf.grad(number),
    "tf.grad of a constant": tf.grad(lambda x: x.detach().sum()),
    "tf.grad without grad mode": torch.no_grad()(tf.grad(number)),
    "tf.grad with more": tf.grad(lambda x: (number(x), x * 2), has_aux=True),
    "tf.grad_and_value": tf.grad_and_value(number),
    "tf.hessian": tf.hessian(number),
    "tf.jacfwd": tf.jacfwd(torch.neg),
    "tf.jacrev": tf.jacrev(vector),
    "tf.jvp": lambda x: tf.jvp(vector, (x,), (X,)),
    "tf.vjp": pulled_back(vector, X),
    "tf.vjp, linear": pulled_back(torch.neg, X),
    "tf.vmap": tf.vmap(lambda x: (x.sin(), torch.ones(2))),
}


def observed(function, is_leaf):
    """Values of the results, which ones have a history, and where it leads."""
    x = X.clone().requires_grad_(is_leaf)
    results = tree_leaves(function(x))
    history = [(r.requires_grad, r.grad_fn is not None) for r in results]
    total = sum((r * r).sum() for r in results)
    found = None
    if total.requires_grad and is_leaf:
        (found,) = torch.autograd.grad(total, x, allow_unused=True)
    return [r.detach() for r in results], history, found


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
@pytest.mark.parametrize(
    ("name", "is_leaf", "dynamic"),
    spread(PROGRAMS, [False, True], [None, True], every=2),
)
def test_histories(name, is_leaf, dynamic):
    function = PROGRAMS[name]
    values, history, gradient = observed(function, is_leaf)
    compiled = girih.compile(function, dynamic=dynamic)
    found, found_history, found_gradient = observed(compiled, is_leaf)
    assert found_history == history
    torch.testing.assert_close(found, values)
    if gradient is None:
        assert found_gradient is None
    else:
        torch.testing.assert_close(found_gradient, gradient)
