"""hoist-loads: the loads of a block begin before its arithmetic.

Requires: functions of Triton IR, as `convert-tile-to-tt` makes them.
Establishes:
    Between two barriers of a block, loads and what computes their addresses and masks
    come first, in the order that they had.

Before::                                   After::

    %s = tt.load %scale                        %s = tt.load %scale
    %r = tt.precise_divf %one, %s              %p = tt.addptr %x, %offsets
    %p = tt.addptr %x, %offsets                %v = tt.load %p
    %v = tt.load %p                            %r = tt.precise_divf %one, %s

A load takes as long as hundreds of instructions. The compiler of the driver moves none
over a branch, and a division that rounds correctly is one. So the second load would
begin when the first one has ended.

A barrier is an op that writes, checks, has a region, or depends on the order for
another reason: no load moves over one. What a load would have read before a store, or
before an index was checked, it reads afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable

from girih.dialects.bindings import ir
from girih.dialects.tt.base import element_of
from girih.passes.registry import register_pass

_LOAD = "tt.load"
_ANYWHERE = frozenset(
    f"tt.{name}"
    for name in (
        "addptr",
        "bitcast",
        "broadcast",
        "expand_dims",
        "get_program_id",
        "make_range",
        "reshape",
        "splat",
        "trans",
    )
)
"""Ops of `tt` without effects that compute addresses, besides those of `arith`."""

_BARRIERS = frozenset({"tt.store", "tt.atomic_rmw", "tt.assert", "tt.return"})
_INTEGERS = (ir.IntegerType, ir.IndexType)


@register_pass("hoist-loads")
def run(op: ir.Operation, options: None) -> None:
    """Moves the loads of every block of every function of `tt` up."""
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name == "tt.func":
            for block in _all_blocks(function.operation):
                _hoist_in(block)


def _all_blocks(op: ir.Operation) -> Iterable[ir.Block]:
    """The blocks of an op, and those of the ops in them."""
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inner in block.operations:
                yield from _all_blocks(inner.operation)


def _hoist_in(block: ir.Block) -> None:
    """Moves the loads of one block up, as far as the last barrier before them."""
    stretch: list[ir.Operation] = []
    for op in list(block.operations):
        operation = op.operation
        if operation.name in _BARRIERS or len(operation.regions):
            _hoist(stretch)
            stretch = []
        else:
            stretch.append(operation)
    _hoist(stretch)


def _hoist(stretch: list[ir.Operation]) -> None:
    """Moves the loads of ops without a barrier before everything that can wait."""
    position = {operation: index for index, operation in enumerate(stretch)}
    early: set[int] = set()
    for index, operation in enumerate(stretch):
        if _may_come_early(operation) and all(
            position.get(owner, index) in early
            for owner in _makers(operation)
            if owner in position
        ):
            early.add(index)
    needed = _needed(stretch, position, early)
    first = next((i for i in range(len(stretch)) if i not in needed), None)
    if first is None:
        return
    for index in sorted(needed):
        if index > first:
            stretch[index].move_before(stretch[first])


def _needed(
    stretch: list[ir.Operation], position: dict[ir.Operation, int], early: set[int]
) -> set[int]:
    """Of the ops that may come early, the loads and those that loads need."""
    needed: set[int] = set()
    for index in sorted(early, reverse=True):
        if index in needed or stretch[index].name == _LOAD:
            needed.add(index)
            needed.update(
                position[owner]
                for owner in _makers(stretch[index])
                if owner in position
            )
    return needed


def _makers(operation: ir.Operation) -> Iterable[ir.Operation]:
    """The ops that make the operands; arguments of blocks have none."""
    for value in operation.operands:
        if not isinstance(value, ir.BlockArgument):
            yield value.owner


def _may_come_early(operation: ir.Operation) -> bool:
    """Whether an op is a load, or computes what addresses and masks consist of."""
    name = operation.name
    if name in (_LOAD, "arith.constant") or name in _ANYWHERE:
        return True
    return name.startswith("arith.") and all(
        isinstance(element_of(result.type), _INTEGERS) for result in operation.results
    )
