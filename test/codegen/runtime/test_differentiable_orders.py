"""Gradients of gradients through compiled functions, asked for inside and outside."""

import pytest
import torch
from torch import nn
from training_scenario import Scenarios, check, leaf, outcome_of

import girih

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


def composed(x, y):
    return (torch.tanh(x * y) * x.exp() + (x @ y).sin()).sum()


@scenarios.add
def second_order(compile):
    x, y = leaf(3), leaf(3, seed=1)
    loss = compile(composed)(x, y)
    first = torch.autograd.grad(loss, [x, y], create_graph=True)
    second = torch.autograd.grad([g.square().sum() for g in first], [x, y])
    return first, second


@scenarios.add
def third_order(compile):
    x, y = leaf(3), leaf(3, seed=1)
    values = [compile(composed)(x, y)]
    for _ in range(3):
        total = values[-1].sum()
        values += torch.autograd.grad(total, [x], create_graph=True)
    return values


@scenarios.add
def fourth_order_of_one_number(compile):
    x = leaf()
    values = [compile(lambda x: x.sin() * x.exp())(x)]
    for _ in range(4):
        values += torch.autograd.grad(values[-1], [x], create_graph=True)
    return values


@scenarios.add
def by_the_cotangent(compile):
    x, cotangent = leaf(3), leaf(3, seed=1)
    result = compile(lambda x: x.exp() * 2)(x)
    (g,) = torch.autograd.grad(result, [x], cotangent, create_graph=True)
    return g, torch.autograd.grad(g.sum(), [x, cotangent])


@scenarios.add
def of_some_results_only(compile):
    x, y = leaf(3), leaf(3, seed=1)
    first, second = compile(lambda x, y: (x.exp() * y, x * y * y))(x, y)
    (g,) = torch.autograd.grad(second.sum(), [y], create_graph=True)
    h = torch.autograd.grad(g.sum(), [x, y])
    return g, h, torch.autograd.grad(first.sum(), [x, y])


@scenarios.add
def backward_with_create_graph(compile):
    x = leaf(3)
    loss = compile(lambda x: x.sin().square().sum())(x)
    loss.backward(create_graph=True)
    first = x.grad
    x.grad = None
    first.sum().backward()
    return first, x.grad


@scenarios.add
def twice_through_a_retained_graph(compile):
    x, y = leaf(3), leaf(3, seed=1)
    loss = compile(composed)(x, y)
    (g,) = torch.autograd.grad(loss, [x], create_graph=True)
    one = torch.autograd.grad(g.sum(), [x], retain_graph=True)
    two = torch.autograd.grad(g.sum(), [y], retain_graph=True)
    three = torch.autograd.grad(g.sum(), [x, y])
    return g, one, two, three


@scenarios.add
def without_create_graph_there_is_no_second(compile):
    x, y = leaf(3), leaf(3, seed=1)
    (g,) = torch.autograd.grad(compile(composed)(x, y), [x])
    return g, outcome_of(g.sum().backward)


@scenarios.add
def first_order_after_second(compile):
    """What create_graph compiled does not change later calls without it."""
    x, y = leaf(3), leaf(3, seed=1)
    function = compile(composed)
    observed = []
    for create_graph in (False, True, False, True):
        g = torch.autograd.grad(function(x, y), [x, y], create_graph=create_graph)
        observed.append(g)
    return observed


@scenarios.add
def gradient_inside(compile):
    x = leaf(3)

    def program(x):
        y = (x.sin() * x).sum()
        (g,) = torch.autograd.grad(y, [x])
        return y, g

    return compile(program)(x)


@scenarios.add
def gradient_inside_with_graph(compile):
    x = leaf(3)

    def program(x):
        y = (x.sin() * x).sum()
        (g,) = torch.autograd.grad(y, [x], create_graph=True)
        return y + g.square().sum()

    loss = compile(program)(x)
    loss.backward()
    return loss, x.grad


@scenarios.add
def gradient_inside_twice(compile):
    x = leaf(3)

    def program(x):
        u = (x.sin() * x.exp()).sum()
        (u_x,) = torch.autograd.grad(u, [x], create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), [x], create_graph=True)
        return (u_xx + u).square().sum()

    loss = compile(program)(x)
    loss.backward()
    return loss, x.grad


