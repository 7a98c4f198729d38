"""Gradients that share memory with cotangents, or with one another, as in eager."""

import itertools

import pytest
import torch
from training_scenario import assert_same, leaf

import girih


def add(x, y):
    return x + y


def add_and_relu(x, y):
    return x + y.relu()


def subtract(x, y):
    return x - y


def twice(x, y):
    return x + x + y.exp()


def broadcast(x, y):
    return x + y.sum(0)


def concat(x, y):
    return torch.cat([x, y, x.exp()])


def concat_of_columns(x, y):
    return torch.hstack([x, y])


def concat_of_the_same(x, y):
    return torch.cat([x, y, x])


def stacked(x, y):
    return torch.stack([x, y])


def permuted(x, y):
    return (x.permute(1, 0).contiguous(), y * 2)


def reshaped(x, y):
    return x.reshape(-1) * 1, y.reshape(-1) + 0.0


def one_times(x, y):
    return x * 1, y / 1


def views_of_the_same(x, y):
    return x.view(-1) + y.t().reshape(-1)


def view_beside_the_whole(x, y):
    return torch.cat([x.view(-1), y.view(-1)]).view(2, -1) * 1.0


def flat_sum(x, y):
    return x.view(-1) + y.view(-1)


def part_of_a_sum(x, y):
    return torch.cat([x, x.sin()]) + torch.cat([y, y.cos()])


def total(x, y):
    return (x + y).sum()


def several(x, y):
    return x + y, x.clone(), (y * 2).t().contiguous()


