"""A ``torch.Size`` among the arguments of a call stays one where that matters."""

import warnings

import pytest
import torch

import girih


@torch.compiler.allow_in_graph
def _is_size(x, *sizes, **named):
    """One for each ``torch.Size``; sees lists and dicts of them, too."""
    leaves = torch.utils._pytree.tree_leaves(
        (sizes, named), is_leaf=lambda part: isinstance(part, torch.Size)
    )
    return x + sum(isinstance(leaf, torch.Size) for leaf in leaves)


def _checkpointed(x):
    def body(y):
        return y.new(y.shape).fill_(1) * y

    return torch.utils.checkpoint.checkpoint(body, x, use_reentrant=False)


def _chosen(x):
    def body(y):
        return y.new(y.shape).fill_(1)

    return torch.cond(x.sum() > 0, body, lambda y: body(y) + 1, (x,))


CASES = {
    "new": lambda x: x.new(x.shape).fill_(1),
    "new of size()": lambda x: x.new(x.size()).fill_(1),
    "new of a slice": lambda x: x.new(x.shape[:1]).fill_(1),
    "new of a sum": lambda x: x.new(torch.Size([2]) + x.shape).fill_(1),
    "new of no dims": lambda x: x.new(torch.Size([])).fill_(1),
    "new of data": lambda x: x.new(tuple(x.shape)),
    "new of a list": lambda x: x.new(list(x.shape)),
    "new of numbers": lambda x: x.new(*x.shape).fill_(1),
    "new on a device": lambda x: x.new(x.shape, device="cpu").fill_(1),
    "Tensor.new": lambda x: torch.Tensor.new(x, x.shape).fill_(1),
    "torch.Tensor": lambda x: torch.Tensor(x.shape).fill_(1),
    "torch.Tensor of data": lambda x: torch.Tensor(tuple(x.shape)),
    "LongTensor": lambda x: torch.LongTensor(x.shape).fill_(1),
    "LongTensor of data": lambda x: torch.LongTensor(tuple(x.shape)),
    "torch.tensor": lambda x: torch.tensor(x.shape),
    "new_tensor": lambda x: x.new_tensor(x.shape),
    "zeros": lambda x: torch.zeros(x.shape) + x.new_ones(x.shape),
    "checkpoint": _checkpointed,
    "cond": _chosen,
    "vmap": lambda x: torch.func.vmap(lambda y: y.new(y.shape).fill_(1) + y)(x),
}
OWN_FUNCTIONS = {
    "a size": lambda x: _is_size(x, x.shape),
    "a tuple": lambda x: _is_size(x, tuple(x.shape), *x.shape),
    "by name": lambda x: _is_size(x, size=x.shape),
    "in a list": lambda x: _is_size(x, [x.shape, {"size": x.shape}], (x.shape, 1)),
}


def _checkpointed(x):
    def body(y):
        return y.new(y.shape).fill_(1) * y

    return torch.utils.checkpoint.checkpoint(body, x, use_reentrant=False)


def _chosen(x):
    def body(y):
        return y.new(y.shape).fill_(1)

    return torch.cond(x.sum() > 0, body, lambda y: body(y) + 1, (x,))


CASES = {
    "new": lambda x: x.new(x.shape).fill_(1),
    "new of size()": lambda x: x.new(x.size()).fill_(1),
    "new of a slice": lambda x: x.new(x.shape[:1]).fill_(1),
    "new of a sum": lambda x: x.new(torch.Size([2]) + x.shape).fill_(1),
    "new of no dims": lambda x: x.new(torch.Size([])).fill_(1),
    "new of data": lambda x: x.new(tuple(x.shape)),
    "new of a list": lambda x: x.new(list(x.shape)),
    "new of numbers": lambda x: x.new(*x.shape).fill_(1),
    "new on a device": lambda x: x.new(x.shape, device="cpu").fill_(1),
    "Tensor.new": lambda x: torch.Tensor.new(x, x.shape).fill_(1),
    "torch.Tensor": lambda x: torch.Tensor(x.shape).fill_(1),
    "torch.Tensor of data": lambda x: torch.Tensor(tuple(x.shape)),
    "LongTensor": lambda x: torch.LongTensor(x.shape).fill_(1),
    "LongTensor of data": lambda x: torch.LongTensor(tuple(x.shape)),
    "torch.tensor": lambda x: torch.tensor(x.shape),
    "new_tensor": lambda x: x.new_tensor(x.shape),
    "zeros": lambda x: torch.zeros(x.shape) + x.new_ones(x.shape),
    "checkpoint": _checkpointed,
    "cond": _chosen,
    "vmap": lambda x: torch.func.vmap(lambda y: y.new(y.shape).fill_(1) + y)(x),
}
OWN_FUNCTIONS = {
    "a size": lambda x: _is_size(x, x.shape),
    "a tuple": lambda x: _is_size(x, tuple(x.shape), *x.shape),
    "by name": lambda x: _is_size(x, size=x.shape),
    "in a list": lambda x: _is_size(x, [x.shape, {"size": x.shape}], (x.shape, 1)),
}
DOORS = {
    "girih": girih.compile,
    "torch": lambda f, **options: torch.compile(f, backend="girih", **options),
}


def _check(function, compiled) -> None:
    for shape in ((4, 3), (5, 3), (6, 7)):
        x = torch.rand(shape)
        expected = function(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", girih.FallbackWarning)
            actual = compiled(x)
        torch.testing.assert_close(actual, expected, rtol=0, atol=0)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", CASES)
def test_tensors_have_the_size_that_they_have_in_eager(name, dynamic):
    compiled = girih.compile(CASES[name], backend="eager", dynamic=dynamic)
    _check(CASES[name], compiled)


@pytest.mark.parametrize("name", ["new", "torch.Tensor", "LongTensor of data"])
def test_sizes_arrive_whoever_captures(name):
    _check(CASES[name], girih.compile(CASES[name]))
    torch.compiler.reset()
    _check(CASES[name], torch.compile(CASES[name], backend="girih"))


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", OWN_FUNCTIONS)
def test_functions_of_the_program_are_given_sizes(name, dynamic):
    function = OWN_FUNCTIONS[name]
    _check(function, girih.compile(function, backend="eager", dynamic=dynamic))


def test_sizes_are_in_one_graph():
    def made(x):
        return x.new(x.shape).fill_(1) + _is_size(x, x.shape)

    _check(made, girih.compile(made, fullgraph=True, dynamic=True))
