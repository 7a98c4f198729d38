"""Kernels as they travel between compiler, cache and loader."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Binary:
    """Code of one kernel.

    Attributes:
        data: a cubin or hsaco.
        name: of the function in it.
        target: the name of the architecture, such as "sm_90".
        threads: how many run a program.
        shared_bytes: shared memory of a program.
        null_pointers: how many null pointers follow the kernel's own arguments.
    """

    data: bytes
    name: str
    target: str
    threads: int
    shared_bytes: int
    null_pointers: int
