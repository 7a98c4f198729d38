"""Index expressions and sizes as values: scalars, and one per lane."""

from girih.dialects.bindings import ir
from girih.dialects.dims import Call, Dim, Symbol
from girih.passes.tile.emit.builder import Builder
from girih.passes.tile.emit.frame import FrameStack
from girih.passes.tile.index import (
    Affine,
    Atom,
    Coordinate,
    Dynamic,
    Quotient,
    Remainder,
    affine,
    bounds,
    coordinates_of,
)
from girih.passes.tile.sizes import Size, is_constant, is_never_negative

Located = tuple[ir.Value, int]
_HALF = 1 << 31


class Indices:
    """Computes index expressions in the frames where their coordinates are bound.

    Attributes:
        lanes: the coordinate along which vectors lie, or None.
        node_value: gives the value and the frame of a node (for indices read at
            run time).
    """

    def __init__(
        self, builder: Builder, stack: FrameStack, symbols: dict[str, ir.Value]
    ) -> None:
        self.builder = builder
        self.stack = stack
        self.symbols = symbols
        self.lanes: Coordinate | None = None
        self.node_value = None

    def at(self, depth: int, width: int = 0) -> Builder:
        """The builder, set to make values in this frame."""
        self.builder.point = self.stack.frames[depth].point
        self.builder.width = width
        return self.builder

    # Sizes ----------------------------------------------------------------------

    def size(self, size: Size) -> ir.Value:
        """A size as an index, computed in the kernel's own frame."""
        if isinstance(size, int):
            return self.at(0).scalar_constant(size, "index")
        found = self.stack.frames[0].values.get(("size", size))
        if found is None:
            found = self._sum_of_products(size)
            self.stack.frames[0].values["size", size] = found
        return found

    def _sum_of_products(self, size: Dim) -> ir.Value:
        total = None
        for factors, coefficient in size.terms:
            term = None
            for factor in factors:
                value = self._factor(factor)
                term = value if term is None else self._op("muli", term, value)
            if term is None or coefficient != 1:
                scale = self.size(coefficient)
                term = scale if term is None else self._op("muli", term, scale)
            total = term if total is None else self._op("addi", total, term)
        return total

    def _factor(self, factor: Symbol | Call) -> ir.Value:
        if isinstance(factor, Symbol):
            return self.symbols[str(factor)]
        match factor.function, factor.args:
            case "ceildiv", (lhs, rhs):
                return self._rounded_down(lhs + rhs - 1, rhs)
            case "floordiv", (lhs, rhs):
                return self._rounded_down(lhs, rhs)
            case "mod", (lhs, rhs):
                return self._rest(lhs, rhs)
        name = {"max": "maxsi", "min": "minsi"}[factor.function]
        result, *others = (self.size(argument) for argument in factor.args)
        for value in others:
            result = self._op(name, result, value)
        return result

    def _rounded_down(self, lhs: Size, rhs: Size) -> ir.Value:
        """``lhs // rhs``, rounded down as in Python."""
        value = self.size(lhs)
        if not is_never_negative(lhs):
            value = self._op("subi", value, self._rest(lhs, rhs))
        return self._op("divsi", value, self.size(rhs))

    def _rest(self, lhs: Size, rhs: Size) -> ir.Value:
        """``lhs % rhs``, not negative, as in Python."""
        divisor = self.size(rhs)
        rest = self._op("remsi", self.size(lhs), divisor)
        if is_never_negative(lhs):
            return rest
        raised = self._op("addi", rest, divisor)
        is_negative = self.at(0).compare_ints("slt", rest, self.size(0))
        return self.at(0).select(is_negative, raised, rest)

    def _op(self, name: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        builder = self.at(0)
        return builder.op(f"arith.{name}", builder.index, lhs, rhs)

    # Scalars --------------------------------------------------------------------

    def scalar(self, expression: Affine) -> ir.Value:
        """An expression that does not vary over the lanes, as an index."""
        return self._scalar(expression)[0]

    def _scalar(self, expression: Affine) -> Located:
        if expression.is_const:
            return self.size(expression.const), 0
        found = self.stack.find(expression)
        if found is not None:
            return found
        located = [(self._atom(atom), atom, c) for atom, c in expression.terms]
        (value, depth), atom, coefficient = max(located, key=lambda item: item[0][1])
        if not is_constant(coefficient, 1):
            factor = self.size(coefficient)
            value = self.at(depth).op("arith.muli", self.builder.index, value, factor)
        rest = expression - affine({atom: coefficient})
        if not (rest.is_const and is_constant(rest.const, 0)):
            value = self._plus(value, rest, depth)
        self.stack.frames[depth].values[expression] = value
        return value, depth

    def _plus(self, value: ir.Value, rest: Affine, depth: int) -> ir.Value:
        other = self._scalar(rest)[0]
        return self.at(depth).op("arith.addi", self.builder.index, value, other)

    def _atom(self, atom: Atom) -> Located:
        if isinstance(atom, Coordinate):
            depth = self.stack.depth_of(atom)
            return self.stack.frames[depth].coordinates[atom], depth
        found = self.stack.find(atom)
        if found is not None:
            return found
        if isinstance(atom, Dynamic):
            value, depth = self.node_value(atom.node)
            builder = self.at(depth)
            value = builder.op("arith.index_cast", builder.index, value)
        else:
            value, depth = self._scalar(atom.value)
            name = "arith.divui" if isinstance(atom, Quotient) else "arith.remui"
            divisor = self.size(atom.divisor)
            builder = self.at(depth)
            value = builder.op(name, builder.index, value, divisor)
        self.stack.frames[depth].values[atom] = value
        return value, depth

    # Lanes ----------------------------------------------------------------------

    def varies(self, expression: Affine) -> bool:
        """True where lanes have different values."""
        return self.lanes in coordinates_of(expression)

    def split(self, expression: Affine) -> tuple[Affine, Size, Affine]:
        """Splits an expression by what lanes do to it.

        Returns:
            The part that all lanes share, the step from one lane to the next, and
            the part that varies otherwise.
        """
        shared, irregular, step = {}, {}, 0
        for atom, coefficient in expression.terms:
            if atom == self.lanes:
                step = coefficient
            elif self.varies(affine({atom: 1})):
                irregular[atom] = coefficient
            else:
                shared[atom] = coefficient
        return affine(shared, expression.const), step, affine(irregular)

    def per_lane(self, expression: Affine) -> ir.Value:
        """An expression as a vector of i64, one for each lane."""
        return self._per_lane(expression)[0]

    def _per_lane(self, expression: Affine) -> Located:
        key = ("per lane", expression)
        found = self.stack.find(key)
        if found is not None:
            return found
        shared, step, irregular = self.split(expression)
        parts = [self._scaled(self._irregular(a), c) for a, c in irregular.terms]
        if not is_constant(step, 0):
            parts.append(self._scaled(self._lane_coordinate(), step))
        if not parts or not (shared.is_const and is_constant(shared.const, 0)):
            parts.append(self._splat(self._scalar(shared)))
        value, depth = parts[0]
        for part in parts[1:]:
            value, depth = self._vector("arith.addi", (value, depth), part)
        self.stack.frames[depth].values[key] = value
        return value, depth

    def _lane_coordinate(self) -> Located:
        """The lanes' coordinate itself: lane 0's plus the lane number."""
        depth = self.stack.depth_of(self.lanes)
        frame = self.stack.frames[depth]
        vector = frame.values.get("lane coordinate")
        if vector is None:
            first = self._splat((frame.coordinates[self.lanes], depth))[0]
            numbers = self.at(depth, frame.width).lane_numbers()
            vector = self.at(depth, frame.width).same("arith.addi", first, numbers)
            frame.values["lane coordinate"] = vector
        return vector, depth

    def _irregular(self, atom: Atom) -> Located:
        if isinstance(atom, Dynamic):
            return self.node_value(atom.node)
        name = "arith.divui" if isinstance(atom, Quotient) else "arith.remui"
        divisor = self._splat((self.size(atom.divisor), 0))
        value = self._per_lane(atom.value)
        if not _fits_half(atom):
            return self._vector(name, value, divisor)
        located = self._vector(name, self._halved(value), self._halved(divisor))
        return self._converted("arith.extui", located, "i64")

    def _halved(self, located: Located) -> Located:
        return self._converted("arith.trunci", located, "i32")

    def _converted(self, name: str, located: Located, type_name: str) -> Located:
        value, depth = located
        return self.at(depth, self.lane_width).op(name, type_name, value), depth

    def _scaled(self, located: Located, coefficient: Size) -> Located:
        if is_constant(coefficient, 1):
            return located
        factor = self._splat((self.size(coefficient), 0))
        return self._vector("arith.muli", located, factor)

    def _vector(self, name: str, lhs: Located, rhs: Located) -> Located:
        depth = max(lhs[1], rhs[1])
        return self.at(depth, self.lane_width).same(name, lhs[0], rhs[0]), depth

    def size_per_lane(self, size: Size) -> ir.Value:
        """A size as a vector of i64."""
        return self._splat((self.size(size), 0))[0]

    def _splat(self, located: Located) -> Located:
        """An index in every lane."""
        value, depth = located
        width = self.lane_width
        key = ("splat", value, width)
        found = self.stack.find(key)
        if found is not None:
            return found
        type_ = self.builder.type("i64", 0)
        narrow = self.at(depth).op("arith.index_cast", type_, value)
        vector = self.at(depth, width).op("vector.broadcast", "i64", narrow)
        self.stack.frames[depth].values[key] = vector
        return vector, depth

    @property
    def lane_width(self) -> int:
        """The number of lanes of the open loop over the lanes' coordinate."""
        return self.stack.frames[self.stack.depth_of(self.lanes)].width


def _fits_half(atom: Quotient | Remainder) -> bool:
    """Whether 32 bits hold what is divided, and the divisor.

    The processor multiplies numbers of 64 bits for a division, for each lane by several
    instructions. Lanes beyond the loop's end may overflow: nothing is read or written
    there. Shifts, which powers of two need, are as fast in 64 bits.
    """
    divisor, found = atom.divisor, bounds(atom.value)
    if found is None or not all(isinstance(n, int) for n in (divisor, *found)):
        return False
    low, high = found
    is_power = divisor & (divisor - 1) == 0
    return not is_power and 0 <= low and max(high, divisor) < _HALF
