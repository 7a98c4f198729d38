"""How the program's inputs and outputs become those of the compiled function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from girih.compiler.aliases import Alias
from girih.compiler.modules import functions_of
from girih.dialects import keys
from girih.fallbacks import Site, with_reasons
from girih.frontend.importer import ImportedGraph
from girih.frontend.importer.lazy_bits import NONE, Bits
from girih.frontend.importer.levels import eager_run
from girih.passes.autograd.joint import Signature


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


def owners_of(imported: ImportedGraph) -> dict[int, list[int]]:
    """Results that the graph does not return: the views of each that it returns."""
    returned = {slot.value for slot in imported.outputs if slot.kind == "result"}
    signature = Signature.of(functions_of(imported.module)[imported.name])
    owners: dict[int, list[int]] = {}
    for number, attributes in enumerate(signature.results):
        if number not in returned or keys.STORAGE not in attributes:
            continue
        name = attributes[keys.STORAGE].value.removeprefix("out")
        if name.isdecimal() and int(name) not in returned:
            owners.setdefault(int(name), []).append(number)
    return owners


def as_results(
    outputs, imported: ImportedGraph, owners: Mapping[int, Sequence[int]]
) -> dict[int, Any]:
    """What the graph returned, under the numbers of the program's results.

    Args:
        outputs: What the graph returned.
        imported: The program.
        owners: For results that only own the memory of others, the numbers of these.
    """
    if imported.tree is not None:
        outputs, _ = torch.utils._pytree.tree_flatten(outputs)
    pairs = zip(imported.outputs, outputs, strict=True)
    results = {
        slot.value: _with_bits(output, slot.bits)
        for slot, output in pairs
        if slot.kind == "result"
    }
    for owner, views in owners.items():
        bases = [results[view]._base for view in views]
        # Of a view that was detached autograd does not know what it is a view of.
        results.update((owner, base) for base in bases if base is not None)
    return results


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
