"""The order of the compiler: every stage of every program, as data.

::

    inference   import ... fuse ─────────────┐
    constants     └ (freezing) ... fuse ─────┤
    joint       import ... partition ─┐      │
    forward       ┌───────────────────┴ fuse ┤
    backward      └ drop-zero-cotangents fuse┤
                                             └► launch ──► kernels ──► code

A program without gradients is compiled as `inference`. One with gradients begins as
`joint`, whose last stage splits it into `forward` and `backward`. A derivative of
higher order begins with `GRADIENTS` and goes on as a `joint` of its own. The end is
that of the target: its launch program, its kernels, its code.

``girih-opt --list-stages`` prints this. A user's pass runs ``before:`` or ``after:`` a
stage, see `girih.passes.places`. This file imports no torch and no MLIR.
"""

from typing import NamedTuple


class CompilerStage(NamedTuple):
    """A stage of the compiler.

    Attributes:
        name: Unique in its program: users write ``before:NAME`` and ``after:NAME``.
        does: What holds afterwards, and why the stage stands here.
        passes: The pass that runs, as text; "" where the driver acts.
        takes_ir: Whether there is IR before it.
        leaves_ir: Whether there is IR after it.
        option: The option of `girih.compile` that asks for it; "" where it always runs.
    """

    name: str
    does: str
    passes: str = ""
    takes_ir: bool = True
    leaves_ir: bool = True
    option: str = ""


def _stage(name: str, does: str, passes: str = "", option: str = "") -> CompilerStage:
    """A stage that runs the pass of its name, or another one."""
    return CompilerStage(name, does, passes or name, option=option)


def _act(name: str, does: str, option: str = "", **ir: bool) -> CompilerStage:
    """A stage in which the driver acts, so that no pipeline can replay it."""
    return CompilerStage(name, does, option=option, **ir)


# The driver's own -----------------------------------------------------------------

IMPORT = _act(
    "import",
    "The importer turns the captured FX graph into a module of the graph dialect.",
    takes_ir=False,
)
LAYOUTS = _act(
    "layouts",
    "The driver measures for new shapes which memory layout makes a convolution "
    "fastest.",
)
TUNE = _act(
    "tune",
    "With max_autotune the driver measures tilings on the device, and writes the "
    "fastest one on the op.",
    option="max_autotune",
)

# Constants ------------------------------------------------------------------------

FOLD_BATCH_NORMS = _stage(
    "fold-batch-norms",
    "With freezing, weights of convolutions contain the batch norms that follow.",
    option="freezing",
)
MERGE_CONVOLUTIONS = _stage(
    "merge-convolutions",
    "With freezing, one convolution replaces several of one image that are added up.",
    option="freezing",
)
WRITE_OUT_BATCH_NORMS = _stage(
    "write-out-batch-norms",
    "With freezing, what a batch norm multiplies by and adds is a constant.",
    option="freezing",
)
PACK_CONVOLUTIONS = _stage(
    "pack-convolutions",
    "With freezing, oneDNN gets weights of convolutions in its own layout, and "
    "computes the sum and activation that follow.",
    option="freezing",
)
PACK_PRODUCTS = _stage(
    "pack-products",
    "With freezing, weights of large products lie in panels, which kernels read in "
    "turn.",
    option="freezing",
)
SPLIT_CONSTANTS = _stage(
    "split-constants",
    "With freezing, a function of its own computes what depends on weights alone. "
    "girih calls it when a weight has changed.",
    option="freezing",
)
CONSTANTS = (
    FOLD_BATCH_NORMS,
    MERGE_CONVOLUTIONS,
    WRITE_OUT_BATCH_NORMS,
    PACK_CONVOLUTIONS,
    PACK_PRODUCTS,
    SPLIT_CONSTANTS,
)

# Graphs ---------------------------------------------------------------------------

