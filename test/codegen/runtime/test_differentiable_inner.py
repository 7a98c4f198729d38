"""Gradients by results that other results are computed of, and hooks of these."""

import pytest
import torch
from torch.utils import checkpoint as checkpoints
from training_scenario import (
    Scenarios,
    called,
    check,
    features,
    leaf,
    outcome_of,
)

import girih

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


def retained(compile, function, asked):
    """Gradients of the leaves, and of the results that retain theirs, by result 2.

    Args:
        compile: What compiles the function.
        function: Of two leaves.
        asked: Numbers of the results that retain their gradient, each time anew.
    """
    observed = []
    for numbers in asked:
        x, w, *results = called(compile, function)
        for number in numbers:
            results[number].retain_grad()
        results[2].backward()
        observed.append([results[number].grad for number in numbers])
        observed.append([x.grad, w.grad])
    return observed


@scenarios.add
def a_gradient(compile):
    _, _, y, loss = called(compile)
    return torch.autograd.grad(loss, y)


@scenarios.add
def gradients_of_both_kinds(compile):
    x, w, y, loss = called(compile)
    found = torch.autograd.grad(loss, [y, x], retain_graph=True)
    return found, torch.autograd.grad(loss, [x, w])


@scenarios.add
def inputs_of_backward(compile):
    x, w, y, loss = called(compile)
    (loss * 2).backward(inputs=[y, w])
    return x.grad, y.grad, w.grad


@scenarios.add
def a_gradient_that_is_retained(compile):
    x, w, y, loss = called(compile)
    y.retain_grad()
    loss.backward()
    return y.grad, x.grad, w.grad


@scenarios.add
def a_gradient_that_is_retained_of_both_results(compile):
    x, w, y, loss = called(compile)
    y.retain_grad()
    (loss + y.cos().sum()).backward()
    return y.grad, x.grad, w.grad


@scenarios.add
def a_hook_that_changes_the_gradient(compile):
    x, w, y, loss = called(compile)
    y.register_hook(lambda gradient: gradient * 2)
    y.register_hook(lambda gradient: gradient + 1)
    loss.backward()
    return x.grad, w.grad


@scenarios.add
def a_hook_of_a_result_that_is_dropped(compile):
    seen = []
    x, w, y, loss = called(compile)
    y.register_hook(lambda gradient: seen.append(gradient * 1))
    del y
    loss.backward()
    return seen, x.grad, w.grad


@scenarios.add
def a_hook_that_is_removed(compile):
    x, w, y, loss = called(compile)
    y.register_hook(lambda gradient: gradient * 2).remove()
    loss.backward()
    return x.grad, w.grad


@scenarios.add
def hooks_of_several_tensors(compile):
    seen = []
    x, w, y, loss = called(compile)
    torch.autograd.graph.register_multi_grad_hook(
        (y, w), lambda gradients: seen.append([g * 1 for g in gradients])
    )
    loss.backward()
    return seen, x.grad, w.grad


@scenarios.add
def a_chain_of_results(compile):
    def chain(x, w):
        first = (x * w).sin()
        second = first.exp() * w
        third = second @ first
        return first, second, third, (third * x).sum()

    observed = []
    for asked in ([0], [1], [2], [0, 2], [1, 2], [0, 1, 2]):
        x, w, *inner, loss = called(compile, chain)
        for number in asked:
            inner[number].retain_grad()
        loss.backward(retain_graph=True)
        observed.append([inner[number].grad for number in asked])
        observed.append([x.grad, w.grad])
        chosen = [inner[number] for number in asked]
        observed.append(torch.autograd.grad(loss, chosen, retain_graph=True))
        observed.append(torch.autograd.grad(inner[2].sum(), inner[0]))
    return observed


@scenarios.add
def second_order_by_an_inner_result(compile):
    x, w, y, loss = called(compile)
    (gradient,) = torch.autograd.grad(loss, y, create_graph=True)
    found = torch.autograd.grad(gradient.sin().sum(), [y, x, w], retain_graph=True)
    (gradient * gradient).sum().backward()
    return found, x.grad, w.grad


@scenarios.add
def a_penalty_on_the_gradient_of_features(compile):
    def step(x, w):
        y = (x @ w).tanh()
        return y, (y**3 * w).sum(), y.exp().mean()

    x, w, y, loss, other = called(compile, step)
    (gradient,) = torch.autograd.grad(loss + other, y, create_graph=True)
    (loss + gradient.norm()).backward()
    return gradient, x.grad, w.grad


