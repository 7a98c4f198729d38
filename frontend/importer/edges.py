"""Where the backward pass of a fake tensor begins in eager's graph."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import torch

_NUMBERED = re.compile(r"Backward\d*$")


class Edge(NamedTuple):
    """A node of autograd, and which of its results a tensor is."""

    node: Any
    number: int


def edge_of(tensor: torch.Tensor) -> Edge:
    """Where the backward pass of a tensor begins; a node of None where it has none.

    Where the base of a view was written since, eager makes the view anew of its base,
    with ``as_strided``. A fake tensor does so with the operation that made the view,
    which fails where ``t_`` or ``squeeze_`` has given the base another shape.

    Raises:
        RuntimeError: Eager refuses to use the view, as its base was written.
    """
    try:
        return Edge(tensor.grad_fn, tensor.output_nr)
    except (RuntimeError, ValueError, IndexError) as error:
        base = tensor._base
        if base is None or tells_of_a_write(error):
            raise
    with torch.enable_grad():
        where = tensor.size(), tensor.stride(), tensor.storage_offset()
        return Edge(base.as_strided(*where).grad_fn, 0)


def tells_of_a_write(error: Exception) -> bool:
    """Whether autograd says that what is kept was written since.

    One text is of tensors whose version has changed, the other one of views that may
    not be made again from their base, as those of ``unbind`` and without grad mode.
    """
    text = str(error)
    return "modified by an inplace operation" in text or "modified inplace" in text


def is_one_of_several(view: torch.Tensor) -> bool:
    """Whether a tensor is one of several views that one operation gives (``chunk``).

    Autograd can't record a write to one of them, so eager refuses it.
    """
    if not view._is_view():
        return False
    made = torch._C._autograd._get_creation_meta(view)
    return made == torch._C._autograd.CreationMeta.MULTI_OUTPUT_NODE


def node_of_several(view: torch.Tensor) -> str | None:
    """What eager's error says of one of several views, and the dim: ``Split 1 0``.

    None for other tensors, and for a view that eager refuses to use, too.
    """
    if not is_one_of_several(view):
        return None
    try:
        node = view.grad_fn
    except RuntimeError as error:
        if not tells_of_a_write(error):
            raise
        return None
    if node is None:
        return None
    name, dim = _NUMBERED.sub("", node.name()), 0
    if name in ("Split", "SplitWithSizes"):
        dim = _signed(node._saved_dim) % view.dim()
    return f"{name} {view.output_nr} {dim}"


def _signed(number: int) -> int:
    """A dim, which the node gives as an unsigned word."""
    return number - 2**64 if number >= 2**63 else number
