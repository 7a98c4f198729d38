"""What a node of a graph calls, and what it gives."""

from __future__ import annotations

from typing import Any

from torch.fx import Node

_IN_PLACE = frozenset(
    """setitem iadd iand iconcat ifloordiv ilshift imatmul imod imul ior ipow irshift
    isub itruediv ixor""".split()
)


def name_of(node: Node) -> str:
    """The name of the function or method that a node calls."""
    if isinstance(node.target, str):
        return node.target
    return getattr(node.target, "__name__", str(node.target))


def value_of(node: Node) -> Any:
    """What stands for a node's value, or None where nobody has noted it."""
    return node.meta.get("val", node.meta.get("example_value"))


def may_write(node: Node) -> bool:
    """Whether a node writes one of the tensors that it takes, by its name."""
    name = name_of(node)
    if name.strip("_") in _IN_PLACE or "out" in node.kwargs:
        return True
    is_operator = getattr(node.target, "__module__", "") == "_operator"  # and_, or_
    return name.endswith("_") and not name.endswith("__") and not is_operator