@scenarios.add
def gradient_inside_by_a_parameter_outside(compile):
    model = nn.Linear(3, 2).double()
    x = leaf(4, 3)

    def program(x):
        energy = model(x).square().sum()
        (force,) = torch.autograd.grad(energy, [x], create_graph=True)
        return force.square().sum()

    torch.manual_seed(0)
    loss = compile(program)(x)
    loss.backward()
    return loss, [p.grad for p in model.parameters()], x.grad


@scenarios.add
def hessian_vector_product(compile):
    x, v = leaf(5), leaf(5, seed=1, grad=False)

    def program(x, v):
        y = (x.tanh().square() * x.roll(1)).sum()
        (g,) = torch.autograd.grad(y, [x], create_graph=True)
        (product,) = torch.autograd.grad(g, [x], v)
        return product

    return compile(program)(x, v)


@scenarios.add
def hessian_outside(compile):
    x = leaf(4)
    function = compile(lambda x: (x.exp() * x.flip(0)).sum())
    return torch.autograd.functional.hessian(function, x)


@scenarios.add
def jacobian_outside(compile):
    function = compile(lambda x: x.exp() * x.flip(0))
    return torch.autograd.functional.jacobian(function, leaf(4), create_graph=True)


@scenarios.add
def gradient_penalty(compile):
    torch.manual_seed(0)
    critic = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 1)).double()
    compiled = compile(critic)
    x = leaf(6, 4)
    score = compiled(x)
    (g,) = torch.autograd.grad(score.sum(), [x], create_graph=True)
    loss = (g.norm(dim=1) - 1).square().mean() + score.mean()
    loss.backward()
    return loss, [p.grad for p in critic.parameters()]


@scenarios.add
def meta_gradient(compile):
    """Through one step of gradient descent of a compiled loss."""
    weight, rate = leaf(3, 3), leaf(seed=1)
    function = compile(lambda w, x: (x @ w).tanh().square().mean())
    x = leaf(5, 3, seed=2, grad=False)
    (g,) = torch.autograd.grad(function(weight, x), [weight], create_graph=True)
    updated = weight - rate.sigmoid() * g
    loss = function(updated, x)
    loss.backward()
    return loss, weight.grad, rate.grad


@scenarios.add
def gradcheck_holds(compile):
    function = compile(composed)
    inputs = (leaf(3), leaf(3, seed=1))
    return (
        torch.autograd.gradcheck(function, inputs),
        torch.autograd.gradgradcheck(function, inputs),
    )


@scenarios.add
def hooks_run_in_every_order(compile):
    x, seen = leaf(3), []
    x.register_hook(lambda g: seen.append(g.detach().clone()))
    loss = compile(lambda x: x.sin().square().sum())(x)
    (g,) = torch.autograd.grad(loss, [x], create_graph=True)
    g.sum().backward()
    return seen, x.grad


@scenarios.add
def piecewise_linear(compile):
    """The second derivative of relu is zero, not missing."""
    x = leaf(5)
    (g,) = torch.autograd.grad(
        compile(lambda x: (x.relu() * 2).sum())(x), [x], create_graph=True
    )
    (h,) = torch.autograd.grad((g * x).sum(), [x])
    return g, h


@scenarios.add
def linear_functions(compile):
    """Whose gradient does not depend on the input."""
    x, y = leaf(3), leaf(3, seed=1, grad=False)
    loss = compile(lambda x, y: (x * y).sum())(x, y)
    (g,) = torch.autograd.grad(loss, [x], create_graph=True)
    return g.requires_grad, outcome_of(lambda: torch.autograd.grad(g.sum(), [x]))


@scenarios.add
def of_a_written_input(compile):
    x, y = leaf(3), leaf(3, seed=1)

    def program(z, y):
        z.mul_(y)
        return z.sin()

    inner = x * 3
    loss = compile(program)(inner, y).exp().sum() + inner.square().sum()
    first = torch.autograd.grad(loss, [x, y], create_graph=True)
    return first, torch.autograd.grad(sum(g.square().sum() for g in first), [x, y])


