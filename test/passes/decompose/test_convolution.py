"""Convolutions with a bias on a GPU, whose sum a kernel computes."""

import pytest
import torch

import girih

nn = torch.nn
CONVOLUTIONS = {
    "plane": (lambda: nn.Conv2d(8, 16, 3, padding=1), (2, 8, 9, 9)),
    "line": (lambda: nn.Conv1d(8, 8, 4, groups=8), (2, 8, 20)),
    "volume": (lambda: nn.Conv3d(2, 4, 3), (1, 2, 5, 5, 5)),
    "transposed": (lambda: nn.ConvTranspose2d(8, 4, 2, stride=2), (2, 8, 5, 5)),
    "channels": (lambda: nn.Conv2d(8, 8, 3, groups=8), (2, 8, 9, 9)),
}


class Activated(nn.Module):
    def __init__(self, convolution):
        super().__init__()
        self.convolution = convolution

    def forward(self, x):
        return nn.functional.silu(self.convolution(x))


def calls(compiled):
    found = [graph.externs for graph in girih.report(compiled).graphs]
    return [name for names in found for name in names]


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_values(device, name, dynamic):
    make, shape = CONVOLUTIONS[name]
    module = Activated(make())
    compiled = girih.compile(module, dynamic=dynamic, options={"fallback": False})
    for batch in (2, 3):
        x = torch.randn(batch, *shape[1:])
        for given in (x, x.transpose(-1, -2).contiguous().transpose(-1, -2)):
            own = given.requires_grad_()
            expected, actual = module(own), compiled(own)
            torch.testing.assert_close(actual, expected)
            assert actual.stride() == expected.stride()
            wanted = [own, *module.parameters()]
            torch.testing.assert_close(
                torch.autograd.grad(actual.square().sum(), wanted),
                torch.autograd.grad(expected.square().sum(), wanted),
                rtol=1e-4,
                atol=1e-4,
            )
    assert device.launched


def test_the_kernel_of_channels_adds_its_bias(device):
    """ATen has one kernel for such a convolution with its bias."""
    biases = {}
    for name in ("plane", "channels"):
        make, shape = CONVOLUTIONS[name]
        compiled = girih.compile(make(), options={"fallback": False})
        with torch.no_grad():
            compiled(torch.randn(shape))
        biases[name] = len(device.launched)
        device.launched.clear()
    assert biases == {"plane": 1, "channels": 0}
