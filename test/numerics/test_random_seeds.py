"""Random numbers that programs make of seeds, as they do on GPUs; here on the CPU."""

from __future__ import annotations

from math import erf, sqrt

import pytest
import torch
import torch.nn.functional as F
from emulated_device import emulated_device
from torch.utils.checkpoint import checkpoint

import girih
from girih.evaluation.philox import made_of_seeds, seeds, words

COUNT = 200_000


@pytest.fixture(autouse=True)
def _of_seeds():
    with made_of_seeds():
        yield
    girih.reset()


def drawn(function, *inputs):
    torch.manual_seed(1)
    return girih.compile(function, fullgraph=True)(*inputs)


def uniform(count):
    """What ``rand`` gives for the seed that comes next."""
    (seed,) = seeds(1)
    return (words(seed, torch.arange(count)).long() >> 8).float() * 2**-24


# Distributions ------------------------------------------------------------------------


def assert_distributed(sample, share_below):
    """Kolmogorov and Smirnov's test; it fails by chance once in 10,000 seeds."""
    ordered = sample.double().flatten().sort().values
    expected = share_below(ordered)
    steps = torch.arange(len(ordered) + 1, dtype=torch.float64) / len(ordered)
    above, below = steps[1:] - expected, expected - steps[:-1]
    assert max(above.max(), below.max()) * len(ordered) ** 0.5 < 2.23


def normal_share(x):
    return (1 + torch.special.erf(x / sqrt(2))) / 2


UNIFORM = [
    lambda x: torch.rand(COUNT, dtype=x.dtype),
    torch.rand_like,
    lambda x: torch.empty_like(x).uniform_(),
]
NORMAL = [
    lambda x: torch.randn(COUNT, dtype=x.dtype),
    torch.randn_like,
    lambda x: torch.normal(0.0, 1.0, (COUNT,), dtype=x.dtype),
    lambda x: torch.normal(torch.zeros_like(x)),
    lambda x: torch.normal(torch.zeros_like(x), torch.ones_like(x)),
    lambda x: torch.empty_like(x).normal_(),
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("function", UNIFORM)
def test_uniform(function, dtype):
    sample = drawn(function, torch.empty(COUNT, dtype=dtype))
    assert sample.dtype == dtype
    assert sample.min() >= 0
    assert sample.max() < 1
    assert_distributed(sample, lambda x: x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("function", NORMAL)
def test_normal(function, dtype):
    sample = drawn(function, torch.empty(COUNT, dtype=dtype))
    assert sample.dtype == dtype
    assert_distributed(sample, normal_share)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_narrow_floats_are_rounded_ones(dtype):
    x = torch.empty(COUNT, dtype=dtype)
    sample = drawn(torch.rand_like, x)
    assert sample.dtype == dtype
    assert 0 <= sample.min() <= sample.max() < 1
    assert abs(sample.double().mean() - 0.5) < 0.01
    sample = drawn(torch.randn_like, x).double()
    assert abs(sample.mean()) < 0.01
    assert abs(sample.std() - 1) < 0.01


def test_ranges():
    x = torch.empty(COUNT)
    sample = drawn(lambda x: torch.empty_like(x).uniform_(-3, 5), x)
    assert_distributed(sample, lambda x: (x + 3) / 8)
    sample = drawn(lambda x: torch.empty_like(x).normal_(4, 0.5), x)
    assert_distributed(sample, lambda x: normal_share((x - 4) * 2))
    sample = drawn(lambda x: torch.empty_like(x).exponential_(2.0), x)
    assert sample.min() > 0
    assert_distributed(sample, lambda x: 1 - torch.exp(-2 * x))


INTEGERS = [
    lambda x: torch.randint(-3, 7, (COUNT,)),
    lambda x: torch.randint(10, (COUNT,)) - 3,
    lambda x: torch.randint_like(x, -3, 7).long(),
    lambda x: torch.randint_like(x, 10).long() - 3,
    lambda x: torch.empty_like(x).random_(-3, 7).long(),
    lambda x: torch.empty(COUNT, dtype=torch.int64).random_(10) - 3,
]


@pytest.mark.parametrize("function", INTEGERS)
def test_integers(function):
    counts = torch.bincount(drawn(function, torch.empty(COUNT)) + 3, minlength=10)
    assert len(counts) == 10
    expected = COUNT / 10
    # Chi squared with 9 degrees of freedom: above 33.7 once in 10,000 seeds.
    assert (counts - expected).square().sum() / expected < 33.7


def test_wide_ranges():
    sample = drawn(lambda x: torch.randint(0, 2**31, (COUNT,)), torch.empty(1))
    assert_distributed(sample, lambda x: x / 2**31)
    low, high = -(2**62), 2**62
    sample = drawn(lambda x: torch.randint(low, high, (COUNT,)), torch.empty(1))
    assert_distributed(sample, lambda x: (x - low) / (high - low))


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.3, 0.999, 1.0])
def test_zeros_and_ones(share):
    x = torch.full((COUNT,), share)
    bound = 4 * sqrt(share * (1 - share) / COUNT)
    for function in (
        torch.bernoulli,
        lambda x: torch.bernoulli(x, share),
        lambda x: torch.empty_like(x).bernoulli_(share),
        lambda x: torch.empty(COUNT, dtype=torch.int64).bernoulli_(share),
    ):
        sample = drawn(function, x)
        assert set(sample.unique().tolist()) <= {0, 1}
        assert abs(sample.double().mean() - share) <= bound


