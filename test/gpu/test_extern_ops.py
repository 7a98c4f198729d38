"""Ops that stay ATen's, between kernels, on a GPU."""

import pytest
import torch
from gpu_device import DEVICE, assert_as_good_as_eager, compiled, normal
from torch.nn import functional as F


def programs():
    index = torch.arange(64, device=DEVICE).flip(0)
    return {
        "sort": lambda x: [part * 1 for part in (x + 1).sort(-1)],
        "topk": lambda x: [part * 1 for part in (x * 2).topk(5)],
        "cumsum": lambda x: (x + 1).cumsum(0) * 2,
        "fft": lambda x: torch.fft.rfft(x * 2).abs() + 1,
        "cholesky": lambda x: torch.linalg.cholesky(x @ x.T + torch.eye(64).to(x)),
        "scatter": lambda x: torch.zeros_like(x).index_add(0, index, x + 1) * 2,
        "convolution": lambda x: F.relu(F.conv1d(x[None], (x * 2)[:, :, None])) + 1,
        "pooling": lambda x: F.max_pool2d((x + 1)[None], 2) * 2,
        "interpolate": lambda x: F.interpolate((x * 2)[None, None], scale_factor=2) + 1,
        "attention": lambda x: F.scaled_dot_product_attention(*[x[None, None]] * 3) + x,
        "products": lambda x: (torch.einsum("ij,kj->ik", x, x + 1) + x).sum(0),
        "unfold": lambda x: x.unfold(0, 3, 2).sum(-1) * 2,
    }


PROGRAMS = programs()


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_and_backward(name):
    function, run = PROGRAMS[name], compiled(PROGRAMS[name])
    x = normal(64, 64)
    with torch.no_grad():
        assert_as_good_as_eager(function, (x,), run(x), 1e-5)
    gradients = []
    for f in (run, function):
        leaf = x.clone().requires_grad_()
        result = f(leaf)
        result = result[0] if isinstance(result, list) else result
        gradients += torch.autograd.grad(result.square().sum(), leaf)
    scale = float(gradients[1].abs().max())
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-4 * scale)


def test_data_dependent_sizes():
    """A break: what follows runs compiled with the size that came out."""

    def select(x):
        return x[x > 0] * 2 + 1

    x = normal(1000)
    run = compiled(select, fullgraph=False)
    torch.testing.assert_close(run(x), select(x))
