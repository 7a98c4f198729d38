"""Programs that are trained on a GPU: first losses and gradients as in eager."""

import pytest
import torch
from gpu_device import DEVICE, HAS_CUDA, compiled, normal
from torch import nn
from torch.nn import functional as F

import girih
from benchmarks.training_cases import CASES

NAMES = ("mlp-32", "digits", "resnet", "transformer")
STEPS = 5
CLOSE = {"rtol": 2e-4, "atol": 2e-5}


def train(case, compile_, dtype=torch.float32):
    """Losses of some steps of AdamW, and the first gradients."""
    with torch.device(DEVICE):
        module, batch = case.build()
    module.to(DEVICE, dtype)
    batch = [x.to(dtype) if x.is_floating_point() else x for x in batch]
    run = compile_(module)
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-4)
    losses, first = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = run(*batch)
        loss.backward()
        first = first or [p.grad.clone() for p in module.parameters()]
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses), first


@pytest.mark.parametrize("name", NAMES)
def test_first_steps(name):
    losses, gradients = train(CASES[name], compiled)
    expected, eagers = train(CASES[name], lambda module: module)
    torch.testing.assert_close(losses, expected, **CLOSE)
    _, exact = train(CASES[name], lambda module: module, torch.float64)
    scale = max(float(gradient.abs().max()) for gradient in exact)
    for mine, theirs, wanted in zip(gradients, eagers, exact, strict=True):
        error, allowed = ((x - wanted).abs().max() for x in (mine, theirs))
        assert float(error) <= 2 * float(allowed) + 2e-4 * scale


def test_accumulated_gradients():
    """Two forward passes before two backward passes; saved tensors stay apart."""
    layer = nn.Linear(64, 64, device=DEVICE)
    run = compiled(lambda x: F.gelu(layer(x)).square().mean())
    first, second = normal(8, 64), normal(8, 64)
    losses = [run(first), run(second)]
    losses[1].backward()
    losses[0].backward()
    actual = layer.weight.grad.clone()
    layer.zero_grad()
    for x in (first, second):
        F.gelu(layer(x)).square().mean().backward()
    torch.testing.assert_close(actual, layer.weight.grad, **CLOSE)


def test_second_order():
    def energy(x):
        return (torch.sin(x) * x.square()).sum()

    run, results = compiled(energy), []
    for function in (run, energy):
        x = torch.linspace(-2, 2, 65, device=DEVICE, requires_grad=True)
        (gradient,) = torch.autograd.grad(function(x), x, create_graph=True)
        results.append(torch.autograd.grad(gradient.square().sum(), x)[0])
    torch.testing.assert_close(*results, **CLOSE)


def test_optimizer_step():
    """The fused update of all parameters is one compiled program too."""
    updated = []
    for compile_ in (lambda f: compiled(f, fullgraph=False), lambda f: f):
        torch.manual_seed(0)
        weights = [normal(33, n).requires_grad_() for n in (5, 64, 1000)]
        optimizer = torch.optim.AdamW(weights, lr=0.1)
        step = compile_(optimizer.step)
        for _ in range(3):
            for weight in weights:
                weight.grad = weight.detach().cos()
            step()
        updated.append([weight.detach() for weight in weights])
    for mine, theirs in zip(*updated, strict=True):
        torch.testing.assert_close(mine, theirs, **CLOSE)


def test_memory_is_given_back():
    if not HAS_CUDA:
        pytest.skip("counts the memory of a CUDA device")
    layer = nn.Linear(1024, 1024, device=DEVICE)
    run = compiled(lambda x: F.gelu(layer(x)).square().mean())
    counts = []
    for _ in range(4):
        run(normal(256, 1024)).backward()
        layer.zero_grad()
        torch.cuda.synchronize()
        counts.append(torch.cuda.memory_allocated())
    assert counts[1] == counts[2] == counts[3]


class Tagger(nn.Module):
    """Layers of a recurrent network between operations that are compiled."""

    def __init__(self, layers, **options):
        super().__init__()
        self.first = nn.Linear(3, 8)
        self.layers = layers(8, 16, 2, dropout=0.5, **options)

    def forward(self, x):
        y, last = self.layers(self.first(x).sin())
        state = last if isinstance(last, torch.Tensor) else last[1]
        return y.float().sin().sum(-1), state.float().cos()


def steps(run, model, x, autocast):
    torch.manual_seed(1)
    made = []
    for _ in range(3):
        with torch.autocast("cuda", autocast, enabled=autocast is not None):
            results = run(x)
        loss = sum(result.sum() for result in results)
        made.append([*results, *torch.autograd.grad(loss, list(model.parameters()))])
    return made


def flat(made):
    return [tensor for step in made for tensor in step]


@pytest.mark.skipif(not HAS_CUDA, reason="only devices have cuDNN")
@pytest.mark.parametrize("autocast", [None, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("sideways", [False, True])
@pytest.mark.parametrize("layers", [nn.LSTM, nn.GRU, nn.RNN])
def test_layers_of_cudnn(layers, sideways, autocast):
    """They drop by random numbers of cuDNN, which go on from step to step.

    The gradients of narrow floats may differ from eager's by as much as eager's do from
    those of float32.
    """
    torch.manual_seed(0)
    unit = 2e-2 if autocast is torch.bfloat16 else 2e-3  # of the first layer's floats
    close = {"rtol": unit, "atol": unit}
    options = {"batch_first": sideways, "bidirectional": sideways}
    model = Tagger(layers, **options).to(DEVICE)
    candidate = girih.compile(model, fullgraph=True, options={"fallback": False})
    for size in (5, 6):
        x = torch.randn(size, 4, 3, device=DEVICE)
        found = steps(candidate, model, x, autocast)
        expected = steps(model, model, x, autocast)
        precise = steps(model, model, x, None)
        for own, eager, exact in zip(
            *map(flat, (found, expected, precise)), strict=True
        ):
            spread = (eager.float() - exact.float()).abs().max().item()
            torch.testing.assert_close(own, eager, rtol=unit, atol=max(unit, spread))
        assert not torch.equal(found[0][0], found[1][0])  # another mask
    model.eval()
    with torch.inference_mode():
        torch.testing.assert_close(candidate(x), model(x), **close)