CHOOSE_LAYOUTS = _stage(
    "choose-convolution-layouts",
    "Convolutions get images and weights in the layout that girih measured to be "
    "fastest.",
)
RECOGNIZE_ATTENTION = _stage(
    "recognize-attention",
    "One op replaces attention that the program writes out, and later its derivative.",
)
AUTOGRAD = _stage(
    "autograd",
    "Ops of the graph compute every gradient that the program asks for, in a joint "
    "program those of all arguments.",
)
SIMPLIFY = _stage(
    "simplify",
    "No op is left that folds or cancels. Decomposition would multiply such ops.",
    "canonicalize-graph",
)
DECOMPOSE = _stage(
    "decompose",
    "Primitives and library ops replace the composite ops.",
)
CLEAN_UP = _stage(
    "clean-up",
    "The naive arithmetic that decompositions and derivative rules emit is folded.",
    "canonicalize-graph",
)
SHARE = _stage(
    "eliminate-common-subexpressions",
    "Equal ops are one op. Fusion would copy each of them into several kernels.",
)
SEPARATE_REDUCTIONS = _stage(
    "separate-reductions",
    "A gradient's sum along columns has its own copy of the arithmetic, so no row "
    "kernel stores its intermediate.",
)
FUSE = _stage(
    "fuse",
    "Every primitive with work to do stands in a fusion, which becomes a kernel.",
)
WRITE_OUT_COMPLEX = _stage(
    "write-out-complex",
    "Pairs of real tensors replace complex ones, so that kernels compute them.",
)
WRITE_OUT_VECTOR_PRODUCTS = _stage(
    "write-out-vector-products",
    "On the CPU, kernels multiply one row by a matrix of narrow elements, or by one "
    "that is computed for this product.",
)
WRITE_OUT_REDUCTIONS = _stage(
    "write-out-reductions",
    "Arithmetic replaces reductions of two to four computed elements that would end a "
    "kernel.",
)
WRITE_OUT_ROLLS = _stage(
    "write-out-rolls",
    "On the CPU, reads at an index that wraps replace parts of a tensor side by side.",
)
WRITE_OUT_SCATTERS = _stage(
    "write-out-scatters",
    "On a GPU, ops of kernels replace calls that add to elements at an index.",
)
WRITE_OUT_CONVOLUTIONS = _stage(
    "write-out-convolutions",
    "On the CPU, products of matrices and sums over windows replace convolutions that "
    "kernels compute faster than a library.",
)
SINK_PERMUTES = _stage(
    "sink-permutes",
    "On the CPU, arithmetic on permuted tensors runs in the order in which they lie, "
    "where something behind it permutes them back.",
)
CANCEL_PERMUTES = _stage(
    "cancel-permutes",
    "Reductions between two permutations that cancel run in the order of the tensors.",
)
ROUND_BEFORE_JUMPS = _stage(
    "round-before-jumps",
    "What a rounding to whole numbers, a comparison or a sort depends on has the 16 "
    "bits that eager's has.",
)
PARTITION = _stage(
    "partition",
    "@main and @backward replace the joint function. @backward computes again what is "
    "cheaper to compute than to keep.",
)
DROP_ZERO = _stage(
    "drop-zero-cotangents",
    "The backward function has no argument for a result that gets no gradient in this "
    "call.",
)
GRADIENTS = _stage(
    "gradients",
    "The module holds the joint function's gradients alone, as a function of arguments "
    "and cotangents.",
    "autograd{derived-again=true}",
)

_FUSED = (
    WRITE_OUT_CONVOLUTIONS,
    WRITE_OUT_VECTOR_PRODUCTS,
    WRITE_OUT_REDUCTIONS,
    CLEAN_UP,
    SHARE,
    WRITE_OUT_ROLLS,
    WRITE_OUT_SCATTERS,
    CANCEL_PERMUTES,
    SINK_PERMUTES,
    ROUND_BEFORE_JUMPS,
    SEPARATE_REDUCTIONS,
    FUSE,
)

INFERENCE = (
    CHOOSE_LAYOUTS,
    RECOGNIZE_ATTENTION,
    AUTOGRAD,
    SIMPLIFY,
    DECOMPOSE,
    WRITE_OUT_COMPLEX,
    *_FUSED,
)
JOINT = (
    CHOOSE_LAYOUTS,
    RECOGNIZE_ATTENTION,
    AUTOGRAD,
    DECOMPOSE,
    WRITE_OUT_COMPLEX,
    CLEAN_UP,
    SHARE,
    PARTITION,
)
EACH_WAY = _FUSED

# Launch programs ------------------------------------------------------------------

