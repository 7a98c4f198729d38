"""Tensors that a program makes, and at which derivatives end.

One is a leaf by ``requires_grad_()``, which gets a gradient. Another one is a view that
is made without grad mode, of a tensor that requires a gradient: it says that it needs
one, too, as its base does. But autograd has not recorded how it was made: it has no
history, gets no gradient, and once it or its base has been written, eager refuses to
use it with grad mode. What depends on nothing but such *unrecorded* views is *severed*:
it has a node, which leads nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import Node

from girih.frontend.importer.edges import edge_of
from girih.frontend.importer.nodes import value_of

NEW_LEAF = "result that is a new leaf"
ELSEWHERE = "gradient of a result"

_NO_GRAD_MODE = torch._C._autograd.CreationMeta.NO_GRAD_MODE


def is_unrecorded(tensor: torch.Tensor) -> bool:
    """Whether a tensor of eager's graph is such a view, or one of one, and usable."""
    if not tensor.requires_grad or not tensor._is_view() or not _history_of(tensor):
        return False
    made = torch._C._autograd._get_creation_meta(tensor)
    return made == _NO_GRAD_MODE and next(_ends_of(tensor), tensor) is tensor


def is_severed(tensor: torch.Tensor) -> bool:
    """Whether a tensor of eager's graph has a node that leads nowhere."""
    is_inner = tensor.requires_grad and _history_of(tensor) not in ((), (None,))
    return is_inner and next(_ends_of(tensor), None) is None


def leaves_in(gm: torch.fx.GraphModule) -> frozenset[Node]:
    """The nodes that make what derivatives of the results, or of arguments, end at."""
    (output,) = gm.graph.find_nodes(op="output")
    seen = [*output.all_input_nodes, *gm.graph.find_nodes(op="placeholder")]
    tensors = [value for value in map(value_of, seen) if _requires_grad(value)]
    ends = {id(leaf) for tensor in tensors for leaf in _ends_of(tensor)}
    calls = (node for node in gm.graph.nodes if node.op.startswith("call_"))
    return frozenset(node for node in calls if id(value_of(node)) in ends)


def _requires_grad(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _ends_of(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The leaves that derivatives of a tensor come to."""
    pending, seen = [*_history_of(tensor)], set()
    if pending == [None]:
        yield tensor
    while pending:
        node = pending.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        pending += [other for other, _ in node.next_functions]


def _history_of(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Its node, or None where it has none; nothing where eager refuses its use."""
    try:
        return (edge_of(tensor).node,)
    except RuntimeError:
        return ()
