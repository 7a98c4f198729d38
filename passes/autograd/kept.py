"""Which arguments and results derivatives read: eager keeps these for backward.

Simplification merges what derivatives compute with what the program computes, so this
is found out right after differentiation.
"""

from collections.abc import Iterable

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import VIEW


# What shows or stands for the same tensor.
def read_behind(values: Iterable[ir.Value], op: ir.OpView) -> set[ir.Value]:
    """The values that ops after ``op`` in its block read, directly or as views."""
    return {value for value in values if _is_read_behind(value, op)}


def _is_read_behind(value: ir.Value, op: ir.OpView) -> bool:
    pending = [_viewed_by(value)]
    while pending:
        for use in pending.pop().uses:
            user = use.owner
            if user.name == "func.return" or "fresh" in user.attributes:
                continue
            if has(user, VIEW):
                pending.append(user.results[0])
            elif op.operation.is_before_in_block(user.operation):
                return True
    return False


def _viewed_by(value: ir.Value) -> ir.Value:
    """The value of whose tensor a value is a view: to read that is to read both."""
    while not isinstance(owner := value.owner, ir.Block):
        if not has(owner, VIEW) or "fresh" in owner.attributes:
            break
        value = owner.operands[0]
    return value