SELECT_PRODUCTS = _stage(
    "select-products",
    "Every large matrix product names the library that is fastest for it on this "
    "processor.",
)
FUSE_CONTRACTIONS = _stage(
    "fuse-contractions",
    "A product that is faster as a kernel stands in a fusion, together with the ops "
    "that follow it.",
)
FUSE_CLOSING_REDUCTIONS = _stage(
    "fuse-closing-reductions",
    "A reduction along rows and one along columns share a kernel, which reads the "
    "matrix once.",
)
NARROW_INTERMEDIATES = _stage(
    "narrow-intermediates",
    "Kernels store 16-bit values instead of the same values in 32 bits.",
)
HOIST_VECTORS = _stage(
    "hoist-vectors",
    "On the CPU, a kernel of its own computes the root and the division of each "
    "channel where the channels are innermost.",
)
CONVERT_TO_HOST = _stage(
    "convert-graph-to-host",
    "The graph is a launch program, and each fusion is an unscheduled kernel.",
)
SHARE_FLAT_KERNELS = _stage(
    "share-flat-kernels",
    "Kernels that differ only in their sizes are one kernel, as those of an "
    "optimizer's step.",
)
LAUNCH_PRODUCTS = _stage(
    "launch-products",
    "Matrix products are launches, which cost the host less than calls of ATen.",
)
GROUP_LAUNCHES = _stage(
    "group-launches",
    "Adjacent launches are one native call, so the program leaves Python once for all "
    "of them.",
)
BATCH_LAUNCHES = _stage(
    "batch-launches",
    "Launches of one kernel on many small tensors are one launch.",
)
PLAN_MEMORY = _stage(
    "plan-memory",
    "The intermediates of a native call lie in one workspace. They share memory where "
    "their lifetimes do not overlap.",
)
MARK_ALIGNED = _stage(
    "mark-aligned-arguments",
    "Each kernel states which of its arguments are aligned to 16 bytes. Loads of "
    "these can be wider.",
)

# Kernels --------------------------------------------------------------------------

TILE = _stage(
    "tile",
    "Every kernel has a schedule: loops, vectors and threads.",
)
TILE_FOR_GPU = _stage(
    "tile",
    "Every kernel has a schedule: grids, blocks and warps.",
    "tile{target=gpu}",
)
EXPAND_MATH = _stage(
    "expand-math",
    "Arithmetic, or a library of vector functions, computes functions such as exp.",
)
CONVERT_TO_CPU = _stage(
    "convert-tile-to-cpu",
    "Each kernel is a function of pointers. OpenMP runs its parallel loops.",
)
HOLD_BFLOAT16 = _stage(
    "hold-bfloat16-as-bits",
    "No value has the type bfloat16. LLVM rounds that type wrongly on some processors.",
)
CANONICALIZE = _stage(
    "canonicalize",
    "MLIR's own pass has folded the constants that the lowering exposed.",
)
CSE = _stage(
    "cse",
    "Each address is computed once.",
)
CONVERT_TO_TT = _stage(
    "convert-tile-to-tt",
    "Each grid of each kernel is a function of Triton IR.",
)
HOIST_LOADS = _stage(
    "hoist-loads",
    "Loads come before the arithmetic of their block, so that they overlap.",
)
HINT_EVICTION = _stage(
    "hint-eviction",
    "The cache keeps weights, and rows that are read again, rather than results.",
)

TO_LLVM = (
    _stage(
        "convert-scf-to-cf",
        "Blocks and branches replace loops.",
    ),
    _stage(
        "convert-vector-to-llvm",
        "LLVM's vectors replace MLIR's. The lanes of a vector are summed as a tree.",
        "convert-vector-to-llvm{reassociate-fp-reductions=true}",
    ),
    _stage(
        "convert-math-to-llvm",
        "LLVM's intrinsics replace the math functions that processors have.",
    ),
    _stage(
        "arith-expand",
        "Simpler operations replace divisions that round.",
    ),
    _stage(
        "convert-arith-to-llvm",
        "LLVM's arithmetic replaces MLIR's, for scalars and vectors.",
    ),
    _stage(
        "convert-openmp-to-llvm",
        "Parallel regions use LLVM's types.",
    ),
    _stage(
        "convert-cf-to-llvm",
        "LLVM's branches replace MLIR's.",
    ),
    _stage(
        "convert-ub-to-llvm",
        "LLVM's poison replaces MLIR's.",
    ),
    _stage("reconcile-unrealized-casts", "No cast between dialects is left."),
)

# Code -----------------------------------------------------------------------------

