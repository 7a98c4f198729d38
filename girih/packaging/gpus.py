"""The GPU that runs a package, and which code of a package it can run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from girih.codegen.errors import CodegenError
from girih.codegen.gpu import link
from girih.codegen.gpu.cards import runs_on
from girih.errors import PackageError

ON_GPU = "gpu"
"""What the manifest says of tensors that are on the GPU; of others it says nothing."""


@dataclass(frozen=True)
class Gpu:
    """A GPU of this machine.

    Attributes:
        device: What torch calls it.
        name: Its own name.
        capability: Its compute capability.
        driver: Loads kernels, and makes launch tables.
        number: What the driver calls it.
        products: The file that multiplies matrices, else torch's.
    """

    device: torch.device
    name: str
    capability: tuple[int, int]
    driver: Any
    number: int
    products: str | None = None

    def entered(self) -> AbstractContextManager:
        """A context in which it is current."""
        if self.device.type != "cuda":
            return nullcontext()
        return torch.cuda.device(self.device)


class NoGpu(Exception):
    """There is no GPU for packages; the message says why."""


def find(device: torch.device | None) -> Gpu:
    """A GPU of this machine.

    Args:
        device: Which one; None for the one that is current.

    Raises:
        NoGpu: There is none, or torch can't use it.
    """
    if torch.version.cuda is None or not torch.cuda.is_available():
        built = torch.version.cuda or "none"
        raise NoGpu(
            f"torch finds no GPU of NVIDIA here (it was built for CUDA {built})"
        )
    torch.cuda.init()
    number = torch.cuda.current_device()
    if device is not None and device.index is not None:
        number = device.index
    if number >= torch.cuda.device_count():
        raise NoGpu(f"there are {torch.cuda.device_count()} GPUs, and no {device}")
    try:
        driver = link.driver("cuda")
    except CodegenError as error:
        raise NoGpu(str(error)) from error
    return Gpu(
        torch.device("cuda", number),
        torch.cuda.get_device_name(number),
        torch.cuda.get_device_capability(number),
        driver,
        number,
    )


def is_for_gpu(target: Mapping[str, Any]) -> bool:
    """Whether a target of a package is a GPU."""
    return "gpu" in target


def chosen(
    where: str,
    targets: Sequence[Mapping],
    name: str | None,
    device: torch.device | None,
) -> tuple[Mapping[str, Any], Gpu]:
    """The target of a package that suits the GPU best, and that.

    Args:
        where: The package.
        targets: Its targets.
        name: That of the target; None for the one of the highest capability.
        device: The GPU; None for the one that is current.

    Raises:
        PackageError: None can run here; the message says what is missing.
    """
    named = [each for each in targets if name in (None, each["processor"])]
    known = ", ".join(each["processor"] for each in named)
    text = f"{where} can't run here. It has code for {known}"
    try:
        gpu = find(device)
    except NoGpu as error:
        raise PackageError(f"{text}, and {error}") from error
    fitting = [each for each in named if runs_on(_capability(each), gpu.capability)]
    if fitting:
        return max(fitting, key=_capability), gpu
    major, minor = gpu.capability
    own = f"{gpu.device} is a {gpu.name} of compute capability {major}.{minor}"
    raise PackageError(
        f"{text}, and {own}. Make it for this GPU, too: girih-package add-target "
        f"{where} cuda-sm{major}{minor}"
    )


def _capability(target: Mapping[str, Any]) -> tuple[int, int]:
    major, minor = target["gpu"]["capability"]
    if type(major) is not int or type(minor) is not int:
        raise ValueError(f"no compute capability: {major!r}, {minor!r}")
    return major, minor
