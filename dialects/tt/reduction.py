"""Reductions along one dimension."""

from girih.dialects.bindings import ir
from girih.dialects.definition import Effects
from girih.dialects.fields import (
    attribute,
    region,
    variadic_operand,
    variadic_result,
)
from girih.dialects.regions import expect_arguments, expect_yield, only_block
from girih.dialects.rules import expect
from girih.dialects.tt.base import (
    INT32,
    TtOp,
    element_of,
    expect_tensor,
    with_shape,
)


class ReduceReturnOp(TtOp, name="reduce.return"):
    """Ends the body of a reduction: the combined values."""

    IS_TERMINATOR = True
    EFFECTS = Effects.ORDERED

    values = variadic_operand()


class ReduceOp(TtOp, name="reduce"):
    """Combines the tensors' elements along ``axis``, in any order.

    The block takes an element of each tensor, then another of each, and ends in
    ``tt.reduce.return`` with the combined ones. A tensor of rank 1 gives a scalar.
    """

    sources = variadic_operand()
    axis = attribute(INT32)
    body = region(ends_in=ReduceReturnOp.OPERATION_NAME)
    outputs = variadic_result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """The sizes without that of the axis."""
        axis, results = attributes["axis"], []
        for type_ in types[0]:
            sizes = expect_tensor(type_, "sources")
            expect(0 <= axis < len(sizes), "axis", f"be below {len(sizes)}", axis)
            shape = sizes[:axis] + sizes[axis + 1 :]
            results.append(with_shape(shape, element_of(type_)))
        return results

    def verify_invariants(self) -> None:
        """Checks the block's arguments and what it returns."""
        elements = [element_of(source.type) for source in self.sources]
        block = only_block(self)
        expect_arguments(block, [*elements, *elements])
        expect_yield(block, ReduceReturnOp.OPERATION_NAME, elements)
