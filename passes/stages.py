"""The order of the compiler: every stage of every program, as data.

::

    inference   import ... fuse ─────────────┐
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
        takes_ir: Whether there is IR in front of it.
        leaves_ir: Whether there is IR behind it.
    """

    name: str
    does: str
    passes: str = ""
    takes_ir: bool = True
    leaves_ir: bool = True


def _stage(name: str, does: str, passes: str = "") -> CompilerStage:
    """A stage that runs the pass of its name, or another one."""
    return CompilerStage(name, does, passes or name)


def _act(name: str, does: str, **ir: bool) -> CompilerStage:
    """A stage in which the driver acts, so that no pipeline can replay it."""
    return CompilerStage(name, does, **ir)


# The driver's own -----------------------------------------------------------------

IMPORT = _act(
    "import",
    "The importer turns the captured FX graph into a module of the graph dialect.",
    takes_ir=False,
)
LAYOUTS = _act(
    "layouts",
    "The driver measures, for shapes that are new to it, which memory layout makes "
    "a convolution fastest, and writes the answer on the op.",
)
TUNE = _act(
    "tune",
    "With max_autotune the driver measures tilings of large products and kernels on "
    "the device, and writes the fastest one on the op.",
)

# Graphs ---------------------------------------------------------------------------

CHOOSE_LAYOUTS = _stage(
    "choose-convolution-layouts",
    "Convolutions get images and weights in the layout that was measured to be "
    "fastest. Conversions are ops from here on, so that later stages can fuse them.",
)
RECOGNIZE_ATTENTION = _stage(
    "recognize-attention",
    "Attention that is written out becomes one op. It must happen in front of "
    "autograd, so that the derivative is that op's own kernel, too.",
)
AUTOGRAD = _stage(
    "autograd",
    "Every gradient that the program asks for is computed by ops of the graph. In a "
    "joint program these are the gradients of all its arguments.",
)
SIMPLIFY = _stage(
    "simplify",
    "Ops that fold or cancel are gone, before decomposition multiplies them.",
    "canonicalize-graph",
)
DECOMPOSE = _stage(
    "decompose",
    "Composite ops are written out, so that only primitives and library ops are left.",
)
CLEAN_UP = _stage(
    "clean-up",
    "What decompositions and derivative rules left over is folded, since their rules "
    "emit naive arithmetic.",
    "canonicalize-graph",
)
SHARE = _stage(
    "eliminate-common-subexpressions",
    "Equal ops have become one, before fusion copies them into several kernels.",
)
SEPARATE_REDUCTIONS = _stage(
    "separate-reductions",
    "A gradient's sum along columns has its own copy of the arithmetic. Otherwise it "
    "would force a row kernel to store its intermediate.",
)
FUSE = _stage(
    "fuse",
    "Every primitive with work to do stands in a fusion: each fusion becomes a kernel.",
)
PARTITION = _stage(
    "partition",
    "The joint function is split into @main and @backward, which computes again what "
    "is cheaper to compute than to keep.",
)
DROP_ZERO = _stage(
    "drop-zero-cotangents",
    "The backward function of a call has no arguments for results without a gradient.",
)
GRADIENTS = _stage(
    "gradients",
    "The function from arguments to results becomes the function from arguments and "
    "cotangents to gradients, the source of the next derivative.",
    "autograd{derived-again=true}",
)

_FUSED = (CLEAN_UP, SHARE, SEPARATE_REDUCTIONS, FUSE)

INFERENCE = (
    CHOOSE_LAYOUTS,
    RECOGNIZE_ATTENTION,
    AUTOGRAD,
    SIMPLIFY,
    DECOMPOSE,
    *_FUSED,
)
JOINT = (
    CHOOSE_LAYOUTS,
    RECOGNIZE_ATTENTION,
    AUTOGRAD,
    DECOMPOSE,
    CLEAN_UP,
    SHARE,
    PARTITION,
)
EACH_WAY = _FUSED

# Launch programs ------------------------------------------------------------------

