"""max-autotune: measures how products and large kernels of a graph run best.

::

    fusions ── each product with what follows it, each large fusion
      ──► a program of its own for each candidate ──► Tuner
      ──► attributes: girih.tuning, girih.library

Candidates of a product are the library's call, followed by a kernel, and kernels of its
own in several tilings; those of a fusion are sizes of blocks and numbers of warps. What
wins is said by attributes, which ``fuse-contractions`` and ``tile`` read. Sizes that
are symbolic are not tuned, nor are products of float32, nor small ones: kernels.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

import torch

from girih import __version__
from girih.codegen.gpu.autotune import Candidate, Run, Tuner, measure_on
from girih.codegen.gpu.compile import triton_version
from girih.compiler.kernel_code import launch, lowered_kernels, program_of
from girih.compiler.runner import Runner
from girih.compiler.sources import added
from girih.compiler.subprogram import Subprogram, random_inputs
from girih.dialects import graph
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim
from girih.passes import stages
from girih.passes.fuse_contractions.choice import LIBRARY, TUNING
from girih.passes.fuse_contractions.epilogue import Group, group_of
from girih.passes.fuse_contractions.products import product_of
from girih.passes.graph_builder import function_bodies
from girih.passes.tile.gpu.attention.tuning import tunable_attention
from girih.passes.tile.gpu.contraction_policy import Shape, candidates
from girih.reports import Report

# Kernels that move fewer bytes than this end before a measurement says much.
LEAST_BYTES = 1 << 22
# What is tried of kernels beside the policy's choice: sizes of blocks and warps.
KERNEL_SETTINGS = (
    *({"warps": warps} for warps in (1, 2, 4, 8, 16)),
    *({"elements": elements} for elements in (512, 1024, 2048, 4096, 8192)),
    *({"elements": 16 * 256 * warps, "warps": warps} for warps in (4, 8)),
)
LIBRARY_CALL = Candidate("library")


def tune(module: ir.Module, runner: Runner, tuner: Tuner | None = None) -> None:
    """Says, at each product and large fusion of a graph, how it runs best.

    Args:
        module: a module of fusions; attributes are added.
        runner: that of the module; programs of candidates are made like its own.
        tuner: what measures; by default on the target's device.
    """
    device = runner.target.device
    if tuner is None and not can_measure(device):
        return
    with runner.act(stages.TUNE, module.operation), ExitStack() as stack:
        folder = runner.options.cache_folder()
        tuner = tuner or device_tuner(device, folder)
        place = folder or stack.enter_context(tempfile.TemporaryDirectory())
        tuning = _Tuning(runner, tuner, Path(place))
        for block in function_bodies(module):
            for op in list(block.operations):
                tuning.tune(op)


def can_measure(device: torch.device) -> bool:
    """Whether a device has a clock: an emulated one has not."""
    return device.type == "cuda"


def device_tuner(device: torch.device, folder: Path | None) -> Tuner:
    """Measures on a device; results hold for devices of its name and these versions."""
    name = torch.cuda.get_device_name(device)
    others = (torch.__version__, str(torch.version.cuda), triton_version())
    versions = (__version__, *others)
    return Tuner(measure_on(device), (name, *versions), folder)


class _Tuning:
    """Tunes the ops of one module.

    Args:
        runner: that of the module.
        tuner: what measures.
        folder: where kernels that were compiled ahead are found.
    """

    def __init__(self, runner: Runner, tuner: Tuner, folder: Path) -> None:
        self._runner = runner
        self._tuner = tuner
        self._options = replace(
            runner.options,
            cache_dir=str(folder),
            cache=True,
            cudagraphs=False,
            dump_dir=None,
            max_autotune=False,
        )
        self._taken: list[ir.OpView] = []

    def tune(self, op: ir.OpView) -> None:
        """Tunes a product, with what follows it, or a fusion; leaves others alone."""
        if TUNING in op.attributes or LIBRARY in op.attributes:
            return
        product = product_of(op)
        if product is not None:
            self._tune_product(group_of(product))
        elif op.operation.name in graph.KERNELS:
            self._tune_attention(op)
        elif op.operation.name == "graph.fusion" and _is_large(op):
            if op not in self._taken:
                self._tune_fusion(op)

    def _tune_product(self, group: Group) -> None:
        shape = self._shape_of(group)
        if shape is None:
            return
        own = [product.op for product in group.products]
        ops = [each.fusion for each in group.prologues] + own
        ops += [] if group.fusion is None else [group.fusion]
        tilings = [_candidate(asdict(tiling)) for tiling in candidates(shape)]
        sizes = f"{shape.rows}x{shape.columns}x{shape.depth}"
        best = self._decide(f"product {sizes}", ops, own, [LIBRARY_CALL, *tilings])
        if best != LIBRARY_CALL and group.fusion is not None:
            self._taken.append(group.fusion)

    def _shape_of(self, group: Group) -> Shape | None:
        """The sizes of products; None where they are not to be measured."""
        first = group.products[0]
        *batch, rows, columns = first.shape
        sizes = (*batch, rows, columns, first.depth)
        if any(isinstance(size, Dim) for size in sizes) or _is_symbolic(group):
            return None
        if not first.is_half or first.is_small or columns < 2:
            return None
        count = 1
        for size in batch:
            count *= size
        facts = self._runner.target.facts
        return Shape(
            rows=rows,
            columns=columns,
            depth=first.depth,
            batch=count,
            count=len(group.products),
            bits=16,
            processors=facts["multiprocessors"],
            shared_bytes=facts["shared_bytes_per_block"],
        )

    def _tune_attention(self, op: ir.OpView) -> None:
        """Tunes one grid of the kernel after the other."""
        shared_bytes = self._runner.target.facts["shared_bytes_per_block"]
        attention = tunable_attention(op, shared_bytes)
        settings: dict[str, int] = {}
        for grid in () if attention is None else attention.grids:
            own = attention.settings(grid)
            given = [_candidate(settings | each) for each in own]
            default = replace(LIBRARY_CALL, name="default", settings=settings)
            what = f"{attention.name}, {grid}"
            settings = self._decide(what, [op], [op], [default, *given]).settings

    def _tune_fusion(self, op: ir.OpView) -> None:
        given = [_candidate(settings) for settings in KERNEL_SETTINGS]
        sizes = "x".join(map(str, op.domain))
        self._decide(f"kernel {sizes}", [op], [op], [Candidate("default"), *given])

    def _decide(
        self,
        what: str,
        ops: Sequence[ir.OpView],
        marked: Sequence[ir.OpView],
        given: Sequence[Candidate],
    ) -> Candidate:
        """Measures a part of the program, and marks ops with what won."""
        part = Subprogram(ops, [ops.index(op) for op in marked])
        text = part.text + self._runner.users.key() + added()
        best = self._tuner.best(what, text, given, lambda c: self._runs(part, c))
        mark(marked, best)
        return best

    def _runs(self, part: Subprogram, given: Sequence[Candidate]) -> Iterator[Run]:
        """A run of each candidate; all their kernels are compiled before the first."""
        return _Runs(self, part, given)

    def runner_of(self) -> Runner:
        """A runner like the module's own, with a report that nobody reads."""
        target, kind = self._runner.target, self._runner.kind
        return Runner(self._options, Report("candidate"), target, kind)


