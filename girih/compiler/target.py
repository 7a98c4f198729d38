"""What the driver asks of a target: stages, options, and code for kernels.

A target is a value that knows nothing of the driver. The driver runs its stages, hands
it kernels, and links what comes back into a program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch

from girih.codegen.runtime._runtime import Program
from girih.dialects.bindings import ir
from girih.options import Options
from girih.passes.decompose import DecomposeOptions
from girih.passes.fuse.plan import FuseOptions
from girih.passes.hoist_vectors import HoistOptions
from girih.passes.partition.plan import PartitionOptions
from girih.passes.round_before_jumps import RoundOptions
from girih.passes.sink_permutes import SinkOptions
from girih.passes.stages import CompilerTarget
from girih.passes.write_out_convolutions import ConvolutionOptions
from girih.passes.write_out_reductions import ShortReductionOptions
from girih.passes.write_out_rolls import RollOptions
from girih.passes.write_out_vector_products import VectorProductOptions
from girih.reports import Report


class Target(Protocol):
    """Where programs run.

    Attributes:
        device: Where their tensors are.
        stages: Its stages, from fusions to code.
        level: What the IR of its kernels is called where it is dumped.
        takes_launches: Whether its kernels' pipeline reads the launch program, too.
        keeps_programs: Whether whole programs are kept on disk: `kept_programs`.
    """

    device: torch.device
    stages: CompilerTarget
    level: str
    takes_launches: bool
    keeps_programs: bool

    def pass_options(self, options: Options) -> dict[str, Any]:
        """Options of passes, each an object of the pass's own class."""

    def key(self, module: ir.Module, passes: str) -> str:
        """What the code of a program's kernels is kept under; "" where none is kept.

        Args:
            module: The launch program and unscheduled kernels.
            passes: What becomes of the kernels, as text.
        """

    def find(self, key: str, options: Options, report: Report) -> Any:
        """The loaded code that is kept under a key, or None; the report says where."""

    def compile(self, kernels: ir.Module, options: Options) -> Any:
        """Makes code of lowered kernels."""

    def load(self, module: ir.Module, code: Any) -> Any:
        """Loads code onto the device.

        Args:
            module: The launch program and unscheduled kernels.
            code: What `compile` made.
        """

    def keep(self, key: str, options: Options, code: Any) -> Any:
        """Keeps code under a key, if there is one; returns it as `link` takes it."""

    def link(
        self, module: ir.Module, code: Any, fallback: Callable | None, name: str
    ) -> Program:
        """Makes the program.

        Args:
            module: The launch program and unscheduled kernels.
            code: Loaded code; None where there are no kernels.
            fallback: Called with the same inputs where a check fails.
            name: What profilers call it.
        """


# On a CPU a SiLU that a convolution of each channel with stride 2 computes 2.25 times
# takes longer than the product before it takes to apply it: 1.20 ms of 112 x 112 x 96
# f32, instead of 0.65 (one thread with AVX-512, 2026-11-28).
_EXPENSIVE_RECOMPUTE = {"cpu": 2, "gpu": 3}
# A window of 3 x 3 would read a padded image with a bias and ReLU nine times: MobileOne
# took 21.1 ms instead of 18.3 (the same processor and day).
_RECOMPUTE = {"cpu": 4, "gpu": 8}


def _small_row(target: str) -> int:
    """Elements of a row for which a kernel needs no other rows."""
    if target == "cpu":
        return 0
    from girih.passes.tile.gpu.policy import REGISTER_ROW  # only where there is a GPU

    return REGISTER_ROW


def graph_options(options: Options, target: str) -> dict[str, Any]:
    """Options of the passes on graphs.

    Args:
        options: Of the compilation.
        target: The name of the target.
    """
    budget = options.memory_budget
    return {
        "decompose": DecomposeOptions(target=target),
        "fuse": FuseOptions(
            max_inputs=options.max_fusion_inputs,
            max_recompute=_RECOMPUTE[target],
            max_expensive_recompute=_EXPENSIVE_RECOMPUTE[target],
            small_row=_small_row(target),
            stores_weights=target == "cpu",
        ),
        "hoist-vectors": HoistOptions(target=target),
        "partition": PartitionOptions(target=target, memory_budget=budget),
        "round-before-jumps": RoundOptions(each_op=options.emulate_precision_casts),
        "sink-permutes": SinkOptions(target=target),
        "write-out-convolutions": ConvolutionOptions(target=target),
        "write-out-reductions": ShortReductionOptions(target=target),
        "write-out-rolls": RollOptions(target=target),
        "write-out-vector-products": VectorProductOptions(target=target),
    }
