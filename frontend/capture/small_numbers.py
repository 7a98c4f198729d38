"""Ints that are 0 or 1 at some calls, and other numbers at others.

One input of a graph stands for all of them as long as no size follows from it. What
comes behind the capture takes sizes that are symbols to be 2 and more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from girih.frontend.capture.evaluate import NeedsKnownSizes


def start_again_without_small(tracer) -> None:
    """Starts the capture again if a size follows from a number that may be 0 or 1.

    Args:
        tracer: Of a capture that has come to its end.

    Raises:
        NeedsKnownSizes: 0 and 1 are constants in the next attempt.
    """
    graph = tracer.graph
    numbers = [given for given in graph.placed if given.may_be_small]
    if not numbers:
        return
    # Bodies of branches and transforms have nodes, and sizes, of their own.
    has_bodies = any(True for _ in graph.modules.children())
    symbols = _symbols_of(node.meta.get("val") for node in graph.fx.nodes)
    found = [
        given
        for given in numbers
        if has_bodies or given.value.fake.node._expr in symbols
    ]
    for given in found:
        tracer.sizes.becomes_size(given.source)
    if found:
        raise NeedsKnownSizes


def _symbols_of(values: Iterable[Any]) -> set:
    """The symbols in sizes and strides of tensors."""
    found: set = set()
    for tensor in _tensors_of(values):
        for size in (*tensor.size(), *tensor.stride()):
            if isinstance(size, torch.SymInt):
                found |= size.node._expr.free_symbols
    return found


def _tensors_of(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors_of(value)