@scenarios.add
def views_inside(compile):
    def function(x, w):
        turned = x.t()
        y = (turned @ w).sin()
        row = y[1]
        return row, turned, (row * w[0]).sum() + (turned * y).sum(), y

    return retained(compile, function, asked=([0], [1], [3], [0, 3], [0, 1, 3]))


@scenarios.add
def views_of_what_is_not_returned(compile):
    def function(x, w):
        y = (x @ w).sin().view(9)
        parts = y.chunk(3)
        return parts[0], y, (parts[1] * y[:3]).sum() + parts[0].exp().sum()

    return retained(compile, function, asked=([0], [1], [0, 1]))


@scenarios.add
def parts_of_one_operation(compile):
    def function(x, w):
        first, second = (x * w).sin().split([1, 2])
        return first, second, (second * second).sum() * first.sum()

    x, w, first, second, loss = called(compile, function)
    found = torch.autograd.grad(loss, [first, second], retain_graph=True)
    return found, torch.autograd.grad(loss, second, retain_graph=True)


@scenarios.add
def a_view_in_front_of_its_base(compile):
    def function(x, w):
        y = (x @ w).sin()
        turned = y.t()
        return turned, y, (turned * x).sum()

    return retained(compile, function, asked=([0], [1], [0, 1]))


@scenarios.add
def the_same_computed_twice(compile):
    def function(x, w):
        y, z = x.exp(), x.exp()
        return y, (y * z * w).sum()

    _, _, y, loss = called(compile, function)
    return torch.autograd.grad(loss, y)


@scenarios.add
def copies_of_a_result(compile):
    def function(x, w):
        y = x * w
        z = y * 1
        u = y.clone()
        v = torch.empty_like(y).copy_(y)
        return y, z, u, v, (y * z.sin() * u.cos() * v.exp()).sum()

    observed = []
    for asked in ([0], [1], [2], [3], [0, 1], [1, 2, 3], [0, 1, 2, 3]):
        _, _, *results, loss = called(compile, function)
        chosen = [results[number] for number in asked]
        observed.append(torch.autograd.grad(loss, chosen))
    return observed


@scenarios.add
def a_result_that_depends_by_no_gradient(compile):
    def function(x, w):
        y = x * w
        return y, (y.detach() * x).sum(), y.sign().sum() + x.sum()

    _, _, y, first, second = called(compile, function)
    y.retain_grad()
    outcomes = [outcome_of(lambda: torch.autograd.grad(first, y, retain_graph=True))]
    (first + second).backward()
    return outcomes, y.grad


@scenarios.add
def an_argument_that_is_written(compile):
    def function(x, w):
        x[..., 0] = w.sum() * 0.1
        return (x * x * w).sum()

    x, w = leaf(3, 3, grad=False), leaf(3, 3, seed=1)
    loss = compile(function)(x, w)
    x.retain_grad()
    found = torch.autograd.grad(loss, [x, w], retain_graph=True)
    (loss + x.sum()).backward()
    return found, x.grad, w.grad


@scenarios.add
def an_argument_with_a_history_that_is_written(compile):
    def function(x, w):
        x.mul_(w).sin_()
        y = x * w
        return y, (x * y).sum()

    observed = []
    for asked in ([0], [1], [0, 1]):
        start, w = leaf(3, 3), leaf(3, 3, seed=1)
        x = start * 2
        y, loss = compile(function)(x, w)
        chosen = [(x, y)[number] for number in asked]
        for tensor in chosen:
            tensor.retain_grad()
        loss.backward()
        observed.append([tensor.grad for tensor in chosen])
        observed.append([start.grad, w.grad])
    return observed


@scenarios.add
def a_result_that_an_argument_becomes(compile):
    def function(x, w):
        y = w.sin()
        x.copy_(y)
        return y, (x * y.exp()).sum()

    observed = []
    for asked in ([0], [1], [0, 1]):
        x, w = leaf(3, 3, grad=False), leaf(3, 3, seed=1)
        y, loss = compile(function)(x, w)
        chosen = [(x, y)[number] for number in asked]
        found = torch.autograd.grad(loss, chosen, retain_graph=True)
        for tensor in chosen:
            tensor.retain_grad()
        loss.backward()
        observed.append([found, [tensor.grad for tensor in chosen], w.grad])
    return observed


