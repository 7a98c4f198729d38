"""``torch.func.vjp``, and numbers that are arguments of transforms."""

import pytest
import torch
from torch.func import functional_call, grad, vjp, vmap
from torch.utils._pytree import tree_leaves

import girih
from girih.errors import UnsupportedError

WEIGHT = torch.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()
LAYER = torch.nn.Linear(3, 2)


def one(x):
    y, pull = vjp(lambda x: (x @ WEIGHT).sin(), x)
    return y, pull(y.detach())[0]


def called_twice(x):
    (y, u), pull = vjp(lambda x, z: (x * z, x.cos()), x, x + 1)
    return y, u, *pull((torch.ones_like(y), u)), *pull((u, torch.ones_like(u)))


def auxiliary(x):
    y, pull, aux = vjp(lambda x: (x.exp(), x * 2), x, has_aux=True)
    return y, pull(aux), aux


def containers(x):
    primal = {"x": x, "w": x + 1}
    y, pull = vjp(lambda p: {"a": p["x"] * p["w"], "b": p["x"].sum()}, primal)
    return pull({"a": torch.ones_like(x), "b": torch.tensor(2.0)})


def batched(x):
    y, pull = vjp(torch.sin, x)
    eye = torch.eye(x.numel()).reshape(x.numel(), *x.shape)
    return vmap(lambda v: pull(v)[0])(eye)


def without_gradients(x):
    with torch.no_grad():
        y, pull = vjp(lambda x: x**3, x)
        return y, pull(y)[0]


def derived(x):
    y, pull = vjp(lambda x: x**3, x)
    return grad(lambda v: pull(v)[0].sum())(y)


def of_parameters(x):
    parameters = dict(LAYER.named_parameters())
    y, pull = vjp(lambda p: functional_call(LAYER, p, (x,)), parameters)
    return pull(torch.ones_like(y))


FUNCTIONS = [
    *(one, called_twice, auxiliary, containers, batched, without_gradients, derived),
    of_parameters,
]


def outcome(function, rows):
    """Results and gradients."""
    x = torch.linspace(-1, 1, rows * 3).reshape(rows, 3).requires_grad_()
    WEIGHT.grad = None
    results = tree_leaves(function(x))
    needed = [result for result in results if result.requires_grad]
    if needed:
        sum(result.sum() for result in needed).backward()
    return results, x.grad, WEIGHT.grad


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_vjp(function, dynamic):
    compiled = girih.compile(function, fullgraph=True, dynamic=dynamic)
    for rows in (2, 3, 1, 0):
        torch.testing.assert_close(outcome(compiled, rows), outcome(function, rows))


def other_structure(x):
    y, pull = vjp(torch.sin, x)
    return pull((y, y))


def of_integers(x):
    y, pull = vjp(lambda x: x.int(), x)
    return pull(y)


@pytest.mark.parametrize("function", [other_structure, of_integers])
@pytest.mark.filterwarnings("ignore")
def test_errors_are_those_of_eager(function):
    said = []
    for called in (function, girih.compile(function)):
        with pytest.raises(RuntimeError) as caught:
            called(torch.ones(3))
        said.append(str(caught.value))
    assert said[0] == said[1]


def written_primal(x):
    x = x * 1
    y, pull = vjp(torch.sin, x)
    x.add_(1)
    return pull(y)


def written_weight(x):
    weight = WEIGHT.detach() * 1
    y, pull = vjp(lambda x: x @ weight, x)
    weight.mul_(3)
    return pull(y)


def written_result(x):
    y, pull = vjp(lambda x: x * 3, x)
    y.mul_(3)
    return pull(y)


def drawing(x):
    y, pull = vjp(torch.nn.functional.dropout, x)
    return y, pull(torch.ones_like(y))


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (written_primal, "argument of torch.func.vjp that was written"),
        (written_weight, "argument of torch.func.vjp that was written"),
        (written_result, None),
        (drawing, "random numbers under torch.func.vjp"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_changes_before_the_derivative_is_asked_for(function, kind):
    x, results = torch.linspace(-1, 1, 6).reshape(2, 3), []
    for called in (function, girih.compile(function)):
        torch.manual_seed(0)
        results.append(called(x.clone()))
    torch.testing.assert_close(results[1], results[0])
    if kind is not None:
        with pytest.raises(UnsupportedError, match=kind):
            girih.compile(function, fullgraph=True)(x.clone())


def test_numbers_given_to_transforms_are_symbolic():
    def function(x, factor):
        first = grad(lambda x, a: (x * a).sin().sum())(x, factor)
        return first, vmap(lambda row, a: row * a, in_dims=(0, None))(x, factor)

    compiled = girih.compile(function, fullgraph=True, dynamic=True)
    for factor in (0.5, 2.5, -1.5):
        x = torch.randn(2, 3)
        torch.testing.assert_close(compiled(x, factor), function(x, factor))
    assert len(girih.report(compiled).graphs) == 1
