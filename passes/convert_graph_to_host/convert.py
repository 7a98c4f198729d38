"""Applies a layout plan: writes the launch program, moves fusions into kernels."""

from __future__ import annotations

from girih.dialects.bindings import ir

from .conversion import Conversion
from .plan import LayoutPlan
from .results import emit_results


def convert(
    function: ir.OpView, plan: LayoutPlan, concat_operands: int = 0, concat_row: int = 0
) -> ir.Operation:
    """Replaces a graph function by the launch program and its kernels.

    Args:
        function: the graph function; it is erased.
        plan: its layouts.
        concat_operands: most tensors that one kernel puts one after the other, 0 for
            any number.
        concat_row: elements of a row from which on more tensors get copies.

    Returns:
        The host function, of the same name.
    """
    program = Conversion(function, plan, concat_operands, concat_row)
    for op, step in plan.steps:
        program.visit(op, step)
    block = function.regions[0].blocks[0]
    returned = block.operations[len(block.operations) - 1]
    values = emit_results(program, list(returned.operands), returned.location)
    result = program.finish(values, returned.location)
    function.operation.erase()
    return result
