"""Gradients that a program computes itself: ``autograd.grad``, leaves of its own."""

import pytest
import torch
from program_gradients import assert_same_gradients, leaf
from torch.autograd import grad


def gradient_penalty(x, w):
    (g,) = grad((x * w).sin().sum(), x, create_graph=True)
    return g.square().sum()


def without_create_graph(x, w):
    (g,) = grad((x * w).sin().sum(), x)
    return g * w


def second_derivative(x, w):
    (g,) = grad((x**4 * w).sum(), x, create_graph=True)
    (h,) = grad(g.sum(), x, create_graph=True)
    return (h * w).sum()


def third_derivative(x, w):
    y = (x.sin() * w).sum()
    for _ in range(3):
        (g,) = grad(y, x, create_graph=True)
        y = (g * x).sum()
    return y


def by_an_intermediate(x, w):
    y = x * w
    (g,) = grad((y * y * x).sum(), y, create_graph=True)
    return (g * x).sum()


def by_a_view(x, w):
    row = (x * w)[0]
    (g,) = grad((row.exp() * x[0]).sum(), row, create_graph=True)
    return g


def by_an_alias(x, w):
    y = x * w
    z = y.view_as(y)
    (g,) = grad((y * z).sum(), z, create_graph=True)
    return g


def by_what_is_written(x, w):
    y = x * w
    y.mul_(2)
    (g,) = grad((y * y).sum(), y, create_graph=True)
    return g * x


def by_what_another_is_copied_into(x, w):
    y, z = x * 2, w.sin()
    y.copy_(z)
    (g,) = grad((y * z).sum(), y, create_graph=True)
    return g


def by_an_updated_parameter(x, w):
    before = x * w.sum()
    with torch.no_grad():
        w.mul_(0.5)
    (g,) = grad((before + w * w).sum(), w, create_graph=True)
    return g


def unused_inputs(x, w):
    first, second = grad(x.sin().sum(), [x, w], allow_unused=True)
    return first, second is None


def materialized(x, w):
    first, second = grad(x.sin().sum(), [x, w], materialize_grads=True)
    return first, second


def given_cotangents(x, w):
    outputs = [x * w, x.sin()]
    return grad(outputs, [x, w], grad_outputs=[w, x.exp()], create_graph=True)


def some_cotangents(x, w):
    outputs = [(x * w).sum(), x.sin()]
    return grad(outputs, [x, w], grad_outputs=[None, x.exp()])


def twice_through_one_graph(x, w):
    y = (x * w).exp().sum()
    (first,) = grad(y, x, retain_graph=True)
    (second,) = grad(y, w)
    return first, second


def own_leaf(x, w):
    z = x.detach().clone().requires_grad_(True)
    with torch.no_grad():
        q = z * 3
    (g,) = grad((z * z * w * q).sum(), z, create_graph=True)
    return g


def leaf_over_the_same_memory(x, w):
    z = x.detach().requires_grad_()
    (g,) = grad((z * z * w).sum(), z, create_graph=True)
    return g * x


def leaf_from_a_factory(x, w):
    z = torch.zeros(3, 4, dtype=torch.float64, requires_grad=True)
    (g,) = grad(((z + x) * (z + w)).sum(), z, create_graph=True)
    return g


def inner_optimisation(x, w):
    z = w
    for _ in range(3):
        (g,) = grad((x * z).square().sum(), z, create_graph=True)
        z = z - 0.1 * g
    return z.square().sum()


def inner_steps_that_are_forgotten(x, w):
    z = x.detach().clone().requires_grad_()
    for _ in range(3):
        (g,) = grad((z * w).square().sum(), z)
        with torch.no_grad():
            z -= 0.1 * g
    return z.detach() * w


def energy_and_forces(x, w):
    distance = (x[:, None] - x[None]).square().sum(-1) + 1
    energy = (distance.sqrt() * w[0, 0]).tanh().sum()
    (forces,) = grad(energy, x, create_graph=True)
    return energy, -forces


def inside_of_enable_grad(x, w):
    with torch.no_grad():
        with torch.enable_grad():
            y = (x * w).cos().sum()
            (g,) = grad(y, x)
        return g * 2


PROGRAMS = [
    gradient_penalty,
    without_create_graph,
    second_derivative,
    third_derivative,
    by_an_intermediate,
    by_a_view,
    by_an_alias,
    by_what_is_written,
    by_what_another_is_copied_into,
    by_an_updated_parameter,
    unused_inputs,
    materialized,
    given_cotangents,
    some_cotangents,
    twice_through_one_graph,
    own_leaf,
    leaf_over_the_same_memory,
    leaf_from_a_factory,
    inner_optimisation,
    inner_steps_that_are_forgotten,
    energy_and_forces,
    inside_of_enable_grad,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_like_eager(program):
    assert_same_gradients(program, [leaf(3, 4), leaf(3, 4, seed=1)])
