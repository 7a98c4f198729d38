"""Sizes of blocks and numbers of warps: numbers with their reasons, no mechanism."""

from girih.passes.tile.sizes import Size, known

# Elements of a pointwise program: 8 for each thread of 4 warps, so that a thread moves
# 16 bytes of 16-bit elements, or two times 16 of 32-bit ones, with one access each.
POINTWISE_ELEMENTS = 1024
# Sides of a block that is turned: lines of 128 bytes (f16) or more on both sides.
TURNED_SIDE = 64
# Rows up to this many elements stay in registers: 16 warps have 32 elements a thread.
REGISTER_ROW = 16384
# Elements of a program that reduces: enough loads in flight, no spilling.
REDUCTION_ELEMENTS = 4096
# Rows longer than that are walked in chunks of so many elements.
ROW_CHUNK = 4096
# Results of a column reduction that a program has: 256 bytes of f32 next to each other.
COLUMNS = 64
# Columns up to this length are held whole: they need no second read.
WHOLE_COLUMN = 1024
# A thread has at least so many elements of a block.
ELEMENTS_OF_THREAD = 8
THREADS = 32
# The widest access of a thread.
ACCESS_BYTES = 16
LARGEST_WARPS = 16
# Stands for a symbolic size where costs are compared.
GUESSED_SIZE = 1024


def power_of_two(size: int) -> int:
    """The next power of two, at least 2."""
    return max(1 << (max(size, 1) - 1).bit_length(), 2)


def warps_of(elements: int) -> int:
    """Warps for a block of so many elements: 1, 2, 4, 8 or 16."""
    wanted = elements // (ELEMENTS_OF_THREAD * THREADS)
    warps = 1
    while warps < min(wanted, LARGEST_WARPS):
        warps *= 2
    return warps


def block_of(size: Size, limit: int) -> int:
    """A block along a coordinate: the largest that leaves few points idle."""
    length = known(size, limit)
    block = min(power_of_two(length), limit)
    while block > THREADS and -length % block > length // 8:
        block //= 2
    return block
