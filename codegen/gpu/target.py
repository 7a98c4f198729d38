"""Which GPU code is made for."""

from __future__ import annotations

import re
from dataclasses import dataclass

_CUDA_NAME = re.compile(r"sm_(\d{2,3})")
_HIP_NAME = re.compile(r"gfx[0-9a-f]{3,4}")
# GCN and CDNA have 64 lanes; RDNA (gfx10 and later) has 32.
_WIDE_HIP_NAME = re.compile(r"gfx[89][0-9a-f]{2}")


@dataclass(frozen=True)
class Target:
    """An architecture.

    Attributes:
        backend: "cuda" or "hip".
        name: such as "sm_90" or "gfx942".
        warp_size: threads that run in step.
    """

    backend: str
    name: str
    warp_size: int

    @property
    def architecture(self) -> int | str:
        """As Triton writes it: 90 for sm_90, else the name."""
        return (
            int(self.name.removeprefix("sm_")) if self.backend == "cuda" else self.name
        )

    @property
    def casts_float8(self) -> bool:
        """Whether instructions cast between float32 and float8_e4m3fn."""
        return self.backend == "cuda" and self.architecture >= 89

    @property
    def updates_bfloat16(self) -> bool:
        """Whether instructions add to bfloat16 in memory atomically."""
        return self.backend == "cuda" and self.architecture >= 90

    @property
    def fingerprint(self) -> str:
        """Changes whenever code for it might; part of cache keys."""
        return f"{self.backend}:{self.name}:{self.warp_size}"


def parse_target(name: str) -> Target:
    """The target of a name such as "sm_80", "sm_90" or "gfx942".

    Raises:
        ValueError: no such name.
    """
    if _CUDA_NAME.fullmatch(name):
        return Target("cuda", name, 32)
    if _HIP_NAME.fullmatch(name):
        return Target("hip", name, 64 if _WIDE_HIP_NAME.fullmatch(name) else 32)
    raise ValueError(f"expected a GPU's architecture, sm_90 or gfx942 say, got {name}")


def cuda_target(major: int, minor: int) -> Target:
    """The target of a compute capability, as torch's `get_device_capability` has it."""
    return parse_target(f"sm_{major}{minor}")