def test_neighbours_are_independent():
    x = torch.empty(COUNT)
    for function in (torch.randn_like, lambda x: torch.rand_like(x) - 0.5):
        sample = drawn(function, x).double()
        for distance in (1, 2, 3, 4, 8):
            pair = torch.stack([sample[:-distance], sample[distance:]])
            assert abs(torch.corrcoef(pair)[0, 1]) < 4 / COUNT**0.5


def test_normal_numbers_reach_far():
    """Of four million about eight are beyond five deviations."""
    sample = drawn(lambda x: torch.randn(1 << 22), torch.empty(1)).abs()
    assert 0 < (sample > 5).sum() < 25
    assert abs((sample < 1).double().mean() - erf(1 / sqrt(2))) < 1e-3


# Streams ------------------------------------------------------------------------------


def test_numbers_are_those_of_the_seed():
    found = drawn(lambda x: torch.rand(COUNT), torch.empty(1))
    torch.manual_seed(1)
    assert torch.equal(found, uniform(COUNT))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.rand_like(x) * 1,
        lambda x: torch.rand_like(x).t().contiguous().t(),
        lambda x: torch.rand(x.shape[::-1]).reshape(x.shape) * 1,
        lambda x: torch.stack([torch.rand_like(x) + 0, x])[0],
        lambda x: torch.rand(x.numel())[None].expand(2, -1)[1].view(x.shape) + 0,
        lambda x: F.pad(torch.rand_like(x), (1, 1))[:, 1:-1] + 0,
    ],
)
@pytest.mark.parametrize("shape", [(37, 53), (1, 1), (64, 128)])
def test_kernels_do_not_matter(function, shape):
    """Whoever reads a number, wherever it lies: its place decides."""
    found = drawn(function, torch.zeros(shape))
    torch.manual_seed(1)
    assert torch.equal(found, uniform(found.numel()).view(shape))


def test_sizes_that_vary():
    compiled = girih.compile(lambda x: torch.rand_like(x) * 2, dynamic=True)
    for count in (5, 1000, 31):
        torch.manual_seed(1)
        found = compiled(torch.empty(count))
        torch.manual_seed(1)
        assert torch.equal(found, uniform(count) * 2)


def test_seeding_repeats_and_calls_differ():
    compiled = girih.compile(lambda x: (torch.rand_like(x), torch.rand_like(x)))
    x = torch.empty(100)
    torch.manual_seed(1)
    first, second = compiled(x)
    third, _ = compiled(x)
    plain = torch.rand(100)
    assert len({t[0].item() for t in (first, second, third, plain)}) == 4
    torch.manual_seed(1)
    again = compiled(x)
    assert torch.equal(torch.stack(again), torch.stack([first, second]))
    compiled(x)
    assert torch.equal(torch.rand(100), plain)


