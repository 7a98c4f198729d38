"""Which ops become generated code.

Fusions do, whatever they hold: `fuse` puts nothing into them that `tile` cannot
compile. A primitive outside a fusion does where `tile` knows its element types;
otherwise it runs as an ATen op, see the rules in `externs/`.
"""

from __future__ import annotations

from girih.dialects.bindings import ir
from girih.dialects.definition import role_of
from girih.dialects.traits import Role
from girih.dialects.types import element_of
from girih.passes.kernel_elements import MOVED_ELEMENTS, takes_elements
from girih.passes.kernel_scans import is_left_to_library

_KERNEL_ROLES = frozenset({Role.PRIMITIVE, Role.KERNEL})
# A kernel that makes one number costs more than the ATen call.
_CALLED = frozenset({"graph.constant", "graph.size"})


def runs_in_kernel(op: ir.OpView) -> bool:
    """Whether the op becomes a kernel of its own (unless it is a view)."""
    is_kernel = role_of(op) in _KERNEL_ROLES and op.name not in _CALLED
    if is_left_to_library(op) or not (is_kernel or op.name == "graph.fusion"):
        return False
    values = [*op.operands, *op.results]
    elements = {str(element_of(value.type)) for value in values}
    return takes_elements(op, elements)


def has_kernel_element(type_: ir.Type) -> bool:
    """Whether generated code can hold the elements of this tensor or buffer."""
    return str(element_of(type_)) in MOVED_ELEMENTS
