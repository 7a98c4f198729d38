"""Writes between a call and its backward pass: eager's error, or eager's gradients."""

import pytest
import torch
import torch.nn.functional as F
from training_scenario import leaf, outcome_of

import girih

FUNCTIONS = {
    "abs": lambda a, b: a.abs(),
    "amax": lambda a, b: a.amax(1),
    "atan2": torch.atan2,
    "clamp": lambda a, b: a.clamp(-0.5, 0.5),
    "cosine_similarity": F.cosine_similarity,
    "cumsum": lambda a, b: a.cumsum(0) * b,
    "div": lambda a, b: a / (b * b + 1),
    "div_by_argument": torch.div,
    "div_by_number": lambda a, b: a / 3,
    "elu": lambda a, b: F.elu(a),
    "exp": lambda a, b: a.exp(),
    "fmod": torch.fmod,
    "gelu": lambda a, b: F.gelu(a),
    "huber": F.huber_loss,
    "inverse": lambda a, b: torch.linalg.inv(a),
    "layer_norm": lambda a, b: F.layer_norm(a, (4,)),
    "leaky_relu": lambda a, b: F.leaky_relu(a),
    "log_softmax": lambda a, b: a.log_softmax(1),
    "logsumexp": lambda a, b: a.logsumexp(1),
    "matmul": torch.matmul,
    "maximum": torch.maximum,
    "mish": lambda a, b: F.mish(a),
    "mul": torch.mul,
    "norm": lambda a, b: a / a.norm(dim=1, keepdim=True),
    "pow": lambda a, b: a.abs() ** b,
    "prod": lambda a, b: a.prod(1),
    "reciprocal": lambda a, b: a.reciprocal(),
    "relu": lambda a, b: a.relu(),
    "rsqrt": lambda a, b: (a * a + 1).rsqrt(),
    "sigmoid": lambda a, b: a.sigmoid(),
    "silu": lambda a, b: F.silu(a),
    "softmax": lambda a, b: a.softmax(1),
    "softplus": lambda a, b: F.softplus(a),
    "sort": lambda a, b: a.sort(1).values,
    "sqrt": lambda a, b: (a * a + 1).sqrt(),
    "std": lambda a, b: a.std(1),
    "sum": lambda a, b: (a * b).sum(),
    "tanh": lambda a, b: a.tanh(),
    "where": lambda a, b: torch.where(a > 0, a, b * 2),
}


@pytest.mark.parametrize("written", ["result", "first", "second"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_like_eager(name, written):
    expected = _gradients(FUNCTIONS[name], written)
    outcome, *gradients = _gradients(girih.compile(FUNCTIONS[name]), written)
    assert outcome == expected[0]
    for mine, theirs in zip(gradients, expected[1:], strict=True):
        assert (mine is None) == (theirs is None)
        if theirs is not None:
            torch.testing.assert_close(mine, theirs)


def _gradients(function, written: str) -> list:
    """What the backward pass raises, and the gradients."""
    leaves = [leaf(4, 4), leaf(4, 4, seed=1)]
    first, second = (x * 1 for x in leaves)
    result = function(first, second)
    with torch.no_grad():
        {"result": result, "first": first, "second": second}[written].mul_(2)
    found: list = []

    def pass_back():
        found.extend(torch.autograd.grad(result.sum(), leaves, allow_unused=True))

    outcome = outcome_of(pass_back)
    return [outcome[:40], *found]


def _normalized(x, mean, variance):
    return F.batch_norm(x, mean, variance, training=True)


def _normalized_then_set(x, mean, variance):
    result = F.batch_norm(x, mean, variance, training=True)
    mean[0] = 0
    return result


def _set_then_normalized(x, mean, variance):
    variance.mul_(2)
    return F.batch_norm(x, mean, variance, training=True)


def _normalized_twice(x, mean, variance):
    return _normalized(_normalized(x, mean, variance), mean, variance)


def _normalized_strides(x, mean, variance):
    """The statistics of a program that ends with a check are copied."""
    result = F.batch_norm(x, mean[::2], variance[::2], training=True)
    return result[torch.arange(4)]


@pytest.mark.parametrize("later", ["nothing", "the call", "eager", "mean", "variance"])
@pytest.mark.parametrize(
    "function",
    [_normalized, _normalized_then_set, _set_then_normalized, _normalized_twice],
)
def test_statistics_of_a_batch_norm(function, later):
    expected = _trained(function, function, later, 3)
    found = _trained(girih.compile(function), function, later, 3)
    assert found[0] == expected[0]
    torch.testing.assert_close(found[1:], expected[1:])


@pytest.mark.parametrize("later", ["nothing", "the call", "mean"])
def test_statistics_that_are_copied(later):
    expected = _trained(_normalized_strides, _normalized_strides, later, 6)
    found = _trained(girih.compile(_normalized_strides), _normalized_strides, later, 6)
    assert found[0] == expected[0]
    torch.testing.assert_close(found[1:], expected[1:])


def _trained(function, eager, later: str, count: int) -> list:
    """What the backward pass raises, versions, statistics, and the gradient."""
    x = leaf(4, 3)
    statistics = {"mean": x.new_zeros(count), "variance": x.new_ones(count)}
    result = function(x, *statistics.values())
    if later in ("the call", "eager"):
        (function if later == "the call" else eager)(leaf(4, 3), *statistics.values())
    elif later in statistics:
        statistics[later].zero_()
    found: list = []

    def pass_back():
        found.extend(torch.autograd.grad(result.exp().sum(), x))

    outcome = outcome_of(pass_back)
    versions = [tensor._version for tensor in statistics.values()]
    return [(outcome[:40], versions), *statistics.values(), *found]
