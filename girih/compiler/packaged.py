"""A graph without gradients as instructions and object code, for a package.

::

    graph ── Lowering ──► launch program ──► instructions
                     └──► kernels ─────────► object code, or binaries for a GPU

The graph is lowered once for each kind of processor or GPU. Its text goes into the
package, so that another one can be added later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from girih.codegen.cpu.cache import ObjectCache
from girih.codegen.cpu.link import Library
from girih.codegen.cpu.object_code import ObjectCode
from girih.codegen.cpu.target import Target as Processor
from girih.codegen.gpu.binary import Binary
from girih.codegen.gpu.cards import Card
from girih.codegen.runtime import torch_entry
from girih.codegen.runtime.assembler import Assembler
from girih.codegen.runtime.program import assemble
from girih.compiler import needs_gradients
from girih.compiler.cpu_code import CpuTarget
from girih.compiler.devices import CPU, device_of
from girih.compiler.frozen import freezes
from girih.compiler.lowering import Lowering
from girih.compiler.packaged_constants import PackagedConstants, split
from girih.compiler.packaged_gpu import WrittenGpuTarget, check_options
from girih.compiler.pieces import needs_pieces
from girih.compiler.runner import Runner
from girih.compiler.target import Target
from girih.dialects import context as contexts
from girih.dialects.assembly.modules import parse_module, print_module
from girih.dialects.bindings import ir
from girih.dialects.locations import remove_folders
from girih.errors import unsupported
from girih.frontend.importer import ImportedGraph, import_graph
from girih.frontend.importer.host_part import split_host_part
from girih.frontend.importer.masks import simplify_masks
from girih.frontend.importer.nodes import value_of
from girih.options import Options
from girih.passes import stages
from girih.reports import Report


@dataclass
class PackagedProgram:
    """A program that is written, and not linked.

    Attributes:
        assembler: Its instructions; a call of a kernel has the number of its function
            in place of an address.
        code: Its object code; None where there are no kernels.
        operators: The names of the operators that it calls.
        details: What reports and profilers see.
        device: Of a program for a GPU: what stands for that.
        binaries: Of a program for a GPU: its kernels, by their numbers.
        constants: What it takes beside the arguments of its graph, if anything.
    """

    assembler: Assembler
    code: ObjectCode | None
    operators: dict[Callable, str]
    details: dict[str, Any]
    device: torch.device | None = None
    binaries: list[Binary] = field(default_factory=list)
    constants: PackagedConstants | None = None

    def __getattr__(self, name: str) -> Any:
        """What a linked program says of itself: ``kernels``, ``event``, ..."""
        if name == "details" or name not in self.details:
            raise AttributeError(name)
        return self.details[name]


@dataclass
class PackagedGraph:
    """A graph that is packaged.

    Attributes:
        imported: How arguments and results of its programs are those of the graph.
        name: What profilers call its programs.
        text: The graph.
        programs: Its programs, for one processor each.
    """

    imported: ImportedGraph
    name: str
    text: str
    programs: list[PackagedProgram]


def packaged_graph(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    report: Report,
    processors: Sequence[Processor | Card],
    device: torch.device = CPU,
) -> PackagedGraph:
    """Compiles a captured graph, with the stages of ``girih.compile``.

    Args:
        gm: The graph.
        example_inputs: What stands for its inputs.
        options: Options of the compilation.
        report: Filled with what is done.
        processors: What code is made for: processors, or GPUs.
        device: Where its tensors are; for GPUs it stands for the one that will run it.

    Raises:
        CompileError: A stage failed.
        UnsupportedError: The graph, or its device, is not supported.
    """
    _check(gm, example_inputs, options, device)
    if any(isinstance(processor, Card) for processor in processors):
        check_options(options)
    with report.stage(stages.IMPORT.name):
        simplify_masks(gm)
        imported = import_graph(
            gm,
            example_inputs,
            gradients=False,
            device=device,
            random="eager" if options.fallback_random else None,
        )
    imported.lifted[:] = [constant.to(device) for constant in imported.lifted]
    remove_folders(imported.module.operation)
    text = print_module(imported.module, debug_info=True)
    programs = [
        packaged_program(text, options, report, processor, device)
        for processor in processors
    ]
    return PackagedGraph(imported, report.name, text, programs)


def packaged_program(
    text: str,
    options: Options,
    report: Report,
    processor: Processor | Card,
    device: torch.device = CPU,
) -> PackagedProgram:
    """Compiles the text of a graph for a processor or a GPU.

    Raises:
        CompileError: A stage failed.
    """
    options = replace(options, cudagraphs=False, dump_inputs=False)
    module = parse_module(text, contexts.shared())
    target = _Target(CPU, processor)
    if isinstance(processor, Card):
        target = _GpuTarget(device, processor)
    lowering = _Lowering(options, report, target)
    constants = split(lowering, module) if freezes(options, device) else None
    program = lowering.program(module, "graph", None)
    program.constants = constants
    return program


def can_be_repeated(options: Options) -> bool:
    """Whether the text of a graph, options and weights say all that becomes of it."""
    is_whole = options.passes is None and options.override_folder() is None
    return is_whole and not options.freezing  # most weights are not in the file then


def _check(
    gm, example_inputs: Sequence[Any], options: Options, device: torch.device
) -> None:
    found = device_of(gm, example_inputs)
    if found != device:
        unsupported(
            kind="a package with tensors of another device",
            context=str(found),
            explanation=f"The package is made for tensors on {device}: the module and "
            "the arguments are there.",
            hints=("Move the tensors that the function reads beside these, too.",),
        )
    if split_host_part(gm, example_inputs, device) is not None:
        unsupported(
            kind="a package with tensors on several devices",
            explanation=f"The graph computes on the cpu and on {device}.",
            hints=(f"Move all of its tensors to {device}.",),
        )
    if needs_pieces(gm):
        unsupported(
            kind="a package of several graphs",
            explanation="The graph has to be split, because Python needs a tensor's "
            "value in it or a size depends on data.",
            hints=("Ask girih.explain(f)(*args) where.",),
        )
    if needs_gradients(gm, example_inputs) and _returns_gradients(gm):
        unsupported(
            kind="a package with gradients",
            explanation="The function turns gradients on and returns a result that "
            "requires one. Whoever loads a package gets results without.",
            hints=(
                "Remove torch.enable_grad() from it, or return result.detach() where "
                "it computes gradients itself.",
            ),
        )


def _returns_gradients(gm: torch.fx.GraphModule) -> bool:
    """Whether a fresh result of a graph requires a gradient.

    Those that are inputs do so, too: parameters that a training step has updated.
    """
    (output,) = gm.graph.find_nodes(op="output")
    return any(
        node.op != "placeholder" and getattr(value_of(node), "requires_grad", False)
        for node in output.all_input_nodes
    )


class _Lowering(Lowering):
    """A lowering whose program is not linked."""

    def __init__(self, options: Options, report: Report, target: Target):
        Runner.__init__(self, options, report, target, "inference")


class _Target(CpuTarget):
    """A processor, for code that is written to a file."""

    def find(self, key: str, options: Options, report: Report) -> ObjectCode | None:
        """The object code that is kept on disk."""
        folder = options.cache_folder()
        code = None if folder is None else ObjectCache(folder).load(key)
        if code is not None:
            report.cache = "disk"
        return code

    def keep(
        self, key: str, options: Options, code: tuple[ObjectCode, Library]
    ) -> ObjectCode:
        """Keeps object code on disk, and returns it."""
        super().keep(key, options, code)
        return code[0]

    def link(
        self,
        module: ir.Module,
        code: ObjectCode | None,
        fallback: Callable | None,
        name: str,
    ) -> PackagedProgram:
        """Writes the program."""
        exports = () if code is None else code.exports
        numbers = {function: number for number, function in enumerate(exports)}
        assembled = assemble(module, numbers, name=name)
        operators = {torch_entry.entry(n): n for n in _operators(module)}
        return PackagedProgram(
            assembled.assembler, code, operators, dict(assembled.details)
        )


class _GpuTarget(WrittenGpuTarget):
    """A GPU, for code that is written to a file."""

    def link(
        self, module: ir.Module, code: Any, fallback: Callable | None, name: str
    ) -> PackagedProgram:
        """Writes the program."""
        assembler, details = self.assembled(module, code, name)
        operators = {torch_entry.entry(n): n for n in _operators(module)}
        return PackagedProgram(
            assembler, None, operators, dict(details), self.device, self.binaries
        )


def _operators(module: ir.Module) -> list[str]:
    """The names of the operators that a launch program calls."""
    return [
        op.op
        for function in module.body.operations
        if function.operation.name == "func.func"
        for op in function.regions[0].blocks[0].operations
        if op.operation.name == "host.extern"
    ]
