"""Gradients of parts of a tensor that is computed of a result and is not returned."""

import pytest
import torch
from training_scenario import Scenarios, called, check, outcome_of

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


def parts(x, w):
    """A result, and parts of a tensor that is computed of it and is not returned."""
    y = (x @ w).sin()
    whole = (y * y * x.sum()).exp()
    return y, whole[0], whole[1:]


@scenarios.add
def gradients_of_parts_of_what_is_not_returned(compile):
    _, w, y, first, rest = called(compile, parts)
    result = first.sum() + rest.sin().sum()
    found = torch.autograd.grad(result, [y, w], create_graph=True)
    again = torch.autograd.grad((found[0] * found[0]).sum(), y, retain_graph=True)
    return found, again, torch.autograd.grad(first.sum(), y, retain_graph=True)


@scenarios.add
def a_hook_behind_parts_of_what_is_not_returned(compile):
    x, w, y, first, rest = called(compile, parts)
    y.register_hook(lambda gradient: gradient * 3)
    (first.sum() - rest.sum()).backward()
    return x.grad, w.grad


@scenarios.add
def a_write_to_a_part_of_what_is_kept(compile):
    x, _, _, first, rest = called(compile, parts)
    first.detach().add_(1)
    return outcome_of(lambda: torch.autograd.grad(rest.sum(), x))


@scenarios.add(eager="a transform")
def batches_of_gradients_of_parts_of_what_is_not_returned(compile):
    x, w, y, first, _ = called(compile, parts)
    rows = torch.eye(first.numel(), dtype=first.dtype)
    return torch.autograd.grad(first, [y, x, w], rows, is_grads_batched=True)


@scenarios.add
def batches_of_gradients_that_are_differentiated_again(compile):
    x, w, y, first, _ = called(compile, parts)
    rows = torch.eye(first.numel(), dtype=first.dtype)
    again = []
    for inputs in ([y], [x, w]):
        found = torch.autograd.grad(
            first, inputs, rows, is_grads_batched=True, create_graph=True
        )
        total = sum((gradient * gradient).sum() for gradient in found)
        again += [found, torch.autograd.grad(total, [*inputs], retain_graph=True)]
    return again
