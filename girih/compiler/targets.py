"""The target of each device."""

from __future__ import annotations

import torch

from girih.compiler import gpu_code
from girih.compiler.cpu_code import CpuTarget
from girih.compiler.gpu_code import GpuTarget
from girih.compiler.target import Target


def target_of(device: torch.device) -> Target:
    """What programs for a device are made for."""
    if device.type == "cpu" and gpu_code.emulator is None:
        return CpuTarget(device)
    return GpuTarget(device)
