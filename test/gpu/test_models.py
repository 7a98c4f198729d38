"""Small models of every kind on a GPU, in three dtypes, inference and training."""

import copy

import pytest
import torch
from gpu_device import DEVICE, FLOATS, compiled

import girih
from benchmarks.gpu.models import MODELS

LEAST_ERROR = {torch.float32: 1e-4, torch.bfloat16: 2e-3, torch.float16: 1e-3}
STEPS = 5
RATE = 1e-3
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


def relative_error(actual, exact):
    difference = (actual.double() - exact.double()).norm()
    return float(difference / exact.double().norm())


def in_dtype(name, dtype):
    """A model with weights and inputs in a dtype."""
    module, arguments = MODELS[name].build(DEVICE, "inference", small=True)
    return module.to(dtype), to(arguments, dtype)


def to(arguments, dtype):
    return tuple(x.to(dtype) if x.is_floating_point() else x for x in arguments)


@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
@pytest.mark.parametrize("name", MODELS)
def test_inference(name, dtype):
    module, arguments = in_dtype(name, dtype)
    wide = copy.deepcopy(module).double()
    run = compiled(module)
    with torch.no_grad():
        exact = wide(*to(arguments, torch.float64))
        eager, actual = module(*arguments), run(*arguments)
    assert actual.dtype == eager.dtype and actual.stride() == eager.stride()
    allowed = 2 * relative_error(eager, exact) + LEAST_ERROR[dtype]
    assert relative_error(actual, exact) <= allowed
    assert [graph.fallback for graph in girih.report(run).graphs] == [None]


def losses_and_gradients(name, dtype, compile_):
    """Losses of the first steps of SGD, and the gradients of the first step.

    Training in half precision is autocast's, over weights in float32.
    """
    module, arguments = MODELS[name].build(DEVICE, "training", small=True)
    is_half = dtype.itemsize == 2
    if not is_half:
        module = module.to(dtype)
        arguments = to(arguments, dtype)
    run, optimizer = compile_(module), torch.optim.SGD(module.parameters(), lr=RATE)
    losses, first = [], None
    for _ in range(STEPS):
        optimizer.zero_grad()
        half = dtype if is_half else torch.bfloat16
        with torch.autocast(DEVICE.type, half, enabled=is_half):
            loss = run(*arguments)
        loss.backward()
        parameters = [p for p in module.parameters() if p.grad is not None]
        if first is None:
            first = torch.cat([p.grad.flatten() for p in parameters]).clone()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses), first


@pytest.mark.parametrize("dtype", FLOATS.values(), ids=FLOATS)
@pytest.mark.parametrize("name", MODELS)
def test_training(name, dtype):
    exact = losses_and_gradients(name, torch.float64, lambda module: module)
    eager = losses_and_gradients(name, dtype, lambda module: module)
    actual = losses_and_gradients(name, dtype, compiled)
    for mine, theirs, precise in zip(actual, eager, exact, strict=True):
        allowed = 2 * relative_error(theirs, precise) + 5 * LEAST_ERROR[dtype]
        assert relative_error(mine, precise) <= allowed


def test_changing_sizes():
    module, (ids, labels) = MODELS["gpt2"].build(DEVICE, "training", small=True)
    module.eval()
    run = compiled(module, dynamic=True)
    for tokens, batch in ((16, 2), (7, 1), (12, 3), (2, 2)):
        sized = ids[:1, :tokens].repeat(batch, 1)
        for arguments in ((sized,), (sized, sized)):
            torch.testing.assert_close(run(*arguments), module(*arguments), **CLOSE)


def test_weights_that_move():
    """A module whose parameters are replaced goes on with the new ones."""
    module, arguments = in_dtype("bert-base", torch.float32)
    run = compiled(module)
    with torch.no_grad():
        torch.testing.assert_close(run(*arguments), module(*arguments), **CLOSE)
        module.load_state_dict({k: v * 1.1 for k, v in module.state_dict().items()})
        torch.testing.assert_close(run(*arguments), module(*arguments), **CLOSE)
