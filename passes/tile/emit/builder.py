"""Makes ops quickly: cached types and attributes, constants, casts of shape.

A kernel of some hundred ops should cost a millisecond, so ops are made with
``Operation.create`` and everything that repeats is made once per kernel.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager

from girih.dialects.bindings import ir
from girih.passes.tile.elements import Element

Value = ir.Value
# Lanes of a value: 0 for a scalar, a number of lanes, or the sizes of a block.
Width = int | tuple[int, ...]


class Builder:
    """Emits ops at an insertion point that the caller moves.

    Attributes:
        entry: gives the place before the open grid, where constants go.
        width: lanes (or the sizes of blocks) of the values being made; 0 for scalars.
        location: the user's line that the ops being made belong to.
        point: where ops go.
        mask: the lanes in use, for checks; None where all are.
        has_maximum: whether the target has instructions for a maximum and a minimum
            that are NaN where either operand is.
        casts_float8: whether the target has instructions that cast to and from
            float8_e4m3fn.
        vector_bits: width of a register of the CPU.
        saturates_float8: whether casts give the largest number for what is too large
            for float8_e4m3fn, otherwise NaN.
        approximated: for ops whose approximation by the device will do, the flags that
            say so.
    """

    def __init__(
        self, entry: Callable[[], ir.InsertionPoint], location: ir.Location
    ) -> None:
        self.entry = entry
        self.point = entry()
        self.location = location
        self.width: Width = 0
        self.mask: Value | None = None
        self.has_maximum = False
        self.casts_float8 = False
        self.saturates_float8 = True
        self.vector_bits = 256
        self.approximated: Mapping[str, str] = {}
        self._loops: list[ir.Operation] = []
        self._types: dict[tuple[str, Width], ir.Type] = {}
        self._constants: dict[tuple, Value] = {}
        self._attributes: dict[tuple[str, int], ir.Attribute] = {}
        self.index = ir.IndexType.get()

    def type(self, name: str, width: Width | None = None) -> ir.Type:
        """The scalar type with this name, or the vector of it; width as current."""
        lanes = self.width if width is None else width
        found = self._types.get((name, lanes))
        if found is None:
            sizes = "x".join(map(str, lanes)) if isinstance(lanes, tuple) else lanes
            text = f"vector<{sizes}x{name}>" if lanes else name
            found = self._types[name, lanes] = ir.Type.parse(text)
        return found

    def create(
        self,
        name: str,
        results: Sequence[ir.Type],
        operands: Sequence[Value],
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """Makes an op here."""
        return ir.Operation.create(
            name,
            results=results,
            operands=operands,
            attributes=attributes,
            regions=regions,
            loc=self.location,
            ip=self.point,
        )

    def op(self, name: str, type_: ir.Type | str, *operands: Value, **attributes):
        """Makes an op with one result, of a type or of the type with this name."""
        result = self.type(type_) if isinstance(type_, str) else type_
        if flags := self.approximated.get(name):
            attributes["fastmath"] = self.parsed(f"#arith.fastmath<{flags}>")
        return self.create(name, [result], operands, attributes).results[0]

    def same(self, name: str, *operands: Value, **attributes) -> Value:
        """Makes an op whose result has the type of its first operand."""
        return self.op(name, operands[0].type, *operands, **attributes)

    def constant(self, value: bool | int | float, type_name: str) -> Value:
        """A number of the scalar type with this name, in each lane."""
        return self._constant(value, type_name, self.width)

    def scalar_constant(self, value: bool | int | float, type_name: str) -> Value:
        """A number of the scalar type with this name."""
        return self._constant(value, type_name, 0)

    def _constant(self, value, type_name: str, width: Width) -> Value:
        key = (repr(value), type_name, width)
        found = self._constants.get(key)
        if found is None:
            attribute = _number(value, self.type(type_name, 0))
            type_ = self.type(type_name, width)
            if width:
                attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
            found = self._at_entry(type_, attribute)
            self._constants[key] = found
        return found

    def lane_numbers(self) -> Value:
        """``[0, 1, ..., width - 1]`` as i64."""
        key = ("lanes", self.width)
        found = self._constants.get(key)
        if found is None:
            type_ = self.type("i64")
            text = ", ".join(map(str, range(self.width)))
            attribute = ir.Attribute.parse(f"dense<[{text}]> : {type_}")
            found = self._constants[key] = self._at_entry(type_, attribute)
        return found

    def _at_entry(self, type_: ir.Type, attribute: ir.Attribute) -> Value:
        return ir.Operation.create(
            "arith.constant",
            results=[type_],
            operands=[],
            attributes={"value": attribute},
            loc=self.location,
            ip=self.entry(),
        ).results[0]

    def int_attribute(self, value: int, bits: int = 64) -> ir.Attribute:
        """An integer attribute."""
        found = self._attributes.get((str(value), bits))
        if found is None:
            type_ = ir.IntegerType.get_signless(bits)
            found = ir.IntegerAttr.get(type_, value)
            self._attributes[str(value), bits] = found
        return found

    def segments(self, *sizes: int) -> ir.Attribute:
        """The attribute that says how many operands each group has."""
        key = ("segments", hash(sizes))
        found = self._attributes.get(key)
        if found is None:
            found = self._attributes[key] = ir.DenseI32ArrayAttr.get(sizes)
        return found

    def parsed_type(self, text: str) -> ir.Type:
        """The type with this text."""
        found = self._types.get((text, -1))
        if found is None:
            found = self._types[text, -1] = ir.Type.parse(text)
        return found

    def parsed(self, text: str) -> ir.Attribute:
        """The attribute with this text."""
        found = self._attributes.get((text, 0))
        if found is None:
            found = self._attributes[text, 0] = ir.Attribute.parse(text)
        return found

    def compare_ints(self, predicate: str, lhs: Value, rhs: Value) -> Value:
        """``arith.cmpi`` with a predicate such as ``slt``."""
        attribute = self.int_attribute(INTEGER_PREDICATES[predicate])
        return self.op("arith.cmpi", "i1", lhs, rhs, predicate=attribute)

    def compare_floats(self, predicate: str, lhs: Value, rhs: Value) -> Value:
        """``arith.cmpf`` with a predicate such as ``olt``."""
        attribute = self.int_attribute(FLOAT_PREDICATES[predicate])
        return self.op("arith.cmpf", "i1", lhs, rhs, predicate=attribute)

    def compare(self, predicate: str, lhs: Value, rhs: Value, element: Element):
        """Compares two values of an element type: lt, le, gt, ge, eq, ne."""
        if element.is_float:
            ordered = "une" if predicate == "ne" else f"o{predicate}"
            return self.compare_floats(ordered, lhs, rhs)
        sign = "s" if element.kind == "signed" else "u"
        plain = predicate in ("eq", "ne")
        return self.compare_ints(predicate if plain else sign + predicate, lhs, rhs)

    def select(self, condition: Value, then: Value, otherwise: Value) -> Value:
        """``condition ? then : otherwise``, per lane."""
        return self.op("arith.select", then.type, condition, then, otherwise)

    def logical_not(self, value: Value) -> Value:
        """The negation of an i1."""
        return self.same("arith.xori", value, self.constant(True, "i1"))

    def splat(self, value: Value, type_name: str) -> Value:
        """The scalar in each lane; the value itself where scalars are made."""
        if not self.width:
            return value
        return self.op("vector.broadcast", type_name, value)

    # Memory ---------------------------------------------------------------------

    def load(
        self,
        buffer: Value,
        offset: Value,
        stride: Value | None,
        mask: Value | None,
        element: Element,
    ) -> Value:
        """``tile.load``; a scalar where there is no stride."""
        strides = [] if stride is None else [stride]
        masks = [] if mask is None else [mask]
        sizes = self.segments(1, 1, len(strides), len(masks), 0)
        type_ = self.type(element.memory_name)
        return self.op(
            "tile.load",
            type_,
            buffer,
            offset,
            *strides,
            *masks,
            operandSegmentSizes=sizes,
        )

    def load_square(
        self,
        buffer: Value,
        offset: Value,
        strides: Sequence[Value],
        masks: Sequence[Value],
        element: Element,
        side: int,
    ) -> Value:
        """``tile.load`` of a square of lanes."""
        sizes = self.segments(1, 1, 2, 2, 0)
        type_ = self.parsed_type(f"vector<{side}x{side}x{element.memory_name}>")
        operands = [buffer, offset, *strides, *masks]
        attributes = {"operandSegmentSizes": sizes}
        return self.create("tile.load", [type_], operands, attributes).results[0]

    def store_square(
        self, value: Value, buffer: Value, offset: Value, strides: Sequence[Value]
    ) -> None:
        """``tile.store`` of a square of lanes, all of them."""
        sizes = self.segments(1, 1, 1, 2, 0)
        operands = [value, buffer, offset, *strides]
        self.create("tile.store", [], operands, {"operandSegmentSizes": sizes})

    def load_block(
        self,
        buffer: Value,
        offset: Value,
        strides: Sequence[Value],
        masks: Sequence[Value],
        element: Element,
    ) -> Value:
        """``tile.load`` of a block of the current sizes."""
        sizes = self.segments(1, 1, len(strides), len(masks), 0)
        return self.op(
            "tile.load",
            element.memory_name,
            buffer,
            offset,
            *strides,
            *masks,
            operandSegmentSizes=sizes,
        )

    def store_block(
        self,
        value: Value,
        buffer: Value,
        offset: Value,
        strides: Sequence[Value],
        masks: Sequence[Value],
    ) -> None:
        """``tile.store`` of a block."""
        sizes = self.segments(1, 1, 1, len(strides), len(masks))
        operands = [value, buffer, offset, *strides, *masks]
        self.create("tile.store", [], operands, {"operandSegmentSizes": sizes})

    def gather(
        self, buffer: Value, offsets: Value, mask: Value | None, element: Element
    ) -> Value:
        """``tile.gather``."""
        masks = [] if mask is None else [mask]
        sizes = self.segments(1, 1, len(masks), 0)
        name = element.memory_name
        return self.op(
            "tile.gather", name, buffer, offsets, *masks, operandSegmentSizes=sizes
        )

    def update(
        self, value: Value, buffer: Value, offsets: Value, mask: Value | None
    ) -> None:
        """``tile.update``."""
        operands = [value, buffer, offsets, *([] if mask is None else [mask])]
        self.create("tile.update", [], operands)

    def store(
        self,
        value: Value,
        buffer: Value,
        offset: Value,
        stride: Value | None,
        mask: Value | None,
    ) -> None:
        """``tile.store``; of a scalar where there is no stride."""
        strides = [] if stride is None else [stride]
        masks = [] if mask is None else [mask]
        sizes = self.segments(1, 1, 1, len(strides), len(masks))
        operands = [value, buffer, offset, *strides, *masks]
        self.create("tile.store", [], operands, {"operandSegmentSizes": sizes})

    def in_turn(self, values: Sequence[Value], bytes_: int) -> list[Value]:
        """Lane 0 of all vectors, then lane 1: vectors that lie after each other.

        Args:
            values: vectors of one type.
            bytes_: of an element in memory.
        """
        lanes = values[0].type.shape[0]
        together = min(lanes, self.vector_bits // (8 * bytes_))
        if bytes_ == 1:
            # LLVM may simplify the constant of a VPERMB for ever.
            together = min(together, 16)
        elif len(values) == 2:
            order = [lane + side for lane in range(lanes) for side in (0, lanes)]
            return [self._shuffled(*values, order)]
        rows = []
        for start in range(0, lanes, together):
            order = list(range(start, start + together))
            parts = values
            if together < lanes:
                parts = [self._shuffled(value, value, order) for value in values]
            count = len(parts)
            rows += [self._turn(parts, number * together) for number in range(count)]
        return rows

    def _turn(self, parts: Sequence[Value], first: int) -> Value:
        """A vector of what the parts have in turn, from an element on."""
        lanes, count = parts[0].type.shape[0], len(parts)
        sources = [divmod(first + place, count) for place in range(lanes)]
        result = parts[0]
        order = [lane if part == 0 else -1 for lane, part in sources]
        for number in range(1, count):
            for place, (lane, part) in enumerate(sources):
                if part == number:
                    order[place] = lanes + lane
            result = self._shuffled(result, parts[number], order)
            order = [-1 if at < 0 else place for place, at in enumerate(order)]
        return result

    def _shuffled(self, first: Value, second: Value, order: list[int]) -> Value:
        """Lanes of two vectors; -1 stands for any lane."""
        type_ = ir.VectorType.get([len(order)], first.type.element_type)
        mask = ir.DenseI64ArrayAttr.get(order)
        return self.op("vector.shuffle", type_, first, second, mask=mask)

    def check(self, is_valid: Value) -> None:
        """``tile.check`` of the lanes in use."""
        masks = [] if self.mask is None else [self.mask]
        self.create("tile.check", [], [is_valid, *masks])

    # Loops ----------------------------------------------------------------------

    @contextmanager
    def loop(self, bounds: Sequence[Value], inits: Sequence[Value]):
        """Enters the body of a small ``scf.for``; gives its index and carried values.

        The body ends with ``yield_loop``, whose results are those of the loop.
        """
        types = [value.type for value in inits]
        op = self.create("scf.for", types, [*bounds, *inits], regions=1)
        block = op.regions[0].blocks.append(self.index, *types)
        outside, self.point = self.point, ir.InsertionPoint(block)
        self._loops.append(op)
        yield block.arguments[0], list(block.arguments)[1:]
        self.point = outside
        self._loops.pop()

    def yield_loop(self, values: Sequence[Value]) -> list[Value]:
        """Ends the body of the innermost ``loop``."""
        self.create("scf.yield", [], values)
        return list(self._loops[-1].results)


def _number(value: bool | int | float, type_: ir.Type) -> ir.Attribute:
    if isinstance(type_, ir.FloatType):
        return ir.FloatAttr.get(type_, _as_float(value))
    if isinstance(type_, ir.IntegerType):
        return ir.IntegerAttr.get(type_, _signed(int(value), type_.width))
    return ir.IntegerAttr.get(type_, int(value))


def _signed(value: int, bits: int) -> int:
    """The signed integer with the same low bits; a bool is the number of its bit."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _as_float(value: bool | int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


INTEGER_PREDICATES = {
    name: number
    for number, name in enumerate(
        ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
    )
}
FLOAT_PREDICATES = {
    name: number
    for number, name in enumerate(
        (
            "false",
            "oeq",
            "ogt",
            "oge",
            "olt",
            "ole",
            "one",
            "ord",
            "ueq",
            "ugt",
            "uge",
            "ult",
            "ule",
            "une",
            "uno",
            "true",
        )
    )
}
