"""Options of the tile pass and the policy of each target: numbers, no mechanism."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TileOptions:
    """What the target is like.

    Attributes:
        target: which policy chooses schedules, ``cpu`` or ``gpu``.
        vector_bits: width of a vector register in bits.
        l1_bytes: first-level data cache of one core, in bytes.
        l2_bytes: second-level cache of one core, in bytes.
        parallel_grain: elements of work that a program should have at least.
        processors: streaming multiprocessors of a GPU.
        stages: loads that a loop on a GPU has in flight.
        shared_bytes: shared memory that a program on a GPU can have.
        allow_tf32: whether products of f32 may be rounded to tf32.
    """

    target: str = "cpu"
    vector_bits: int = 256
    l1_bytes: int = 32768
    l2_bytes: int = 1048576
    parallel_grain: int = 32768
    processors: int = 132
    stages: int = 4
    shared_bytes: int = 166912
    allow_tf32: bool = False
