"""Calls of operators that write their arguments, as functions of values.

The operator gets copies of what it writes, laid out as its arguments are; what it left
in them are results.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from . import torch_entry

NAME = "girih.written.default"


def written(
    name: str, args: Sequence[Any], keywords: Sequence[str], values: Sequence[Any]
) -> list[Tensor]:
    """What the call ``name(*args, **keywords)`` writes and returns.

    Args:
        name: The operator, such as "mine.scale.default".
        args: Its arguments; tensors may stand in lists.
        keywords: Names of its keyword arguments.
        values: The arguments of these names.

    Returns:
        What it leaves in the tensors that it writes, in the order of its schema, then
        the tensors that it makes.

    Raises:
        RuntimeError: It gave a tensor that it writes another shape.
    """
    copies: list[Tensor] = []
    writes = _writes(name)
    given = [_own(arg, copies) if n in writes else arg for n, arg in enumerate(args)]
    named = {
        key: _own(value, copies) if key in writes else value
        for key, value in zip(keywords, values, strict=True)
    }
    shapes = [copy.shape for copy in copies]
    with torch.no_grad():
        returned = torch_entry.overload(name)(*given, **named)
    if shapes != [copy.shape for copy in copies]:
        raise RuntimeError(f"{name} resized a tensor that it was compiled to write")
    known = {id(copy) for copy in copies}
    made = torch_entry.flatten_tensors(returned)
    return [*copies, *(tensor for tensor in made if id(tensor) not in known)]


def underivable(name: str, cotangents: Sequence[Tensor]) -> list[Tensor]:
    """Raises what eager raises where a derivative comes to a call of ``written``."""
    raise RuntimeError(
        f"Trying to backward through {name} but no autograd formula was registered. "
        "Please use register_autograd to add one."
    )


torch_entry.OWN[NAME] = written
torch_entry.OWN["girih.underivable.default"] = underivable


@functools.cache
def _writes(name: str) -> frozenset[int | str]:
    """Places and names of the arguments that an operator writes."""
    return frozenset(_keys_of_writes(torch_entry.overload(name)._schema))


def _keys_of_writes(schema: torch.FunctionSchema) -> Iterator[int | str]:
    for number, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            yield number
            yield argument.name


def _own(item: Any, copies: list[Tensor]) -> Any:
    """The item with copies of the tensors in it, which are noted."""
    if isinstance(item, (list, tuple)):
        return [_own(each, copies) for each in item]
    if not isinstance(item, Tensor):
        return item
    copy = torch.empty_strided(
        item.shape, item.stride(), dtype=item.dtype, device=item.device
    )
    copies.append(copy.copy_(item.detach()))
    return copy
