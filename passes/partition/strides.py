"""How saved values should lie in memory: as what makes them would lay them out."""

from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.convert_graph_to_host import layout as layouts
from girih.passes.convert_graph_to_host.layout import Layout
from girih.passes.convert_graph_to_host.padding import (
    keeps_rows,
    padded_result,
    padded_strides,
)
from girih.passes.convert_graph_to_host.plan import VIEWS
from girih.passes.partition.program import Kind
from girih.passes.partition.reader import JointReader


class Strides:
    """Layouts of values, found when asked for."""

    def __init__(self, reader: JointReader):
        self._reader = reader
        self._known: dict[int, Layout] = {}

    def of_fresh(self, value: int) -> tuple[Size, ...] | None:
        """Strides to save a value with, None for those of a contiguous tensor."""
        padded = self._padded(value)
        if padded is not None:
            return padded
        layout = self._layout(value)
        fresh = layouts.dense_like(layout.shape, layout.strides)
        return None if fresh is None or fresh.is_contiguous else fresh.strides

    def _padded(self, saved: int) -> tuple[Size, ...] | None:
        """Those of a product's result on a device, through views of its rows."""
        if not self._reader.is_on_device:
            return None
        program, value = self._reader.program, saved
        node = program.producer(value)
        while node is not None and node.kind is Kind.VIEW and node.name == "reshape":
            if not keeps_rows(self._op(value)):
                return None
            value = node.operands[0]
            node = program.producer(value)
        if node is None or node.kind is not Kind.LIBRARY:
            return None
        if padded_result(self._op(value)) is None:
            return None
        return padded_strides(self._reader.ir_values[saved].type)

    def _op(self, value: int) -> ir.OpView:
        """What makes a value."""
        return self._reader.operations[self._reader.program.values[value].node]

    def _layout(self, value: int) -> Layout:
        """The layout of a value, after those that it depends on."""
        pending = [value]
        while pending:
            unknown = [v for v in self._sources(pending[-1]) if v not in self._known]
            if unknown and pending[-1] not in self._known:
                pending += unknown
            else:
                last = pending.pop()
                self._known.setdefault(last, self._compute(last))
        return self._known[value]

    def _sources(self, value: int) -> tuple[int, ...]:
        """The values whose layouts decide: a kernel follows operands of its shape."""
        node = self._reader.program.producer(value)
        if node is None or node.kind is Kind.LIBRARY:
            return ()
        if node.kind is Kind.VIEW:
            return node.operands[:1]
        shape = self._shape(value)
        return tuple(v for v in node.operands if self._shape(v) == shape)

    def _shape(self, value: int) -> tuple[Size, ...]:
        return ty.shape_of(self._reader.ir_values[value].type)

    def _compute(self, value: int) -> Layout:
        node = self._reader.program.producer(value)
        shape = self._shape(value)
        if node is None:
            return self._given(self._reader.signature.arguments[value], shape)
        op = self._op(value)
        if node.kind is Kind.LIBRARY:
            return _library_layout(op, node.results.index(value), shape)
        sources = [self._known[v] for v in self._sources(value)]
        if node.kind is Kind.VIEW:
            return VIEWS[f"graph.{node.name}"](op, sources[0]) or layouts.contiguous(
                shape
            )
        found = (layouts.dense_like(shape, source.strides) for source in sources)
        return next(
            (one for one in found if one is not None), layouts.contiguous(shape)
        )

    def _given(self, given: dict[str, ir.Attribute], shape: tuple[Size, ...]) -> Layout:
        if keys.STRIDES not in given:
            return layouts.contiguous(shape)
        return Layout(shape, attr.SIZES.decode(given[keys.STRIDES]))


def _library_layout(op: ir.OpView, index: int, shape: tuple[Size, ...]) -> Layout:
    if "strides" not in op.attributes:
        return layouts.contiguous(shape)
    return Layout(shape, attr.LAYOUTS.decode(op.attributes["strides"])[index])
