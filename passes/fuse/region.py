"""Builds the region of one fusion, in normal form.

Values are asked for by a key: a value of the program and the chain at whose end it is
needed. A member that stands in the domain is built once; everything else is built for
each chain, which sinks the chain through elementwise ops down to block arguments.
"""

from collections.abc import Callable
from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.fuse.chain import (
    Broadcast,
    Chain,
    Pad,
    Reshape,
    Take,
    extend,
    result_shape,
    without_trailing_broadcast,
)
from girih.passes.fuse.plan import FusionGroup, is_in_place
from girih.passes.fuse.program import Kind, Need, Node, Read
from girih.passes.fuse.reader import ProgramReader
from girih.passes.fuse.shapes import broadcast_shapes
from girih.passes.fuse.writer import Emitted, OpWriter, i64


@dataclass(frozen=True, slots=True)
class Key:
    """A value at the end of a chain; ``in_place`` where it stands in the domain."""

    value: int
    chain: Chain
    in_place: bool = False


class RegionBuilder:
    """Builds the body of the fusion of ``group``.

    Attributes:
        inputs: ids of the values that the fusion reads, as the block arguments are.
    """

    def __init__(self, reader: ProgramReader, group: FusionGroup, block: ir.Block):
        self.reader = reader
        self.program = reader.program
        self.placement = group.placement
        self.inputs: list[int] = []
        self._block = block
        self._writer = OpWriter(block, self._index)
        self._members = {*group.placement.levels, *group.placement.inline}
        self._arguments: dict[int, ir.Value] = {}
        self._built: dict[Key, Emitted] = {}
        self._views: dict[tuple[int, Chain], Emitted] = {}
        self._coordinates: dict[tuple[Size, Chain], Emitted] = {}
        self._indices: dict[Read, Emitted] = {}

    def build_outputs(self, outputs: tuple[int, ...]) -> list[ir.Value]:
        """Builds the values that the fusion yields, at full size."""
        results = []
        for value in outputs:
            node = self.program.producer(value)
            shape = self.placement.shape_of(node)
            emitted = self._get(Key(value, (), in_place=True))
            if node.kind is Kind.SCATTER:
                results.append(emitted.value)
                continue
            results.append(self._writer.widen(emitted, shape, self._loc(node)).value)
        return results

    # Keys ---------------------------------------------------------------------

    def _key(self, value: int, chain: Chain) -> Key:
        chain = without_trailing_broadcast(chain)
        node = self.program.producer(value)
        if node is not None and node.position in self._members:
            source = self.program.values[value].shape
            if is_in_place(self.program, self.placement, node, source, chain):
                return Key(value, (), in_place=True)
            assert node.kind not in (Kind.REDUCTION, Kind.SCAN), (
                f"girih bug: {self.reader.operations[node.position]} is read at "
                f"another place of its fusion, through {chain}"
            )
        return Key(value, chain)

    def _node(self, key: Key) -> Node | None:
        """Returns the op that has to be built for ``key``, None for inputs."""
        node = self.program.producer(key.value)
        if node is None or node.position in self._members or node.kind is Kind.FREE:
            return node
        return None

    def _chain_after(self, key: Key, node: Node) -> Chain:
        """Returns the chain from the op's working shape to where it is needed."""
        if not key.in_place:
            return key.chain
        shape = self.placement.working_shape(node)
        return extend(node.shape, (), [Reshape(shape)])

    def _operand_key(self, read: Read, chain: Chain) -> Key:
        source = self.program.values[read.value].shape
        return self._key(read.value, extend(source, read.chain, chain))

    def _operand_keys(self, key: Key) -> list[Key]:
        node = self._node(key)
        if node is None:
            return []
        chain = self._chain_after(key, node)
        reads = [read for read in node.reads if read.need is Need.READ]
        if node.name == "pad" and self._is_computed(reads[0]):
            chain = self._unread_padding(node, chain)
            return [self._key(reads[0].value, chain)]
        return [self._operand_key(read, chain) for read in reads]

    def _is_computed(self, read: Read) -> bool:
        """Returns whether the read value is computed in this region."""
        node = self.program.producer(read.value)
        return node is not None and (
            node.position in self._members or node.kind is Kind.FREE
        )

    def _unread_padding(self, node: Node, chain: Chain) -> Chain:
        """Returns the chain of a pad's operand without the value of the padding."""
        operation = self.reader.operations[node.position]
        step = Pad(node.shape, tuple(operation.low), tuple(operation.high), None)
        source, views = self.reader.trace(operation.operands[0])
        shape = self.program.values[source].shape
        return extend(shape, views, [step, *chain])

    # Building -----------------------------------------------------------------

    def _get(self, root: Key) -> Emitted:
        """Builds ``root`` after all that it needs, without recursion."""
        pending = [root]
        while pending:
            key = pending[-1]
            if key in self._built:
                pending.pop()
                continue
            missing = [k for k in self._operand_keys(key) if k not in self._built]
            if missing:
                pending += reversed(missing)
            else:
                self._built[pending.pop()] = self._build(key)
        return self._built[root]

    def _build(self, key: Key) -> Emitted:
        node = self._node(key)
        if node is None:
            return self._view(key.value, key.chain)
        operands = [self._built[k] for k in self._operand_keys(key)]
        if node.kind in (Kind.REDUCTION, Kind.SCAN):
            return self._build_reduction(node, operands[0])
        chain = self._chain_after(key, node)
        return _BUILDERS.get(node.name, RegionBuilder._build_elementwise)(
            self, node, chain, operands
        )

    def _build_reduction(self, node: Node, operand: Emitted) -> Emitted:
        placement, loc = self.placement, self._loc(node)
        operand = self._writer.widen(operand, placement.domain, loc)
        attributes = self._attributes(node)
        dims = sorted(placement.reduced)
        if "dim" in attributes:
            attributes["dim"] = i64(dims[0])
        else:
            attributes["dims"] = ir.DenseI64ArrayAttr.get(dims)
        shape = placement.shape_of(node)
        return self._create(node.name, [operand], shape, node, attributes)

    def _build_elementwise(self, node, chain, operands) -> Emitted:
        shape = broadcast_shapes(operand.shape for operand in operands)
        return self._create(node.name, operands, shape, node, self._attributes(node))

    def _build_constant(self, node, chain, operands) -> Emitted:
        attributes = self._attributes(node)
        name = "size" if node.name == "size" else "constant"
        return self._create(name, [], (), node, attributes)

    def _build_iota(self, node, chain, operands) -> Emitted:
        root = self._create("iota", [], node.shape, node, self._attributes(node))
        start = Emitted(root.value, root.shape, is_chain=True)
        return self._writer.apply(
            start, without_trailing_broadcast(chain), self._loc(node)
        )

    def _build_pad(self, node, chain, operands) -> Emitted:
        if not self._is_computed(node.reads[0]):
            return operands[0]
        operation = self.reader.operations[node.position]
        inside: Emitted | None = None
        for dim, low in enumerate(operation.low):
            high = operation.high[dim]
            for bound, name in ((low, "ge"), (node.shape[dim] - high, "lt")):
                if bound != (0 if name == "ge" else node.shape[dim]):
                    here = self._compare(node, chain, dim, name, bound)
                    inside = here if inside is None else self._both(node, inside, here)
        if inside is None:
            return operands[0]
        value = {"value": operation.attributes["value"]}
        padding = self._create("constant", [], (), node, value)
        return self._select(node, inside, operands[0], padding)

    def _build_accumulate(self, node, chain, operands) -> Emitted:
        loc, domain = self._loc(node), self.placement.domain
        # An argument of its own: what else reads the tensor reads what it was before.
        x = self._new_argument(self.reader.targets[node.position])
        shape = ty.shape_of(x.type)
        added = [self._writer.widen(operand, domain, loc) for operand in operands]
        return self._create("accumulate", [Emitted(x, shape), *added], shape, node, {})

    def _build_concat(self, node, chain, operands) -> Emitted:
        operation = self.reader.operations[node.position]
        dim, ends = operation.dim, []
        for operand in operation.operands:
            size = ty.shape_of(operand.type)[dim]
            ends.append(size + (ends[-1] if ends else 0))
        result = operands[-1]
        for operand, end in zip(operands[-2::-1], ends[-2::-1], strict=True):
            here = self._compare(node, chain, dim, "lt", end)
            result = self._select(node, here, operand, result)
        return result

    def _build_first_operand(self, node, chain, operands) -> Emitted:
        # Take, gather and copying reshapes are steps of the chain of their operand.
        return operands[0]

    def _build_indexed(self, node, chain, operands) -> Emitted:
        # A chain drops the index of what is the same for each; it is looked at beside.
        (found,), (_, index) = operands, node.reads
        if _reads_at(found.value, self._index(index).value):
            return found
        operation, loc = self.reader.operations[node.position], self._loc(node)
        shape = ty.shape_of(operation.operands[1].type)
        size = ty.shape_of(operation.operands[0].type)[operation.dim]
        from_end = "from_end" in operation.attributes
        steps = [Take(shape, 0, index, len(shape), from_end)]
        if node.name == "take":
            after = len(node.shape) - operation.dim - len(shape)
            steps.append(Reshape((1,) * operation.dim + shape + (1,) * after))
        steps = extend((size,), (), [*steps, Broadcast(node.shape), *chain])
        steps = without_trailing_broadcast(steps)
        place = self._writer.apply(self._writer.counter(size, loc), steps, loc)
        operands = [place, self._writer.number(0, loc)]
        holds = self._writer.make("ge", operands, place.shape, ty.i1(), {}, loc)
        return self._select(node, holds, found, found)

    # Coordinates --------------------------------------------------------------

    def _compare(self, node: Node, chain: Chain, dim: int, name: str, bound) -> Emitted:
        """Compares the coordinate along ``dim`` of the op's result with ``bound``."""
        coordinate, loc = self._coordinate(node, chain, dim), self._loc(node)
        operands = [coordinate, self._writer.number(bound, loc)]
        return self._writer.make(name, operands, coordinate.shape, ty.i1(), {}, loc)

    def _coordinate(self, node: Node, chain: Chain, dim: int) -> Emitted:
        size = node.shape[dim]
        ones = [1] * len(node.shape)
        ones[dim] = size
        steps = [Reshape(tuple(ones)), Broadcast(node.shape), *chain]
        steps = without_trailing_broadcast(extend((size,), (), steps))
        known = self._coordinates.get((size, steps))
        if known is None:
            loc = self._loc(node)
            known = self._writer.apply(self._writer.counter(size, loc), steps, loc)
            self._coordinates[size, steps] = known
        return known

    def _both(self, node: Node, first: Emitted, second: Emitted) -> Emitted:
        shape = broadcast_shapes((first.shape, second.shape))
        operands = [first, second]
        return self._writer.make(
            "logical_and", operands, shape, ty.i1(), {}, self._loc(node)
        )

    def _select(self, node, condition: Emitted, here: Emitted, there: Emitted):
        operands = [condition, here, there]
        shape = broadcast_shapes(operand.shape for operand in operands)
        return self._create("where", operands, shape, node, {})

    # Chains -------------------------------------------------------------------

    def _view(self, value: int, chain: Chain) -> Emitted:
        """Applies ``chain`` to the block argument of an input."""
        known = self._views.get((value, chain))
        if known is None:
            known = self._views[value, chain] = self._make_view(value, chain)
        return known

    def _make_view(self, value: int, chain: Chain) -> Emitted:
        if not chain:
            shape = self.program.values[value].shape
            return Emitted(self._argument(value), shape, is_chain=True)
        before = self._view(value, chain[:-1])
        return self._writer.apply(before, chain[-1:], before.value.location)

    def _argument(self, value: int) -> ir.Value:
        argument = self._arguments.get(value)
        if argument is None:
            argument = self._arguments[value] = self._new_argument(value)
        return argument

    def _new_argument(self, value: int) -> ir.Value:
        original = self.reader.ir_values[value]
        self.inputs.append(value)
        return self._block.add_argument(original.type, _location_of(original))

    def _index(self, read: Read) -> Emitted:
        """Builds an index at its own coordinates, at full size."""
        known = self._indices.get(read)
        if known is None:
            value = self.program.values[read.value]
            emitted = self._get(self._key(read.value, read.chain))
            loc = _location_of(self.reader.ir_values[read.value])
            shape = result_shape(value.shape, read.chain)
            known = self._indices[read] = self._writer.widen(emitted, shape, loc)
        return known

    # Ops ----------------------------------------------------------------------

    def _loc(self, node: Node) -> ir.Location:
        return self.reader.operations[node.position].location

    def _attributes(self, node: Node) -> dict[str, ir.Attribute]:
        attributes = self.reader.operations[node.position].attributes
        return dict(attributes.items())

    def _create(self, name, operands, shape, node: Node, attributes) -> Emitted:
        """Makes an op with the element type of what it replaces."""
        operation = self.reader.operations[node.position]
        element, loc = operation.results[0].type.element_type, operation.location
        return self._writer.make(name, operands, shape, element, attributes, loc)


def _reads_at(value: ir.Value, index: ir.Value) -> bool:
    """Whether an element at an index is read for a value."""
    pending, seen = [value], set()
    while pending:
        value = pending.pop()
        if isinstance(value.owner, ir.Block) or value in seen:
            continue
        seen.add(value)
        operands = list(value.owner.operands)
        if value.owner.name in ("graph.take", "graph.gather") and operands[1] == index:
            return True
        pending += operands
    return False


def _location_of(value: ir.Value) -> ir.Location:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return value.location
    return owner.location


_BUILDERS: dict[str, Callable[..., Emitted]] = {
    "accumulate": RegionBuilder._build_accumulate,
    "concat": RegionBuilder._build_concat,
    "constant": RegionBuilder._build_constant,
    "full": RegionBuilder._build_constant,
    "gather": RegionBuilder._build_indexed,
    "iota": RegionBuilder._build_iota,
    "pad": RegionBuilder._build_pad,
    "reshape": RegionBuilder._build_first_operand,
    "size": RegionBuilder._build_constant,
    "take": RegionBuilder._build_indexed,
}
