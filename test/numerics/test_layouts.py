"""Layouts that the compiler chooses: of images and of operands of matrix products."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import girih

TOLERANCE = {"rtol": 1e-3, "atol": 1e-4}


def lies_like(one, other):
    """Whether strides are equal, but for dims of size 1."""
    dims = zip(one.shape, one.stride(), other.stride(), strict=True)
    return all(size == 1 or here == there for size, here, there in dims)


def network():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 8, 1),
    )


def depthwise():
    return nn.Sequential(
        nn.Conv2d(3, 12, 3), nn.GELU(), nn.Conv2d(12, 12, 3, groups=12)
    )


@pytest.mark.parametrize("make", [network, depthwise])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_images_lie_as_in_eager(make, layout):
    torch.manual_seed(0)
    model = make().eval()
    x = torch.randn(4, 3, 17, 19).contiguous(memory_format=layout)
    with torch.no_grad():
        expected = model(x)
        actual = girih.compile(model, fullgraph=True)(x)
    assert actual.stride() == expected.stride()
    torch.testing.assert_close(actual, expected, **TOLERANCE)


@pytest.mark.parametrize("make", [network, depthwise])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_gradients_lie_as_in_eager(make, layout):
    torch.manual_seed(0)
    model = make()
    base = torch.randn(4, 3, 17, 19).contiguous(memory_format=layout)
    found = []
    for function in (model, girih.compile(model, fullgraph=True)):
        x = base.clone().requires_grad_()
        y = function(x)
        found.append((y, *torch.autograd.grad(y.sin().sum(), [x, *model.parameters()])))
    for actual, expected in zip(*reversed(found), strict=True):
        torch.testing.assert_close(actual, expected, **TOLERANCE)
    results, gradients = zip(*found, strict=True), found[1][2:]
    assert all(lies_like(*pair) for pair in list(results)[:2])
    weights = model.parameters()
    assert all(map(lies_like, gradients, weights))


def test_second_derivatives_of_convolutions():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.Tanh(), nn.Conv2d(4, 2, 3))
    base = torch.randn(2, 2, 9, 9)
    found = []
    for function in (model, girih.compile(model, fullgraph=True)):
        x = base.clone().requires_grad_()
        (g,) = torch.autograd.grad(function(x).sin().sum(), x, create_graph=True)
        found.append(torch.autograd.grad(g.square().sum(), [x, model[0].weight]))
    for actual, expected in zip(*reversed(found), strict=True):
        torch.testing.assert_close(actual, expected, **TOLERANCE)


@pytest.mark.parametrize("rows", [16, 256])
@pytest.mark.parametrize("transposed", [False, True])
def test_large_products(rows, transposed):
    """Sizes from which another library than MKL may compute them."""
    torch.manual_seed(0)
    weight, bias = torch.randn(300, 512), torch.randn(300)

    def f(x, weight, bias):
        x = x.t() if transposed else x
        y = F.linear(x, weight, bias)
        return y, x @ weight.t(), y.t() @ x

    shape = (512, rows) if transposed else (rows, 512)
    inputs = [torch.randn(shape), weight, bias]
    expected = f(*inputs)
    actual = girih.compile(f, fullgraph=True)(*inputs)
    for one, other in zip(actual, expected, strict=True):
        assert one.stride() == other.stride()
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-2)


def test_large_products_of_any_batch():
    torch.manual_seed(0)
    model = nn.Linear(512, 300)
    compiled = girih.compile(model, dynamic=True)
    for batch in (2, 5, 300):
        x = torch.randn(batch, 512)
        torch.testing.assert_close(compiled(x), model(x), **TOLERANCE)


def of_one_element_or_none(x):
    doubled = x * 2
    return (
        torch.zeros(1).expand(0),
        x.sum()[None].expand(0),
        x[:1].expand(0, 5),
        doubled[:1, None].expand(1, 0, 5),
        doubled[:0],
        x[:, 2:2],
        doubled.t()[:0],
        torch.ones(3, 1).expand(3, 0),
        doubled.t()[:1],
        x[:, :1],
        x[:1].t(),
        x.sum(0, keepdim=True).t(),
        x.sum(0).expand(1, 1, 5),
    )


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("dynamic", [False, True])
def test_strides_of_dims_with_one_element_or_none(dynamic, gradients):
    x = torch.randn(4, 5, requires_grad=gradients)
    expected = of_one_element_or_none(x)
    compiled = girih.compile(of_one_element_or_none, fullgraph=True, dynamic=dynamic)
    actual = compiled(x)
    assert [y.stride() for y in actual] == [y.stride() for y in expected]
    torch.testing.assert_close(actual, expected)
    if gradients:
        joined = [torch.cat([y.flatten() for y in ys]) for ys in (actual, expected)]
        found = [torch.autograd.grad(y.square().sum(), x)[0] for y in joined]
        torch.testing.assert_close(*found)


@pytest.mark.parametrize("dynamic", [False, True])
def test_norms_of_turned_batches_lie_as_in_eager(dynamic):
    """With symbolic sizes torch's own kernels in Python decompose them otherwise."""
    x = torch.randn(5, 4).t().requires_grad_()
    norm = nn.BatchNorm1d(5, track_running_stats=False)
    images = nn.BatchNorm2d(3, track_running_stats=False)
    y = torch.randn(2, 3, 5, 6).contiguous(memory_format=torch.channels_last)
    program = lambda x, y: (norm(x), images(y))  # noqa: E731
    compiled = girih.compile(program, fullgraph=True, dynamic=dynamic)
    expected, actual = program(x, y), compiled(x, y)
    assert [z.stride() for z in actual] == [z.stride() for z in expected]
    torch.testing.assert_close(actual, expected)
    gradients = [torch.autograd.grad(z[0].pow(3).sum(), x) for z in (actual, expected)]
    torch.testing.assert_close(*gradients)


