"""What code is made for where the card that runs it is not here.

Kernels for a compute capability run on all its cards. How they are scheduled depends on
two numbers of a card, for which the table has the cards of data centers. On a smaller
card of the same capability results are the same, and grids have another shape than the
best one.

Source: NVIDIA's data sheets (multiprocessors), and the table of compute capabilities in
the CUDA C++ Programming Guide (shared memory of a block).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from girih.codegen.gpu.target import Target, cuda_target

_FIRST_SPECIFIC = 9
"""From this capability on Triton makes code for one, and not for later ones, too."""


@dataclass(frozen=True)
class Card:
    """A GPU that code is made for.

    Attributes:
        major: Its compute capability.
        minor: Likewise.
        multiprocessors: How many it has.
        shared_bytes: What a block can have of shared memory.
    """

    major: int
    minor: int
    multiprocessors: int
    shared_bytes: int

    @property
    def name(self) -> str:
        """As in ``targets`` of ``girih.package``."""
        return f"cuda-sm{self.major}{self.minor}"

    @property
    def target(self) -> Target:
        """What Triton is told."""
        return cuda_target(self.major, self.minor)

    @property
    def facts(self) -> dict[str, int]:
        """What passes ask of a device, as `link.device_facts` says it."""
        return {
            "multiprocessors": self.multiprocessors,
            "shared_bytes_per_block": self.shared_bytes,
            "major": self.major,
            "minor": self.minor,
        }


CARDS: Mapping[str, Card] = MappingProxyType(
    {
        card.name: card
        for card in (
            Card(8, 0, 108, 163 << 10),  # A100
            Card(8, 6, 72, 99 << 10),  # A10
            Card(8, 9, 58, 99 << 10),  # L4
            Card(9, 0, 132, 227 << 10),  # H100, H200
        )
    }
)
"""By their names."""


def runs_on(capability: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether code for one compute capability runs on a card of another one."""
    if capability[0] >= _FIRST_SPECIFIC:
        return capability == other
    return capability[0] == other[0] and capability[1] <= other[1]
