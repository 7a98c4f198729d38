"""What a kernel is called: a number, and the ops that it computes.

``k0_add_max_sub_exp`` is the first kernel of a module. Profilers show this name, and
the IR has it from here on. It depends on ops alone, not on locations, which dumped IR
does not have: what is replayed gets the same name.
"""

from __future__ import annotations

from collections.abc import Iterable

from girih.dialects.bindings import ir
from girih.dialects.definition import has_any
from girih.dialects.traits import CREATES, REINDEXES

LONGEST = 32
"""Characters of the ops in a name; those that follow are left out."""


def kernel_name(number: int, ops: Iterable[ir.OpView]) -> str:
    """The name of a kernel.

    Args:
        number: Which kernel of the module it is.
        ops: What it computes, in order.
    """
    ops = list(ops)
    computing = [op for op in ops if not has_any(op, CREATES, REINDEXES)]
    found = dict.fromkeys(map(_short, computing or ops)) or ["copy"]
    name = f"k{number}"
    longest = len(name) + LONGEST
    for operation in found:
        if len(name) + 1 + len(operation) > longest:
            break
        name += f"_{operation}"
    return name


def _short(op: ir.OpView) -> str:
    return op.operation.name.rpartition(".")[2].removeprefix("reduce_")
