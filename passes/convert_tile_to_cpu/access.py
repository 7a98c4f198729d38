"""How one row of lanes, or a scalar, is read and written.

How a vector is accessed follows from what is known of its stride: 1 is a vector
load, 0 a broadcast, -1 a reversed load, 2 to 8 several loads, anything else a gather.
Booleans are bytes in memory and single bits in registers.

Values are aligned to their element only: torch promises no more.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.dialects.bindings import ir
from girih.passes.convert_tile_to_cpu import builder as b
from girih.passes.convert_tile_to_cpu import strided
from girih.passes.convert_tile_to_cpu.lowering import Lowering
from girih.passes.upstream import constant_of, is_all_true

Value = ir.Value

# In llvm.getelementptr: this index is the next operand.
_DYNAMIC = -(2**31)


# Addresses and elements ---------------------------------------------------------------


def memory_type(type: ir.Type) -> ir.Type:
    """The type that values of `type` have in memory."""
    return b.with_element(type, b.integer(8)) if b.is_bool(type) else type


def element_bytes(type: ir.Type) -> int:
    """The size and alignment of an element in memory."""
    element = b.element_of(memory_type(type))
    if isinstance(element, (ir.IntegerType, ir.FloatType)):
        return element.width // 8
    raise ValueError(f"girih bug: values of type {type} cannot be in memory")


def address(base: Value, offset: Value, type: ir.Type) -> Value:
    """`base` plus an offset in elements (index or i64; a vector makes a vector)."""
    result = b.pointer()
    if isinstance(offset.type, ir.VectorType):
        result = ir.VectorType.get(offset.type.shape, result)
    attributes = {
        "rawConstantIndices": ir.DenseI32ArrayAttr.get([_DYNAMIC]),
        "elem_type": ir.TypeAttr.get(b.element_of(memory_type(type))),
    }
    operands = [base, b.to_i64(offset)]
    return b.value("llvm.getelementptr", result, operands, attributes)


def _from_memory(value: Value, type: ir.Type) -> Value:
    if value.type == type:
        return value
    return b.compare("ne", value, b.splat(value.type, 0))


def _to_memory(value: Value) -> Value:
    type = memory_type(value.type)
    if type == value.type:
        return value
    return b.value("arith.extui", type, [value])


def _alignment(type: ir.Type) -> dict[str, ir.Attribute]:
    return {"alignment": b.number(element_bytes(type))}


# Masks --------------------------------------------------------------------------------


def simplified(mask: Value | None) -> Value | None:
    """None for a mask that is constantly true, also in a conjunction or shuffle."""
    if mask is None or is_all_true(mask):
        return None
    owner = mask.owner
    if not isinstance(owner, ir.Block) and owner.name == "vector.shuffle":
        is_true = all(simplified(operand) is None for operand in owner.operands)
        return None if is_true else mask
    if isinstance(owner, ir.Block) or owner.name != "arith.andi":
        return mask
    lhs, rhs = (simplified(operand) for operand in owner.operands)
    if lhs is not None and rhs is not None:
        return mask
    return lhs if rhs is None else rhs


def _whole_row_conditions(mask: Value) -> list[Value]:
    """The numbers in a mask's conjunction that hold for all lanes or for none."""
    owner = mask.owner
    if isinstance(owner, ir.Block):
        return []
    if owner.name == "arith.andi":
        return [n for each in owner.operands for n in _whole_row_conditions(each)]
    is_number = owner.name == "vector.broadcast" and not isinstance(
        owner.operands[0].type, ir.VectorType
    )
    return [owner.operands[0]] if is_number else []


def _all_lanes(lanes: int) -> Value:
    return b.splat(b.vector_of(lanes, b.integer(1)), -1)


# Reversed rows ------------------------------------------------------------------------

# LLVM 24 turns more bytes than this with VPERMB, and where only some lanes of the
# result are stored it simplifies the constant of that instruction for ever.
_MAX_TURNED_BYTES = 32


