"""Fusions: groups of primitives that become one kernel each."""

from girih.dialects.attributes import INTS, SIZES
from girih.dialects.fields import (
    attribute,
    optional_attribute,
    region,
    variadic_operand,
    variadic_result,
)
from girih.dialects.graph.base import GraphOp, expect_dims
from girih.dialects.regions import expect_arguments, expect_yield, only_block
from girih.dialects.rules import expect
from girih.dialects.traits import Role


class YieldOp(GraphOp, name="yield"):
    """Ends the region of a fusion: its operands are the fusion's results."""

    ROLE = Role.STRUCTURE

    IS_TERMINATOR = True

    values = variadic_operand()


class FusionOp(GraphOp, name="fusion"):
    """results = what the region yields for these inputs.

    ``domain`` is the iteration domain's shape, ``reduced`` the dims that the region's
    reductions reduce, ``closing`` those that its last ones reduce, where these are
    others. The normal form of the region is in docs/inside/graph.md.

    Errors: block arguments or yielded values that differ from inputs or results; dims
    that are both reduced and closing.
    """

    ROLE = Role.STRUCTURE

    inputs = variadic_operand()
    domain = attribute(SIZES)
    reduced = attribute(INTS, default=())
    closing = optional_attribute(INTS)
    body = region(ends_in=YieldOp.OPERATION_NAME)
    outputs = variadic_result()

    def verify_invariants(self) -> None:
        """Checks the region against operands, results and attributes."""
        expect_dims(self.reduced, len(self.domain), "reduced")
        expect_dims(self.closing or (), len(self.domain), "closing")
        both = sorted({*self.reduced} & {*(self.closing or ())})
        expect(not both, "closing", "name no dim that reduced names", str(both))
        block = only_block(self)
        expect_arguments(block, [value.type for value in self.operands])
        results = [value.type for value in self.results]
        expect_yield(block, YieldOp.OPERATION_NAME, results)
