"""Reads the body of a function into a ``Program``."""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import (
    Effects,
    effects_of,
    full_name,
    has,
    role_of,
    rule_name,
)
from girih.dialects.traits import (
    ACCUMULATES,
    CREATES,
    REDUCES,
    REINDEXES,
    SCANS,
    Cost,
    Role,
)
from girih.passes.choices import USUAL, Choices, place_text
from girih.passes.convert_graph_to_host import layout as layouts
from girih.passes.convert_graph_to_host.layout import Layout, contiguous
from girih.passes.fuse.chain import (
    Broadcast,
    Chain,
    Flip,
    Gather,
    Pad,
    Permute,
    Reshape,
    Slice,
    Step,
    Take,
    Windows,
    extend,
)
from girih.passes.fuse.free import free_cheap_ops
from girih.passes.fuse.program import Kind, Need, Node, Program, Read, Value
from girih.passes.fuse.shapes import Shape
from girih.passes.kernel_elements import takes_elements
from girih.passes.kernel_scans import is_left_to_library


def primitive_kind(name: str) -> Kind:
    """Returns what an op, named as in rules, is in a fusion."""
    op = full_name(name)
    if role_of(op) is not Role.PRIMITIVE:
        return Kind.BARRIER
    if has(op, CREATES):
        return Kind.FREE
    if has(op, REINDEXES):
        return Kind.VIEW
    if has(op, SCANS):
        return Kind.SCAN
    if has(op, ACCUMULATES):
        return Kind.SCATTER
    return Kind.REDUCTION if has(op, REDUCES) else Kind.POINTWISE


