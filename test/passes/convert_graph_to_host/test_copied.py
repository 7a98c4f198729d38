"""Copies of arguments that kernels make while they read them."""

import pytest
import torch

import girih


def norm(x, weight):
    """Eager keeps x in float32, so a write to x changes no gradient."""
    wide = x.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return (wide * scale * (1.0 + weight.float())).to(x.dtype)


def activation(x, weight):
    return (x.float().exp() * weight.float()).to(x.dtype)


def turned(x, weight):
    return (x.mT.float().exp() + weight.float().sum()).to(x.dtype)


def halves(x, weight):
    """No kernel has the domain of x."""
    return (x[..., : x.shape[-1] // 2].float().exp() * weight.float().sum()).bfloat16()


FUNCTIONS = [norm, activation, turned, halves]


def gradients(function, x, weight):
    """The gradients where x is written between the two passes."""
    x, weight = (a.detach().clone().requires_grad_() for a in (x, weight))
    y = function(x, weight)
    with torch.no_grad():
        x.fill_(7)
        weight.fill_(5)
    return torch.autograd.grad(y.float().sum(), (x, weight))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("turn", [False, True])
def test_a_write_between_the_passes(function, dynamic, turn):
    compiled = girih.compile(function, dynamic=dynamic, options={"fallback": False})
    for shape in ((4, 8), (3, 5), (2, 3, 6), (1, 1)):
        x = torch.randn(shape).bfloat16()
        x = x.mT.contiguous().mT if turn else x
        weight = torch.randn(shape[-1]).bfloat16()
        torch.testing.assert_close(
            gradients(compiled, x, weight),
            gradients(function, x, weight),
            rtol=2e-2,
            atol=2e-2,
        )


def test_a_kernel_copies_what_it_reads(device):
    compiled = girih.compile(norm, options={"fallback": False})
    x, weight = torch.randn(32, 64).bfloat16(), torch.randn(64).bfloat16()
    x.requires_grad_()
    compiled(x, weight)
    names = [name for name in device.launched if "copy" in name]
    assert len(device.launched) - len(names) == 1
    assert len(names) <= 1  # the weight's, which is no element of each row
