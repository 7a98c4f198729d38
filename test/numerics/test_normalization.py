"""Normalisations, losses and what stands around them, against eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from samples import Sample, Spec, check_sample, each_dtype
from tensors import positive, transposed


def written_out_rms_norm(x, weight):
    scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    return x * scale * weight


def written_out_layer_norm(x, weight, bias):
    centered = x - x.mean(-1, keepdim=True)
    variance = centered.pow(2).mean(-1, keepdim=True)
    return centered / (variance + 1e-5).sqrt() * weight + bias


def batch_norm(x, mean, var, weight, bias):
    return F.relu(F.batch_norm(x, mean, var, weight, bias))


def batch_norm_training(x, weight, bias):
    return F.batch_norm(x, None, None, weight, bias, training=True)


IMAGE = (3, 8, 5, 7)
VARIANCE = Spec((8,), layout=positive)
SAMPLES = (
    Sample(
        "layer_norm",
        lambda x, w, b: F.layer_norm(x, (33,), w, b),
        ((5, 7, 33), (33,), (33,)),
    ),
    Sample("layer_norm-plain", lambda x: F.layer_norm(x, (33,)), ((40, 33),)),
    Sample("layer_norm-two", lambda x: F.layer_norm(x, (7, 33)), ((5, 7, 33),)),
    Sample(
        "layer_norm-wide",
        lambda x, w: F.layer_norm(x, (4099,), w),
        ((3, 4099), (4099,)),
    ),
    Sample(
        "layer_norm-transposed",
        lambda x: F.layer_norm(x, (33,)),
        (Spec((40, 33), layout=transposed),),
    ),
    Sample("layer_norm-rows-0", lambda x: F.layer_norm(x, (33,)), ((0, 33),)),
    Sample(
        "layer_norm-residual",
        lambda x, y: F.layer_norm(F.gelu(x) + y, (65,)) * y,
        ((9, 65), (9, 65)),
    ),
    Sample("rms_norm", lambda x, w: F.rms_norm(x, (33,), w), ((5, 7, 33), (33,))),
    Sample("rms_norm-written-out", written_out_rms_norm, ((21, 130), (130,))),
    Sample(
        "layer_norm-written-out", written_out_layer_norm, ((21, 130), (130,), (130,))
    ),
    Sample("group_norm", lambda x, w, b: F.group_norm(x, 4, w, b), (IMAGE, (8,), (8,))),
    Sample("group_norm-plain", lambda x: F.group_norm(x, 2), (IMAGE,)),
    Sample("instance_norm", F.instance_norm, (IMAGE,)),
    Sample("batch_norm", batch_norm, (IMAGE, (8,), VARIANCE, (8,), (8,))),
    Sample("batch_norm-training", batch_norm_training, (IMAGE, (8,), (8,))),
    Sample("normalize", F.normalize, ((9, 31),)),
    Sample("cosine_similarity", F.cosine_similarity, ((9, 31), (9, 31))),
    Sample("mse_loss", F.mse_loss, ((9, 31), (9, 31))),
    Sample("l1_loss", F.l1_loss, ((9, 31), (9, 31))),
    Sample("smooth_l1_loss", F.smooth_l1_loss, ((9, 31), (9, 31))),
    Sample("huber_loss", F.huber_loss, ((9, 31), (9, 31))),
    Sample(
        "bce-logits",
        lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()),
        ((9, 31), (9, 31)),
    ),
    Sample(
        "kl_div",
        lambda x, y: F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction="batchmean"),
        ((9, 31), (9, 31)),
    ),
    Sample("glu", F.glu, ((9, 32),)),
    Sample("softmax-of-sum", lambda x, y: (x + y).softmax(-1) * 2, ((9, 300), (300,))),
    Sample("softmax-columns", lambda x: x.softmax(0), ((300, 9),)),
    Sample("softmax-long", lambda x: x.softmax(-1), ((2, 70001),)),
)


@pytest.mark.parametrize(("sample", "dtype"), each_dtype(SAMPLES))
def test_normalization(sample, dtype):
    check_sample(sample, dtype, sums=True)