class ProgramReader:
    """Reads one block.

    Attributes:
        program: the records.
        operations: the op of each node.
        ir_values: the IR value of each id.
        targets: the id of what each scatter, by its position, adds to.
    """

    def __init__(
        self,
        block: ir.Block,
        max_concat_operands: int,
        stores_weights: bool = False,
        choices: Choices = USUAL,
    ):
        self.program = Program([], [], self._label)
        self.operations: list[ir.OpView] = []
        self.ir_values: list[ir.Value] = []
        self.targets: dict[int, int] = {}
        self._ids: dict[ir.Value, int] = {}
        self._views: dict[ir.Value, tuple[int, Chain]] = {}
        self._elements: dict[ir.Type, tuple[str, int]] = {}
        self._max_concat_operands = max_concat_operands
        operations = list(block.operations)
        self._stored = _stored_values(operations)
        for argument in block.arguments:
            self._add_value(argument, None)
        for position, op in enumerate(operations):
            self._add_node(position, op)
        free_cheap_ops(
            self.program,
            lambda n: not stores_weights or self._is_integer(n),
            choices,
            stores_lookups=stores_weights,
        )
        self._link()

    def _label(self, position: int) -> str:
        """An op, and where it is in the user's program."""
        name = self.program.nodes[position].name
        return f"%{position} {name}{place_text(self.operations[position].location)}"

    def _is_integer(self, value: int) -> bool:
        return isinstance(self.ir_values[value].type.element_type, ir.IntegerType)

    def _add_value(self, value: ir.Value, node: int | None) -> int:
        type_ = value.type
        identity = len(self.ir_values)
        if isinstance(type_, ir.RankedTensorType):
            record = Value(ty.shape_of(type_), self._element(type_)[1], node)
        else:
            record = Value((), 8, node)
        self.program.values.append(record)
        self.ir_values.append(value)
        self._ids[value] = identity
        return identity

    def _element(self, type_: ir.RankedTensorType) -> tuple[str, int]:
        element = type_.element_type
        known = self._elements.get(element)
        if known is None:
            name = str(element)
            known = self._elements[element] = (name, ty.ELEMENT_BYTES.get(name, 8))
        return known

    def _add_node(self, position: int, op: ir.OpView) -> None:
        name = rule_name(op)
        kind = self._kind(op, name)
        self.operations.append(op)
        if kind is Kind.SCATTER:
            self.targets[position] = self._ids[op.x]
        reads = _READERS.get(name, _read_elementwise)(self, op, kind)
        shape = self._working_shape(op, kind)
        results = tuple(self._add_value(result, position) for result in op.results)
        if kind is Kind.VIEW:
            self._views[op.results[0]] = (reads[0].value, reads[0].chain)
        dims = _reduced_dims(op) if kind in (Kind.REDUCTION, Kind.SCAN) else ()
        node = Node(position, name, kind, shape, reads, results, dims)
        node.is_expensive = kind is Kind.POINTWISE and op.COST is not Cost.CHEAP
        self.program.nodes.append(node)

    def _kind(self, op: ir.OpView, name: str) -> Kind:
        kind = primitive_kind(name)
        if name == "concat" and len(op.operands) > self._max_concat_operands:
            return Kind.BARRIER
        if name == "gather" and not ty.shape_of(op.operands[0].type):
            return Kind.BARRIER
        if name == "reshape" and op.results[0] in self._stored and self._copies(op):
            return Kind.POINTWISE
        if is_left_to_library(op):
            return Kind.BARRIER
        if kind in (Kind.POINTWISE, Kind.REDUCTION, Kind.SCAN, Kind.SCATTER):
            values = (*op.operands, *op.results)
            elements = {self._element(v.type)[0] for v in values}
            if not takes_elements(op, elements):
                return Kind.BARRIER
        return kind

    def _copies(self, op: ir.OpView) -> bool:
        """Returns whether a reshape would have to copy what a fusion computes.

        Then the fusion should write the elements in their new order itself.
        """
        source, chain = self.trace(op.operands[0])
        producer = self.program.producer(source)
        if producer is None or not self.program.is_computed(producer):
            return False
        layout: Layout | None = contiguous(self.program.values[source].shape)
        for step in (*chain, Reshape(_result_shape(op))):
            layout = _layout_after(layout, step)
            if layout is None:
                return True
        return False

    def _working_shape(self, op: ir.OpView, kind: Kind) -> Shape:
        if kind is Kind.BARRIER:
            return ()
        if kind is Kind.SCATTER:
            return ty.shape_of(op.source.type)
        values = op.operands if kind is Kind.REDUCTION else op.results
        return ty.shape_of(values[0].type)

    def trace(self, value: ir.Value) -> tuple[int, Chain]:
        """Returns the id of the value that has the data, and the views after it."""
        view = self._views.get(value)
        return (self._ids[value], ()) if view is None else view

    def read(self, value: ir.Value, *steps: Step) -> Read:
        """Returns the read of ``value`` followed by ``steps``."""
        source, chain = self.trace(value)
        shape = self.program.values[source].shape
        return Read(source, extend(shape, chain, steps), Need.READ)

    def read_index(self, value: ir.Value) -> Read:
        """Returns the read of an index operand."""
        source, chain = self.trace(value)
        return Read(source, chain, Need.INDEX)

    def _link(self) -> None:
        """Fills in uses and successors."""
        last_effect: Node | None = None
        for node in self.program.nodes:
            if node.kind is Kind.VIEW:
                continue
            for read in node.reads:
                self.program.values[read.value].uses.append((node.position, read))
                producer = self.program.producer(read.value)
                if producer is not None:
                    producer.successors.append(node.position)
            if self._has_effects(node):
                if last_effect is not None:
                    last_effect.successors.append(node.position)
                last_effect = node

    def _has_effects(self, node: Node) -> bool:
        if node.kind is not Kind.BARRIER:
            return False
        return effects_of(self.operations[node.position]) is not Effects.PURE


def _stored_values(operations: list[ir.OpView]) -> set[ir.Value]:
    """Returns the values that are read in memory, directly or through views."""
    stored: set[ir.Value] = set()
    for op in reversed(operations):
        kind = primitive_kind(rule_name(op))
        if kind is Kind.BARRIER or (kind is Kind.VIEW and op.results[0] in stored):
            stored.update(op.operands)
        elif kind is Kind.SCATTER:
            stored.add(op.x)
    return stored


