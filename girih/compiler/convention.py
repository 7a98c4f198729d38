"""How the program's inputs and outputs become those of the compiled function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from girih.codegen.runtime.mutation import written_arguments
from girih.compiler.aliases import Alias
from girih.dialects.bindings import ir
from girih.fallbacks import Site, with_reasons
from girih.frontend.importer import ImportedGraph
from girih.frontend.importer.lazy_bits import NONE, Bits
from girih.frontend.importer.levels import eager_run


def with_calling_convention(
    program, imported: ImportedGraph, aliases: Sequence[Alias] = ()
) -> Callable:
    """The program as a callable over the graph's own inputs and outputs."""
    if imported.is_plain and not imported.lifted and not aliases:
        return program
    indices, lifted = imported.input_indices, tuple(imported.lifted)
    slots, tree = imported.outputs, imported.tree
    lazy = tuple(imported.bits.items())

    def call(*inputs):
        given = [inputs[i] for i in indices]
        for number, bits in lazy:
            given[number] = bits.toggled(given[number])
        results = program(*given, *lifted)
        outputs = [_output(slot, results, inputs) for slot in slots]
        for alias in aliases:
            outputs[alias.place] = alias.made(inputs, outputs)
        if tree is None:
            return tuple(outputs)
        return torch.utils._pytree.tree_unflatten(outputs, tree)

    return call


def calls_aten_writes(module: ir.Module) -> bool:
    """Whether a launch program has ATen write into its arguments."""
    operations = module.body.operations
    functions = [op for op in operations if op.operation.name == "func.func"]
    return any(written_arguments(function).by_aten for function in functions)


def without_grad(program: Callable) -> Callable:
    """The program in a region where parameters may be written.

    For graphs that switch grad mode off before they compute anything.
    """

    def call(*inputs):
        before = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        try:
            return program(*inputs)
        finally:
            torch._C._set_grad_enabled(before)

    return call


def with_dual_numbers(
    compiled: Callable, gm: torch.fx.GraphModule, site: Site
) -> Callable:
    """The program, which leaves calls under forward-mode AD to the graph itself.

    Programs lose the tangents, and TorchDynamo does not tell apart such calls (2.13).
    """
    dual, fall_back = vars(forward_ad), with_reasons(site, eager_run(gm))

    def call(*inputs):
        if dual["_current_level"] >= 0:
            return fall_back("transform", *inputs)
        return compiled(*inputs)

    return call


def as_results(outputs, imported: ImportedGraph) -> dict[int, Any]:
    """What the graph returned, under the numbers of the program's results."""
    if imported.tree is not None:
        outputs, _ = torch.utils._pytree.tree_flatten(outputs)
    pairs = zip(imported.outputs, outputs, strict=True)
    return {
        slot.value: _with_bits(output, slot.bits)
        for slot, output in pairs
        if slot.kind == "result"
    }


def _output(slot, results, inputs):
    if slot.kind == "result":
        return _with_bits(results[slot.value], slot.bits)
    if slot.kind == "computed":
        return slot.value(inputs)
    if slot.kind == "constant":
        return slot.value
    return _with_bits(inputs[slot.value], slot.bits)


def _with_bits(tensor, bits: Bits):
    return tensor if bits is NONE else bits.toggled(tensor)
