"""Random numbers on a GPU: of seeds, fused into kernels, the same where repeated."""

from contextlib import nullcontext

import pytest
import torch
from gpu_device import DEVICE, FLOATS, compiled
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from girih.evaluation.philox import made_of_seeds, seeds, words

COUNT = 33_000 if DEVICE.type == "cpu" else 1 << 20


@pytest.fixture(autouse=True)
def _of_seeds():
    """As for GPUs also where the device is emulated."""
    with made_of_seeds() if DEVICE.type == "cpu" else nullcontext():
        yield


def drawn(run, *inputs):
    torch.manual_seed(1)
    return run(*inputs)


def test_numbers_are_those_of_the_seed():
    x = torch.empty(1000, 33, device=DEVICE)
    found = drawn(compiled(torch.rand_like), x).cpu()
    torch.manual_seed(1)
    (seed,) = seeds(1, DEVICE)
    expected = (
        words(seed, torch.arange(33_000, device="cpu")).long() >> 8
    ).float() * 2**-24
    assert torch.equal(found.flatten(), expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.rand_like(x).t().contiguous().t(),
        lambda x: torch.rand_like(x).sum(-1),
        lambda x: F.softmax(torch.rand_like(x), -1),
        lambda x: torch.rand(x.shape[::-1], device=x.device).reshape(x.shape).sum(0),
    ],
)
def test_kernels_do_not_matter(function):
    """The numbers are drawn alone, then the rest of the function is run on them."""
    x = torch.empty(257, 96, device=DEVICE)
    found = drawn(compiled(function), x)
    numbers = drawn(compiled(torch.rand_like), x)

    class Drawn(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is torch.rand_like:
                return numbers
            if func is torch.rand:
                return numbers.reshape(args[0])
            return func(*args, **(kwargs or {}))

    with Drawn():
        expected = function(x)
    torch.testing.assert_close(found, expected)


MOMENTS = {
    "rand": (torch.rand_like, 0.5, 12**-0.5),
    "randn": (torch.randn_like, 0.0, 1.0),
    "uniform": (lambda x: torch.empty_like(x).uniform_(-1, 3), 1.0, 4 * 12**-0.5),
    "normal": (lambda x: torch.normal(x, 2.0), 0.25, 2.0),
    "exponential": (lambda x: torch.empty_like(x).exponential_(2.0), 0.5, 0.5),
    "bernoulli": (torch.bernoulli, 0.25, 0.1875**0.5),
    "randint": (lambda x: torch.randint_like(x, -3, 7), 1.5, 8.25**0.5),
    "dropout": (lambda x: F.dropout(x, 0.5), 0.25, 0.25),
}


@pytest.mark.parametrize("dtype", [*FLOATS, "float64"])
@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name, dtype):
    function, mean, deviation = MOMENTS[name]
    x = torch.full((COUNT,), 0.25, device=DEVICE, dtype=getattr(torch, dtype))
    sample = drawn(compiled(function), x)
    assert sample.dtype == x.dtype
    sample = sample.double()
    # Uniform numbers in bfloat16 that would be the end of the range become its start.
    rounded = 0.008 if dtype == "bfloat16" else 0
    assert abs(sample.mean() - mean) < (5 / COUNT**0.5 + rounded) * deviation
    assert abs(sample.std() / deviation - 1) < 10 / COUNT**0.5 + rounded


def test_repeated_and_different():
    run = compiled(lambda x: (torch.rand_like(x), F.dropout(x, 0.5)))
    x = torch.ones(999, device=DEVICE)
    first, second = drawn(run, x), run(x)
    third = torch.rand(999, device=DEVICE)
    assert not any(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    for one, other in zip(drawn(run, x), first, strict=True):
        assert torch.equal(one, other)
    run(x)
    assert torch.equal(torch.rand(999, device=DEVICE), third)


def layers(x):
    for _ in range(2):
        x = F.dropout(torch.tanh(x @ x.t() @ x / 64), 0.3)
    return x


@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_backward_passes_use_the_same_masks(is_checkpointed):
    """The program is piecewise linear in each mask: against finite differences."""

    def program(x):
        if is_checkpointed:
            return checkpoint(layers, x, use_reentrant=False)
        return layers(x)

    run = compiled(program)
    x = torch.randn(16, 24, device=DEVICE, dtype=torch.float64, requires_grad=True)
    direction = torch.randn_like(x)
    (gradient,) = torch.autograd.grad(drawn(run, x).sum(), x)
    with torch.no_grad():
        step = 1e-6
        above = drawn(run, x + step * direction).sum()
        below = drawn(run, x - step * direction).sum()
    slope = (above - below) / (2 * step)
    torch.testing.assert_close((gradient * direction).sum(), slope, rtol=1e-5, atol=0)


def test_derivatives_of_derivatives():
    x = torch.randn(999, device=DEVICE, requires_grad=True)
    y = compiled(lambda x: F.dropout(x * x, 0.5))(x)
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, 4.0 * (y != 0))


@pytest.mark.skipif(DEVICE.type == "cpu", reason="eager's numbers are the default")
@pytest.mark.parametrize("function", [torch.rand_like, lambda x: F.dropout(x, 0.4)])
def test_eagers_numbers_where_asked_for(function):
    x = torch.ones(999, device=DEVICE)
    run = compiled(function, options={"fallback_random": True})
    assert torch.equal(drawn(run, x), drawn(function, x))
    assert not torch.equal(drawn(compiled(function), x), drawn(function, x))


@pytest.mark.skipif(DEVICE.type == "cpu", reason="needs CUDA graphs")
def test_recorded_graphs_draw_anew():
    run = compiled(lambda x: F.dropout(x, 0.5), options={"cudagraphs": True})
    x = torch.ones(4096, device=DEVICE)
    first = [drawn(run, x).clone(), *(run(x).clone() for _ in range(5))]
    again = [drawn(run, x).clone(), *(run(x).clone() for _ in range(5))]
    for number, sample in enumerate(first):
        assert torch.equal(sample, again[number])
        assert not any(torch.equal(sample, other) for other in first[:number])
