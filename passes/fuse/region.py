"""Builds the region of one fusion, in normal form.

Values are asked for by a key: a value of the program and the chain at whose end it is
needed. A member that stands in the domain is built once; everything else is built for
each chain, which sinks the chain through elementwise ops down to block arguments.
"""

from collections.abc import Callable
from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.attributes import encode_size
from girih.dialects.bindings import ir
from girih.dialects.dims import Size, product
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
    extend,
    result_shape,
    without_trailing_broadcast,
)
from girih.passes.fuse.plan import FusionGroup, is_in_place
from girih.passes.fuse.program import Kind, Node, Read, Role
from girih.passes.fuse.reader import ProgramReader
from girih.passes.fuse.shapes import Shape, broadcast_shapes


@dataclass(frozen=True, slots=True)
class Emitted:
    """A value in the region.

    Attributes:
        value: the value.
        shape: its shape, which broadcasts to the end of the chain that was asked for.
        is_chain: whether shape ops may apply to it.
    """

    value: ir.Value
    shape: Shape
    is_chain: bool = False


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
        self._ip = ir.InsertionPoint(block)
        self._members = {*group.placement.levels, *group.placement.inline}
        self._arguments: dict[int, ir.Value] = {}
        self._built: dict[Key, Emitted] = {}
        self._views: dict[tuple[int, Chain], Emitted] = {}
        self._coordinates: dict[tuple[Size, Chain], Emitted] = {}
        self._types: dict[tuple[Shape, ir.Type], ir.Type] = {}

    def build_outputs(self, outputs: tuple[int, ...]) -> list[ir.Value]:
        """Builds the values that the fusion yields, at full size."""
        results = []
        for value in outputs:
            node = self.program.producer(value)
            shape = self.placement.shape_of(node)
            emitted = self._get(Key(value, (), in_place=True))
            results.append(self._widen(emitted, shape, self._loc(node)).value)
        return results

    # Keys ---------------------------------------------------------------------

    def _key(self, value: int, chain: Chain) -> Key:
        chain = without_trailing_broadcast(chain)
        node = self.program.producer(value)
        if node is not None and node.position in self._members:
            source = self.program.values[value].shape
            if is_in_place(self.program, self.placement, node, source, chain):
                return Key(value, (), in_place=True)
            assert node.kind is not Kind.REDUCTION, (
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
        reads = [read for read in node.reads if read.role is Role.READ]
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
            return self._view(key.value, key.chain, None)
        operands = [self._built[k] for k in self._operand_keys(key)]
        if node.kind is Kind.REDUCTION:
            return self._build_reduction(node, operands[0])
        chain = self._chain_after(key, node)
        return _BUILDERS.get(node.name, RegionBuilder._build_elementwise)(
            self, node, chain, operands
        )

    def _build_reduction(self, node: Node, operand: Emitted) -> Emitted:
        placement, loc = self.placement, self._loc(node)
        operand = self._widen(operand, placement.domain, loc)
        attributes = self._attributes(node)
        dims = sorted(placement.reduced)
        if "dim" in attributes:
            attributes["dim"] = _i64(dims[0])
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
        return self._apply(start, without_trailing_broadcast(chain), self._loc(node))

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

    # Coordinates --------------------------------------------------------------

    def _compare(self, node: Node, chain: Chain, dim: int, name: str, bound) -> Emitted:
        """Compares the coordinate along ``dim`` of the op's result with ``bound``."""
        coordinate = self._coordinate(node, chain, dim)
        loc = self._loc(node)
        if isinstance(bound, int):
            value = {"value": _i64(bound)}
            limit = self._make("constant", [], (), ty.i64(), value, loc)
        else:
            expression = {"expr": encode_size(bound)}
            limit = self._make("size", [], (), ty.i64(), expression, loc)
        return self._make(name, [coordinate, limit], coordinate.shape, ty.i1(), {}, loc)

    def _coordinate(self, node: Node, chain: Chain, dim: int) -> Emitted:
        size = node.shape[dim]
        ones = [1] * len(node.shape)
        ones[dim] = size
        steps = [Reshape(tuple(ones)), Broadcast(node.shape), *chain]
        steps = without_trailing_broadcast(extend((size,), (), steps))
        known = self._coordinates.get((size, steps))
        if known is None:
            attributes = {"start": _i64(0), "step": _i64(1)}
            loc = self._loc(node)
            iota = self._make("iota", [], (size,), ty.i64(), attributes, loc)
            start = Emitted(iota.value, iota.shape, is_chain=True)
            known = self._coordinates[size, steps] = self._apply(start, steps, loc)
        return known

    def _both(self, node: Node, first: Emitted, second: Emitted) -> Emitted:
        shape = broadcast_shapes((first.shape, second.shape))
        operands = [first, second]
        return self._make("logical_and", operands, shape, ty.i1(), {}, self._loc(node))

    def _select(self, node, condition: Emitted, here: Emitted, there: Emitted):
        operands = [condition, here, there]
        shape = broadcast_shapes(operand.shape for operand in operands)
        return self._create("where", operands, shape, node, {})

    # Chains -------------------------------------------------------------------

    def _view(self, value: int, chain: Chain, loc: ir.Location | None) -> Emitted:
        """Applies ``chain`` to the block argument of an input."""
        known = self._views.get((value, chain))
        if known is not None:
            return known
        if not chain:
            shape = self.program.values[value].shape
            made = Emitted(self._argument(value), shape, is_chain=True)
        else:
            before = self._view(value, chain[:-1], loc)
            made = self._apply(before, chain[-1:], loc)
        self._views[(value, chain)] = made
        return made

    def _argument(self, value: int) -> ir.Value:
        argument = self._arguments.get(value)
        if argument is None:
            original = self.reader.ir_values[value]
            argument = self._block.add_argument(original.type, _location_of(original))
            self._arguments[value] = argument
            self.inputs.append(value)
        return argument

    def _apply(self, start: Emitted, chain: Chain, loc) -> Emitted:
        if loc is None:
            loc = start.value.location
        for step in chain:
            start = self._apply_step(start, step, loc)
        return start

    def _apply_step(self, start: Emitted, step: Step, loc: ir.Location) -> Emitted:
        name, attributes = _SHAPE_OPS[type(step)](step)
        operands = [start]
        if isinstance(step, Take | Gather):
            operands.append(self._index(step.index, loc))
        element = start.value.type.element_type
        if isinstance(step, Pad):
            attributes["value"] = step.value or _zero(element)
        made = self._make(name, operands, step.shape, element, attributes, loc)
        return Emitted(made.value, made.shape, is_chain=True)

    def _index(self, read: Read, loc: ir.Location) -> Emitted:
        """Builds an index at its own coordinates, at full size."""
        source = self.program.values[read.value].shape
        emitted = self._get(self._key(read.value, read.chain))
        return self._widen(emitted, result_shape(source, read.chain), loc)

    def _widen(self, emitted: Emitted, shape: Shape, loc: ir.Location) -> Emitted:
        """Returns the value with all elements of ``shape``."""
        if emitted.shape == shape:
            return emitted
        element = emitted.value.type.element_type
        if emitted.is_chain:
            if product(emitted.shape) == product(shape):
                return self._apply(emitted, (Reshape(shape),), loc)
            return self._apply(emitted, (Broadcast(shape),), loc)
        owner = emitted.value.owner
        if owner.name == "graph.constant":
            attributes = {"value": owner.attributes["value"]}
            return self._make("full", [], shape, element, attributes, loc)
        # No shape op may stand on a computed value; choosing between the value and
        # itself at each point of the domain is elementwise, and free in a kernel.
        true = {"value": ir.BoolAttr.get(True)}
        everywhere = self._make("full", [], shape, ty.i1(), true, loc)
        operands = [everywhere, emitted, emitted]
        return self._make("where", operands, shape, element, {}, loc)

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
        return self._make(name, operands, shape, element, attributes, loc)

    def _make(self, name, operands, shape, element, attributes, loc) -> Emitted:
        type_ = self._types.get((shape, element))
        if type_ is None:
            type_ = self._types[shape, element] = ty.tensor_type(shape, element)
        op = ir.Operation.create(
            f"graph.{name}",
            results=[type_],
            operands=[operand.value for operand in operands],
            attributes=attributes,
            loc=loc,
            ip=self._ip,
        )
        return Emitted(op.results[0], shape)


def _i64(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ty.i64(), value)


def _zero(element: ir.Type) -> ir.Attribute:
    """Returns a value for padding that nothing reads."""
    if ty.is_bool(element):
        return ir.BoolAttr.get(False)
    return _i64(0)


def _location_of(value: ir.Value) -> ir.Location:
    owner = value.owner
    if isinstance(owner, ir.Block):
        return value.location
    return owner.location


def _ints(values) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get(list(values))


def _sizes(values) -> ir.Attribute:
    return ir.ArrayAttr.get([encode_size(value) for value in values])


# How each step is written: the op's name and attributes.
_SHAPE_OPS: dict[type[Step], Callable[[Step], tuple[str, dict]]] = {
    Broadcast: lambda step: ("broadcast_to", {}),
    Flip: lambda step: ("flip", {"dims": _ints(step.dims)}),
    Gather: lambda step: ("gather", {"dim": _i64(step.dim)}),
    Pad: lambda step: ("pad", {"low": _sizes(step.low), "high": _sizes(step.high)}),
    Permute: lambda step: ("permute", {"permutation": _ints(step.permutation)}),
    Reshape: lambda step: ("reshape", {}),
    Slice: lambda step: (
        "slice",
        {"starts": _sizes(step.starts), "steps": _ints(step.steps)},
    ),
    Take: lambda step: ("take", {"dim": _i64(step.dim)}),
}

_BUILDERS: dict[str, Callable[..., Emitted]] = {
    "concat": RegionBuilder._build_concat,
    "constant": RegionBuilder._build_constant,
    "full": RegionBuilder._build_constant,
    "gather": RegionBuilder._build_first_operand,
    "iota": RegionBuilder._build_iota,
    "pad": RegionBuilder._build_pad,
    "reshape": RegionBuilder._build_first_operand,
    "size": RegionBuilder._build_constant,
    "take": RegionBuilder._build_first_operand,
}
