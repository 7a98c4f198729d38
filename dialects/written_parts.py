"""Writes to parts of arguments: which ``insert`` ops write an argument's own memory.

``x[3] = row`` is an ``insert`` into x, whose result is written to x in the end. What
leads from the argument to the op, and from the op to what is written, are views and
further inserts; so all of them are the argument's memory.
"""

from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import VIEW

INSERT = "graph.insert"


def argument_of(value: ir.Value) -> ir.BlockArgument | None:
    """The argument of which views and inserts make a value, if any does."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.opview
        if op.operation.name != INSERT and not has(op, VIEW):
            return None
        value = op.operands[0]
    return ir.BlockArgument(value)


def writes_argument(op: ir.OpView) -> bool:
    """Whether an ``insert`` is a write to a part of an argument."""
    argument = argument_of(op.results[0])
    if argument is None or not isinstance(op.operation.parent, ir.Operation):
        return False
    written = _written(op.operation.parent, argument.arg_number)
    return bool(written) and _reaches(op.results[0], written)


def is_written_to_argument(value: ir.Value) -> bool:
    """Whether an argument gets a value, or views of it, in the end."""
    function = value.owner.parent
    if not isinstance(function, ir.Operation) or "res_attrs" not in function.attributes:
        return False
    given = enumerate(function.attributes["res_attrs"])
    written = frozenset(place for place, each in given if keys.WRITES in each)
    return bool(written) and _reaches(value, written)


def _written(function: ir.Operation, number: int) -> frozenset[int]:
    """The places of the results that are written to an argument."""
    attributes = function.attributes
    if "res_attrs" not in attributes:
        return frozenset()
    found = enumerate(attributes["res_attrs"])
    return frozenset(
        place
        for place, given in found
        if keys.WRITES in given and attr.INT.decode(given[keys.WRITES]) == number
    )


def _reaches(value: ir.Value, places: frozenset[int]) -> bool:
    """Whether views and inserts make of a value what is returned at a place."""
    pending, seen = [value], set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            op = use.owner.opview
            if op.operation.name == "func.return":
                if use.operand_number in places:
                    return True
            elif op.operation.name == INSERT or has(op, VIEW):
                pending.append(op.results[0])
    return False
