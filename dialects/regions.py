"""Checks of regions that ops of several dialects share."""

from collections.abc import Sequence

from girih.dialects.bindings import ir
from girih.dialects.rules import expect


def only_block(op: ir.OpView) -> ir.Block:
    """Returns the block of an op's first region, which must have exactly one."""
    blocks = len(op.regions[0].blocks)
    expect(blocks == 1, "body", "have one block", blocks)
    return op.regions[0].blocks[0]


def expect_arguments(block: ir.Block, types: Sequence[ir.Type]) -> None:
    """Checks the types of a block's arguments."""
    actual = [argument.type for argument in block.arguments]
    rule = f"take {types_text(types)}"
    expect(actual == list(types), "body", rule, types_text(actual))


def expect_yield(block: ir.Block, terminator: str, types: Sequence[ir.Type]) -> None:
    """Checks that a block ends in this op, with operands of these types."""
    operations = list(block.operations)
    last = operations[-1].operation if operations else None
    name = last.name if last else "nothing"
    expect(name == terminator, "body", f"end in {terminator}", name)
    actual = [value.type for value in last.operands]
    rule = f"yield {types_text(types)}"
    expect(actual == list(types), "body", rule, types_text(actual))


def types_text(types: Sequence[ir.Type]) -> str:
    """Returns a list of types as it is shown in messages."""
    return f"({', '.join(map(str, types))})"
