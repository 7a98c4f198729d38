"""Binaries loaded on a device.

Drivers are opened at first use, one for each backend. A loaded kernel is unloaded when
the last program that launches it dies.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from girih.codegen.errors import CodegenError
from girih.codegen.gpu import _driver
from girih.codegen.gpu.binary import Binary
from girih.codegen.gpu.target import Target, cuda_target


@cache
def driver(backend: str) -> Any:
    """The driver of "cuda" or "hip".

    Raises:
        CodegenError: this machine has none.
    """
    try:
        return _driver.Driver(backend)
    except (OSError, RuntimeError) as error:
        raise CodegenError(str(error)) from error


@cache
def device_facts(backend: str, device: int) -> dict[str, int]:
    """What a device has: multiprocessors, shared memory, clocks and so on."""
    return driver(backend).facts(device)


def cuda_device_target(device: int) -> Target:
    """The target of a CUDA device."""
    facts = device_facts("cuda", device)
    return cuda_target(facts["major"], facts["minor"])


def load(binary: Binary, device: int, *, source: Any = None) -> Any:
    """The function of a binary, on a device.

    Args:
        binary: made for this device's architecture.
        device: its number.
        source: the driver to use, else the one of the binary's architecture.

    Raises:
        CodegenError: the driver refused it.
    """
    backend = "cuda" if binary.target.startswith("sm_") else "hip"
    try:
        opened = source or driver(backend)
        return opened.load(device, binary.data, binary.name, binary.shared_bytes)
    except RuntimeError as error:
        raise CodegenError(
            f"the kernel {binary.name} was not loaded: {error}"
        ) from error
