"""share-flat-kernels: kernels that differ in their sizes alone become one kernel.

Requires:
    A launch program and its unscheduled kernels, as `convert-graph-to-host` makes them.

Establishes:
    Kernels that compute the same, element by element, over contiguous buffers of one
    static shape are one kernel over a line, whose length is a symbol: where at least
    `least` of them differ in their shape alone. An optimizer's step over all parameters
    of a model has one kernel then, and so has little to compile.

Before::

    tile.kernel @k0 (%x: buffer<f32, [4, 6]>, %y: buffer<f32, [4, 6]>) { exp }
    tile.kernel @k1 (%x: buffer<f32, [7]>, %y: buffer<f32, [7]>) { exp }

After::

    tile.kernel @k0 (%x: buffer<f32, ["s0"]>, %y: buffer<f32, ["s0"]>, %s0: index)
    ... host.launch ... {kernel = @k0, symbols = [24]}

It does not touch kernels with reductions, views, broadcasts (but of a single number),
or symbolic sizes, and no kernel without company: a known size makes better code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

from girih.dialects.attributes import SIZES
from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.dims import symbol
from girih.dialects.traits import ELEMENTWISE, TRANSFERS
from girih.dialects.types import (
    buffer_parts,
    buffer_type,
    contiguous_strides,
    shape_of,
    tensor_type,
)
from girih.passes.choices import ChoiceOptions, Choices, place_text
from girih.passes.registry import register_pass

_LENGTH = symbol("s0")


@dataclass(frozen=True)
class ShareOptions(ChoiceOptions):
    """Options of `share-flat-kernels`."""

    least: int = 3
    """Fewest kernels, equal up to their sizes, that the pass joins."""


@register_pass("share-flat-kernels", options=ShareOptions)
def run(op: ir.OpView, options: ShareOptions) -> None:
    """Joins kernels that differ only in their sizes into one kernel."""
    body = op.regions[0].blocks[0]
    groups: dict[tuple, list[ir.OpView]] = {}
    for kernel in body.operations:
        if kernel.operation.name == "tile.kernel" and is_flat(kernel):
            groups.setdefault(_key(kernel), []).append(kernel)
    shared: dict[str, tuple[str, int]] = {}
    choices = Choices(options)
    for kernels in groups.values():
        text = partial(_decision, kernels)
        if len(kernels) >= options.least and choices.takes(text):
            shared |= _share(kernels)
    if shared:
        _relaunch(body, shared)


def _decision(kernels: list[ir.OpView]) -> str:
    first = kernels[0]
    return (
        f"share-flat-kernels: {len(kernels)} kernels become {first.sym_name}"
        f"{place_text(first.location)}"
    )


def _share(kernels: list[ir.OpView]) -> dict[str, tuple[str, int]]:
    """Keeps the first kernel; tells for each what it has become, and its length."""
    first, *others = kernels
    shared = {k.sym_name: (first.sym_name, math.prod(k.domain)) for k in kernels}
    _flatten(first)
    for kernel in others:
        kernel.operation.erase()
    return shared


def is_flat(kernel: ir.OpView) -> bool:
    """Whether a kernel computes each element from those at its place, and numbers."""
    domain = tuple(kernel.domain)
    if kernel.symbols or kernel.reduced or not domain or 0 in domain:
        return False
    buffers = [buffer_parts(value.type) for value in kernel.buffers]
    outputs = buffers[len(buffers) - kernel.outputs :]
    return (
        all(_is_line(parts, domain) for parts in buffers)
        and all(parts.shape for parts in outputs)
        and all(_is_pointwise(op, domain) for op in kernel.block.operations)
    )


def _is_line(parts, domain: tuple) -> bool:
    """Whether a buffer holds one number, or the domain's elements in order."""
    if not parts.shape:
        return True
    return parts.shape == domain and parts.strides == contiguous_strides(domain)


def _is_pointwise(op: ir.OpView, domain: tuple) -> bool:
    if has(op, TRANSFERS):
        return True
    if op.name != "graph.constant" and not has(op, ELEMENTWISE):
        return False
    return all(shape_of(result.type) in ((), domain) for result in op.results)


def _key(kernel: ir.OpView) -> tuple:
    """What flat kernels that compute the same have in common."""
    numbers = {value: i for i, value in enumerate(kernel.block.arguments)}
    buffers = [buffer_parts(value.type) for value in kernel.buffers]
    kinds = tuple((str(p.element_type), not p.shape) for p in buffers)
    ops = []
    for op in kernel.block.operations:
        operands = tuple(numbers[value] for value in op.operands)
        results = tuple(_kind(value.type) for value in op.results)
        for value in op.results:
            numbers[value] = len(numbers)
        named = [op.attributes[index] for index in range(len(op.attributes))]
        attributes = tuple((entry.name, entry.attr) for entry in named)
        ops.append((op.name, operands, results, attributes))
    return kernel.outputs, kinds, tuple(ops)


def _kind(type_: ir.Type) -> tuple[str, bool]:
    return str(type_.element_type), not shape_of(type_)


def _flatten(kernel: ir.OpView) -> None:
    """Makes a kernel one over a line of any length."""
    block = kernel.block
    for argument in list(block.arguments):
        parts = buffer_parts(argument.type)
        if parts.shape:
            argument.set_type(buffer_type((_LENGTH,), (1,), parts.element_type))
    block.add_argument(ir.IndexType.get(), kernel.location)
    for op in block.operations:
        for result in op.results:
            if shape_of(result.type):
                element = result.type.element_type
                result.set_type(tensor_type((_LENGTH,), element))
    kernel.attributes["domain"] = SIZES.encode((_LENGTH,))
    kernel.attributes["symbols"] = ir.ArrayAttr.get([ir.StringAttr.get(str(_LENGTH))])


def _relaunch(body: ir.Block, shared: dict[str, tuple[str, int]]) -> None:
    """Makes the launches of kernels launches of what they have become."""
    for function in body.operations:
        if function.operation.name != "func.func":
            continue
        for op in function.regions[0].blocks[0].operations:
            if op.name == "host.launch" and op.kernel in shared:
                name, length = shared[op.kernel]
                op.attributes["kernel"] = ir.FlatSymbolRefAttr.get(name)
                op.attributes["symbols"] = SIZES.encode((length,))
