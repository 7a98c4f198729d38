"""Kernels that are launched with several sets of arguments.

The programs of the first set come first, then those of the second, and so on. Each
program finds its set by halving; from then on it is a program of a kernel with that set
alone::

    %first = programs of sets 0 and 1
    %mine = scf.if %program < %first { ... sets 0 and 1 } else { ... sets 2 and 3 }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from girih.dialects import dims
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.convert_tile_to_tt import builder as b
from girih.passes.convert_tile_to_tt.lowering import Lowering

Value = ir.Value
T = TypeVar("T")

_LESS = 2


def set_symbols(kernel: ir.OpView) -> list[dict[str, Size]]:
    """For each set, what the kernel's symbols are called in a launch."""
    count = len(kernel.symbols)
    names = [dims.symbol(name) for name in kernel.launch_symbols]
    return [
        dict(zip(kernel.symbols, names[n * count : (n + 1) * count], strict=True))
        for n in range(kernel.sets)
    ]


def in_sets(items: Sequence[T], kernel: ir.OpView) -> list[T]:
    """What is said of each buffer, for the buffers of a launch: inputs come first."""
    first = len(items) - kernel.outputs
    return [*items[:first]] * kernel.sets + [*items[first:]] * kernel.sets


def launch_buffers(kernel: ir.OpView) -> list[ir.Type]:
    """The types of the buffers of a launch, in order."""
    types = [buffer.type for buffer in kernel.buffers]
    if kernel.sets is None:
        return types
    own = [[_renamed(type_, names) for type_ in types] for names in set_symbols(kernel)]
    first = len(types) - kernel.outputs
    inputs = [type_ for set_ in own for type_ in set_[:first]]
    return inputs + [type_ for set_ in own for type_ in set_[first:]]


def _renamed(type_: ir.Type, names: dict[str, Size]) -> ir.Type:
    parts = ty.buffer_parts(type_)
    shape, strides = (
        tuple(dims.substitute(size, names) for size in sizes)
        for sizes in (parts.shape, parts.strides)
    )
    return ty.buffer_type(shape, strides, parts.element_type)


def choose_set(
    kernel: ir.OpView,
    lowering: Lowering,
    shared: Sequence[ir.OpView],
    grid: ir.OpView,
    program: Value,
) -> Value:
    """Has a program be one of the set that it belongs to.

    Args:
        kernel: has `sets`.
        lowering: gets the values of the kernel's arguments.
        shared: ops before the grid: some compute how many programs a set has.
        grid: the grid.
        program: the number of the program among those of all sets.

    Returns:
        The number of the program among those of its set.
    """
    block = ir.InsertionPoint.current.block
    sets = _arguments(kernel, list(block.arguments))
    starts = [b.constant(lowering.index, 0)]
    counting = _computing(grid.count, shared)
    for arguments in sets[:-1]:
        _bind(kernel, lowering, arguments)
        for op in counting:
            lowering.lower(op)
        count = lowering.values[grid.count]
        starts.append(b.same("arith.addi", starts[-1], count))
    program, *arguments = _pick(program, starts, sets)
    _bind(kernel, lowering, arguments)
    return program


def _computing(value: Value, ops: Sequence[ir.OpView]) -> list[ir.OpView]:
    """Those of the ops that a value is computed by; others may read other sets."""
    needed, found = {value}, []
    for op in reversed(ops):
        if not needed.isdisjoint(op.results):
            needed.update(op.operands)
            found.append(op)
    return found[::-1]


def _arguments(kernel: ir.OpView, values: list[Value]) -> list[list[Value]]:
    """The arguments of each set, as the kernel's block takes them."""
    count = len(kernel.symbols)
    symbols = values[len(kernel.buffers) * kernel.sets :]
    return [
        [*buffers, *symbols[n * count : (n + 1) * count]]
        for n, buffers in enumerate(kernel.sets_of(values))
    ]


def _bind(kernel: ir.OpView, lowering: Lowering, arguments: Sequence[Value]) -> None:
    lowering.values.update(zip(kernel.block.arguments, arguments, strict=True))


def _pick(
    program: Value, starts: Sequence[Value], sets: Sequence[Sequence[Value]]
) -> list[Value]:
    """A program's number in its set, and the set's arguments."""
    if len(sets) == 1:
        return [b.same("arith.subi", program, starts[0]), *sets[0]]
    half = len(sets) // 2
    choice = ir.Operation.create(
        "scf.if",
        results=[program.type, *(value.type for value in sets[0])],
        operands=[b.compare(_LESS, program, starts[half])],
        regions=2,
    )
    parts = (starts[:half], sets[:half]), (starts[half:], sets[half:])
    for region, part in zip(choice.regions, parts, strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            ir.Operation.create("scf.yield", operands=_pick(program, *part))
    return list(choice.results)
