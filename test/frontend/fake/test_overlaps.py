"""Writes that overlap what is read, and unknown words, raise as in eager."""

import pytest
import torch
import torch.nn.functional as F

import girih


def moved(x):
    x[:3] = x[1:4]
    return x


def moved_in_a_row(x):
    x.view(3, 4)[0, :2] = x.view(3, 4)[0, 1:3]
    return x


REFUSED = {
    "add_": lambda x: x[1:].add_(x[:-1]),
    "out": lambda x: torch.add(x[1:], 1, out=x[:-1]),
    "copy_": lambda x: x[1:].copy_(x[:-1]),
    "transposed": lambda x: x[:9].view(3, 3).add_(x[:9].view(3, 3).T),
    "moved": moved,
    "moved in a row": moved_in_a_row,
    "lerp_": lambda x: x[1:].lerp_(x[:-1], 0.5),
    "gelu": lambda x: F.gelu(x, approximate="tahn"),
    "div": lambda x: torch.div(x, 2, rounding_mode="up"),
}
TAKEN = {
    "apart": lambda x: x[6:].add_(x[:6]),
    "itself": lambda x: x.add_(x),
    "a view of itself": lambda x: x.add_(x.view(12)),
    "every other": lambda x: x[::2].add_(x[1::2]),
    "clone": lambda x: x[1:].add_(x[:-1].clone()),
    "columns": lambda x: x.view(3, 4)[:, :2].add_(x.view(3, 4)[:, 2:]),
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "div": lambda x: torch.div(x, 2, rounding_mode="floor"),
}


def outcome(function, size):
    x = torch.arange(float(size))
    try:
        return function(x).tolist(), x.tolist()
    except Exception as error:
        return type(error), str(error), x.tolist()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", REFUSED)
def test_what_eager_refuses_raises(name, dynamic):
    compiled = girih.compile(REFUSED[name], dynamic=dynamic)
    assert outcome(compiled, 12) == outcome(REFUSED[name], 12)


@pytest.mark.parametrize("name", sorted(REFUSED.keys() - {"gelu", "div"}))
def test_what_eager_refuses_raises_behind_dynamo(name):
    torch.compiler.reset()
    compiled = torch.compile(REFUSED[name], backend="girih")
    assert outcome(compiled, 12) == outcome(REFUSED[name], 12)


@pytest.mark.filterwarnings("error::girih.fallbacks.FallbackWarning")
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", TAKEN)
def test_what_eager_takes_is_compiled(name, dynamic):
    compiled = girih.compile(TAKEN[name], dynamic=dynamic)
    expected = torch.tensor(outcome(TAKEN[name], 12)[0])
    torch.testing.assert_close(torch.tensor(outcome(compiled, 12)[0]), expected)
