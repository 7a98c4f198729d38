"""Which element types kernels know.

Floats of 8 bits are there to be stored: eager has hardly any arithmetic on them, and
kernels move and cast them. Other ops on them run as library ops, which raise what eager
raises.
"""

from collections.abc import Set

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import TAKES_FLOAT8

COMPUTED_ELEMENTS = frozenset(
    {
        "bf16", "f16", "f32", "f64", "i1", "i16", "i32", "i64", "i8", "ui16", "ui32",
        "ui64", "ui8",
    }
)  # fmt: skip
"""What kernels compute with."""

MOVED_ELEMENTS = COMPUTED_ELEMENTS | {
    "f8E4M3FN",
    "f8E4M3FNUZ",
    "f8E5M2",
    "f8E5M2FNUZ",
}
"""What kernels load, store and cast."""


def takes_elements(op: ir.OpView, elements: Set[str]) -> bool:
    """Returns whether a kernel can do the op on elements of all these types."""
    if op.name == "graph.fusion" or has(op, TAKES_FLOAT8):
        return elements <= MOVED_ELEMENTS
    return elements <= COMPUTED_ELEMENTS