def _turned_lanes(type: ir.Type) -> int:
    """How many lanes of a row are turned at a time; fewer than all only of bytes."""
    lanes = type.shape[0]
    return lanes if element_bytes(type) > 1 else min(lanes, _MAX_TURNED_BYTES)


def _part(vector: Value, start: int, lanes: int) -> Value:
    """Some neighbouring lanes."""
    if vector.type.shape[0] == lanes:
        return vector
    type = b.vector_of(lanes, vector.type.element_type)
    order = ir.DenseI64ArrayAttr.get(list(range(start, start + lanes)))
    return b.value("vector.shuffle", type, [vector, vector], {"mask": order})


def _joined(parts: list[Value]) -> Value:
    """Vectors of one type, as many as a power of two, after each other."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [_concatenated(lhs, rhs) for lhs, rhs in pairs]
    return parts[0]


def _concatenated(lhs: Value, rhs: Value) -> Value:
    lanes = 2 * lhs.type.shape[0]
    order = ir.DenseI64ArrayAttr.get(list(range(lanes)))
    type = b.vector_of(lanes, lhs.type.element_type)
    return b.value("vector.shuffle", type, [lhs, rhs], {"mask": order})


def _reversed(vector: Value) -> Value:
    lanes = vector.type.shape[0]
    order = ir.DenseI64ArrayAttr.get(list(reversed(range(lanes))))
    return b.value("vector.shuffle", vector.type, [vector, vector], {"mask": order})


def _spread(mask: Value, window: strided.Window) -> Value:
    """The mask of a window: of its elements only those of lanes that are set."""
    lanes = mask.type.shape[0]
    order = [lanes] * lanes
    for lane, position in window.lanes.items():
        order[position] = lane
    operands = [mask, b.splat(mask.type, 0)]
    attributes = {"mask": ir.DenseI64ArrayAttr.get(order)}
    return b.value("vector.shuffle", mask.type, operands, attributes)


# One row: scalars and vectors of rank 1 -----------------------------------------------


class Access:
    """One row's place in memory.

    Attributes:
        base, offset: address of the buffer, elements from there to lane 0.
        stride: elements from lane to lane; None for a scalar.
        mask: i1 or vector of it, or None where all lanes are accessed.
    """

    def __init__(
        self,
        lowering: Lowering,
        base: Value,
        offset: Value,
        stride: Value | None,
        mask: Value | None,
    ) -> None:
        """Args: as the attributes; lowering: knows which masks are prefixes."""
        self.base = base
        self.offset = offset
        self.stride = stride
        self.mask = simplified(mask)
        self.step = 0 if stride is None else constant_of(stride)
        self._lowering = lowering

    def some_lane_is_set(self) -> bool:
        """Whether lane 0 may be accessed without a look at the mask."""
        return self.mask is None or self.mask in self._lowering.prefixes

    def load(self, type: ir.Type, other: Value | None) -> Value:
        """The row's value of `type`; `other` where the mask is not set."""
        memory = memory_type(type)
        if other is not None:
            other = _to_memory(other)
        if self.step == 0:
            value = self._load_broadcast(memory, other)
        elif self.step == 1:
            value = self._load_contiguous(memory, other)
        elif self.step == -1:
            value = self._load_backwards(memory, other)
        elif strided.is_supported(self.step, memory):
            value = self._load_windows(memory)
            if self.mask is not None:
                operands = [self.mask, value, _or_zero(other, memory)]
                value = b.value("arith.select", memory, operands)
        else:
            pointers = address(self.base, self._lane_offsets(memory), memory)
            value = _gather(pointers, self.mask, other, memory)
        return _from_memory(value, type)

    def _load_broadcast(self, type: ir.Type, other: Value | None) -> Value:
        element = b.element_of(type)

        def load() -> Value:
            value = load_element(address(self.base, self.offset, type), element)
            if isinstance(type, ir.VectorType):
                value = b.broadcast(value, type.shape[0])
            return value

        if self.mask is None:
            return load()
        other = _or_zero(other, type)
        if not self.some_lane_is_set() or not isinstance(type, ir.VectorType):
            return _if(b.any_lane(self.mask), load, other, self.mask)
        return b.value("arith.select", type, [self.mask, load(), other])

    def _load_contiguous(self, type: ir.Type, other: Value | None) -> Value:
        backwards = self.step == -1
        place = address(self.base, self._offset_in_buffer(type), type)
        if self.mask is None:
            value = load_element(place, type)
            return _reversed(value) if backwards else value
        other, mask = _or_zero(other, type), self.mask
        if backwards:
            other, mask = _reversed(other), _reversed(mask)
        operands = [place, mask, other]
        value = b.value("llvm.intr.masked.load", type, operands, _alignment32(type))
        return _reversed(value) if backwards else value

    def _load_backwards(self, type: ir.VectorType, other: Value | None) -> Value:
        lanes = _turned_lanes(type)
        if lanes == type.shape[0]:
            return self._load_contiguous(type, other)
        if other is not None:
            other = _or_zero(other, type)
        row = b.vector_of(lanes, type.element_type)
        parts = []
        for start in range(0, type.shape[0], lanes):
            rest = None if other is None else _part(other, start, lanes)
            parts.append(self._part(start, lanes)._load_contiguous(row, rest))
        return _joined(parts)

    def _part(self, start: int, lanes: int) -> Access:
        """The access to some neighbouring lanes of a row that lies backwards."""
        offset = b.sub(self.offset, b.index(start))
        mask = None if self.mask is None else _part(self.mask, start, lanes)
        return Access(self._lowering, self.base, offset, self.stride, mask)

    def _load_windows(self, type: ir.VectorType) -> Value:
        lanes = strided.lanes_together(type)
        row = b.vector_of(lanes, type.element_type)
        parts = [
            strided.load(row, self.step, self._load_window(row, start))
            for start in range(0, type.shape[0], lanes)
        ]
        return _joined(parts)

    def _load_window(
        self, type: ir.VectorType, first: int
    ) -> Callable[[strided.Window], Value]:
        """Reads windows of the lanes from ``first`` on, but no masked lane of them."""
        lanes = type.shape[0]
        mask = None if self.mask is None else _part(self.mask, first, lanes)

        def load_at(window: strided.Window) -> Value:
            offset = b.add(self.offset, b.index(first * self.step + window.start))
            place = address(self.base, offset, type)
            if mask is None:
                return load_element(place, type)
            operands = [place, _spread(mask, window), _or_zero(None, type)]
            return b.value("llvm.intr.masked.load", type, operands, _alignment32(type))

        return load_at

    def store(self, value: Value) -> None:
        """Write the row."""
        value = _to_memory(value)
        type = value.type
        if not isinstance(type, ir.VectorType):
            self._store_scalar(value)
        elif self.step == 1:
            self._store_contiguous(value)
        elif self.step == -1:
            self._store_backwards(value)
        else:
            pointers = address(self.base, self._lane_offsets(type), type)
            mask = self.mask or _all_lanes(type.shape[0])
            operands = [value, pointers, mask]
            b.make("llvm.intr.masked.scatter", [], operands, _alignment32(type))

    def _store_scalar(self, value: Value) -> None:
        if self.mask is None:
            store_element(value, address(self.base, self.offset, value.type))
            return
        branch, (block,) = b.if_(b.any_lane(self.mask))
        with ir.InsertionPoint(block):
            store_element(value, address(self.base, self.offset, value.type))
            b.yield_()

    def _store_contiguous(self, value: Value) -> None:
        type, mask = value.type, self.mask
        place = address(self.base, self._lowest_offset(type), type)
        if self.step == -1:
            value = _reversed(value)
            mask = None if mask is None else _reversed(mask)
        if mask is None:
            store_element(value, place)
            return
        b.make("llvm.intr.masked.store", [], [value, place, mask], _alignment32(type))

    def _store_backwards(self, value: Value) -> None:
        lanes = _turned_lanes(value.type)
        for start in range(0, value.type.shape[0], lanes):
            self._part(start, lanes)._store_contiguous(_part(value, start, lanes))

    def _offset_in_buffer(self, type: ir.VectorType) -> Value:
        """The lowest offset, and that of element 0 where no lane is accessed.

        A masked load that accesses nothing is legal anywhere. But on memory that is not
        mapped it takes a processor long to find that out: 16 ns for 64 bytes of a
        concat (AMD EPYC with AVX-512, 2026-11-27).
        """
        lowest = self._lowest_offset(type)
        conditions = [] if self.mask is None else _whole_row_conditions(self.mask)
        for condition in conditions:
            operands = [condition, lowest, b.index(0)]
            lowest = b.value("arith.select", lowest.type, operands)
        return lowest

    def _lowest_offset(self, type: ir.VectorType) -> Value:
        if self.step == 1:
            return self.offset
        return b.sub(self.offset, b.index(type.shape[0] - 1))

    def _lane_offsets(self, type: ir.VectorType) -> Value:
        lanes = type.shape[0]
        numbers = b.value("vector.step", b.vector_of(lanes, b.index_type()), [])
        steps = b.mul(numbers, b.broadcast(self.stride, lanes))
        return b.add(steps, b.broadcast(self.offset, lanes))


