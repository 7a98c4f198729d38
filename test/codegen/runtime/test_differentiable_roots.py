"""Backward passes from several results, some of which the others are computed from."""

import threading

import pytest
import torch
from torch.autograd.graph import get_gradient_edge
from torch.nn import functional
from training_scenario import Scenarios, assert_same, check, leaf, outcome_of

import girih

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


def residual(x, r, w):
    """A sum, and what a layer makes of it."""
    total = x + r
    return total, functional.rms_norm(total, total.shape[-1:], w)


def view_inside(x, r, w):
    """The same, where the inner result is a view of a tensor that is not returned."""
    total = (x + r).t()
    return total, total.exp() * w[:, None]


def chain(x, r, w):
    """Three results, each computed from the one before."""
    first = x * r
    second = first.sin()
    return first, second, second * w


CALLED = (residual, view_inside, chain)
SHAPES = ((5, 5), (1, 1), (0, 0))


def prepared(function, shape=(5, 5)):
    """Leaves, results, and cotangents of these."""
    leaves = [leaf(*shape), leaf(*shape, seed=1), leaf(*shape[1:], seed=2)]
    results = function(*leaves)
    cotangents = [leaf(*result.shape, grad=False, seed=3) for result in results]
    return leaves, list(results), cotangents


def programs(function):
    """The kinds of programs that backward passes of a compiled function have run."""
    (graph,) = girih.report(function).graphs
    return [report.name.rsplit(".", 1)[1] for report in graph.derivatives]


def gradients_of_leaves(leaves, results, cotangents):
    return torch.autograd.grad(results, leaves, cotangents)


def gradients_of_some_leaves(leaves, results, cotangents):
    return torch.autograd.grad(results, leaves[::2], cotangents)


def gradients_of_the_last_result(leaves, results, cotangents):
    return torch.autograd.grad(results[-1], leaves, cotangents[-1])


def gradients_by_backward(leaves, results, cotangents):
    torch.autograd.backward(results, cotangents)
    return [each.grad for each in leaves]


def gradients_by_backward_of_inputs(leaves, results, cotangents):
    torch.autograd.backward(results, cotangents, inputs=leaves[1:])
    return [each.grad for each in leaves]


def gradients_twice(leaves, results, cotangents):
    grad = torch.autograd.grad
    first = grad(results, leaves, cotangents, retain_graph=True)
    second = grad(results, leaves, [2 * each for each in cotangents])
    return first, second, outcome_of(lambda: grad(results, leaves, cotangents))


def gradients_of_batches(leaves, results, cotangents):
    batches = [torch.stack([each, 2 * each]) for each in cotangents]
    return torch.autograd.grad(results, leaves, batches, is_grads_batched=True)