@scenarios.add
def a_view_of_a_written_argument(compile):
    def function(x, w):
        row = x[1]
        x.mul_(w)
        return row, (row.sin() * x).sum()

    start, w = leaf(3, 3), leaf(3, 3, seed=1)
    x = start * 1
    row, loss = compile(function)(x, w)
    row.retain_grad()
    loss.backward()
    return row.grad, start.grad, w.grad


@scenarios.add
def dropout_in_front_and_behind(compile):
    def function(x, w):
        y = torch.dropout(x * w, 0.5, True)
        return y, (torch.dropout(y, 0.5, True) * w * torch.rand(3, 3)).sum()

    torch.manual_seed(0)
    x, w, y, loss = called(compile, function)
    y.retain_grad()
    loss.backward()
    return y.grad, x.grad, w.grad, torch.rand(1)


@scenarios.add
def passes_again(compile):
    x, w, y, loss = called(compile)
    y.register_hook(lambda gradient: gradient * 2)
    outcomes = []
    loss.backward(retain_graph=True)
    loss.backward()
    outcomes.append(outcome_of(lambda: loss.backward()))
    outcomes.append(outcome_of(lambda: y.sum().backward()))
    outcomes.append(outcome_of(lambda: torch.autograd.grad(loss, y)))
    return outcomes, x.grad, w.grad


@scenarios.add
def a_pass_behind_one_that_stopped(compile):
    x, w, y, loss = called(compile)
    found = torch.autograd.grad(loss, y)
    y.backward(found[0])
    return found, x.grad, w.grad


@scenarios.add
def a_result_that_is_written_later(compile):
    x, w, y, loss = called(compile)
    y.retain_grad()
    with torch.no_grad():
        y.mul_(2)
    return outcome_of(lambda: loss.backward())


@scenarios.add
def results_that_are_written_and_not_kept(compile):
    """Softmax keeps what it gives: what it was computed of may be written."""

    def function(x, w):
        y = (x @ w).sin()
        return y, y.softmax(0)

    def without_grad_mode(y):
        with torch.no_grad():
            y.mul_(2)

    def put(y):
        y[0] = y[1] * 2

    found = []
    for write in (without_grad_mode, put, lambda y: y.mul_(2), lambda y: y[0].neg_()):
        for number in (0, 1, 2):
            x, w, y, z = called(compile, function)
            write(y)
            wanted = [[x, w], [y], [y, x]][number]
            loss = y.exp().sum() + z.exp().sum()
            found.append(torch.autograd.grad(loss, wanted, retain_graph=True))
            loss.backward()
            found += [x.grad, w.grad]
    return found


@scenarios.add(eager="a transform")
def batches_of_gradients(compile):
    def function(x, w):
        y = (x @ w).sin()
        return y, (y * y * x.sum()).sum(0)

    _, w, y, result = called(compile, function)
    rows = torch.eye(3, dtype=torch.float64)
    return torch.autograd.grad(result, [y, w], rows, is_grads_batched=True)


@scenarios.add
def a_checkpoint_inside(compile):
    def function(x, w):
        y = checkpoints.checkpoint(lambda: (x @ w).sin(), use_reentrant=False)
        z = checkpoints.checkpoint(lambda: (y @ w).cos(), use_reentrant=False)
        return y, (z * y).sum()

    x, w, y, loss = called(compile, function)
    y.retain_grad()
    loss.backward()
    return y.grad, x.grad, w.grad


@scenarios.add
def sizes_that_vary(compile):
    function = compile(features, dynamic=True)
    observed = []
    for size in (3, 4, 1, 7):
        x, w = leaf(size, 3), leaf(3, size, seed=1)
        y, loss = function(x, w)
        observed.append(torch.autograd.grad(loss, y, retain_graph=True))
        y.register_hook(lambda gradient: gradient * 3)
        loss.backward()
        observed.append([x.grad, w.grad])
    return observed


@scenarios.add
def views_that_were_written(compile):
    """They are read by way of the whole, as gradients go."""

    def row(x, w):
        y = x * w
        row = y[0]
        row.mul_(w[1])
        return y, (row.sin() * w[2]).sum()

    def part_of_a_row(x, w):
        y = x * w
        row = y[1]
        part = row[1:]
        part.mul_(3)
        return y, row.exp().sum() * part.sum()

    def argument(x, w):
        row = x[0]
        row.mul_(2)
        return x, (row * w).sum()

    found = []
    for function in (row, part_of_a_row, argument):
        x, w = leaf(3, 3), leaf(3, 3, seed=1)
        y, loss = compile(function)(x * 1, w)
        found.append(torch.autograd.grad(loss, y, retain_graph=True))
        found.append(torch.autograd.grad(loss + y.sum(), [x, w], retain_graph=True))
        y.retain_grad()
        loss.backward()
        found.append([y.grad, x.grad, w.grad])
    return found


