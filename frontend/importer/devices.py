"""Where the tensors of a program are: all on one device, which computes.

A program for a GPU may make small tensors on the CPU, numbers most of the time, as long
as what it returns is on the GPU: they are computed there as well. ATen is called with
tensors of the GPU alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from girih.errors import unsupported

CPU = torch.device("cpu")


def check_device(tensor: torch.Tensor, device: torch.device) -> None:
    """Raises where an input or a result is not on the program's device."""
    if tensor.device != device:
        _refuse(tensor, device)


def check_made(tensors: Iterable[torch.Tensor], device: torch.device) -> None:
    """Raises where an op makes a tensor on a device that is not the program's.

    The CPU is no other device: what is made there is computed on the program's.
    """
    for tensor in tensors:
        if tensor.device not in (device, CPU):
            _refuse(tensor, device)


def check_aten_call(
    arguments: Iterable[torch.Tensor],
    results: Iterable[torch.Tensor],
    device: torch.device,
) -> None:
    """Raises where ATen would be called with tensors of the wrong device.

    A tensor of the CPU without dims is a number to ATen, wherever it is.
    """
    for tensor in results:
        check_device(tensor, device)
    for tensor in arguments:
        if tensor.dim() > 0:
            check_device(tensor, device)


def _refuse(tensor: torch.Tensor, device: torch.device) -> None:
    unsupported(
        kind="tensors on several devices",
        context=f"{tuple(tensor.shape)} {tensor.dtype} on {tensor.device}",
        explanation=(
            f"The graph computes on {device}, so its inputs, its results and all"
            " operands of ATen have to be on that device."
        ),
    )
