"""Training loops of several kinds: compiled and eager steps give the same numbers."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import girih


def run_steps(model, loss, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    torch.manual_seed(1)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        losses.append(value.detach())
    return torch.stack(losses)


def check(model, loss, *, graphs=1):
    other = copy.deepcopy(model)
    compiled = girih.compile(loss, options={"fallback": False})
    expected, actual = run_steps(model, loss), run_steps(other, compiled)
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)
    for one, parameter in zip(other.parameters(), model.parameters(), strict=True):
        torch.testing.assert_close(one, parameter, rtol=1e-5, atol=1e-6)
    report = girih.report(compiled)
    assert len(report.graphs) == graphs
    assert not any(g.fallback for graph in report.graphs for g in graph.and_derived())


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def perceptron(activation, width=16):
    return nn.Sequential(nn.Linear(6, width), activation, nn.Linear(width, 1))


@pytest.mark.parametrize("activation", [nn.LeakyReLU(0.2), nn.ReLU(), nn.Tanh()])
def test_gradient_penalty(activation):
    def loss(model):
        x = torch.randn(4, 6, requires_grad=True)
        y = model(x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        return y + ((g.norm(dim=1) - 1) ** 2).mean()

    check(perceptron(activation), loss)


def test_learning_to_learn():
    def inner(model, parameters, x):
        return torch.func.functional_call(model, parameters, (x,)).pow(2).mean()

    def loss(model):
        start = dict(model.named_parameters())
        values = list(start.values())
        first = inner(model, start, torch.randn(4, 6))
        gradients = torch.autograd.grad(first, values, create_graph=True)
        moved = {
            name: value - 0.1 * g
            for (name, value), g in zip(start.items(), gradients, strict=True)
        }
        return inner(model, moved, torch.randn(4, 6))

    check(perceptron(nn.Tanh()), loss)


def test_convolutions_and_batch_statistics():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 5),
    )

    def loss(model):
        x, labels = torch.randn(4, 3, 16, 16), torch.randint(0, 5, (4,))
        return F.cross_entropy(model(x), labels)

    check(model, loss)


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.layer(x)[0][:, -1])


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers(kind):
    model = Recurrent(kind(6, 8, 2, batch_first=True))
    check(model, lambda model: model(torch.randn(4, 7, 6)).pow(2).mean())


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1)

    def forward(self, index):
        return self.block(self.embed(index)) @ self.embed.weight.t()


def test_tied_weights_and_dropout():
    def loss(model):
        logits = model(torch.randint(0, 50, (3, 9)))
        return F.cross_entropy(logits.flatten(0, 1), torch.randint(0, 50, (27,)))

    check(Tied(), loss)


class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        def region(x):
            return F.dropout(torch.tanh(self.first(x)), 0.3)

        return self.second(checkpoint(region, x, use_reentrant=False))


def test_checkpoint_with_random_numbers():
    check(Checkpointed(), lambda model: model(torch.randn(4, 6)).pow(2).mean())


def test_frozen_parameters():
    model = perceptron(nn.ReLU())
    model[0].weight.requires_grad_(False)
    check(model, lambda model: model(torch.randn(4, 6)).pow(2).mean())
    assert model[0].weight.grad is None


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x.clamp(min=0) * factor

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > 0) * ctx.factor * 2, None


def test_function_with_a_backward_of_its_own():
    model = perceptron(nn.Identity())
    check(model, lambda model: Doubled.apply(model(torch.randn(4, 6)), 3.0).sum())


def test_derivatives_of_a_graph_that_writes_a_parameter():
    def program(x, w):
        with torch.no_grad():
            w.sub_(0.1)
        return (w * w * x).sum()

    def gradients(function):
        x, w = (torch.linspace(-1, 2, 5, requires_grad=True) for _ in range(2))
        first = torch.autograd.grad(function(x, w), [x, w], create_graph=True)
        return *first, *torch.autograd.grad(sum(g.pow(2).sum() for g in first), [x, w])

    expected, actual = gradients(program), gradients(girih.compile(program))
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_a_derivative_that_needs_what_was_overwritten_raises_as_in_eager():
    def program(x, w):
        y = (w * w).sum()
        with torch.no_grad():
            w.sub_(0.1)
        return (w * x).sum() + y

    for function in (program, girih.compile(program)):
        x, w = (torch.ones(5, requires_grad=True) for _ in range(2))
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            torch.autograd.grad(function(x, w), [x, w], create_graph=True)