LLVM = _act(
    "llvm",
    "LLVM compiles the kernels, and the driver links them into the process. Code of "
    "equal kernels comes from memory or from the disk cache.",
    leaves_ir=False,
)
TRITON = _act(
    "triton",
    "Triton compiles each grid whose code is not in the disk cache.",
    leaves_ir=False,
)
LOAD = _act(
    "load",
    "The driver loads the kernels onto the device.",
    takes_ir=False,
    leaves_ir=False,
)
PROGRAM = _act(
    "program",
    "The launch program is a C object, which girih calls with tensors.",
    takes_ir=False,
    leaves_ir=False,
)


class CompilerTarget(NamedTuple):
    """Where programs run.

    Attributes:
        name: Of the target.
        launch_pipeline, kernel_pipeline: Names of the two pipelines.
        launch: From fusions to a launch program with unscheduled kernels.
        kernels: From these kernels to what a code generator takes.
        code: From there to a callable.
        measures: What the driver measures, before and after the graph's stages.
    """

    name: str
    launch_pipeline: str
    kernel_pipeline: str
    launch: tuple[CompilerStage, ...]
    kernels: tuple[CompilerStage, ...]
    code: tuple[CompilerStage, ...]
    measures: tuple[tuple[CompilerStage, ...], tuple[CompilerStage, ...]]


CPU = CompilerTarget(
    name="cpu",
    launch_pipeline="host",
    kernel_pipeline="cpu",
    launch=(
        FUSE_CONTRACTIONS,
        SELECT_PRODUCTS,
        NARROW_INTERMEDIATES,
        HOIST_VECTORS,
        CONVERT_TO_HOST,
        SHARE_FLAT_KERNELS,
        GROUP_LAUNCHES,
        PLAN_MEMORY,
    ),
    kernels=(
        TILE,
        EXPAND_MATH,
        CONVERT_TO_CPU,
        HOLD_BFLOAT16,
        CANONICALIZE,
        CSE,
        *TO_LLVM,
    ),
    code=(LLVM, PROGRAM),
    measures=((LAYOUTS,), ()),
)
GPU = CompilerTarget(
    name="gpu",
    launch_pipeline="device",
    kernel_pipeline="gpu",
    launch=(
        FUSE_CONTRACTIONS,
        FUSE_CLOSING_REDUCTIONS,
        NARROW_INTERMEDIATES,
        CONVERT_TO_HOST,
        SHARE_FLAT_KERNELS,
        LAUNCH_PRODUCTS,
        GROUP_LAUNCHES,
        BATCH_LAUNCHES,
        PLAN_MEMORY,
        MARK_ALIGNED,
    ),
    kernels=(TILE_FOR_GPU, CONVERT_TO_TT, HOIST_LOADS, HINT_EVICTION),
    code=(TRITON, LOAD, PROGRAM),
    measures=((), (TUNE,)),
)
TARGETS = {target.name: target for target in (CPU, GPU)}

PIPELINES: dict[str, tuple[CompilerStage, ...]] = {
    "constants": CONSTANTS,
    "graph": INFERENCE,
    "derivatives": JOINT,
    "fusions": EACH_WAY,
    "backward": (DROP_ZERO,),
    "gradients": (GRADIENTS,),
    "host": CPU.launch,
    "device": GPU.launch,
    "cpu": CPU.kernels,
    "gpu": GPU.kernels,
    "llvm": TO_LLVM,
}
"""Stretches of stages without an act of the driver; they run as one pipeline."""

PROGRAMS = ("inference", "constants", "joint", "forward", "backward", "derivative")
"""The kinds of programs; a derivative's own stages lead to a joint program. That of
constants computes what an inference program needs, with the option `freezing`."""


def stages_of(program: str, target: CompilerTarget) -> tuple[CompilerStage, ...]:
    """Returns all stages of a program, in order.

    Raises:
        KeyError: There is no such program.
    """
    before, behind = target.measures
    end = (*behind, *target.launch, *target.kernels, *target.code)
    return {
        "inference": (IMPORT, *CONSTANTS, *before, *INFERENCE, *end),
        "constants": (*before, *INFERENCE, *end),
        "joint": (IMPORT, *before, *JOINT),
        "forward": (*EACH_WAY, *end),
        "backward": (DROP_ZERO, *EACH_WAY, *end),
        "derivative": (GRADIENTS,),
    }[program]
