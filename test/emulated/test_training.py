"""Training on an emulated GPU: gradients, optimizers, whole steps, as in eager."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import girih


def network():
    return nn.Sequential(
        nn.Linear(17, 33),
        nn.LayerNorm(33),
        nn.GELU(),
        nn.Dropout(0.0),
        nn.Linear(33, 5),
    )


def train(model, make_optimizer, compile, steps=3):
    """Losses of a few steps; the model changes."""
    optimizer = make_optimizer(model.parameters())
    torch.manual_seed(1)

    def loss_of(x, labels):
        return F.cross_entropy(model(x), labels)

    compiled, losses = compile(loss_of), []
    for _ in range(steps):
        x, labels = torch.randn(29, 17), torch.randint(5, (29,))
        optimizer.zero_grad()
        loss = compiled(x, labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, 0.01),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_steps(device, optimizer):
    ours = network()
    eagers = copy.deepcopy(ours)
    options = {"fallback": False}
    losses = train(ours, optimizer, lambda f: girih.compile(f, options=options))
    torch.testing.assert_close(losses, train(eagers, optimizer, lambda f: f))
    for parameter, expected in zip(ours.parameters(), eagers.parameters(), strict=True):
        torch.testing.assert_close(parameter, expected, rtol=1e-4, atol=1e-5)
    assert device.launched


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_compiled_optimizer(device, optimizer):
    """All parameters are written by few kernels."""
    torch.manual_seed(0)
    gradients = [torch.randn_like(p) for p in network().parameters()]
    results = []
    for compile in (
        lambda f: f,
        lambda f: girih.compile(f, options={"fallback": False}),
    ):
        torch.manual_seed(0)
        parameters = list(network().parameters())
        made = optimizer(parameters)
        step = compile(made.step)
        for _ in range(3):
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient.clone()
            step()
        results.append(parameters)
    for parameter, expected in zip(*results, strict=True):
        torch.testing.assert_close(parameter, expected)
    assert device.launched


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_transformer_block(dtype):
    torch.manual_seed(0)
    block = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True).to(dtype)
    copies = [block, copy.deepcopy(block)]
    x = torch.randn(2, 11, 32).to(dtype)
    for module, call in zip(
        copies, (girih.compile(block, options={"fallback": False}), None), strict=True
    ):
        (call or module)(x).float().square().mean().backward()
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    for ours, eagers in zip(*(c.parameters() for c in copies), strict=True):
        torch.testing.assert_close(
            ours.grad, eagers.grad, rtol=tolerance, atol=tolerance
        )
