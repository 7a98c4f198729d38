"""``resize_`` of tensors that only the program has.

A tensor that becomes larger again within its memory shows what was there before. So the
recorder keeps the whole memory of each tensor that became smaller.
"""

from __future__ import annotations

import torch

from girih.dialects.dims import product
from girih.errors import unsupported
from girih.frontend.importer.builder import Operand
from girih.frontend.importer.recorder import Recorder
from girih.frontend.importer.registry import effects
from girih.frontend.importer.tensor_checks import check_resized
from girih.frontend.importer.views import memory_order


@effects("resize_", "resize_as_")
def resize(recorder: Recorder, func, args, kwargs):
    """The first elements in memory in another shape; new ones, which are any, are 0."""
    tensor = args[0]
    symbols, b = recorder.symbols, recorder.builder
    before = symbols.shape(tensor.shape)
    old = recorder.operand(tensor)
    order = memory_order(tensor, symbols)
    is_alone = recorder.table.is_alone(tensor) and order is not None
    _refuse_history(recorder, tensor, old)
    result = func(*args, **kwargs)  # may be written as views of the tensor
    if symbols.same(before, symbols.shape(tensor.shape)):
        return result
    recorder.expect([tensor])
    check_resized(func, b.out, is_alone)
    shape = symbols.shape(tensor.shape)
    if order != list(range(len(before))):
        old = b.permute(old, order)
    memory = b.reshape(old._replace(strides=None), (product(before),))
    if (known := recorder.memories.get(id(tensor))) is not None:
        rest = known[1].shape[0] - memory.shape[0]
        memory = _joined(recorder, memory, b.slice(known[1], 0, memory.shape[0], rest))
    added = product(shape) - memory.shape[0]
    if not symbols.is_negative(added):
        memory = _joined(recorder, memory, b.full((added,), 0, tensor.dtype))
    # The tensor is kept, so that its identity stays its own.
    recorder.memories[id(tensor)] = tensor, memory
    first = b.slice(memory, 0, 0, product(shape))
    recorder.add_value(tensor, b.reshape(first, shape))
    return result


def _joined(recorder: Recorder, first: Operand, second: Operand) -> Operand:
    parts = [part for part in (first, second) if part.shape != (0,)]
    return recorder.builder.concat(parts, 0) if parts else first


def _refuse_history(recorder: Recorder, tensor: torch.Tensor, value: Operand) -> None:
    derivatives = recorder.derivatives
    if derivatives is not None and derivatives.is_active(value.value):
        unsupported(
            kind="resizing a tensor with a history",
            context=str(tuple(tensor.shape)),
            explanation="Eager refuses that, too.",
        )