ASKED_FOR_LEAVES = (
    gradients_of_leaves,
    gradients_of_some_leaves,
    gradients_of_the_last_result,
    gradients_by_backward,
    gradients_by_backward_of_inputs,
    gradients_twice,
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", CALLED)
@pytest.mark.parametrize("ask", ASKED_FOR_LEAVES)
def test_one_backward_program_where_leaves_are_asked_for(ask, function, shape):
    compiled = girih.compile(function, fullgraph=True)
    expected = ask(*prepared(function, shape))
    assert_same(ask(*prepared(compiled, shape)), expected)
    assert programs(compiled) == ["backward"]


def test_a_pass_in_another_thread_than_another_one():
    compiled = girih.compile(residual, fullgraph=True)
    expected = gradients_of_leaves(*prepared(residual))
    found = []
    thread = threading.Thread(
        target=lambda: found.append(gradients_of_leaves(*prepared(compiled)))
    )
    thread.start()
    thread.join()
    assert_same(found, [expected])
    assert programs(compiled) == ["backward"]


def test_a_pass_inside_a_pass():
    """Which of the two asks is not certain: every inner result counts as asked for."""
    found = []

    def both(function):
        leaves, results, cotangents = prepared(function)
        outer = leaf(3)
        made = outer.exp()
        made.register_hook(
            lambda _: found.append(
                torch.autograd.grad(results, [results[0], *leaves], cotangents)
            )
        )
        return torch.autograd.grad(made.sum(), outer)

    compiled = girih.compile(residual, fullgraph=True)
    assert_same(both(compiled), both(residual))
    assert_same(found[0], found[1])


def test_gradients_as_functions_of_roots():
    compiled = girih.compile(chain, fullgraph=True)

    def second(function):
        leaves, results, cotangents = prepared(function)
        grad = torch.autograd.grad
        found = grad(results, leaves, cotangents, create_graph=True)
        total = sum((each * each).sum() for each in found)
        return grad(total, [*leaves, *results[:2]], allow_unused=True)

    assert_same(second(compiled), second(chain))


def test_second_order_of_roots():
    compiled = girih.compile(residual, fullgraph=True)

    def penalty(function):
        leaves, results, cotangents = prepared(function)
        found = torch.autograd.grad(results, leaves, cotangents, create_graph=True)
        sum((each * each).sum() for each in found).backward()
        return [each.grad for each in leaves]

    assert_same(penalty(compiled), penalty(residual))


@scenarios.add
def inner_results_that_are_asked_for_beside_leaves(compile):
    observed = []
    for function in CALLED:
        made = compile(function)
        leaves, results, cotangents = prepared(made)
        grad = torch.autograd.grad
        for number in range(len(results)):
            asked = [*leaves, results[number]]
            observed.append(grad(results, asked, cotangents, retain_graph=True))
        asked = [*leaves, *results]
        observed.append(grad(results, asked, cotangents, retain_graph=True))
        observed.append(grad(results[-1], results[0], cotangents[-1]))
    return observed


@scenarios.add
def an_edge_that_is_asked_for(compile):
    leaves, results, cotangents = prepared(compile(chain))
    edge = get_gradient_edge(results[0])
    return torch.autograd.grad(results, [edge, leaves[0]], cotangents)


@scenarios.add
def an_edge_of_a_result_that_is_gone(compile):
    leaves, results, cotangents = prepared(compile(chain))
    edges = [get_gradient_edge(each) for each in results[:2]]
    last = results.pop()
    del results[:]
    asked = [*edges, leaves[0]]
    return torch.autograd.grad(last, asked, cotangents[-1], retain_graph=True)


@scenarios.add
def a_result_behind_one_that_is_gone(compile):
    leaves, (first, second, third), cotangents = prepared(compile(chain))
    del second
    return torch.autograd.grad(third, [first, leaves[0]], cotangents[-1])


@scenarios.add
def hooks_of_roots(compile):
    observed = []
    for asked in (gradients_of_leaves, gradients_by_backward):
        leaves, results, cotangents = prepared(compile(residual))
        results[0].register_hook(lambda gradient: 3 * gradient)
        results[1].register_hook(lambda gradient: observed.append(gradient + 1))
        observed.append(asked(leaves, results, cotangents))
    return observed


@scenarios.add
def roots_that_retain_their_gradient(compile):
    leaves, results, cotangents = prepared(compile(residual))
    for result in results:
        result.retain_grad()
    found = torch.autograd.grad(results, leaves, cotangents)
    return found, [result.grad for result in results]


@scenarios.add
def roots_that_were_written(compile):
    leaves, results, cotangents = prepared(compile(chain))
    results[2].mul_(2)
    grad = torch.autograd.grad
    asked = [results[2], results[1], *leaves]
    return grad(results, asked, cotangents)


@scenarios.add
def an_inner_result_that_was_written_before_a_second_order(compile):
    def sums(x, r, w):
        first = x * 2
        return first, first * 3 + r + w

    leaves, (first, second), cotangents = prepared(compile(sums))
    first.mul_(3)
    return torch.autograd.grad(second, leaves, cotangents[1], create_graph=True)


@scenarios.add(eager="a transform")
def batches_of_cotangents_of_roots(compile):
    made = [compile(function) for function in CALLED]
    return [gradients_of_batches(*prepared(function)) for function in made]
