"""Weights of convolutions that do what the batch norms after them did."""

from __future__ import annotations

import torch
from torch import Tensor

from . import torch_entry

NAME = "girih.fold_batch_norm.default"


def fold_batch_norm(
    weight: Tensor,
    bias: Tensor | None,
    gamma: Tensor | None,
    beta: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
    dim: int,
) -> list[Tensor]:
    """Weight and bias of a convolution followed by a batch norm in evaluation.

    It computes in float64: products of three numbers are rounded once.

    Args:
        weight: Of the convolution.
        bias: Of the convolution, [c]; None for zeros.
        gamma: Of the batch norm, [c]; None for ones.
        beta: Of the batch norm, [c]; None for zeros.
        mean: Of the channels, [c].
        variance: Of the channels, [c].
        eps: What is added to it.
        dim: The dim of ``weight`` with the c channels that the convolution makes.

    Returns:
        The weight and the bias, row by row in memory, with the dtype of ``weight``.
    """
    with torch.no_grad():
        scale = (variance.double() + eps).rsqrt()
        if gamma is not None:
            scale = scale * gamma
        shift = -mean.double() if bias is None else bias.double() - mean
        shift = shift * scale
        if beta is not None:
            shift = shift + beta
        shape = [1] * weight.dim()
        shape[dim] = -1
        folded = (weight * scale.reshape(shape)).to(weight.dtype)
        return [folded.contiguous(), shift.to(weight.dtype)]


torch_entry.OWN[NAME] = fold_batch_norm
