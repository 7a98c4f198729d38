"""What code of a package is made for: processors, or GPUs.

One file has code for the one or the other: what a graph computes depends on which of
them its tensors are on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from girih import processors
from girih.codegen.cpu.target import Target as Processor
from girih.codegen.gpu.cards import CARDS, Card
from girih.packaging import code, gpu_programs

CPU = torch.device("cpu")
_GPU = "cuda"

Target = Processor | Card


def device_of(tensors: Iterable[Any]) -> torch.device:
    """The device of tensors: a GPU if one is there, else the cpu."""
    found = (each.device for each in tensors if isinstance(each, torch.Tensor))
    return next((device for device in found if device.type == _GPU), CPU)


def check(names: Sequence[str]) -> None:
    """Checks what needs no device.

    Raises:
        TypeError: They are no tuple.
    """
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"targets must be a tuple of names, got {names!r}")


def named(names: Sequence[str], device: torch.device) -> list[Target]:
    """The targets of ``girih.package``.

    Args:
        names: As it takes them.
        device: Where arguments and weights are.

    Raises:
        ValueError: There is no such target, or they can't be in one file.
    """
    found = [
        one(name, f"girih.package makes no code for {name!r}", device) for name in names
    ]
    if not found or len(set(found)) < len(found):
        raise ValueError(f"targets must be different names, got {names!r}")
    if len({isinstance(each, Card) for each in found}) > 1:
        raise ValueError(
            f"targets must be processors or GPUs, got {names!r}: a package has code "
            "for the one or the other. Write two files"
        )
    if device != CPU and not isinstance(found[0], Card):
        raise ValueError(
            f"targets must be GPUs, as {', '.join(CARDS)}, where tensors are on "
            f"{device}, got {names!r}"
        )
    return found


def one(name: str, where: str, device: torch.device) -> Target:
    """The target of a name.

    Args:
        name: Of a level, of a GPU, or ``native``.
        where: What messages begin with.
        device: Where arguments and weights are.

    Raises:
        ValueError: There is none.
    """
    is_native = name == processors.NATIVE
    if device.type == _GPU:
        # Loads a driver, and the compiler is not here before there is a target.
        from girih.compiler.packaged_gpu import card_of

        here = card_of(device)
        if is_native or name == here.name:
            return here
    if name in CARDS:
        return CARDS[name]
    if isinstance(name, str) and name.startswith(_GPU):
        raise ValueError(f"{where}: GPUs are {', '.join(CARDS)}")
    try:
        return processors.named(name, where)
    except ValueError as error:
        if is_native:
            raise
        raise ValueError(f"{error}; GPUs are {', '.join(CARDS)}") from None


def described(target: Target, device: torch.device) -> dict[str, Any]:
    """A target, as the manifest has it.

    Args:
        target: The target.
        device: What graphs call the device of their tensors.
    """
    if not isinstance(target, Card):
        return code.processor(target)
    return {
        "machine": _GPU,
        "system": sys.platform,
        "processor": target.name,
        "features": [],
        "gpu": {
            "capability": [target.major, target.minor],
            "multiprocessors": target.multiprocessors,
            "shared_bytes": target.shared_bytes,
            "device": str(device),
        },
    }


def encode(program: Any, parts: code.Parts) -> Mapping[str, Any]:
    """Writes a program to parts; returns what the manifest says of it.

    Raises:
        UnsupportedError: A constant can't be written.
    """
    of_gpu = program.device is not None
    return (gpu_programs if of_gpu else code).encode(program, parts)
