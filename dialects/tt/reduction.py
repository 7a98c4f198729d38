"""Reductions and scans along one dimension."""

from girih.dialects.attributes import BOOL
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
        _expect_combination(self, ReduceReturnOp)


class ScanReturnOp(TtOp, name="scan.return"):
    """Ends the body of a scan: the combined values."""

    IS_TERMINATOR = True
    EFFECTS = Effects.ORDERED

    values = variadic_operand()


class ScanOp(TtOp, name="scan"):
    """Combines each element with all those before it along ``axis``.

    The block takes a combination of the first elements of each tensor, then one of
    those that follow, and ends in ``tt.scan.return`` with that of both. With
    ``reverse``, the last element is the first one.
    """

    sources = variadic_operand()
    axis = attribute(INT32)
    reverse = attribute(BOOL)
    body = region(ends_in=ScanReturnOp.OPERATION_NAME)
    outputs = variadic_result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """The types of the tensors."""
        axis = attributes["axis"]
        for type_ in types[0]:
            rank = len(expect_tensor(type_, "sources"))
            expect(0 <= axis < rank, "axis", f"be below {rank}", axis)
        return list(types[0])

    def verify_invariants(self) -> None:
        """Checks the block's arguments and what it returns."""
        _expect_combination(self, ScanReturnOp)


def _expect_combination(op: TtOp, end: type[TtOp]) -> None:
    """Checks that the block combines two elements of each tensor."""
    elements = [element_of(source.type) for source in op.sources]
    block = only_block(op)
    expect_arguments(block, [*elements, *elements])
    expect_yield(block, end.OPERATION_NAME, elements)
