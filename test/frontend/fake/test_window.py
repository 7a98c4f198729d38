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


LAYOUTS = {
    "rows": (torch.contiguous_format, torch.contiguous_format),
    "innermost": (torch.channels_last, torch.contiguous_format),
    "both_innermost": (torch.channels_last, torch.channels_last),
}


@pytest.mark.parametrize("wanted", [(True, True, True), (False, True, False)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 2, 17])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", LAYERS)
def test_like_eager(kind, layout, rows, dtype, wanted):
    layer, (_, *size) = LAYERS[kind]
    if len(size) != 3 and layout != "rows":
        pytest.skip("no images")
    x, weight = (
        each.to(dtype).contiguous(memory_format=format_)
        for each, format_ in zip(
            (torch.randn(rows, *size), layer.weight.detach()),
            LAYOUTS[layout],
            strict=True,
        )
    )
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
        fakes = [fake_like(mode, each) for each in (y, x, weight)]
        found = gradients(*fakes)
        made = torch.ops.aten.convolution.default(*fakes[1:], None, *options)
    assert (made.shape, made.dtype, made.stride()) == (y.shape, y.dtype, y.stride())
    for one, two, is_wanted in zip(found, expected, wanted, strict=True):
        assert (one is None) == (not is_wanted)
        if is_wanted:
            assert (one.shape, one.dtype) == (two.shape, two.dtype)
            assert one.stride() == two.stride()


@pytest.mark.parametrize("format_", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("groups", [1, 4])
def test_the_number_of_images_is_not_bounded(groups, format_):
    layer = nn.Conv2d(4, 8, 3, padding=1, groups=groups)

    def step(x):
        loss = F.silu(layer(x)).mean()
        return torch.autograd.grad(loss, list(layer.parameters()))

    def images(rows):
        return torch.randn(rows, 4, 6, 5).contiguous(memory_format=format_)

    x = images(4)
    girih.mark_dynamic(x, 0, min=2, max=64)  # an error where fewer are possible
    compiled = girih.compile(step, fullgraph=True)
    for rows in (4, 17, 64):
        x = x if rows == 4 else images(rows)
        for one, two in zip(compiled(x), step(x), strict=True):
            torch.testing.assert_close(one, two)
