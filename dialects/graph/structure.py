"""Fusions: groups of primitives that become one kernel each."""

from girih.dialects.attributes import INTS, SIZES
from girih.dialects.bindings import ir
from girih.dialects.definition import (
    attribute,
    expect,
    region,
    variadic_operand,
    variadic_result,
)
from girih.dialects.graph.base import GraphOp, expect_dims


class YieldOp(GraphOp, name="yield"):
    """Ends the region of a fusion: its operands are the fusion's results."""

    IS_TERMINATOR = True

    values = variadic_operand()


class FusionOp(GraphOp, name="fusion"):
    """results = what the region yields for these inputs.

    ``domain`` is the iteration domain's shape, ``reduced`` the dims that the region's
    reductions reduce. The normal form of the region is in docs/architecture.md.

    Errors: block arguments or yielded values that differ from inputs or results.
    """

    inputs = variadic_operand()
    domain = attribute(SIZES)
    reduced = attribute(INTS, default=())
    body = region()
    outputs = variadic_result()

    def verify_invariants(self) -> None:
        """Checks the region against operands, results and attributes."""
        expect_dims(self.reduced, len(self.domain), "reduced")
        block = only_block(self, "body")
        inputs = [value.type for value in self.operands]
        arguments = [argument.type for argument in block.arguments]
        expect(arguments == inputs, "body", f"take {_types(inputs)}", _types(arguments))
        last = (
            block.operations[len(block.operations) - 1]
            if len(block.operations)
            else None
        )
        is_yield = last is not None and last.operation.name == YieldOp.OPERATION_NAME
        expect(is_yield, "body", "end in graph.yield", last and last.operation.name)
        yielded = [value.type for value in last.operands]
        outputs = [value.type for value in self.results]
        expect(yielded == outputs, "body", f"yield {_types(outputs)}", _types(yielded))


def only_block(op: ir.OpView, name: str) -> ir.Block:
    """Returns the block of an op's only region, which must have exactly one."""
    blocks = len(op.regions[0].blocks)
    expect(blocks == 1, name, "have one block", blocks)
    return op.regions[0].blocks[0]


def _types(types: list) -> str:
    return f"({', '.join(map(str, types))})"
