"""Import rules of looking up places in sorted tensors."""

from __future__ import annotations

import torch

from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.registry import imports

_SIDES = {None: None, "left": False, "right": True}


@imports("bucketize.Tensor")
def bucketize(b: Builder, self, boundaries, out_int32=False, right=False):
    """The buckets that numbers fall into."""
    return searchsorted(b, boundaries, self, out_int32=out_int32, right=right)


@imports("searchsorted.Tensor")
def searchsorted(
    b: Builder,
    sorted_sequence,
    self,
    out_int32=False,
    right=False,
    side=None,
    sorter=None,
):
    """The places where numbers belong, in one sorted row or in one for each row."""
    size = sorted_sequence.shape[-1] if sorted_sequence.rank else None
    # The rounds of a search are written out, so their number has to be known.
    if not isinstance(size, int) or sorter is not None or not self.rank:
        return NotImplemented
    if sorted_sequence.dtype != self.dtype or self.dtype.is_complex:
        return NotImplemented
    if sorted_sequence.rank > 1 and sorted_sequence.shape[:-1] != self.shape[:-1]:
        return NotImplemented
    if 0 in self.shape or side not in _SIDES or (side == "left" and right):
        return NotImplemented
    index = torch.int32 if size < 2**31 else torch.int64
    found = _search(b, sorted_sequence, self, index, bool(_SIDES[side] or right))
    return b.cast(found, torch.int32 if out_int32 else torch.int64)


def _search(
    b: Builder, rows: Operand, values: Operand, index: torch.dtype, right: bool
) -> Operand:
    """ATen's bisection, all elements at once.

    A row that is not sorted gets the answer that ATen gives, and NaN is larger than
    each number. Source: ``cus_lower_bound`` in Bucketization.cpp (2.13)
    """
    size = rows.shape[-1]
    start = b.full(values.shape, 0, index)
    end = b.full(values.shape, size, index)
    one, zero = b.constant(1, index), b.constant(0, index)
    for _ in range(size.bit_length()):
        is_open = b.compare("lt", start, end)
        # Both are at most 2**31, but their sum may be larger.
        half = b.binary("shift_right", b.sub(end, start), one)
        middle = b.add(start, half)
        # A search that is over may stand behind the row's end.
        place = b.where(is_open, middle, zero)
        if rows.rank == 1:
            found = b.take(rows, place, 0)
        else:
            attributes = {"dim": rows.rank - 1}
            found = b.op("gather", [rows, place], attributes, (place.shape, rows.dtype))
        is_here = b.compare("gt" if right else "ge", found, values)
        goes_on = b.binary("logical_and", is_open, b.unary("logical_not", is_here))
        stays = b.binary("logical_and", is_open, is_here)
        start = b.where(goes_on, b.add(middle, one), start)
        end = b.where(stays, middle, end)
    return start