def split(x, y):
    first, second = x.split([x.shape[0] // 2, x.shape[0] - x.shape[0] // 2])
    return first * y.sum(0), second + y.sum(0)


def layers(x, y):
    for _ in range(3):
        x = x + (x @ y).relu()
    return x


def cast(x, y):
    return x.float() + y.float()


def cloned(x, y):
    return x.clone(), y.clone().view(-1)


def expanded(x, y):
    return x.expand(3, *x.shape) + y


def below_relu(x, y):
    return (x + y).relu()


def negated(x, y):
    return x.neg().neg(), y.t().t()


PROGRAMS = (
    add,
    add_and_relu,
    subtract,
    twice,
    broadcast,
    concat,
    concat_of_columns,
    concat_of_the_same,
    stacked,
    permuted,
    reshaped,
    one_times,
    views_of_the_same,
    view_beside_the_whole,
    flat_sum,
    part_of_a_sum,
    total,
    several,
    split,
    layers,
    cast,
    cloned,
    expanded,
    below_relu,
    negated,
)
SHAPES = ((4, 4), (1, 1), (0, 0), (7, 7))  # squares, as programs transpose
# In eager both leaves keep views of one memory, and each adds to the other's gradient.
WRONG_IN_EAGER = (flat_sum, views_of_the_same)


def outputs(function, leaves):
    results = function(*leaves)
    results = results if isinstance(results, tuple) else (results,)
    cotangents = [
        leaf(*result.shape, grad=False, seed=5, dtype=result.dtype)
        for result in results
    ]
    return results, cotangents


def addresses(tensor):
    """Where the elements of a tensor lie."""
    storage = tensor.untyped_storage()
    size = tensor.element_size()
    numbers = torch.arange(storage.nbytes() // size)
    layout = tensor.size(), tensor.stride(), tensor.storage_offset()
    places = storage.data_ptr() + size * numbers.as_strided(*layout)
    return set(places.flatten().tolist())


def do_share(one, other):
    """Whether two tensors have an element in common."""
    return not addresses(one).isdisjoint(addresses(other))


def shared(gradients, cotangents):
    """The pairs that have an element in common."""
    named = [(f"gradient {n}", g) for n, g in enumerate(gradients) if g is not None]
    named += [(f"cotangent {n}", g) for n, g in enumerate(cotangents)]
    return {
        (name, other)
        for (name, one), (other, two) in itertools.combinations(named, 2)
        if do_share(one, two)
    }


def kept_by_leaves(function, shape, is_held):
    """Gradients of leaves after two passes, and what they share after one."""
    leaves = [leaf(*shape), leaf(*shape, seed=1)]
    results, cotangents = outputs(function, leaves)
    held = cotangents if is_held else []
    torch.autograd.backward(results, held or outputs(function, leaves)[1])
    found = shared([each.grad for each in leaves], held)
    results, _ = outputs(function, leaves)
    torch.autograd.backward(results, [2 * each for each in cotangents])
    return [each.grad for each in leaves], found, held


def returned(function, shape):
    """Gradients that `autograd.grad` returns for what has a history."""
    inputs = [leaf(*shape).exp(), leaf(*shape, seed=1).exp()]
    results, cotangents = outputs(function, inputs)
    found = torch.autograd.grad(results, inputs, cotangents)
    return list(found), shared(found, cotangents), cotangents


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", PROGRAMS)
def test_gradients_share_no_more_than_eagers(function, shape):
    compiled = girih.compile(function, fullgraph=True, options={"fallback": False})
    for made in (
        lambda f: kept_by_leaves(f, shape, True),
        lambda f: kept_by_leaves(f, shape, False),
        lambda f: returned(f, shape),
    ):
        gradients, found, cotangents = made(compiled)
        expected, allowed, others = made(function)
        assert found <= allowed
        if function not in WRONG_IN_EAGER:
            assert_same(gradients, expected)
        if found == allowed:
            assert_same(cotangents, others)


@pytest.mark.parametrize(
    "function", [add, add_and_relu, subtract, concat, stacked, layers, several, cloned]
)
def test_gradients_that_are_passed_on(function):
    compiled = girih.compile(function, fullgraph=True, dynamic=False)
    for shape in SHAPES[::3]:
        _, found, _ = returned(compiled, shape)
        _, expected, _ = returned(function, shape)
        assert found == expected


def test_gradients_that_are_one_tensor():
    compiled = girih.compile(below_relu, fullgraph=True)
    first, second = returned(compiled, (4, 4))[0]
    assert first is second


def test_the_gradient_is_the_cotangent():
    x, y = leaf(3) * 1, leaf(3) * 2
    g = torch.ones(3, dtype=torch.float64)
    compiled = girih.compile(add, fullgraph=True)
    for found in torch.autograd.grad(compiled(x, y), [x, y], g):
        assert found is g


def test_leaves_do_not_add_to_one_another():
    compiled = girih.compile(flat_sum, fullgraph=True)
    for shapes in (((4, 3), (2, 6)), ((3, 4), (3, 4))):
        x, y = leaf(*shapes[0]), leaf(*shapes[1])
        for n in range(1, 4):
            compiled(x, y).backward(torch.ones(12, dtype=torch.float64))
            assert_same(
                [x.grad, y.grad], [torch.full_like(t, n).detach() for t in (x, y)]
            )


def test_a_cotangent_that_is_laid_out_otherwise():
    """Nothing of eager's layout is known there: gradients are right, whatever it is."""
    compiled = girih.compile(concat, fullgraph=True)
    x, y = leaf(4, 3) * 1, leaf(4, 3, seed=1) * 1
    g = leaf(3, 12, grad=False).t()
    kept = g.clone()
    found = torch.autograd.grad(compiled(x, y), [x, y], g)
    assert_same(found, torch.autograd.grad(concat(x, y), [x, y], kept))
    found[1].add_(1)
    assert not do_share(found[0], found[1])


def test_sizes_that_vary():
    compiled = girih.compile(concat, fullgraph=True, dynamic=True)
    for rows in (2, 3, 7):
        x, y = leaf(rows, 3) * 1, leaf(rows + 1, 3, seed=1) * 1
        gradients = []
        for function in (compiled, concat):
            (result,), (g,) = outputs(function, (x, y))
            gradients.append(torch.autograd.grad(result, [x, y], g))
        assert_same(*gradients)
        assert not do_share(*gradients[0])
