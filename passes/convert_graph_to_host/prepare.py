"""Rewrites a graph function so that the plan of its layouts only has to read it."""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects import graph
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.dialects.types import element_of, shape_of, tensor_type
from girih.passes.graph_builder import has_one_use

from .complex_views import view_complex_tensors
from .copied import copy_in_kernels
from .reuse import written_operand
from .signature import ResultInfo, result_infos


def prepare(function: ir.OpView) -> None:
    """Makes copies of constants where the program shall write or repeat them.

    Copies that nobody can tell from views become views. Kernels make the copies of
    arguments that they read.

    Args:
        function: `func.func` of one block of graph ops.
    """
    block = function.regions[0].blocks[0]
    view_complex_tensors(block)
    _own_filled_operands(block)
    infos = result_infos(function)
    _repeat_constants(block, infos)
    copy_in_kernels(block, infos)


def _own_filled_operands(block: ir.Block) -> None:
    """Gives each ATen call that could write a filled tensor one of its own."""
    for op in list(block.operations)[:-1]:
        value = written_operand(op)
        if value is not None and _is_filled(value) and not has_one_use(value):
            copy = value.owner.clone(ip=ir.InsertionPoint(op))
            op.operation.operands[list(op.operands).index(value)] = copy.results[0]


def _repeat_constants(block: ir.Block, infos: Sequence[ResultInfo]) -> None:
    """Makes views of what is returned of a constant that eager's strides repeat.

    `torch.zeros(1).expand(9)` has one element in memory, and `zeros(9)` was made of it.
    """
    last = block.operations[len(block.operations) - 1]
    for index, info in enumerate(infos):
        if info.is_fresh and info.once is not None:
            value = last.operands[index]
            last.operation.operands[index] = _repeated(value, info.once, last)


def _repeated(value: ir.Value, once: Sequence[Size], before: ir.OpView) -> ir.Value:
    """The same value as a view of a smaller one, where it is a constant."""
    pairs = zip(once, shape_of(value.type), strict=True)
    is_full = isinstance(value, ir.OpResult) and value.owner.name == "graph.full"
    if not is_full or any(size not in (1, whole) for size, whole in pairs):
        return value
    place = {"loc": value.owner.location, "ip": ir.InsertionPoint(before)}
    number = {"value": value.owner.attributes["value"]}
    types = [tensor_type(once, element_of(value.type))]
    small = graph.build("full", [], number, results=types, **place).result
    repeated = graph.build("broadcast_to", [small], results=[value.type], **place)
    return repeated.result


def _is_filled(value: ir.Value) -> bool:
    """Whether an op makes the value, and nothing else, of nothing."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    return len(owner.operands) == 0 and len(owner.results) == 1
