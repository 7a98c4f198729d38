"""Kinds of programs of networks for images."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from benchmarks.shapes.draw import Draw
from benchmarks.shapes.kinds import kind


def _images(count: int = 1, vectors: int = 0, least_side: int = 7):
    def make(d: Draw):
        shape = d.images(least_side)
        vector = [d.uniform(shape[1], dtype=torch.float32) for _ in range(vectors)]
        return (*(d.normal(*shape) for _ in range(count)), *vector)

    return make


def _even_images(count: int = 1):
    def make(d: Draw):
        batch, channels, side, _ = d.images(8)
        side -= side % 2
        return tuple(d.normal(batch, channels, side, side) for _ in range(count))

    return make


@kind(_images(vectors=4), fixed=(1, 2))
def batch_norm_relu(x, mean, variance, weight, bias):
    """Batch norm with known statistics, then ReLU."""
    return F.relu(F.batch_norm(x, mean, variance, weight, bias))


@kind(_images(count=2, vectors=4), fixed=(2, 3))
def batch_norm_add_relu(x, residual, mean, variance, weight, bias):
    """Batch norm, a residual and ReLU."""
    return F.relu(F.batch_norm(x, mean, variance, weight, bias) + residual)


@kind(_images(vectors=2))
def batch_statistics(x, weight, bias):
    """Batch norm with the batch's own statistics, then SiLU."""
    return F.silu(F.batch_norm(x, None, None, weight, bias, training=True))


def _grouped(d: Draw):
    batch, _, side, _ = d.images(8)
    channels = d.choice((32, 64, 128, 256, 320))
    batch = min(batch, 8)
    return d.normal(batch, channels, side, side), d.normal(channels), d.normal(channels)


@kind(_grouped)
def group_norm_silu(x, weight, bias):
    """Group norm and SiLU, as in diffusion networks."""
    return F.silu(F.group_norm(x, 32, weight, bias))


@kind(_images())
def instance_norm(x):
    """Each image's channel with mean zero and variance one."""
    return F.instance_norm(x)


@kind(_images())
def global_pool(x):
    """The mean of each channel of HardSwish."""
    return F.hardswish(x).mean((2, 3))


@kind(_even_images())
def relu_max_pool(x):
    """ReLU and the maximum over windows that overlap."""
    return F.max_pool2d(F.relu(x), 3, 2, 1)


@kind(_even_images())
def average_pool(x):
    """Means over windows of two by two."""
    return F.avg_pool2d(F.silu(x), 2)


@kind(_even_images())
def adaptive_pool(x):
    """Means over four by four parts of an image."""
    return F.adaptive_avg_pool2d(x, 4)


def _skip(d: Draw):
    batch, channels, side, _ = d.images(8)
    side -= side % 2
    half = d.normal(batch, channels, side // 2, side // 2)
    return half, d.normal(batch, channels, side, side)


@kind(_skip)
def upsample_and_join(x, skip):
    """An image twice as large, beside another one, as in a U-Net."""
    return F.relu(torch.cat((F.interpolate(x, scale_factor=2.0), skip), dim=1))


@kind(_skip)
def bilinear_sum(x, skip):
    """An image twice as large by interpolation, and a sum, as in feature pyramids."""
    size = skip.shape[2:]
    return skip + F.interpolate(x, size=size, mode="bilinear", align_corners=False)


def _scaled(d: Draw):
    shape = d.images()
    return d.normal(*shape), d.normal(*shape[:2], 1, 1)


@kind(_scaled)
def squeeze_excite(x, scale):
    """Channels scaled by a sigmoid."""
    return x * torch.sigmoid(scale)


@kind(_scaled)
def layer_scale(x, scale):
    """ConvNeXt's norm over channels of an image whose channels come first."""
    y = F.layer_norm(x.permute(0, 2, 3, 1), (x.shape[1],))
    return (y.permute(0, 3, 1, 2) * scale[:1]).contiguous()


@kind(_even_images())
def pixel_shuffle(x):
    """Four channels as one image of twice the side."""
    return F.pixel_shuffle(F.relu(x), 2)


@kind(_even_images())
def space_to_depth(x):
    """Blocks of two by two as channels."""
    return F.pixel_unshuffle(x, 2) * 0.5


def _windows(d: Draw):
    channels = d.choice((96, 128, 192, 384))
    side = d.choice((14, 28, 56))
    batch = d.rows_at_most(channels * side * side, 32)
    return (d.normal(batch, side, side, channels),)


@kind(_windows)
def shifted_windows(x):
    """An image rolled and cut into windows, as in Swin."""
    batch, side, _, channels = x.shape
    y = x.roll((-3, -3), (1, 2)).view(batch, side // 7, 7, side // 7, 7, channels)
    return y.transpose(2, 3).reshape(-1, 49, channels)


def _pictures(d: Draw):
    side = d.choice((96, 224, 256, 384))
    return (
        d.integers(256, d.rows_at_most(3 * side * side, 64), side, side, 3).byte(),
        torch.tensor([0.485, 0.456, 0.406]),
        torch.tensor([0.229, 0.224, 0.225]),
    )


@kind(_pictures, trains=False)
def normalised_pictures(x, mean, deviation):
    """Bytes as floats with zero mean, channels first."""
    return ((x / 255.0 - mean) / deviation).permute(0, 3, 1, 2).contiguous()


@kind(_images(least_side=8))
def reflect_pad(x):
    """A border that mirrors the image."""
    return F.relu(F.pad(x, (1, 1, 1, 1), mode="reflect"))


@kind(_images())
def channel_shuffle(x):
    """Channels of two groups in turn, as in ShuffleNet."""
    return F.channel_shuffle(F.relu(x), 2)


def _boxes(d: Draw):
    count = d.choice((100, 300, 900, 2000))
    ends = d.uniform(2, count, 2, dtype=torch.float32)
    return torch.cat((ends[0], ends[0] + ends[1]), dim=1), torch.cat(
        (ends[1], ends[1] + ends[0]), dim=1
    )


@kind(_boxes, trains=False)
def box_overlaps(a, b):
    """Overlap over union of all pairs of boxes."""
    low = torch.maximum(a[:, None, :2], b[None, :, :2])
    high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    common = (high - low).clamp(min=0).prod(-1)
    area = [(x[:, 2:] - x[:, :2]).prod(-1) for x in (a, b)]
    return common / (area[0][:, None] + area[1] - common)


def _masks(d: Draw):
    side = d.choice((64, 128, 256))
    batch = d.rows_at_most(side * side, 32)
    logits = d.normal(batch, 1, side, side)
    return logits, d.integers(2, batch, 1, side, side).to(d.dtype)


@kind(_masks)
def dice_loss(logits, target):
    """Dice loss of a segmentation, and focal loss."""
    p = logits.float().sigmoid()
    t = target.float()
    overlap = (p * t).sum((1, 2, 3))
    dice = 1 - (2 * overlap + 1) / (p.sum((1, 2, 3)) + t.sum((1, 2, 3)) + 1)
    entropy = F.binary_cross_entropy_with_logits(logits.float(), t, reduction="none")
    focal = (entropy * (1 - (p * t + (1 - p) * (1 - t))) ** 2).mean((1, 2, 3))
    return (dice + focal).mean()
