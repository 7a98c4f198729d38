"""Checkpoints and compiled autograd at the second door."""

import copy
import functools

import pytest
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

import girih

X = torch.randn(6, 6)


def by_torch(function):
    torch.compiler.reset()
    return torch.compile(function, backend="girih")


def keep_products(context, op, *args, **kwargs):
    keeps = op == torch.ops.aten.mm.default
    return CheckpointPolicy.MUST_SAVE if keeps else CheckpointPolicy.PREFER_RECOMPUTE


SELECTIVE = functools.partial(create_selective_checkpoint_contexts, keep_products)
region = functools.partial(checkpoint, use_reentrant=False)


def dropped(x):
    return F.dropout(x.sin(), 0.5)


PROGRAMS = {
    "dropout": lambda x: region(dropped, x),
    "nested": lambda x: region(lambda y: region(dropped, y) * dropped(y), x),
    "noise": lambda x: region(lambda y: y * torch.rand_like(y), x),
    "selective": lambda x: region(lambda y: dropped(y @ y), x, context_fn=SELECTIVE),
    "reentrant": lambda x: checkpoint(dropped, x, use_reentrant=True),
}


def outcome(function):
    torch.manual_seed(3)
    x = X.clone().requires_grad_()
    result = function(x)
    after = torch.rand(1)
    result.sum().backward()
    return result.detach(), x.grad, after


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_checkpoint_draws_the_same_numbers_again(name):
    expected = outcome(PROGRAMS[name])
    torch.testing.assert_close(outcome(by_torch(PROGRAMS[name])), expected)


def steps(net, function):
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        for _ in range(2):  # the second one adds to the gradients
            function(X).square().sum().backward()
        found += [parameter.grad.clone() for parameter in net.parameters()]
        optimizer.step()
    return found


@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace")
@pytest.mark.parametrize("door", [lambda f: f, by_torch], ids=["plain", "compiled"])
def test_compiled_autograd(door):
    from torch._dynamo import compiled_autograd

    net = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Tanh())
    expected = steps(*[copy.deepcopy(net)] * 2)
    compiled = door(net)
    with compiled_autograd._enable(torch.compile(backend="girih")):
        torch.testing.assert_close(steps(net, compiled), expected)


def counted(x, buffer):
    buffer.add_(1)
    return (x * buffer).sin()


def counted_late(x, buffer):
    result = x.sin() * 2
    buffer.add_(1)
    return result


def normed(x, buffer):
    return F.batch_norm(x, buffer[0], buffer[1].abs(), training=True).sin() + x


@torch.library.custom_op("girih_test_checkpoints::count", mutates_args={"buffer"})
def count(x: torch.Tensor, buffer: torch.Tensor) -> None:
    buffer.add_(x.size(0))


def counted_by_an_operator(x, buffer):
    count(x.detach(), buffer)
    return (x * buffer).exp()


WRITING = [counted, counted_late, normed, counted_by_an_operator]


@pytest.mark.parametrize("compiling", [girih.compile, by_torch])
@pytest.mark.parametrize("body", WRITING)
def test_writes_are_repeated_as_by_eager_and_that_is_told(body, compiling):
    """Eager writes again where it computes the checkpoint again."""

    def program(x, buffer):
        return region(lambda x: body(x, buffer), x)

    def outcome(function):
        x, buffer = X.clone().requires_grad_(), torch.ones(6, 6)
        result = function(x, buffer)
        before = buffer.clone()
        result.sum().backward()
        return result.detach(), before, buffer, x.grad

    expected = outcome(program)
    with pytest.warns(girih.FallbackWarning, match="checkpoint that writes"):
        torch.testing.assert_close(outcome(compiling(program)), expected)
