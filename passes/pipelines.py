"""The named pipelines, as data: each step with what it establishes and why here."""

from typing import NamedTuple

from girih.passes.pipeline_syntax import parse_pipeline


class PipelineStep(NamedTuple):
    """A step of a named pipeline.

    Attributes:
        text: a pass, a named pipeline, or a nest of them.
        why: what it establishes, and why it stands here.
    """

    text: str
    why: str


PIPELINES: dict[str, tuple[PipelineStep, ...]] = {
    "graph": (
        PipelineStep("choose-convolution-layouts", "oneDNN need not copy images"),
        PipelineStep("recognize-attention", "its derivative is a kernel too"),
        PipelineStep("autograd", "gradients that the program asks for are computed"),
        PipelineStep("canonicalize-graph", "fewer, simpler ops before they multiply"),
        PipelineStep("decompose", "only primitives and library ops are left"),
        PipelineStep("canonicalize-graph", "cleans up what decompositions left over"),
        PipelineStep(
            "eliminate-common-subexpressions", "equal ops become one before grouping"
        ),
        PipelineStep(
            "separate-reductions", "sums along columns store nothing for rows' kernels"
        ),
        PipelineStep("fuse", "every primitive with work to do stands in a fusion"),
    ),
    "derivatives": (
        PipelineStep("choose-convolution-layouts", "oneDNN need not copy images"),
        PipelineStep("recognize-attention", "its derivative is a kernel too"),
        PipelineStep("autograd", "a joint function: results and gradients"),
        PipelineStep("decompose", "only primitives and library ops are left"),
        PipelineStep("canonicalize-graph", "the rules of derivatives simplify nothing"),
        PipelineStep(
            "eliminate-common-subexpressions", "both passes share what is equal"
        ),
        PipelineStep("partition", "a forward and a backward function"),
    ),
    "fusions": (
        PipelineStep("canonicalize-graph", "each function by itself has less to do"),
        PipelineStep(
            "eliminate-common-subexpressions", "equal ops become one before grouping"
        ),
        PipelineStep(
            "separate-reductions", "sums along columns store nothing for rows' kernels"
        ),
        PipelineStep("fuse", "every primitive with work to do stands in a fusion"),
    ),
    "host": (
        PipelineStep("select-products", "large matrix products where they are fast"),
        PipelineStep("convert-graph-to-host", "a launch program and its kernels"),
        PipelineStep("share-flat-kernels", "kernels of all parameters become one"),
        PipelineStep("group-launches", "a run of launches is one native call"),
        PipelineStep("plan-memory", "a native call's intermediates share a workspace"),
    ),
    "device": (
        PipelineStep("fuse-contractions", "chosen products become kernels"),
        PipelineStep(
            "fuse-closing-reductions", "both directions of a matrix in one kernel"
        ),
        PipelineStep("convert-graph-to-host", "a launch program and its kernels"),
        PipelineStep("share-flat-kernels", "kernels of all parameters become one"),
        PipelineStep("launch-products", "a product costs the host a launch, no call"),
        PipelineStep("group-launches", "a run of launches is one native call"),
        PipelineStep("batch-launches", "many small tensors are one launch"),
        PipelineStep("plan-memory", "a native call's intermediates share a workspace"),
        PipelineStep("mark-aligned-arguments", "kernels may load 16 bytes at once"),
    ),
    "cpu": (
        PipelineStep("tile", "each kernel has a schedule"),
        PipelineStep("expand-math", "no function calls are left in inner loops"),
        PipelineStep("convert-tile-to-cpu", "functions over pointers"),
        PipelineStep("hold-bfloat16-as-bits", "LLVM has no bfloat16 to get wrong"),
        PipelineStep("canonicalize", "what became constant by lowering is folded"),
        PipelineStep("cse", "what the lowering made twice becomes one"),
        PipelineStep("llvm", "from functions of many dialects to LLVM's alone"),
    ),
    "gpu": (
        PipelineStep("tile{target=gpu}", "each kernel has a schedule of blocks"),
        PipelineStep("convert-tile-to-tt", "a function of Triton IR for each grid"),
    ),
    "llvm": (
        PipelineStep("convert-scf-to-cf", "blocks and branches"),
        PipelineStep(
            "convert-vector-to-llvm{reassociate-fp-reductions=true}",
            "a vector's lanes are summed as a tree",
        ),
        PipelineStep("convert-math-to-llvm", "what processors have as instructions"),
        PipelineStep("arith-expand", "divisions that round"),
        PipelineStep("convert-arith-to-llvm", "scalar and vector arithmetic"),
        PipelineStep("convert-openmp-to-llvm", "types inside parallel regions"),
        PipelineStep("convert-cf-to-llvm", "branches"),
        PipelineStep("convert-ub-to-llvm", "poison, of partly built vectors"),
        PipelineStep("reconcile-unrealized-casts", "no cast is left between levels"),
    ),
    "default": (
        PipelineStep("graph", "from the imported graph to fusions"),
        PipelineStep("host", "from fusions to a launch program"),
        PipelineStep("cpu", "from kernels to functions of LLVM's dialect"),
    ),
}


def texts(name: str) -> list[str]:
    """Returns the texts of a named pipeline's steps.

    Raises:
        KeyError: There is no such pipeline.
    """
    return [step.text for step in PIPELINES[name]]


def upstream_passes() -> frozenset[str]:
    """Returns the passes that some pipeline takes from upstream."""
    from girih.passes import PASS_MODULES

    named = {
        step.name
        for pipeline in PIPELINES.values()
        for entry in pipeline
        for step in parse_pipeline(entry.text)
    }
    return frozenset(named - set(PASS_MODULES) - set(PIPELINES))


def with_options(name: str, options: dict[str, str]) -> list[str]:
    """Returns a named pipeline's texts, fully expanded, with options of passes added.

    Args:
        name: the pipeline.
        options: for a pass, its options as text: ``{"tile": "vector-bits=512"}``.
    """
    expanded = []
    for text in texts(name):
        step, _, own = text.removesuffix("}").partition("{")
        if text in PIPELINES:
            expanded.extend(with_options(text, options))
        elif options.get(step):
            given = " ".join(filter(None, (own, options[step])))
            expanded.append(f"{step}{{{given}}}")
        else:
            expanded.append(text)
    return expanded
