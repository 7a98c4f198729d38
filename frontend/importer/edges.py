"""Where the backward pass of a fake tensor begins in eager's graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch


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