def _layout_after(before: Layout, last: Step) -> Layout | None:
    """Returns the layout of a view; None if the step has to copy."""
    match last:
        case Reshape(shape):
            return layouts.reshape(before, shape)
        case Broadcast(shape):
            return layouts.broadcast_to(before, shape)
        case Permute(_, permutation):
            return layouts.permute(before, permutation)
        case Slice(shape, starts, steps):
            return layouts.slice_(before, starts, steps, shape)
        case Windows(shape, dim, step):
            return layouts.window(before, dim, step, shape)
    return None


def _reduced_dims(op: ir.OpView) -> tuple[int, ...]:
    return (op.dim,) if "dim" in op.attributes else tuple(op.dims)


def _result_shape(op: ir.OpView) -> Shape:
    return ty.shape_of(op.results[0].type)


def _read_elementwise(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    if kind is Kind.BARRIER:
        return _read_whole(reader, op)
    if kind in (Kind.REDUCTION, Kind.SCAN):
        return (reader.read(op.operands[0]),)
    if kind is Kind.FREE:
        return ()
    broadcast = Broadcast(_result_shape(op))
    return tuple(reader.read(operand, broadcast) for operand in op.operands)


def _read_whole(reader: ProgramReader, op) -> tuple[Read, ...]:
    traced = (reader.trace(operand) for operand in op.operands)
    return tuple(Read(value, chain, Need.WHOLE) for value, chain in traced)


def _read_reshape(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    return (reader.read(op.operands[0], Reshape(_result_shape(op))),)


def _read_broadcast(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    return (reader.read(op.operands[0], Broadcast(_result_shape(op))),)


def _read_permute(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    step = Permute(_result_shape(op), tuple(op.permutation))
    return (reader.read(op.operands[0], step),)


def _read_slice(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    step = Slice(_result_shape(op), tuple(op.starts), tuple(op.steps))
    return (reader.read(op.operands[0], step),)


def _read_window(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    return (reader.read(op.operands[0], Windows(_result_shape(op), op.dim, op.step)),)


def _read_flip(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    return (reader.read(op.operands[0], Flip(_result_shape(op), tuple(op.dims))),)


def _read_pad(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    if kind is Kind.BARRIER:
        return _read_whole(reader, op)
    value = op.attributes["value"]
    step = Pad(_result_shape(op), tuple(op.low), tuple(op.high), value)
    return (reader.read(op.operands[0], step),)


def _read_concat(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    if kind is Kind.BARRIER:
        return _read_whole(reader, op)
    shape, dim = _result_shape(op), op.dim
    none = (0,) * len(shape)
    reads, start = [], 0
    for operand in op.operands:
        size = ty.shape_of(operand.type)[dim]
        end = shape[dim] - start - size
        low = (*none[:dim], start, *none[dim + 1 :])
        high = (*none[:dim], end, *none[dim + 1 :])
        reads.append(reader.read(operand, Pad(shape, low, high, None)))
        start = start + size
    return tuple(reads)


def _read_accumulate(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    if kind is Kind.BARRIER:
        return _read_whole(reader, op)
    whole = Read(*reader.trace(op.x), Need.WHOLE)
    return (whole, reader.read(op.place), reader.read(op.source))


def _read_take(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    if kind is Kind.BARRIER:
        return _read_whole(reader, op)
    index = reader.read_index(op.operands[1])
    rank = len(ty.shape_of(op.operands[1].type))
    from_end = op.from_end is not None
    step = Take(_result_shape(op), op.dim, index, rank, from_end)
    return (reader.read(op.operands[0], step), index)


def _read_gather(reader: ProgramReader, op, kind: Kind) -> tuple[Read, ...]:
    if kind is Kind.BARRIER:
        return _read_whole(reader, op)
    index = reader.read_index(op.operands[1])
    step = Gather(_result_shape(op), op.dim, index)
    return (reader.read(op.operands[0], step), index)


_READERS = {
    "accumulate": _read_accumulate,
    "broadcast_to": _read_broadcast,
    "concat": _read_concat,
    "flip": _read_flip,
    "gather": _read_gather,
    "pad": _read_pad,
    "permute": _read_permute,
    "reshape": _read_reshape,
    "slice": _read_slice,
    "take": _read_take,
    "window": _read_window,
}
