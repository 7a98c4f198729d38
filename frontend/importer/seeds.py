"""The seeds of a graph's random numbers: one call of ATen for all of them."""

from __future__ import annotations

import torch

from girih.dialects.bindings import ir
from girih.dialects.definition import OPS
from girih.frontend.importer.builder import Builder, Operand

_INT64 = torch.iinfo(torch.int64)


def _draw(b: Builder, count: int) -> ir.Operation:
    attributes = {"low": _INT64.min, "high": _INT64.max}
    type_ = b.type((count,), torch.int64)
    return OPS["graph.randint"].build([], attributes, results=[type_], loc=b.location)


class Seeds:
    """Draws seeds at the start of a function.

    There every op, inside of regions too, may use them, whatever is drawn first.
    """

    def __init__(self) -> None:
        self._count = 0
        self._drawn: ir.Operation | None = None

    def take(self, b: Builder) -> Operand:
        """A seed that nothing else has: an int64 without dims."""
        with ir.InsertionPoint.at_block_begin(b.block):
            if self._drawn is None:
                self._drawn = _draw(b, 1)
        index = self._count
        self._count += 1
        source = Operand(self._drawn.result, (self._count,), torch.int64)
        return b.op("seed", [source], {"index": index}, ((), torch.int64))

    def finish(self, b: Builder) -> None:
        """Makes the call one that draws as many as were taken."""
        if self._count > 1:
            with ir.InsertionPoint.at_block_begin(b.block):
                drawn = _draw(b, self._count)
            self._drawn.result.replace_all_uses_with(drawn.result)
            self._drawn.erase()
            self._drawn = drawn