SELECT_PRODUCTS = _stage(
    "select-products",
    "Every large matrix product names the library that multiplies it fastest here.",
)
FUSE_CONTRACTIONS = _stage(
    "fuse-contractions",
    "Products that are faster so are kernels together with what follows them.",
)
FUSE_CLOSING_REDUCTIONS = _stage(
    "fuse-closing-reductions",
    "Reductions of one matrix along rows and along columns share a kernel, which "
    "reads the matrix once.",
)
CONVERT_TO_HOST = _stage(
    "convert-graph-to-host",
    "The graph has become a launch program and one unscheduled kernel per fusion.",
)
SHARE_FLAT_KERNELS = _stage(
    "share-flat-kernels",
    "Kernels that differ only in their sizes have become one, as for the parameters "
    "of an optimizer.",
)
LAUNCH_PRODUCTS = _stage(
    "launch-products",
    "A matrix product is a launch like a kernel's, which costs the host less than a "
    "call of ATen.",
)
GROUP_LAUNCHES = _stage(
    "group-launches",
    "A run of launches is one native call, so Python is left once for all of them.",
)
BATCH_LAUNCHES = _stage(
    "batch-launches",
    "Launches of one kernel on many small tensors have become one launch.",
)
PLAN_MEMORY = _stage(
    "plan-memory",
    "Intermediates of a native call lie in one workspace, and share memory where "
    "their lifetimes do not overlap.",
)
MARK_ALIGNED = _stage(
    "mark-aligned-arguments",
    "Kernels know which arguments are aligned to 16 bytes, so they may load as much "
    "at once.",
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
    "Functions such as exp are polynomials, so that inner loops call nothing.",
)
CONVERT_TO_CPU = _stage(
    "convert-tile-to-cpu",
    "Kernels are functions over pointers, with OpenMP around parallel loops.",
)
HOLD_BFLOAT16 = _stage(
    "hold-bfloat16-as-bits",
    "No value has the type bfloat16, which LLVM rounds wrongly on some processors.",
)
CANONICALIZE = _stage(
    "canonicalize", "What became constant by lowering is folded, by MLIR's own pass."
)
CSE = _stage("cse", "Address arithmetic that the lowering repeated has become one.")
CONVERT_TO_TT = _stage(
    "convert-tile-to-tt", "Each grid of each kernel is a function of Triton IR."
)

TO_LLVM = (
    _stage("convert-scf-to-cf", "Loops and branches are blocks."),
    _stage(
        "convert-vector-to-llvm",
        "Vectors are LLVM's, and a vector's lanes are summed as a tree.",
        "convert-vector-to-llvm{reassociate-fp-reductions=true}",
    ),
    _stage("convert-math-to-llvm", "What processors have as instructions is LLVM's."),
    _stage("arith-expand", "Divisions that round are written out."),
    _stage("convert-arith-to-llvm", "Arithmetic of scalars and vectors is LLVM's."),
    _stage("convert-openmp-to-llvm", "Parallel regions have LLVM's types."),
    _stage("convert-cf-to-llvm", "Branches are LLVM's."),
    _stage("convert-ub-to-llvm", "Poison, of vectors built in parts, is LLVM's."),
    _stage("reconcile-unrealized-casts", "No cast between dialects is left."),
)

# Code -----------------------------------------------------------------------------

LLVM = _act(
    "llvm",
    "LLVM makes object code of the kernels, and the driver links it into the process. "
    "Code of equal kernels comes from memory or from the disk cache.",
    leaves_ir=False,
)
TRITON = _act(
    "triton",
    "Triton compiles each grid, unless the disk cache has it.",
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
    "The launch program becomes a C object, which is called with tensors.",
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
        measures: What the driver measures, in front of and behind the graph's stages.
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
        SELECT_PRODUCTS,
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
        CONVERT_TO_HOST,
        SHARE_FLAT_KERNELS,
        LAUNCH_PRODUCTS,
        GROUP_LAUNCHES,
        BATCH_LAUNCHES,
        PLAN_MEMORY,
        MARK_ALIGNED,
    ),
    kernels=(TILE_FOR_GPU, CONVERT_TO_TT),
    code=(TRITON, LOAD, PROGRAM),
    measures=((), (TUNE,)),
)
TARGETS = {target.name: target for target in (CPU, GPU)}

PIPELINES: dict[str, tuple[CompilerStage, ...]] = {
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

PROGRAMS = ("inference", "joint", "forward", "backward", "derivative")
"""The kinds of programs; a derivative's own stages lead to a joint program."""


def stages_of(program: str, target: CompilerTarget) -> tuple[CompilerStage, ...]:
    """Returns all stages of a program, in order.

    Raises:
        KeyError: There is no such program.
    """
    before, behind = target.measures
    end = (*behind, *target.launch, *target.kernels, *target.code)
    return {
        "inference": (IMPORT, *before, *INFERENCE, *end),
        "joint": (IMPORT, *before, *JOINT),
        "forward": (*EACH_WAY, *end),
        "backward": (DROP_ZERO, *EACH_WAY, *end),
        "derivative": (GRADIENTS,),
    }[program]