@scenarios.add
def of_an_input_written_without_grad_mode(compile):
    x, weight = leaf(3), leaf(3, seed=1)

    def program(x, weight):
        with torch.no_grad():
            weight.sub_(0.1)
        return (weight * weight * x).sum()

    loss = compile(program)(x, weight)
    first = torch.autograd.grad(loss, [x, weight], create_graph=True)
    return first, torch.autograd.grad(sum(g.sum() for g in first), [x, weight])


@scenarios.add
def of_one_element_everywhere(compile):
    """Kernels with values that are the same in all lanes."""
    x = leaf(4, 4)

    def program(x):
        x = x * 1
        x.t().fill_(x[3, 3] / 2)
        x[0] = x[1] * 1
        return x * x.mean()

    result = compile(program)(x)
    (g,) = torch.autograd.grad(result.sin().sum(), [x], create_graph=True)
    return g, torch.autograd.grad(g.square().sum(), [x])


def test_arguments_that_were_written_are_told():
    """Eager keeps the result of a sigmoid alone; girih derives by its argument."""
    x = leaf(3)
    y = x * 1
    result = girih.compile(lambda y: torch.sigmoid(y) * 1, fullgraph=True)(y)
    (expected,) = torch.autograd.grad(torch.sigmoid(x).sum(), x)
    with torch.no_grad():
        y.mul_(2)
    (first,) = torch.autograd.grad(result.sum(), x, retain_graph=True)
    torch.testing.assert_close(first, expected)
    with pytest.raises(RuntimeError, match="modified by an inplace .* Clone the arg"):
        torch.autograd.grad(result.sum(), x, create_graph=True)


OF_THEIR_RESULTS = {
    "tanh": torch.tanh,
    "exp": torch.exp,
    "sigmoid": torch.sigmoid,
    "softmax": lambda x: torch.softmax(x, 0),
    "log_softmax": lambda x: torch.log_softmax(x, 0),
    "sqrt": lambda x: (x * x + 1).sqrt(),
    "reciprocal": lambda x: (x * x + 1).reciprocal(),
    "elu": torch.nn.functional.elu,
    "powers": lambda x: torch.pow(x * x + 1, x),
}


def gradients_of_gradients(function, ways):
    """By a result of which the first gradient is computed, and by the argument."""
    found = []
    for chosen, wanted in ways:
        x = leaf(5, seed=3)
        results = function(x)
        results = results if isinstance(results, tuple) else (results,)
        loss = sum((results[n] * results[n]).sum() for n in chosen)
        (first,) = torch.autograd.grad(loss, x, create_graph=True)
        leaves = [x, *(results[n] for n in wanted)]
        options = {"create_graph": True, "allow_unused": True}
        second = torch.autograd.grad((first * first).sum(), leaves, **options)
        total = sum((g * g).sum() for g in second if g is not None)
        third = torch.autograd.grad(total, leaves, allow_unused=True)
        found.append([first, *second, *third])
    return found


@pytest.mark.parametrize("name", OF_THEIR_RESULTS)
def test_by_results_of_which_gradients_are_computed(name):
    function = OF_THEIR_RESULTS[name]

    def several(x):
        y = function(x)
        return y, y * x

    compiled = girih.compile(function, fullgraph=True)
    ways = [((0,), ()), ((0,), (0,))]
    torch.testing.assert_close(
        gradients_of_gradients(compiled, ways), gradients_of_gradients(function, ways)
    )
    compiled = girih.compile(several, fullgraph=True)
    ways += [((1,), (0,)), ((0, 1), (0,)), ((0, 1), (0, 1)), ((1,), (1,))]
    torch.testing.assert_close(
        gradients_of_gradients(compiled, ways), gradients_of_gradients(several, ways)
    )


def test_a_result_that_is_gone_or_written_again():
    """Eager keeps it in what has its node, and raises where it was written."""
    x = leaf(3)
    (first,) = torch.autograd.grad(
        girih.compile(torch.tanh)(x).sum(), x, create_graph=True
    )
    (expected,) = torch.autograd.grad(torch.tanh(x).sum(), x, create_graph=True)
    for made in (first, expected):
        made.second = torch.autograd.grad(made.sum(), x)
    torch.testing.assert_close(first.second, expected.second)
    for function in (torch.tanh, girih.compile(torch.tanh)):
        y = function(x)
        with torch.no_grad():
            y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            torch.autograd.grad(y.sum(), x, create_graph=True)
