"""Weights of convolutions that do what batch norms and other convolutions did."""

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
        scale = _scale(gamma, variance, eps)
        shift = -mean.double() if bias is None else bias.double() - mean
        shift = shift * scale
        if beta is not None:
            shift = shift + beta
        shape = [1] * weight.dim()
        shape[dim] = -1
        folded = (weight * scale.reshape(shape)).to(weight.dtype)
        return [folded.contiguous(), shift.to(weight.dtype)]


def _scale(gamma: Tensor | None, variance: Tensor, eps: float) -> Tensor:
    """What a batch norm multiplies each channel by, in float64."""
    scale = (variance.double() + eps).rsqrt()
    return scale if gamma is None else scale * gamma


def add_windows(large: Tensor, small: Tensor) -> list[Tensor]:
    """The weight of a convolution that does what two of one image did, added up.

    Args:
        large: Of one of them, [c_out, c_in / groups, ...].
        small: Of the other, whose windows lie in the middle of the larger ones.

    Returns:
        The sum, with the shape and dtype of ``large``, row by row in memory.
    """
    with torch.no_grad():
        made = large.clone(memory_format=torch.contiguous_format)
        middle = made
        for dim in range(2, large.dim()):
            size = small.shape[dim]
            middle = middle.narrow(dim, (large.shape[dim] - size) // 2, size)
        middle.add_(small)
        return [made]


def add_identity(
    weight: Tensor,
    bias: Tensor | None,
    gamma: Tensor | None,
    beta: Tensor | None,
    mean: Tensor,
    variance: Tensor,
    eps: float,
) -> list[Tensor]:
    """The weights of a convolution to which a batch norm of its image was added.

    Args:
        weight: Of the convolution, [c, c / groups, ...], of odd windows.
        bias: Of the convolution, [c]; None for zeros.
        gamma: Of the batch norm in evaluation, [c]; None for ones.
        beta: Of the batch norm, [c]; None for zeros.
        mean: Of the channels, [c].
        variance: Of the channels, [c].
        eps: What is added to it.

    Returns:
        The weight and the bias, row by row in memory, with the dtype of ``weight``.
    """
    with torch.no_grad():
        scale = _scale(gamma, variance, eps)
        shift = -mean * scale
        for term in (bias, beta):
            if term is not None:
                shift = shift + term
        count, columns = weight.shape[:2]
        made = weight.double()
        middle = (size // 2 for size in weight.shape[2:])
        row = torch.arange(count)
        made[(row, row % columns, *middle)] += scale
        return [made.to(weight.dtype).contiguous(), shift.to(weight.dtype)]


torch_entry.OWN[NAME] = fold_batch_norm
torch_entry.OWN["girih.add_windows.default"] = add_windows
torch_entry.OWN["girih.add_identity.default"] = add_identity
