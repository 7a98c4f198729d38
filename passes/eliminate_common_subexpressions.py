"""Merges equal pure ops of a function and removes those that nobody uses.

Upstream's ``cse`` does so for registered ops; ours are not registered (see
``girih/dialects/definition.py``), so this pass goes by ``effects_of``.

Requires: nothing.
Establishes: no two pure ops of a block have the same name, operands, attributes and
result types; every pure op has a use.

Before::

    %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "graph.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

After::

    %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "graph.add"(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

It does not merge ops that read memory, ops with regions, or across blocks.
"""

from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, effects_of
from girih.passes.registry import register_pass


@register_pass("eliminate-common-subexpressions", op="func.func")
def run(op: ir.Operation, options: None) -> None:
    """Merges equal pure ops of a function and removes those that nobody uses."""
    for region in op.regions:
        for block in region.blocks:
            _merge_equal(block)
            _remove_unused(block)


def _merge_equal(block: ir.Block) -> None:
    known: dict[tuple, ir.Operation] = {}
    for op in list(block.operations):
        if effects_of(op) is not Effects.PURE or len(op.regions) or not len(op.results):
            continue
        operation = op.operation
        first = known.setdefault(_key(operation), operation)
        if first is not operation:
            for old, new in zip(operation.results, first.results, strict=True):
                old.replace_all_uses_with(new)
            operation.erase()


def _key(op: ir.Operation) -> tuple:
    return (
        op.name,
        tuple(op.operands),
        tuple(value.type for value in op.results),
        tuple((entry.name, entry.attr) for entry in _attributes(op)),
    )


def _attributes(op: ir.Operation) -> list[ir.NamedAttribute]:
    return [op.attributes[index] for index in range(len(op.attributes))]


def _remove_unused(block: ir.Block) -> None:
    for op in reversed(list(block.operations)):
        removable = effects_of(op) in (Effects.PURE, Effects.READS)
        if removable and len(op.results) and not any(_is_used(v) for v in op.results):
            op.operation.erase()


def _is_used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None