def load_element(place: Value, type: ir.Type) -> Value:
    """A scalar or vector of a memory type."""
    attributes = {**_alignment(type), "ordering": b.number(0)}
    return b.value("llvm.load", type, [place], attributes)


def store_element(value: Value, place: Value) -> None:
    """Write a scalar or vector of a memory type."""
    attributes = {**_alignment(value.type), "ordering": b.number(0)}
    b.make("llvm.store", [], [value, place], attributes)


def _alignment32(type: ir.Type) -> dict[str, ir.Attribute]:
    return {"alignment": b.number(element_bytes(type), 32)}


def _or_zero(other: Value | None, type: ir.Type) -> Value:
    if other is None:
        element = b.element_of(type)
        kind = ir.FloatAttr if isinstance(element, ir.FloatType) else ir.IntegerAttr
        zero = kind.get(element, 0)
        if isinstance(type, ir.VectorType):
            zero = ir.DenseElementsAttr.get_splat(type, zero)
        return b.value("arith.constant", type, [], {"value": zero})
    if isinstance(type, ir.VectorType) and other.type != type:
        return b.broadcast(other, type.shape[0])
    return other


def _if(
    condition: Value, load: Callable[[], Value], other: Value, mask: Value
) -> Value:
    """What `load` emits in the masked lanes, where there is one; else `other`."""
    branch, (then, otherwise) = b.if_(condition, [other.type])
    with ir.InsertionPoint(then):
        b.yield_([b.value("arith.select", other.type, [mask, load(), other])])
    with ir.InsertionPoint(otherwise):
        b.yield_([other])
    return branch.results[0]


def gather(
    base: Value, offsets: Value, mask: Value | None, other: Value | None, type: ir.Type
) -> Value:
    """One element for each lane's offset, `other` where the mask is not set."""
    memory = memory_type(type)
    other = None if other is None else _to_memory(other)
    pointers = address(base, offsets, memory)
    return _from_memory(_gather(pointers, simplified(mask), other, memory), type)


def _gather(
    pointers: Value, mask: Value | None, other: Value | None, type: ir.Type
) -> Value:
    mask = mask or _all_lanes(type.shape[0])
    operands = [pointers, mask, _or_zero(other, type)]
    return b.value("llvm.intr.masked.gather", type, operands, _alignment32(type))
