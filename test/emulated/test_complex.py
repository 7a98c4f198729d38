"""Complex numbers in kernels of an emulated GPU, against eager."""

import torch

import girih


def rotary(x, f):
    """Llama's rotary embedding."""
    z = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(z * f[:, None]).flatten(-2).type_as(x)


def arithmetic(z, w):
    return (z * w + z / w - w.conj()).abs(), (z * 1j).exp() * w


def test_rotary_embedding(device):
    compiled = girih.compile(rotary, fullgraph=True)
    f = torch.polar(torch.ones(7, 9), torch.randn(7, 9))
    for dtype in (torch.float32, torch.bfloat16):
        gradients = []
        for call in (compiled, rotary):
            torch.manual_seed(0)
            x = torch.randn(2, 7, 3, 18, dtype=dtype, requires_grad=True)
            result = call(x, f)
            gradients += [result, *torch.autograd.grad(result.square().sum(), x)]
        torch.testing.assert_close(gradients[:2], gradients[2:])
    assert device.launched


def test_arithmetic(device):
    compiled = girih.compile(arithmetic, fullgraph=True)
    z, w = torch.randn(2, 33, 5, dtype=torch.complex64)
    torch.testing.assert_close(compiled(z, w), arithmetic(z, w))
    assert device.launched
    for graph in girih.report(compiled).graphs:
        assert graph.fallback is None