class _Runs(Iterator[Run]):
    """Programs of candidates, made when they are asked for."""

    def __init__(
        self, tuning: _Tuning, part: Subprogram, given: Sequence[Candidate]
    ) -> None:
        self._tuning = tuning
        self._part = part
        self._left = list(given)
        self._inputs: list[torch.Tensor] | None = None

    def __next__(self) -> Run:
        if self._inputs is None:
            self._prepare()
        module = self._marked(self._left.pop(0))
        runner = self._tuning.runner_of()
        launch(runner, module)
        program = program_of(runner, module, None)
        inputs = self._inputs
        return lambda: program(*inputs)

    def _marked(self, candidate: Candidate) -> ir.Module:
        module, ops = self._part.copied()
        mark(ops, candidate)
        return module

    def _prepare(self) -> None:
        """Inputs; and all kernels are compiled at the same time."""
        runner = self._tuning.runner_of()
        self._inputs = random_inputs(self._part, runner.target.device)
        kernels = []
        for candidate in self._left:
            module = self._marked(candidate)
            launch(runner, module)
            kernels.append(lowered_kernels(runner, module))
            runner.run_users("before", stages.TRITON, kernels[-1].operation)
        runner.target.compile_ahead(kernels, runner.options)


def mark(ops: Sequence[ir.OpView], candidate: Candidate) -> None:
    """Says at ops how they are to run; nothing for the compiler's own choice."""
    for op in ops:
        if candidate.settings:
            i64 = ir.IntegerType.get_signless(64)
            numbers = candidate.settings.items()
            op.attributes[TUNING] = ir.DictAttr.get(
                {name: ir.IntegerAttr.get(i64, value) for name, value in numbers}
            )
        elif candidate == LIBRARY_CALL:
            op.attributes[LIBRARY] = ir.UnitAttr.get()


def _is_symbolic(group: Group) -> bool:
    """Whether what follows a product reads tensors of sizes that are not known."""
    operands = [] if group.fusion is None else group.fusion.operands
    shapes = [ty.shape_of(value.type) for value in operands]
    return any(isinstance(size, Dim) for shape in shapes for size in shape)


def _candidate(settings: dict[str, int]) -> Candidate:
    name = " ".join(f"{key}={value}" for key, value in settings.items())
    return Candidate(name, settings)


def _is_large(op: ir.OpView) -> bool:
    """Whether a fusion moves enough for a measurement, of sizes that are known."""
    moved = 0
    for value in (*op.operands, *op.results):
        count = ty.byte_width(value.type.element_type)
        for size in ty.shape_of(value.type):
            if isinstance(size, Dim):
                return False
            count *= size
        moved += count
    return moved >= LEAST_BYTES