def test_what_eager_refuses_is_refused_with_symbolic_sizes():
    compiled = girih.compile(F.hardshrink, dynamic=True)
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        compiled(torch.arange(20).reshape(4, 5))


# Images of one channel, or of one pixel, that lie with channels innermost all the same.
IMAGES = {
    "channels innermost": lambda *sizes: torch.randn(sizes).contiguous(
        memory_format=torch.channels_last
    ),
    "row by row": torch.randn,
    "as if innermost": lambda n, c, h, w: torch.randn(n, h, w, c).permute(0, 3, 1, 2),
}
LAYERS = {
    "convolution": lambda c: nn.Conv2d(c, 4, 3, padding=1, bias=False),
    "channels last weight": lambda c: nn.Conv2d(c, 4, 3, padding=1).to(
        memory_format=torch.channels_last
    ),
    "transposed": lambda c: nn.ConvTranspose2d(c, 4, 3, 2),
    "two convolutions": lambda c: nn.Sequential(nn.Conv2d(c, 1, 1), nn.Conv2d(1, 8, 1)),
    "maximum": lambda c: nn.MaxPool2d(3, 2, 1),
    "average": lambda c: nn.AvgPool2d(3, 2, 1),
    "adaptive": lambda c: nn.AdaptiveAvgPool2d(2),
    "batch norm": nn.BatchNorm2d,
    "group norm": lambda c: nn.GroupNorm(1, c),
    "bilinear": lambda c: nn.Upsample(scale_factor=2, mode="bilinear"),
    "padding": lambda c: nn.ZeroPad2d(1),
    "relu": lambda c: nn.ReLU(),
    "joined": lambda c: lambda x: torch.cat([x, x], 1),
    "side by side": lambda c: lambda x: torch.cat([x, x], 3),
    "larger": lambda c: lambda x: x + torch.ones(1, 4, 1, 1) if c == 1 else x,
}


@pytest.mark.parametrize("sizes", [(1, 6, 6), (3, 1, 1), (1, 1, 1), (3, 6, 6)], ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_memory_formats_of_small_images(name, sizes):
    torch.manual_seed(0)
    layer = LAYERS[name](sizes[0])
    compiled = girih.compile(layer, dynamic=False, options={"fallback": False})
    for image in IMAGES.values():
        x = image(2, *sizes)
        expected, actual = layer(x), compiled(x)
        assert actual.stride() == expected.stride()
        torch.testing.assert_close(actual, expected, **TOLERANCE)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("gradients", [False, True])
def test_images_that_are_resized(mode, gradients):
    """PyTorch's decompositions lay results out where autograd does not see it."""
    layer = nn.Upsample(size=(9, 4), mode=mode)
    compiled = girih.compile(layer, options={"fallback": False})
    for image in IMAGES.values():
        x = image(2, 3, 6, 6).requires_grad_(gradients)
        expected, actual = layer(x), compiled(x)
        assert actual.stride() == expected.stride()
        torch.testing.assert_close(actual, expected, **TOLERANCE)
        if gradients:
            (mine,) = torch.autograd.grad(actual.square().sum(), x)
            (theirs,) = torch.autograd.grad(expected.square().sum(), x)
            torch.testing.assert_close(mine, theirs, **TOLERANCE)
