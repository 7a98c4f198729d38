"""Views of which eager's operation gives several at once, made again one by one.

Autograd refuses writes to such a view, and the error names the operation and the number
of the result ("Output 1 of Split"). So the same operation makes the view again.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from girih.codegen.runtime.interface import Several


def one_of_several(made: Tensor, several: Several, room: int) -> Tensor:
    """A view with the memory of another one, as one of several.

    Args:
        made: A view, or a tensor that no one else has.
        several: What makes it in eager.
        room: Elements of the storage before the view that belong to its base as well.
    """
    make = _MAKERS.get(several.name)
    if make is not None:
        return make(made, several, room)
    # Eager makes a view of one of several: the refusal goes on to it.
    again = _AGAIN.get(several.name)
    first = made.unsqueeze(0).unbind()[0]
    return first if again is None else again(first)


def _unbound(made: Tensor, several: Several, room: int) -> Tensor:
    count = several.number + 1
    return made.unsqueeze(0).expand(count, *made.size()).unbind()[several.number]


def _split(made: Tensor, several: Several, room: int) -> Tensor:
    """The last of parts of one size, behind memory of the base.

    A result of which the program does not return the base has no such memory. There it
    is part 0.
    """
    dim, size = several.dim, made.size(several.dim)
    skipped = several.number * size * made.stride(dim)
    if not several.number or skipped > room:
        return made.split(max(size, 1), dim)[0]
    sizes = list(made.size())
    sizes[dim] = size * (several.number + 1)
    whole = made.as_strided(sizes, made.stride(), made.storage_offset() - skipped)
    return whole.split(size, dim)[several.number]


def _split_with_sizes(made: Tensor, several: Several, room: int) -> Tensor:
    """The last part, behind parts that are empty."""
    sizes = [0] * several.number + [made.size(several.dim)]
    return made.split_with_sizes(sizes, several.dim)[several.number]


_MAKERS: dict[str, Callable[[Tensor, Several, int], Tensor]] = {
    "Split": _split,
    "SplitWithSizes": _split_with_sizes,
    "Unbind": _unbound,
}

_AGAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "Expand": lambda view: view.expand(view.size()),
    "Permute": lambda view: view.permute(*range(view.dim())),
    "Select": lambda view: view.unsqueeze(0).select(0, 0),
    "Slice": lambda view: view.narrow(0, 0, view.size(0)),
    "T": lambda view: view.t().t(),
    "Transpose": lambda view: view.transpose(0, 0),
    "View": lambda view: view.view(view.size()),
}
