"""What follows a reduction is computed again where its kernel reads it elsewhere."""

import pytest
import torch
import torch.nn.functional as F
from emulated_device import emulated_device

import girih


def rms(x, weight):
    """An RMS norm whose parts are ops of the graph."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


def halves(y):
    """Rotates the halves of a row."""
    low, high = y.chunk(2, -1)
    return torch.cat((-high, low), -1)


def pairs(y):
    """Rotates neighbours."""
    return torch.stack((-y[..., 1::2], y[..., ::2]), -1).flatten(-2)


TURNED = {
    "halves": lambda x, w: halves(rms(x, w)) * 2,
    "embedding": lambda x, w: rms(x, w) * w + halves(rms(x, w)) * (1 - w),
    "roll": lambda x, w: rms(x, w) + rms(x, w).roll(3, -1),
    "shift": lambda x, w: rms(x, w) + F.pad(rms(x, w), (1, 0))[..., :-1],
    "flip": lambda x, w: rms(x, w) - rms(x, w).flip(-1),
    "centred": lambda x, w: halves((x - x.mean(-1, keepdim=True)) * w),
}
SEVERAL = {
    "other rows": lambda x, w: rms(x, w) + rms(x, w).roll(1, -2),
    "exponentials": lambda x, w: halves((x - x.amax(-1, keepdim=True)).exp()),
    "product of halves": lambda x, w: rms(x, w)[..., :10] * rms(x, w)[..., 10:],
    "pairs": lambda x, w: pairs(rms(x, w)),
}


def compiled(function):
    """Compiles a function of its own for each test; nothing runs eager."""
    return girih.compile(
        lambda *a: function(*a), dynamic=False, options={"fallback": False}
    )


def kernels(run):
    """The number of kernels of the only graph."""
    (graph,) = girih.report(run).graphs
    return graph.kernels


@pytest.mark.parametrize("on_gpu", [False, True])
@pytest.mark.parametrize("shape", [(9, 20), (3, 7, 20), (1, 20), (0, 20)])
@pytest.mark.parametrize("name", [*TURNED, *SEVERAL])
def test_values(name, shape, on_gpu):
    function = {**TURNED, **SEVERAL}[name]
    x, weight = torch.randn(shape), torch.randn(20)
    run = compiled(function)
    if on_gpu:
        with emulated_device():
            actual = run(x, weight)
    else:
        actual = run(x, weight)
    torch.testing.assert_close(actual, function(x, weight), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", TURNED)
def test_one_kernel(name):
    run = compiled(TURNED[name])
    run(torch.randn(64, 20), torch.randn(20))
    assert kernels(run) == 1


@pytest.mark.parametrize("name", ["other rows", "exponentials"])
def test_two_kernels(name):
    run = compiled(SEVERAL[name])
    run(torch.randn(64, 20), torch.randn(20))
    assert kernels(run) == 2


@pytest.mark.parametrize("name", TURNED)
def test_derivatives(name):
    inputs = [torch.randn(5, 20, dtype=torch.float64), torch.randn(20).double()]
    inputs = [t.requires_grad_() for t in inputs]
    run = compiled(TURNED[name])
    assert torch.autograd.gradcheck(run, inputs)
    assert torch.autograd.gradgradcheck(run, inputs, atol=1e-3)