@scenarios.add
def a_hook_behind_a_result_that_is_gone(compile):
    """On the way from the loss to the hook lies what nobody has any more."""
    seen = []

    def function(x, w):
        y = (x @ w).sin()
        z = y.exp()
        return y, z, (z * z * y * x.sum()).sum()

    x, w, y, z, loss = called(compile, function)
    y.register_hook(lambda gradient: seen.append(gradient * 1))
    del z
    loss.backward()
    return seen, x.grad, w.grad


def derives_inside(power):
    """A program that derives a result by an argument, and returns both."""

    def function(x, w):
        y = power(x * w)
        (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return y, (gradient * y + gradient).sum()

    return function


@scenarios.add
def gradients_inside_by_way_of_an_inner_result(compile):
    """What eager's inner derivative reads decides which way its gradients go."""
    found = []
    for power in (torch.tanh, torch.exp, lambda x: x**3, torch.sin):
        x, w, y, loss = called(compile, derives_inside(power))
        y.register_hook(lambda gradient: gradient * 2)
        y.retain_grad()
        loss.backward(retain_graph=True)
        found += [x.grad, w.grad, y.grad, torch.autograd.grad(loss, [x, y])]
    return found


def test_one_program_goes_back_where_nobody_asks():
    girih.reset()
    _, _, y, loss = called(girih.compile)
    loss.backward()
    assert girih.counters()["derivatives"] == 1
    assert y.grad is None


@scenarios.add
def several_results_of_an_inner_one(compile):
    """What eager keeps between the two and the inner one is visited once, and freed."""
    x = leaf(4, 3)

    def program(x):
        view = x.unsqueeze(1)
        y = view.exp()
        return y.sin(), y.cos(), view

    grad = torch.autograd.grad
    found = []
    for chosen in ((0, 1), (1, 2), (0, 1, 2)):
        results = compile(program)(x * 1)
        loss = sum(results[n].sum() * (n + 1) for n in chosen)
        found.append(grad(loss, x, retain_graph=True))
        found.append(grad(loss, x))
        found.append(outcome_of(lambda loss=loss: grad(loss, x)))
        found.append(outcome_of(lambda results=results: results[0].sum().backward()))
    return found


@scenarios.add
def passes_to_inner_results_that_share_what_is_kept(compile):
    x = leaf(4, 3)

    def program(x):
        state = x.sin()
        y = state.exp()
        return state, y.sin(), y.cos()

    grad = torch.autograd.grad
    state, first, second = compile(program)(x)
    found = [grad(first.sum(), state, retain_graph=True)]
    found.append(grad(first.sum() + second.sum(), [state, x], retain_graph=True))
    found.append(grad(first.sum() + second.sum(), state))
    found.append(outcome_of(lambda: grad(first.sum(), state)))
    found.append(outcome_of(lambda: grad(second.sum(), x)))
    found.append(grad(state.sum(), x))
    return found


@scenarios.add
def older_views_of_a_written_argument(compile):
    """What is read of them is computed of the whole, as it is after the write."""
    x = leaf(4, 3)

    def program(x):
        flat, turned = x.flatten(), x.t()
        x.unsqueeze(0).neg_()
        x[0] = x[2].detach() * 2
        return flat.sin() * flat, turned.exp()

    found = []
    for asks_inside in (False, True):
        inner = x * 1
        first, second = compile(program)(inner)
        loss = first.sum() + second.sum() + inner.cos().sum()
        wanted = [inner, x] if asks_inside else [x]
        found.append(torch.autograd.grad(loss, wanted))
    return found


@scenarios.add
def views_of_what_is_not_returned_behind_a_write(compile):
    x, w = leaf(3, 3), leaf(3, 3, seed=1)

    def program(x, w):
        w[1].mul_(x[2, 2])
        y = torch.cat([w[:2], x[2:]])
        with torch.no_grad():
            view = y.t()
        return view, y.t(), y[1:]

    _, first, second = results = compile(program)(x * 1, w * 1)
    loss = (first * 2).sum() + second.exp().sum()
    return results, torch.autograd.grad(loss, [x, w])
