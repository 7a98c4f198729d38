"""With freezing: what convolutions do of the norms, sums and others around them."""

from __future__ import annotations

import pytest
import torch
from frozen_modules import ACTIVATIONS, OPTIONS, assert_like, frozen, settle
from torch import nn

import girih


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_of_sums(activation):
    """oneDNN computes a sum behind a convolution, and few activations of that."""
    torch.manual_seed(0)
    convolution, last = nn.Conv2d(16, 16, 3, padding=1), ACTIVATIONS[activation]
    compiled = frozen(lambda x, y: last(convolution(x) + y))
    x, y = torch.randn(2, 2, 16, 9, 7)
    assert_like(compiled, lambda x, y: last(convolution(x) + y), x, y)


class Branches(nn.Module):
    """Convolutions of one image, and the image itself, each normalised, added up."""

    def __init__(self, groups=1, size=3, stride=1, made=8, dilation=1, affine=True):
        super().__init__()
        pad = size // 2 * dilation
        args = (8, made, size, stride, pad, dilation, groups)
        self.large = nn.ModuleList(nn.Conv2d(*args, bias=not affine) for _ in range(2))
        self.small = nn.Conv2d(8, made, 1, stride, groups=groups, bias=False)
        count = 3 + (made == 8 and stride == 1)
        self.norms = nn.ModuleList(
            nn.BatchNorm2d(made, affine=affine) for _ in range(count)
        )

    def forward(self, x):
        branches = (self.small, *self.large, nn.Identity())
        terms = [norm(f(x)) for f, norm in zip(branches, self.norms, strict=False)]
        return sum(terms[1:], terms[0]).relu()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"groups": 8, "size": 5},
        {"groups": 2, "dilation": 2},
        {"stride": 2, "made": 16},
        {"groups": 4, "made": 16, "affine": False},
        {"size": 1, "affine": False},
    ],
)
def test_convolutions_of_one_image_are_one(options):
    torch.manual_seed(0)
    module = settle(Branches(**options))
    compiled = frozen(module)
    for shape in ((2, 8, 9, 12), (1, 8, 14, 14)):
        assert_like(compiled, module, torch.randn(shape))
    for report in girih.report(compiled).graphs:
        assert report.constants is None or report.kernels + report.externs <= 3
    with torch.no_grad():
        module.norms[-1].running_var.mul_(3)
    assert_like(compiled, module, torch.randn(2, 8, 9, 12))


class Mixed(nn.Module):
    """A norm in front, and one of convolutions side by side."""

    def __init__(self, affine):
        super().__init__()
        self.first = nn.BatchNorm2d(8, affine=affine)
        self.parts = nn.ModuleList([nn.Conv2d(4, 6, 1), nn.Conv2d(4, 4, 3, padding=1)])
        self.norm = nn.BatchNorm2d(10, affine=affine)

    def forward(self, x):
        halves = zip(self.parts, self.first(x).relu().split(4, 1), strict=True)
        return self.norm(torch.cat([part(half) for part, half in halves], 1)).relu()


@pytest.mark.parametrize("affine", [True, False])
def test_norms_beside_and_in_front(affine, tmp_path):
    torch.manual_seed(0)
    module = settle(Mixed(affine))
    compiled = girih.compile(module, options={**OPTIONS, "dump_dir": tmp_path})
    for shape in ((2, 8, 9, 12), (1, 8, 14, 14)):
        assert_like(compiled, module, torch.randn(shape))
    programs = [p for p in tmp_path.glob("*-graph*") if "constants" not in p.name]
    fused = [next(each.glob("*fused.mlir")).read_text() for each in programs]
    assert fused and not any("rsqrt" in text for text in fused)


class Twice(nn.Module):
    """One convolution, or one with its norm, of two images."""

    def __init__(self, normalised):
        super().__init__()
        self.convolution = nn.Conv2d(16, 16, 3, padding=1)
        self.norm = nn.BatchNorm2d(16) if normalised else nn.Identity()

    def forward(self, x):
        y = self.norm(self.convolution(x)).tanh()
        return (
            self.norm(self.convolution(y))
            + self.norm(self.convolution(x[..., 1:]))[..., :1]
        )


@pytest.mark.parametrize("normalised", [False, True])
def test_a_convolution_that_is_called_again(normalised):
    torch.manual_seed(0)
    module = settle(Twice(normalised))
    compiled = frozen(module)
    for shape in ((1, 16, 8, 8), (2, 16, 9, 7)):
        assert_like(compiled, module, torch.randn(shape))
