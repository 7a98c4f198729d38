"""Masks of attention that say nothing, or only "causal", are left out.

Libraries build masks while they are compiled that they leave out otherwise: all true,
or a triangle. ATen's fast kernels take no mask, or are slower with one; with a mask
that is the same along keys it computes attention in float32, step by step. Whether a
mask is such a one can be known before the program runs, where it depends on sizes
alone.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx import GraphModule, Interpreter, Node

from girih.frontend.importer.nodes import may_write, name_of, value_of

_LARGEST = 1 << 26
"""Elements of a mask that is looked at."""

# Where the mask stands among the arguments, and what follows it.
_MASK, _CAUSAL = 3, 5


def simplify_masks(gm: GraphModule) -> None:
    """Takes masks that depend on no input, and are all true or causal, out of calls.

    Args:
        gm: Torch-level calls; calls of ``scaled_dot_product_attention`` are changed.
    """
    known: dict[Node, str | None] = {}
    for node in list(gm.graph.nodes):
        mask = _mask_of(node)
        if mask is None:
            continue
        if mask not in known:
            known[mask] = _kind(gm, mask)
        if known[mask] is not None:
            _leave_out(node, is_causal=known[mask] == "causal")
    if any(known.values()):
        for mask in known:
            _erase_unused(mask)
        gm.recompile()


def _erase_unused(mask: Node) -> None:
    """Erases what nothing needs any more but the mask that nobody reads."""
    for node in reversed(list(_constant_nodes(mask))):
        if not node.users:
            node.graph.erase_node(node)


def _mask_of(node: Node) -> Node | None:
    """The mask of a call of attention that is not causal already."""
    if node.target is not F.scaled_dot_product_attention:
        return None
    mask = node.kwargs.get("attn_mask", _at(node, _MASK))
    causal = node.kwargs.get("is_causal", _at(node, _CAUSAL))
    return mask if isinstance(mask, Node) and not causal else None


def _at(node: Node, place: int) -> object:
    return node.args[place] if len(node.args) > place else None


def _leave_out(node: Node, *, is_causal: bool) -> None:
    if len(node.args) > _MASK:
        node.args = (*node.args[:_MASK], None, *node.args[_MASK + 1 :])
    else:
        node.update_kwarg("attn_mask", None)
    if not is_causal:
        return
    if len(node.args) > _CAUSAL:
        node.args = (*node.args[:_CAUSAL], True, *node.args[_CAUSAL + 1 :])
    else:
        node.update_kwarg("is_causal", True)


# What a mask is ---------------------------------------------------------------------


def _kind(gm: GraphModule, mask: Node) -> str | None:
    """``"true"``, ``"causal"``, or None where neither is known."""
    nodes = list(_constant_nodes(mask))
    if not nodes or any(_is_large(node) for node in nodes):
        return None
    value = _evaluated(gm, nodes, mask)
    if not isinstance(value, Tensor) or value.dtype != torch.bool:
        return None
    if value.all():
        return "true"
    rows, columns = value.shape[-2:] if value.dim() > 1 else (0, 1)
    if rows != columns:
        return None
    triangle = torch.ones(rows, columns, dtype=torch.bool, device=value.device).tril()
    return "causal" if (value == triangle).all() else None


def _is_large(node: Node) -> bool:
    """Whether a value has too many elements to look at, or as many as nobody knows."""
    value = value_of(node)
    if not isinstance(value, Tensor):
        return False
    sizes = value.shape
    return any(not isinstance(n, int) for n in sizes) or value.numel() > _LARGEST


def _constant_nodes(mask: Node) -> Iterator[Node]:
    """What a mask is computed by, in order; nothing where it depends on an input."""
    found: set[Node] = set()
    pending = [mask]
    while pending:
        node = pending.pop()
        if node in found:
            continue
        found.add(node)
        if not _is_plain(node):
            return
        pending.extend(node.all_input_nodes)
    if any(_is_written(node) for node in found):
        return
    yield from (node for node in mask.graph.nodes if node in found)


def _is_plain(node: Node) -> bool:
    """Whether a node computes the same whenever it runs, and writes nothing."""
    if node.op == "get_attr":
        return True
    if node.op not in ("call_function", "call_method"):
        return False
    if node.target in (operator.getitem, getattr):
        return True
    name = name_of(node)
    return not may_write(node) and "rand" not in name and "drop" not in name


def _is_written(node: Node) -> bool:
    """Whether something writes to a value, maybe through a view of it."""
    for user in node.users:
        if may_write(user) or (name_of(user) in _VIEWS and _is_written(user)):
            return True
    return False


_VIEWS = frozenset(
    """__getitem__ as_strided chunk contiguous detach diagonal expand expand_as flatten
    getitem movedim narrow permute reshape select split squeeze swapaxes swapdims t to
    transpose unbind unflatten unsqueeze view view_as""".split()
)


def _evaluated(gm: GraphModule, nodes: list[Node], mask: Node) -> Tensor:
    interpreter = Interpreter(gm)
    with torch.no_grad():
        for node in nodes:
            interpreter.env[node] = interpreter.run_node(node)
    return interpreter.env[mask]
