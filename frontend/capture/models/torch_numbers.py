"""Tensors that are made of one number."""

from __future__ import annotations

import torch

from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.sequence import TupleValue
from girih.frontend.capture.values.symbol import SymbolValue


@models(torch.tensor)
def _tensor(tracer, data, **options):
    """A number that varies stays one: ``torch.tensor`` would ask for its value."""
    is_number = isinstance(data, SymbolValue) and data.real is not None
    if is_number and data.python_type() is not bool and {*options} <= _SAME:
        return tracer.call_operation(torch.full, [TupleValue([]), data], options)
    return tracer.call_operation(torch.tensor, [data], options)


# Options that ``torch.full`` has as well, with the same meaning.
_SAME = frozenset(("dtype", "device"))
