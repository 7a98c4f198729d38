"""Views that autograd allows no one to write, as errors and gradients show them."""

import pytest
import torch
from training_scenario import outcome_of

import girih

VIEWS = {
    "chunk": lambda y: y.chunk(3),
    "chunk with a shorter part": lambda y: y.chunk(4, 1),
    "part of a part": lambda y: y.chunk(2, 1)[1].chunk(2)[::-1],
    "expanded": lambda y: [y[:1].chunk(2, 1)[1].expand(2, 3)],
    "narrowed": lambda y: [part[:1] for part in y.chunk(2, -1)],
    "permuted": lambda y: [part.permute(1, 0) for part in y.chunk(2, -1)],
    "selected": lambda y: [part[1] for part in y.chunk(2, -1)],
    "split": lambda y: y.split(2, -1),
    "split_with_sizes": lambda y: y.split([1, 0, 3, 2], 1),
    "transposed": lambda y: [part.t() for part in y.chunk(2, -1)],
    "dims transposed": lambda y: [part.transpose(0, 1) for part in y.chunk(2)],
    "unbind": lambda y: y.unbind(1),
    "viewed": lambda y: [part.view(-1) for part in y.chunk(2)],
}
BASES = {
    "argument": lambda x, views: views(x),
    "result": lambda x, views: (*views(x * 2), x),
    "turned": lambda x, views: views(x.t().unsqueeze(1).squeeze(1).t()),
}


def _texts(program, compile) -> list:
    """What autograd says of a write to each result, or of its use after one."""
    leaf = torch.arange(24.0).view(4, 6).requires_grad_()
    x = leaf * 1
    results = compile(program)(x)
    texts = [outcome_of(lambda y=y: y.mul_(2)) for y in results if y is not x]
    x.mul_(3)
    return texts + [outcome_of(lambda y=y: y + 1) for y in results if y is not x]


def _gradients(program, compile) -> list:
    leaf = torch.arange(24.0).view(4, 6).requires_grad_()
    results = compile(program)(leaf * 1)
    total = sum((y.sin() * (n + 1)).sum() for n, y in enumerate(results))
    (first,) = torch.autograd.grad(total, leaf, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), leaf)
    return [first.detach(), second, [(y.stride(), y.is_leaf) for y in results]]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", VIEWS)
def test_texts_of_writes(name, base):
    def program(x):
        return BASES[base](x, VIEWS[name])

    expected = _texts(program, lambda f: f)
    assert any("is a view and" in str(text) for text in expected)
    assert _texts(program, girih.compile) == expected


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", VIEWS)
def test_gradients(name, base, dynamic):
    def program(x):
        return BASES[base](x, VIEWS[name])

    found = _gradients(program, lambda f: girih.compile(f, dynamic=dynamic))
    torch.testing.assert_close(found, _gradients(program, lambda f: f))


def test_writes_in_the_program():
    def program(x):
        first, second = (x * 1).chunk(2)
        first.sigmoid_()
        return first * second

    x = torch.ones(4, requires_grad=True)
    found = outcome_of(lambda: girih.compile(program)(x))
    assert found == outcome_of(lambda: program(x))
    assert "Output 0 of Split is a view" in str(found)
