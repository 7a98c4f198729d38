"""Operations that nobody uses the results of, and whose data eager would look at.

Eager raises where an index is out of range or an integer is divided by zero, whether or
not anything is made of the result. Such a result is one of the function, too, which the
caller does not see: its kernel looks at the data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from girih.dialects import types as ty
from girih.dialects.bindings import ir

_INDEXING = frozenset(
    f"graph.{name}"
    for name in ("embedding", "gather", "index", "index_put", "take")
    + ("scatter", "scatter_add", "scatter_reduce")
)
_OF_INTEGERS = frozenset(
    f"graph.{name}"
    for name in ("floor_divide", "fmod", "pow", "remainder", "trunc_divide")
)
# Parts of the names of ATen's operations that look at their data, and may raise.
_OF_ATEN = (
    *("index", "scatter", "unpool", "_loss", "segment_", "searchsorted"),
    *("repeat_interleave", "embedding_bag", "cross_entropy"),
)


def unused_checks(block: ir.Block, used: Iterable[ir.Value]) -> Iterator[ir.Value]:
    """Results of operations that may raise, where nothing that is used needs them.

    Args:
        block: Of the function, without its end.
        used: What the function returns.
    """
    needed = set(used)
    for op in reversed(list(block.operations)):
        is_needed = not needed.isdisjoint(op.results)
        if not is_needed and _may_raise(op.operation):
            yield op.results[0]
            is_needed = True
        if is_needed or "effects" in op.operation.attributes:
            needed.update(op.operands)


def _may_raise(op: ir.Operation) -> bool:
    if op.name == "graph.extern":
        name = op.attributes["op"].value
        return "effects" not in op.attributes and any(p in name for p in _OF_ATEN)
    if op.name in _OF_INTEGERS:
        return not ty.is_float(op.results[0].type.element_type)
    return op.name in _INDEXING
