"""Where results, cotangents and saved values lie in memory, in functions that train."""

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck
from training_scenario import Scenarios, check, leaf

import girih

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


def weighted_gradients(function, *leaves):
    """A result with its strides, and gradients for cotangents that all differ."""
    result = function(*leaves)
    weights = torch.arange(result.numel(), dtype=result.dtype).view(result.shape) + 1
    return result, result.stride(), torch.autograd.grad(result, leaves, weights)


def repeated(*shape):
    """A leaf of this shape with one element in memory for each column."""
    return leaf(shape[-1]).detach().expand(shape).detach().requires_grad_()


# Results whose elements repeat in memory ---------------------------------------------


@scenarios.add
def expanded_result(compile):
    program = compile(lambda x: torch.atan(x).unsqueeze(0).expand(3, 2))
    return weighted_gradients(program, leaf(2))


@scenarios.add
def expanded_result_that_is_turned(compile):
    program = compile(lambda x: x.sin().expand(2, 4, 3).permute(2, 0, 1))
    return weighted_gradients(program, leaf(4, 3))


@scenarios.add
def expanded_maximum(compile):
    program = compile(lambda x: x.amax(1, keepdim=True).expand(3, 4))
    return weighted_gradients(program, leaf(3, 2))


@scenarios.add
def expanded_result_of_symbolic_size(compile):
    program = compile(lambda x: x.exp()[:, None].expand(-1, 3, -1), dynamic=True)
    return [weighted_gradients(program, leaf(size, 4)) for size in (2, 5, 3)]


@scenarios.add
def expanded_result_and_its_base(compile):
    x = leaf(3)

    def program(x):
        y = x.exp()
        return y, y.expand(2, 3)

    base, expanded = compile(program)(x)
    weights = torch.arange(6.0, dtype=torch.float64).view(2, 3)
    (base.sin().sum() + (expanded * weights).sum()).backward()
    return base, expanded, expanded.stride(), x.grad


@scenarios.add
def overlapping_windows(compile):
    program = compile(lambda x: x.sin().unfold(0, 3, 1))
    return weighted_gradients(program, leaf(6))


@scenarios.add
def result_with_gaps(compile):
    program = compile(lambda x: x.exp()[:, ::2])
    return weighted_gradients(program, leaf(3, 5))


@scenarios.add
def second_derivative_of_an_expanded_result(compile):
    x = leaf(3)
    result = compile(lambda x: (x**3).expand(2, 3))(x)
    weights = torch.arange(6.0, dtype=torch.float64).view(2, 3)
    (first,) = torch.autograd.grad(result, x, weights, create_graph=True)
    return first, torch.autograd.grad(first.square().sum(), x)


# Arguments whose elements repeat -----------------------------------------------------


@scenarios.add
def view_of_a_repeated_leaf(compile):
    program = compile(lambda x: x.flatten(0, -1).unflatten(0, (-1, 1)))
    return weighted_gradients(program, leaf(1).detach().expand(2).requires_grad_())


@scenarios.add
def repeated_leaf_that_is_turned(compile):
    return weighted_gradients(compile(lambda x: x.transpose(0, 1)), repeated(4, 3))


@scenarios.add
def part_of_a_repeated_leaf(compile):
    return weighted_gradients(compile(lambda x: x[1:, ::2]), repeated(4, 3))


@scenarios.add
def view_of_overlapping_windows(compile):
    windows = leaf(6).detach().unfold(0, 3, 1).requires_grad_()
    return weighted_gradients(compile(lambda x: x.t()), windows)


@scenarios.add
def view_of_a_repeated_leaf_shares_its_memory(compile):
    x = repeated(4, 3)
    view = compile(lambda x: x[1])(x)
    with torch.no_grad():
        x[0, 0] = 7.0
    return view, view.data_ptr() == x.data_ptr()


# Layouts that convolutions, norms and views make of each other ------------------------


def turned_and_joined(c, y, w, g, b):
    z = F.batch_norm(F.conv2d(y, w), None, None, g, b, True)
    return torch.cat((c, z.flatten(2).permute(0, 2, 1)), 1)


@pytest.mark.parametrize("batch", [1, 2])
def test_normalised_images_as_tokens(batch):
    """By finite differences: of one image ATen's own gradients are wrong.

    Its kernel takes the gradient, whose images lie one channel beside the other, for
    row-major where there is one image (torch 2.13, on the CPU).
    """
    shapes = [(batch, 4, 8), (batch, 8, 2, 2), (8, 8, 1, 1), (8,), (8,)]
    leaves = [leaf(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    girih.reset()
    compiled = girih.compile(turned_and_joined, options={"fallback": False})
    assert gradcheck(compiled, leaves)
