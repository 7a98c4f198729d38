"""Sizes of blocks and numbers of warps: numbers with their reasons, no mechanism.

Measured on an H200 (2026-11-20, torch 2.11, Triton 3.6), as shares of the speed of a
device copy of the same bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from girih.passes.tile.sizes import Size, known


@dataclass(frozen=True, slots=True)
class Share:
    """What a program has to do.

    Attributes:
        elements: of its block, unless a row is longer.
        of_thread: how many of them a thread has, so how many warps there are.
        warps: so many, whatever ``of_thread`` says; 0 for none given.
        stages: steps of a loop in flight, at most.
    """

    elements: int
    of_thread: int
    warps: int = 0
    stages: int = 4

    def tuned(self, tuning: Mapping[str, int]) -> "Share":
        """The share with what was measured for a kernel in place of its numbers."""
        names = ("elements", "warps", "stages")
        given = {name: tuning[name] for name in names if name in tuning}
        return replace(self, **given)

    def for_accesses(self, count: int) -> "Share":
        """The share with fewer elements, for a kernel that moves that many blocks."""
        elements, of_thread = self.elements, self.of_thread
        while of_thread > LEAST_OF_THREAD and count * of_thread > VALUES_OF_THREAD:
            elements, of_thread = elements // 2, of_thread // 2
        return replace(self, elements=elements, of_thread=of_thread)

    def for_points(self, of_processor: int, *, is_costly: bool) -> "Share":
        """The share with fewer elements a thread, where threads would be idle else.

        Args:
            of_processor: Points that a processor of the device has.
            is_costly: Whether arithmetic, not memory, is what one waits for.
        """
        elements, of_thread = self.elements, self.of_thread
        while of_thread > FEW_OF_THREAD and of_processor < THREADS_IDLE * of_thread:
            elements, of_thread = elements // 2, of_thread // 2
        while (
            is_costly and 1 < of_thread and of_processor < THREADS_IDLE * of_thread // 2
        ):
            of_thread //= 2
            elements = of_thread * THREADS_OF_FEW
        return replace(self, elements=elements, of_thread=of_thread)

    def warps_for(self, elements: int) -> int:
        """Warps of a program with so many elements."""
        return self.warps or warps_of(elements, self.of_thread)


# What else a program may have: what max-autotune measures, and small blocks.
OTHER_ELEMENTS = (64, 512, 1024, 2048, 4096, 8192)
OTHER_WARPS = (1, 2, 4, 8, 16)

# Values that a thread loads and stores: more do not fit into its registers at once.
VALUES_OF_THREAD = 128
LEAST_OF_THREAD = 8

# Few points for each processor: with so few threads at work, what counts is how long
# one takes. An estimate from 128 rows of SiLU and product to float8, 2880 columns: 5.6
# us with 16 elements a thread, where a copy takes 2.5 (H100, 2026-11-27). Much
# arithmetic: fewer still, in blocks of 4 warps, where a processor would have half of
# these threads: ten operations of 65,536 f32 1.78 us, with 4 elements a thread 2.16;
# gelu by tanh in bf16 1.58 (1.83). Of 262,144: 2.38 with 2 elements, 2.52 with 1 (H100,
# 2026-11-28). Little arithmetic, as of a sum in bf16: no difference, or slower.
FEW_OF_THREAD = 4
THREADS_IDLE = 1024
THREADS_OF_FEW = 128

# Pointwise, little arithmetic: one access of 16 bytes a thread (16-bit), or two (f32).
# Rotary embedding: 0.97, with 16 elements a thread 0.92.
POINTWISE = Share(1024, 8, stages=1)
# Pointwise, much arithmetic: threads have independent elements to work on.
# gelu by tanh: 0.96, with 32 elements a thread 0.77; ten operations: 0.77 (0.72).
COSTLY = Share(1024, 16, stages=1)
# So many of them for each processor, at least; else half as many a thread, as many as
# fill the device. Programs of two warps are too many then. H200, 2026-11-28: SiLU and
# product to float8 of 256 x 4096 3.5 us, with two warps 4.1, of 256 x 11008 6.8 (7.7);
# gelu by tanh in bf16 of 2^20 3.0 (3.8), of 2^22 7.1 (7.7); ten operations in f32 of
# 2^22 17.0 (19.6), of 2^20 5.8 (5.7).
MANY_COSTLY = 32768
FEWER_COSTLY = Share(1024, 8, stages=1)
# erf is two polynomials: their coefficients stay in registers for many elements.
# gelu of 512 x 2688 in bf16: 4.0 us, with 32 elements a thread in blocks of 1024 4.8; a
# training step of 1365 x 12288 95 us (96) (H100, 2026-11-27).
WITH_ERF = Share(2048, 16, stages=1)
# Blocks of fewer elements, of so many times the points inside, of a narrow part of each
# row, or turned though a side is so short, give way to one row. Rotary embedding of 12
# x 2048 x 80 in bf16 7.1 us, in blocks of 32 x 32 10.8 (H100, 2026-11-27).
LEAST_BLOCK = 256
LARGEST_COVER = 1.4
LEAST_COLUMNS = 64
LEAST_TURNED = 16
# Such a row whose loads are all gathered, each by itself. Blocks of 2 x 2 of 32 x 64 x
# 32 x 32 in bf16 as channels 4.1 us, with 8 elements a thread 6.1 (same run).
# Fewer where there are few points: GeGLU by tanh of 64 x 4096 in f16 1.71 us, with 4
# elements a thread 1.95; SiLU and product of 8 x 8192 to float8 1.61 (1.82) (H200,
# 2026-11-28).
GATHERED = Share(512, 4, stages=1)
# Kernels that add to elements in memory, neighbours of a row at once; the device has
# no fast update of one 16-bit element. 50,176 rows of 64 into 6,223: f32 12.5 us, with
# 8 elements a thread 13.5; f16 8.4, with 2 in smaller blocks 11.2, with 1 39 (H100,
# 2026-11-27).
UPDATES = Share(512, 2, stages=1)
NARROW_UPDATES = Share(512, 4, stages=1)
# Each element goes somewhere else. 4096 rows of 512 into 256 columns: 22.9 us, with 2
# elements a thread 25.6, with 4 34.8 (same run).
SCATTERED = Share(256, 1, stages=1)
# Of 16 bits, by compare-and-swap: 50,000 ones into 6,223 counts 14.5 us, with 1 element
# a thread 20.1 (same run).
NARROW_SCATTERED = Share(512, 4, stages=1)
# Instructions for an element from which on arithmetic counts as much.
MUCH_ARITHMETIC = 24
# A block that is turned: lines of 128 bytes (f16) or more on both sides, and so many
# bytes a thread. Transpose and add: f16 1.10, with 16 bytes 1.01; f32 1.05 (64: 1.04).
TURNED_SIDE = 64
TURNED_BYTES = 32
# Rows in registers. Softmax of rows of 8192 and of 512: 0.97 to 1.0 for f32 and bf16;
# with 8 elements a thread there are more threads that wait for one another (0.80).
REGISTERS = Share(1024, 16)
# Where there are not more rows than processors, what counts is how soon one is ready.
# One row of 4096 to float8 with a scale: 2.4 us, with 16 elements a thread 2.6, with 32
# 3.1 (H100, 2026-11-27).
FEW_ROWS = Share(1024, 8)
# Rows in registers that are combined with weights: a thread has the same columns of two
# rows. Layer norm of rows of 4096 in bf16: 0.91, with a row for each program 0.82;
# where the weights are loaded after the sums 0.89.
WITH_WEIGHTS = Share(8192, 32)
# Short ones: a warp for each row. Layer norm of rows of 768 in f16 (H100, 2026-11-28):
# of 65536 68.5 us, with two warps 73.5, with programs that stay for many rows and keep
# the weights 74.0; of 4096 6.1 (6.8, 7.0). Where rows fill their block, four share a
# program: 4096 of 1024 7.2 us, each by itself 7.8; but not where there are few: RMS
# norm of 2048 rows of 1024 in bf16 4.25, in fours 4.56.
SHORT_ROW = 1024
SHORT_WITH_WEIGHTS = Share(1024, 32)
SHORT_THAT_FILL = Share(4096, 32)
MANY_SHORT = 24
# 16-bit rows without weights, too: warps that share rows wait for one another. Softmax
# (H200, 2026-11-28) of 65536 x 768 in bf16 49.0 us, in pairs with four warps 60.5, of
# 16384 x 640 in f16 12.6 (16.5), of 4096 x 777 6.1 (6.6), of 16384 x 1024 in bf16 18.8
# (19.3); standardised rows of 4096 x 768 4.6 (6.0); cosines of pairs of 1024 x 768 3.3
# (3.8). In f32 there is no difference; more arithmetic along the row, or more arrays,
# nobody has measured.
MOST_ARRAYS_OF_WARP = 2
# Those with as little arithmetic as a norm and one array, which blocks cover exactly,
# are walked by one warp. Layer norm in bf16 of 600 x 1024 2.0 us, held by one warp 2.3,
# in pairs by four 2.5; of 4096 x 768 4.1 (4.6, 5.8); of 16384 x 1024 17.6 (18.1, 18.1);
# rms norm of 64 x 768 1.46 (1.68, 1.64); log-softmax of 4096 x 768 3.9, in pairs 6.3
# (same run). Slower so: arithmetic that is done again, as in softmax of 16384 x 1024
# 27.5 us (18.8) and a gated rms norm 43.9, in pairs 28.9; two arrays, 34.5, in pairs
# 33.3; rows that start anywhere, 4096 x 777 9.1 (5.7), or leave much of a block
# outside, 16384 x 640 13.4 (12.3); f32 of 8192 x 1024 18.1 (16.9).
WALKED_BY_WARP = Share(256, 8, stages=1)
LITTLE_ARITHMETIC = 9
# Shorter ones have many rows for each program, fewer elements a thread where there are
# few points for each processor. H200, 2026-11-28, beside blocks of 2048 elements, 16 a
# thread: groups of 128 of 2048 x 5120 to float8 11.2 us (12.4); rms norm of 145956 x
# 384 in bf16 56.4 (59.8); softmax of 65536 x 128 10.2 (10.5), of 1048576 x 64 66.0
# (65.8). Of 4096 x 512 in f16 with 8 a thread 4.15, with 16 4.29 (4.44), of 4096 x 256
# 2.71, 2.86 (2.87). Of 2048 x 128 in bf16 with 4 a thread 1.93, with 8 1.98 (2.04);
# groups of 32 x 5120 to float8 1.72, 1.81 (1.86). By the points of a processor, from so
# many on:
NARROW_ROW = 512
NARROW_ROWS = ((16384, REGISTERS), (4096, Share(1024, 8)), (0, Share(512, 4)))
# Long rows that are walked once: small blocks, as a row that starts anywhere has two
# with narrow accesses. Cross entropy of rows of 50257: 0.90, blocks of 4096 0.6.
ROWS = Share(2048, 16)
# Few of them with much arithmetic: twice the threads, as what counts is how soon a part
# is ready. Dice loss in bf16 of 32 x 16384 11.2 us, with 16 elements a thread 13.7, of
# 4 x 65536 9.8 (11.0), of 32 x 65536 13.8 (14.8). Plain sums do not differ (H200,
# 2026-11-28).
FEW_COSTLY_ROWS = Share(2048, 8)
# Long rows that are walked more often: the second walk finds them in the cache, and
# loads in flight would take the place of warps there. A row, from which on blocks and
# their threads are larger. 4096 rows in f16 (H100, 2026-11-27): layer norm of 5120 with
# blocks of 2048 32.2 us, of 4096 46.2, with 4 steps in flight 44.6; of 9216 with 4096
# 57.0 us, with 2048 62.1, with 4 steps in flight 83.0; of 3072 with 1024 20.0, with
# 2048 24.0. From 16384 on with 32 warps, which leaves one or two rows on a processor,
# whose second walk finds all in the cache (2026-11-28): RMS norm of 2048 x 32768 in
# bf16 92.0 us, with 16 warps 102; of 2048 x 16384 in f32 91.4 (99.2); layer norm of
# 2048 x 24576 in f16 72.2 (80.5).
ROWS_AGAIN = (
    (16384, Share(8192, 8, warps=32, stages=1)),
    (8192, Share(4096, 8, stages=1)),
    (4096, Share(2048, 8, stages=1)),
    (0, Share(1024, 8, stages=1)),
)
# With several sums of 16-bit rows threads of fewer warps have registers enough, which
# counts where memory is fast. Layer norm in f16 (H200, 2026-11-28) of 4096 x 16384 68.9
# us, with 32 warps 86.0, of 4096 x 18432 86.2 (117); in training of 2048 x 16384 138
# (150); of 4096 x 8704 with 8 warps 44.3 us, with 16 50.9; in training of 4096 x 11008
# in bf16 185 (202). But of 4096 x 12288 with 8 54.7 (52.4); of 2048 x 32768 with 32
# 75.3, with 16 79.3. Slower so: one sum, and f32. RMS norm of 4096 x 11008 in bf16 with
# 8 warps 48.8 (44.6); layer norm in f32 of 4096 x 9216 with 8 85.7 (80.6), of 4096 x
# 16384 with 32 136, with 16 144.
# Below 15360 blocks of 2048, which leave less of a row for a step with masks: 4096 x
# 8192 36.1 us, with blocks of 4096 and 8 warps 36.7, of 9216 44.1 (45.6), of 10240 46.8
# (48.5); of 12800 58.5, with blocks of 4096 and 16 warps 65.2, of 13312 60.3 (65.9), of
# 14336 66.1 (67.5), of 2048 x 14336 in bf16 37.6 (40.8). But of 4096 x 15360 71.7
# (69.5), and 12288 are three blocks of 4096 (other runs of that day).
SEVERAL_NARROW_SUMS_AGAIN = (
    (24576, ROWS_AGAIN[0][1]),
    (15360, Share(4096, 8, stages=1)),
    (12289, Share(2048, 8, stages=1)),
    (12288, Share(4096, 8, stages=1)),
    *ROWS_AGAIN[2:],
)
NARROW_BYTES = 2
WIDE_BYTES = 4
# But not where a few of them are left for a last round of programs, each of which takes
# longer: from so many rows for each processor on to so many. Layer norm in bf16 of 300
# x 100000 66.5 us, with 32 warps 75.8; of 1024 x 20000 35.9 (40.0); of 1152 x 36864 in
# f16 77.8 (82.7). Of 100 x 32768 8.7 (7.7).
FEW_ROUNDS = (2, 12)
ROWS_OF_FEW_ROUNDS = ((32768, Share(8192, 16, stages=1)), *ROWS_AGAIN[1:])
# Such rows, with weights, that start anywhere: less is peeled off. 1024 x 50257: RMS
# norm in bf16 109 us, with blocks of 8192 123 to 129; layer norm in f16 176 (174 to
# 186). The gradient of a softmax, which has no weights, takes a fifth longer.
ROWS_AGAIN_ANYWHERE = Share(4096, 8, stages=1)
# Sums of exponentials along long rows, whose running maximum is compared once a block.
# Softmax of f32 (same run): 512 x 65536 109 us, with blocks of 8192 125 to 141; 256 x
# 131072 133 (138 to 142). Of 1024 x 50257 in f16 119 us with 8192, with 16384 168.
ROWS_OF_EXPONENTIALS = (
    (65536, Share(16384, 32, stages=1)),
    *ROWS_OF_FEW_ROUNDS,
)
# Rows whose length is not known before they are there: many are short. Long ones:
# cross entropy 0.87, softmax of f32 0.65 and of bf16 0.59 (0.63).
SYMBOLIC_ROWS = Share(1024, 8)
# Across memory: few threads with many rows each. Sums of 16384 columns in f32: 1.06,
# with blocks of 2048 0.96, with 2 steps in flight 0.92.
COLUMNS = Share(4096, 32, stages=3)
# Where a program for each block of results leaves processors idle, so that there are
# parts. Sums of 2048 columns in f32: 1.07 (1.04); in bf16: 0.98 (1.02); of 64: 0.61
# (0.51).
FEW_COLUMNS = Share(2048, 32, stages=3)
# Sums that are read once and have fewer blocks of results than this for each processor:
# narrow blocks with more threads, which hold short columns whole; what counts is how
# soon one is ready. Longer ones have so many steps at most, or much arithmetic. H200,
# 2026-11-29: gradients of a norm of 32 x 1536 in bf16 5.9 us, with blocks of 64 and 32
# elements a thread 6.8; a mean over 77 of 2 x 77 x 4096 in f16 6.2 (7.4), over 512 of 7
# x 512 x 384 in bf16, in training, 10.9 (12.5); of gelu of 1365 x 12288 in bf16, in
# training, 66.0 (85.1). Of more blocks are slower so: over 128 of 170 x 128 x 768 in
# bf16 51.0 (32.1), over 32 of 32 x 28760 20.4 (17.7).
FEW_NARROW = Share(4096, 8, stages=3)
FEW_NARROW_COLUMNS = 32
FEW_BLOCKS = 2
FEW_STEPS = 4
# Reductions that others along other dims follow: an accumulator for each element. One
# warp, as reductions across warps cost more than they bring. Softmax of 2048 x 32 x
# 1024 along the 32, summed along the 1024: bf16 0.67, with two warps 0.51; f32 0.93
# (0.96); of 1000 x 8 x 8000 in bf16: 0.67 (0.19).
CLOSING = Share(2048, 64, stages=3)
# Where rows start anywhere, warps lie next to each other. 1997 x 31 x 1013, bf16: 0.64,
# with one warp 0.49, with blocks of 4096 0.62.
CLOSING_NARROW = Share(2048, 32, stages=3)
# Rows that are too long for a block of two, and so many of their elements a thread. A
# training step of RMS norm in bf16 (H200, 2026-11-28) of 16384 x 4096 175 us, of 16384
# x 8192 333; with 32 elements a thread 175 and 334, with 8 174.
OF_CLOSING_ROW = 16
# What a warp loads next to each other, at least, and elements of a block, at most.
LEAST_CLOSING_COLUMNS = 32
LARGEST_CLOSING = 16384
# Windows of up to so many elements are walked through by the thread that has their
# result, where those of neighbours lie at most so many elements apart.
LARGEST_WINDOW = 64
FARTHEST_WINDOWS = 8
# Few results a thread: loads that are far apart use its registers up. Maxima over 3 x 3
# of 32 x 64 x 112 x 112 halves 0.052 ms (H100, 2026-11-26), with 4 results 0.076, with
# 8 0.131, with 1 0.063; ATen 0.146.
WINDOWS = Share(256, 2, stages=1)
# One result a thread where blocks cover rows of results exactly, or these are long.
# Maxima over 3 x 3 with stride 2 of 5 x 768 x 64 x 64 in bf16 25.4 us, with two 38.9;
# overlaps of 2000 x 2000 boxes 23.2 (36.2). But of 41 x 32 x 112 x 112 in f16 39.5
# (31.4), of 64 x 64 x 28 x 28 9.6 (7.3) (H100, 2026-11-27).
COVERED_WINDOWS = Share(128, 1, stages=1)
# Loads of a result from which on that holds. Distances of 1024 points in f16 have six:
# 6.1 us, with two results a thread 3.9.
MANY_LOADS = 8
# Windows that have no element in common. Few loads: means over 2 x 2 of 10 x 512 x 56 x
# 56 in f32 32.8 us, with 2 results a thread 34.7. Many, in short rows: over 4 x 4 of 64
# x 96 x 16 x 16 in f16 3.1 us, in blocks of 64 4.5, of 128 7.6; 64 x 16 x 28 x 28 in
# training 7.0 (8.1) (H100, 2026-11-27).
SHORT_WINDOWS_APART = Share(256, 4, stages=1)
FEW_WINDOWS_APART = Share(32, 1, stages=1)
FEW_WINDOWS = 16
# Windows whose rows of results are shorter are one row, as blocks of rows and columns
# leave a part outside. One result a thread, where they are not so many for each
# processor. Maxima over 3 x 3 with stride 2 (H200, 2026-11-28) of 384 x 112 x 112 in
# f32 9.5 us, with two results 9.8, in blocks of 8 x 32 15.1; of 64 x 64 x 28 x 28 in
# f16 5.6 (5.8, 7.6). Means over 2 x 2 of SiLU of 16 x 1024 x 8 x 8 in f32 3.5 us (3.8,
# in blocks of 64 x 4 4.7). But maxima of 5 x 768 x 64 x 64 in bf16 with one result 20.4
# us, with two 18.0, in blocks of 4 x 32 25.6; means of 10 x 512 x 56 x 56 in f32 33.0
# (26.7, 27.8). Long rows stay: overlaps of 2000 x 2000 boxes 23.3 us, as one row with
# two results 36.0. So do few windows apart: means over 7 x 7 of 64 x 16 x 28 x 28 in
# training 5.8 us, as one row 6.1.
# Windows that lie beside those of their neighbours, as where channels are innermost: a
# thread has so many bytes next to each other of each load. Maxima over 3 x 3 with
# stride 2 (H200, 2026-11-28), channels innermost, in f16 of 8 x 256 x 56 x 56 6.1 us,
# with one result a thread 9.6, of 64 x 64 x 28 x 28 4.0 (5.4), of 4 x 24 x 112 x 112
# 2.6 (3.1); in f32 of 8 x 256 x 56 x 56 11.4 (12.4), with 16 bytes 11.7. With stride 1
# in f16 16.7 (39.2).
BESIDE_BYTES = 8
BESIDE = 512
# All pairs of two sets: a program has some of each, as the accesses of each thread to
# both would be most of what it does. Rows of a block, from so many results for each
# processor on; a thread has half as many results of each. H200, 2026-11-28: Gaussians
# of distances in f32 of 4096 points 17.2 us, with 4 rows 19.0, with one 40.9, of 1024
# points 2.8 us, with 8 rows 3.0, with one 3.8; overlaps of 2000 boxes 9.4 (10.3, 23.0),
# of 300 boxes with 2 rows 1.8, with 4 rows 2.2.
PAIRED_ROWS = ((16384, 8), (1024, 4), (0, 2))
PAIRED_COLUMNS = 256
OF_PAIRED_ROW = 2
LEAST_PAIRED = 64
LONG_WINDOWS = 256
JOINED_WINDOWS = Share(256, 1, stages=1)
MANY_JOINED_WINDOWS = Share(256, 2, stages=1)
MANY_WINDOWS = 16384
# Scans along rows: as many elements as a row that is held, and those of a step of a
# longer one. These numbers and the next ones are estimates, which nobody has measured.
SCANNED_ROW = 4096
SCANNED = Share(1024, 16, stages=1)
SCANNED_ROWS = Share(2048, 16)
# Scans across memory: a program has so many of them, fewer where there would not be so
# many programs for each processor.
SCANNED_COLUMNS = Share(2048, 16)
SCANS = 64
LEAST_SCANS = 16
SCAN_PROGRAMS = 4
# Results of a column reduction that a program has: 256 bytes of f32 next to each other.
RESULTS = 64

# Rows up to this many elements stay in registers: 16 warps have 32 elements a thread.
# Each array along the row counts, weights, too, as they are loaded before the sums. In
# f16 and bf16 (H100, 2026-11-27): softmax of 4096 x 12672 76 us, walked twice 90; rms
# norm of 4096 x 8192 46 us, as when it is walked, of 2048 x 16384 walked 50, in
# registers 55; layer norm of 4096 x 8192 walked 49 us, in registers 55.
REGISTER_ROW = 16384
# Those with sums of exponentials up to this many, as each walk takes them anew: softmax
# of 2048 x 24576 in f16 70.6 us, walked 79.2; of 1024 x 32768 in f32 95.9 (120), of
# 1024 x 50257 in f16 127 to 135 (119) (H100, 2026-11-28).
REGISTER_EXPONENTIALS = 32768
# Where several dims are reduced together, only short rows are loaded whole: longer ones
# leave much of a block outside, and nothing of them is held for the next walk. Group
# norm of 4 x 256 x 112 x 112 in f16: 46 us, with whole rows 65; batch norm of 8 x 256 x
# 64 x 64 in f32 30.4 us, with whole rows 37.7, with blocks of 2048 34.8; of 64 x 24 x
# 56 x 56 in bf16, a training step, 56 us, with blocks of 2048 75 (H100, 2026-11-27).
WHOLE_OF_SEVERAL = 1024
SEVERAL = Share(4096, 8)
# Read again, with whole rows, too. Batch norm and SiLU (H200, 2026-11-28) of 51 x 320 x
# 32 x 32 in bf16 49.7 us, with 32 elements a thread and loads in flight 70.7; of 64 x
# 64 x 14 x 14 in f16 9.3 (17.1), of 64 x 128 x 8 x 8 in bf16 3.2 (3.8).
SEVERAL_AGAIN = Share(4096, 8, stages=1)
# Blocks of half the size where those would cover so many times a row, and these only so
# many times. The group norm above 43.6 us, with blocks of 4096 47.3 (same run).
MUCH_OUTSIDE = 1.25
LITTLE_OUTSIDE = 1.15
# Rows of this length at least are walked where so large a part of a block of registers
# (one of so many) would lie outside. Layer norm of 4096 x 3072: 20.0 us, held 22.6; rms
# norm of 2048 x 3072: 10.1, held 11.6; rows of 5120 to float8 with a scale 24.6, held
# 26.7. But those with sums of exponentials would take exponentials twice: softmax of
# 4096 x 5120 36.8 us, held 33.4. Few rows are held, as each walk waits for memory anew.
LEAST_WALKED = 2048
OUTSIDE_SHARE = 5
# Rows that are read once are walked from here on: registers keep them for nothing.
SINGLE_ROW = 8192
# So are many short ones of f32, so many for each processor. Sums (H200, 2026-11-28) of
# 16384 x 768 14.2 us, held 17.1, of 65536 x 768 49.0 (53.5), of 16384 x 1024 18.5
# (21.7); maxima of 16384 x 768 14.5 (17.4). But of 1024 x 1024 3.3 (3.2), of 16384 x
# 256 11.1 (7.1), of 16384 x 777, which start anywhere, 40.8 (17.6), of 16384 x 768 in
# bf16 11.5 (9.5).
MANY_SINGLE_ROWS = 96
# Columns up to this length are held whole: they need no second read.
WHOLE_COLUMN = 1024
# With few warps, which exchange little. Norms over channels that come first (H100,
# 2026-11-27): of 10 x 128 x 112 x 112 in f16 23.7 us, with 32 elements a thread 28.2,
# with 16 50.0; of 3 x 384 x 112 x 112 in bf16 25.2 (33.4, 33.4).
HELD_COLUMNS = Share(1024, 64)

# Programs for each processor where reductions are split, along and across memory;
# across memory twice as many where a step loads less than this. The normalisations of
# ResNet-50's batches in bf16, forward and backward: 3.86 ms, with 4 programs for each
# processor 4.69, with 16 3.91; sums of 2048 columns in f32: 0.95, with 8 programs 0.92.
PARTS_OF_PROCESSOR = {"rows": 8, "columns": 4}
LARGE_STEP_BYTES = 8192

# Shared memory of a program for loads in flight: what every GPU has.
SHARED_BYTES = 65536

THREADS = 32
LARGEST_WARPS = 16
# The widest access of a thread.
ACCESS_BYTES = 16
# Stands for a symbolic size where costs are compared.
GUESSED_SIZE = 1024


def power_of_two(size: int) -> int:
    """The next power of two, at least 2."""
    return max(1 << (max(size, 1) - 1).bit_length(), 2)


def warps_of(elements: int, of_thread: int = 8) -> int:
    """Warps for a block of so many elements: 1, 2, 4, 8 or 16."""
    wanted = elements // (of_thread * THREADS)
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
