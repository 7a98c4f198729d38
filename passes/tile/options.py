"""Options of the tile pass and the policy of each target: numbers, no mechanism."""

from dataclasses import dataclass

from girih.passes.choices import ChoiceOptions


@dataclass(frozen=True)
class TileOptions(ChoiceOptions):
    """What the target is like."""

    target: str = "cpu"
    """The policy that chooses schedules: ``cpu`` or ``gpu``."""
    vector_bits: int = 256
    """Width of a vector register of the CPU, in bits."""
    l1_bytes: int = 32768
    """Size of the first-level data cache of one core, in bytes."""
    l2_bytes: int = 1048576
    """Size of the second-level cache of one core, in bytes."""
    parallel_grain: int = 32768
    """Elements of work that each instance of a kernel should have at least."""
    processors: int = 132
    """Streaming multiprocessors of the GPU."""
    stages: int = 4
    """Loads that a loop on the GPU keeps in flight."""
    shared_bytes: int = 166912
    """Shared memory that an instance of a kernel can have, in bytes."""
    saturates_float8: bool = True
    """Whether casts give 448 for what is too large for float8_e4m3fn, otherwise NaN."""
    casts_float8: bool = False
    """Whether the GPU has instructions that cast to and from float8_e4m3fn."""
    allow_tf32: bool = False
    """Whether products of float32 may be rounded to tf32, which is faster."""
