"""Losses of one function, each with a backward pass of its own, as in eager."""

import pytest
import torch
import torch.nn.functional as F
from extent import spread

import girih

TARGETS = torch.tensor([0, 1, 0, 3])

# What a loss is of: derivatives that choose by a condition, and calls of ATen.
OPERATORS = {
    "cross_entropy": lambda v: F.cross_entropy(v, TARGETS),
    "relu": F.relu,
    "hardtanh": F.hardtanh,
    "clamp": lambda v: v.clamp(-0.5, 0.5) ** 2,
    "max": lambda v: v.max(1)[0],
    "topk": lambda v: v.topk(2)[0] ** 2,
    "norm": torch.norm,
    "masked_fill": lambda v: v.masked_fill(v > 0, 0) ** 2,
    "where": lambda v: torch.where(v > 0, v.exp(), v),
    "prelu": lambda v: F.prelu(v, v[0]),
    "multi_margin_loss": lambda v: F.multi_margin_loss(v, TARGETS),
    "grid_sample": lambda v: F.grid_sample(
        v[None, None], v.reshape(1, 2, 4, 2), align_corners=False
    ),
    # Their derivatives compute with zeros where there is no cotangent.
    "logcumsumexp": lambda v: v.logcumsumexp(1),
    "xlogy": lambda v: torch.xlogy(v, v.exp()),
    "logit": lambda v: v.sigmoid().logit(),
}


def gradients(function, weight, order, retain=False):
    """After each backward pass, in this order, the gradient; or the error."""
    losses, found = function(weight), []
    for number in order:
        weight.grad = None
        try:
            losses[number].backward(retain_graph=retain)
        except RuntimeError as error:
            found.append(str(error)[:30])
        else:
            found.append(weight.grad)
    return found


@pytest.mark.parametrize(
    ("name", "order"), spread(OPERATORS, [(0, 1, 0), (1, 0, 1)], every=2)
)
def test_losses_of_one_weight(name, order):
    operator = OPERATORS[name]
    torch.manual_seed(0)
    x, weight = torch.randn(4, 4), torch.randn(4, 4, requires_grad=True)

    def function(weight):
        return operator(weight @ x).sum(), operator((weight * 2) @ x).sum()

    expected = gradients(function, weight, order)
    assert expected[2].startswith("Trying to backward through")
    found = gradients(girih.compile(function), weight, order)
    torch.testing.assert_close(found[:2], expected[:2])
    assert found[2] == expected[2]
    retained = gradients(girih.compile(function), weight, order, retain=True)
    torch.testing.assert_close(retained[:2], expected[:2])
    torch.testing.assert_close(retained[2], expected[0])


def test_infinity_of_another_loss():
    def function(weight):
        return (weight * torch.inf).exp().relu().sum(), weight.exp().sum()

    weight = torch.ones(3, requires_grad=True)
    (expected,) = gradients(function, weight, (1,))
    (found,) = gradients(girih.compile(function), weight, (1,))
    assert expected.isfinite().all()
    torch.testing.assert_close(found, expected)


class Model(torch.nn.Module):
    """With parameters of several layers, and buffers that a call writes."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 5)
        self.norm = torch.nn.BatchNorm1d(5)
        self.second = torch.nn.Linear(5, 2)

    def forward(self, x):
        """Scores of two classes."""
        return self.second(self.norm(self.first(x)).relu())


def clear(model):
    """As ``zero_grad``, which is one of the things a function may do between."""
    model.zero_grad()


def by_backward(count, retain):
    """A function with backward passes of other losses before it returns one."""

    def function(model, x, y):
        loss = F.cross_entropy(model(x), y)
        for i in range(count):
            clear(model)
            part = F.cross_entropy(model(x[i : i + 2]), y[i : i + 2])
            part.backward(retain_graph=retain)
        clear(model)
        return loss

    return function


def by_grad(model, x, y):
    """The same by ``autograd.grad``, which stays in the graph."""
    loss = F.cross_entropy(model(x), y)
    part = F.cross_entropy(model(x[:2]), y[:2])
    return loss + sum(
        gradient.square().sum()
        for gradient in torch.autograd.grad(part, list(model.parameters()))
    )


def of_several(model, x, y):
    """Of three losses one is used inside."""
    losses = [F.cross_entropy(model(x[i:]), y[i:]) for i in range(3)]
    losses[1].backward()
    clear(model)
    return losses[0] + 2 * losses[2]


def used_up(model, x, y):
    """What it returns shares history with what was used inside."""
    scores = model(x)
    F.cross_entropy(scores, y).backward()
    clear(model)
    return scores.exp().sum()


FUNCTIONS = {
    "one": by_backward(1, False),
    "several": by_backward(3, False),
    "retained": by_backward(2, True),
    "grad": by_grad,
    "one of several": of_several,
    "used up": used_up,
}


@pytest.mark.parametrize(("name", "dynamic"), spread(FUNCTIONS, [None, True], every=2))
def test_backward_inside(name, dynamic):
    found = []
    for is_compiled in (False, True):
        function = FUNCTIONS[name]
        if is_compiled:
            function = girih.compile(function, dynamic=dynamic)
        torch.manual_seed(0)
        model = Model()
        made = []
        for size in (5, 5, 6):
            x, y = torch.randn(size, 3), torch.randint(2, (size,))
            loss = function(model, x, y)
            try:
                loss.backward()
            except RuntimeError as error:
                made.append(str(error)[:30])
            else:
                made += [parameter.grad for parameter in model.parameters()]
            model.zero_grad()
            made += [loss.detach(), *(buffer.clone() for buffer in model.buffers())]
        found.append(made)
    assert any(isinstance(one, str) for one in found[0]) == (name == "used up")
    for actual, expected in zip(found[1], found[0], strict=True):
        if isinstance(expected, str):
            assert actual == expected
        else:
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
