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
