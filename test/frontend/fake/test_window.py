"""Gradients of convolutions: sizes and strides of eager, and no bound on sizes."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import girih
from girih.frontend.fake.mode import fake_like, make_fake_mode

LAYERS = {
    "1d": (nn.Conv1d(3, 4, 3, padding=1), (2, 3, 9)),
    "2d": (nn.Conv2d(3, 4, 3, stride=2, padding=1), (2, 3, 9, 8)),
    "grouped": (nn.Conv2d(4, 8, 3, groups=2, dilation=2, bias=False), (2, 4, 9, 8)),
    "each_channel": (nn.Conv2d(6, 6, 5, groups=6, padding=2), (3, 6, 9, 8)),
    "pointwise": (nn.Conv2d(5, 7, 1), (2, 5, 4, 3)),
    "one_channel": (nn.Conv2d(1, 2, 3), (2, 1, 9, 8)),
    "one_pixel": (nn.Conv2d(4, 2, 1), (2, 4, 1, 1)),
    "transposed": (
        nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1),
        (2, 4, 5, 4),
    ),
    "3d": (nn.Conv3d(2, 3, (1, 2, 3)), (2, 2, 3, 4, 5)),
}


@pytest.mark.parametrize("wanted", [(True, True, True), (False, True, False)])
@pytest.mark.parametrize("kind", LAYERS)
def test_like_eager(kind, wanted):
    layer, size = LAYERS[kind]
    x, weight = torch.randn(size), layer.weight.detach()
    lists = (layer.stride, layer.padding, layer.dilation, layer.transposed)
    options = (*lists, layer.output_padding, layer.groups)
    y = torch.ops.aten.convolution.default(x, weight, None, *options)
    bias_sizes = [y.shape[1]] if layer.bias is not None else None

    def gradients(*tensors):
        return torch.ops.aten.convolution_backward.default(
            *tensors, bias_sizes, *options, list(wanted)
        )

    expected = gradients(torch.randn_like(y), x, weight)
    mode = make_fake_mode()
    with mode:
        found = gradients(*[fake_like(mode, each) for each in (y, x, weight)])
    for one, two, is_wanted in zip(found, expected, wanted, strict=True):
        assert (one is None) == (not is_wanted)
        if is_wanted:
            assert (one.shape, one.dtype) == (two.shape, two.dtype)
            assert one.stride() == two.stride()


def test_the_number_of_images_is_not_bounded():
    layer = nn.Conv2d(3, 8, 3, padding=1)

    def step(x):
        loss = F.silu(layer(x)).mean()
        return torch.autograd.grad(loss, list(layer.parameters()))

    x = torch.randn(4, 3, 6, 5)
    girih.mark_dynamic(x, 0, min=2, max=64)  # an error where fewer are possible
    compiled = girih.compile(step, fullgraph=True)
    for rows in (4, 17, 64):
        x = x if rows == 4 else torch.randn(rows, 3, 6, 5)
        for one, two in zip(compiled(x), step(x), strict=True):
            torch.testing.assert_close(one, two)