def test_no_elements():
    assert drawn(torch.rand_like, torch.empty(0, 3)).shape == (0, 3)
    assert 0 <= drawn(torch.rand_like, torch.empty(())) < 1


# Dropout ------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("native", [False, True])
def test_dropout(share, native):
    x = torch.ones(COUNT, requires_grad=True)

    def dropout(x):
        if native:
            return torch.native_dropout(x, share, True)[0]
        return F.dropout(x, share)

    y = drawn(dropout, x)
    kept = y != 0
    assert abs(kept.double().mean() - (1 - share)) < 0.005
    if share < 1:
        assert torch.allclose(y[kept], torch.tensor(1 / (1 - share)))
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(gradient, y)


def test_mask_of_dropout():
    x = torch.randn(50, 60)
    y, mask = drawn(lambda x: torch.native_dropout(x, 0.25, True), x)
    torch.testing.assert_close(y, x * mask / 0.75)
    y, mask = drawn(lambda x: torch.native_dropout(x, 0.25, False), x)
    assert mask.all()
    assert torch.equal(y, x)


def test_infinities_that_are_dropped_are_nan_as_in_eager():
    x = torch.full((1000,), float("inf"))
    y = drawn(lambda x: torch.native_dropout(x, 0.5, True)[0], x)
    assert (y.isinf() | y.isnan()).all()
    assert y.isnan().any()


def layers(x, weight):
    for _ in range(3):
        x = F.dropout(torch.tanh(x @ weight), 0.4)
    return x


def test_backward_pass_uses_the_same_masks():
    """Against finite differences of the program itself, drawn with one seed."""
    x = torch.randn(4, 16, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(16, 16, dtype=torch.float64) / 4
    compiled = girih.compile(layers, fullgraph=True)

    def seeded(x):
        torch.manual_seed(5)
        return compiled(x, weight)

    assert torch.autograd.gradcheck(seeded, x)
    assert torch.autograd.gradgradcheck(seeded, x)


def test_checkpoints_use_the_same_masks():
    def program(x, weight):
        return checkpoint(layers, x, weight, use_reentrant=False)

    x = torch.randn(8, 32, requires_grad=True)
    weight = torch.randn(32, 32) / 5
    found = []
    for function in (layers, program):
        y = drawn(function, x, weight)
        found.append((y, *torch.autograd.grad(y.sum(), x)))
    for plain, checkpointed in zip(*found, strict=True):
        torch.testing.assert_close(checkpointed, plain)


def test_nothing_but_seeds_is_kept():
    x = torch.randn(1 << 16, requires_grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: kept.append(t) or t, lambda t: t
    ):
        drawn(lambda x: F.dropout(x, 0.1), x).sum().backward()
    assert sum(t.numel() for t in kept) == 1


def test_gradients_of_noise_are_eagers():
    x = torch.rand(9, requires_grad=True)
    for function in (torch.bernoulli, lambda x: torch.normal(x, 1.0)):
        (gradient,) = torch.autograd.grad(drawn(function, x).sum(), x)
        assert torch.equal(gradient, torch.zeros(9))
    y = drawn(lambda x: x * torch.randn_like(x), x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gradient * x, y)


class Noisy(torch.autograd.Function):
    """Twice its argument, with noise for a gradient."""

    @staticmethod
    def forward(ctx, x):
        """2 x."""
        return x * 2

    @staticmethod
    def backward(ctx, g):
        """Uniform numbers."""
        return g * torch.rand_like(g)


def test_noise_in_a_backward_pass():
    x = torch.randn(COUNT, requires_grad=True)
    y = drawn(lambda x: F.dropout(Noisy.apply(x), 0.5), x)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(gradient != 0, y != 0)
    assert_distributed(gradient[y != 0] / 2, lambda x: x)


# Devices ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.dropout(x, 0.3) * 2,
        lambda x: torch.rand_like(x).sum(-1),
        torch.randn_like,
        lambda x: torch.randint(0, 9, x.shape),
    ],
)
def test_device_computes_what_the_processor_computes(function):
    x = torch.randn(33, 70)
    expected = drawn(function, x)
    with emulated_device() as device:
        found = drawn(function, x)
    assert device.launched
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)
