"""Builds expressions on floating-point scalars and vectors.

An `Emitter` stands for one element type and shape; its methods create operations at
the current insertion point and location. `Expr` gives values the usual operators, so
that a formula in this folder reads as it stands in a book.

None of the operations carries fast-math flags: the error bounds of the formulas
depend on the order of evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from girih.dialects.bindings import ir

# Adding and subtracting 1.5 * 2**23 rounds a float32 below 2**22 to an integer.
ROUNDING_MAGIC = 12582912.0


class ConstantPool:
    """Constants at the top of a kernel, one of each.

    Attributes:
        is_in_kernel: whether the block is a kernel's rather than a function's.
    """

    def __init__(self, block: ir.Block) -> None:
        """Args: block: the entry block of the kernel or function."""
        self._block = block
        self.is_in_kernel = block.owner.name == "tile.kernel"
        self._values: dict[tuple[ir.Type, float | int], ir.Value] = {}

    def get(self, type: ir.Type, number: float | int) -> ir.Value:
        """The constant (a splat for a vector type), made on first use."""
        key = (type, repr(number))
        if key not in self._values:
            self._values[key] = self._create(type, number)
        return self._values[key]

    def _create(self, type: ir.Type, number: float | int) -> ir.Value:
        element = type.element_type if isinstance(type, ir.VectorType) else type
        if isinstance(element, ir.IntegerType):
            attribute = ir.IntegerAttr.get(element, number)
        else:
            attribute = ir.FloatAttr.get(element, number)
        if element != type:
            attribute = ir.DenseElementsAttr.get_splat(type, attribute)
        operation = ir.Operation.create(
            "arith.constant",
            results=[type],
            attributes={"value": attribute},
            ip=ir.InsertionPoint.at_block_begin(self._block),
        )
        return operation.result


@dataclass(frozen=True)
class Expr:
    """A value together with the emitter that computes on it."""

    value: ir.Value
    emitter: Emitter = field(repr=False)

    def __add__(self, other: Expr | float) -> Expr:
        return self.emitter.binary("arith.addf", self, other)

    def __sub__(self, other: Expr | float) -> Expr:
        return self.emitter.binary("arith.subf", self, other)

    def __mul__(self, other: Expr | float) -> Expr:
        return self.emitter.binary("arith.mulf", self, other)

    def __truediv__(self, other: Expr | float) -> Expr:
        return self.emitter.binary("arith.divf", self, other)

    def __neg__(self) -> Expr:
        return self.emitter.unary("arith.negf", self)


# The values of arith.cmpf's and arith.cmpi's predicate attribute.
_FLOAT_PREDICATES = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "uno": 14}
_INT_PREDICATES = {"eq": 0, "ne": 1, "lt": 2, "ge": 5}


class Emitter:
    """Arithmetic on one float type: a scalar type or a vector of it."""

    def __init__(self, type: ir.Type, constants: ConstantPool, ldexp: bool) -> None:
        """Make an emitter.

        Args:
            type: f32 or f64, or a vector of these.
            constants: the kernel's pool.
            ldexp: whether the processor scales vectors by powers of two in one
                instruction (AVX-512).
        """
        self.type = type
        self.constants = constants
        self.has_ldexp = ldexp
        element = type.element_type if isinstance(type, ir.VectorType) else type
        self.int_type = self._like(ir.IntegerType.get_signless(element.width))
        self.bool_type = self._like(ir.IntegerType.get_signless(1))
        self.is_f32 = isinstance(element, ir.F32Type)

    def _like(self, element: ir.Type) -> ir.Type:
        if isinstance(self.type, ir.VectorType):
            return ir.VectorType.get(self.type.shape, element)
        return element

    def create(
        self,
        name: str,
        operands: Sequence[Expr],
        type: ir.Type | None = None,
        **attributes: ir.Attribute,
    ) -> Expr:
        """Create an operation with one result of `type`, by default the emitter's."""
        operation = ir.Operation.create(
            name,
            results=[type or self.type],
            operands=[operand.value for operand in operands],
            attributes=attributes,
        )
        return Expr(operation.result, self)

    def constant(self, number: float) -> Expr:
        """A floating-point constant."""
        return Expr(self.constants.get(self.type, float(number)), self)

    def int_constant(self, number: int) -> Expr:
        """A constant of the integer type as wide as the floats."""
        return Expr(self.constants.get(self.int_type, number), self)

    def unary(self, name: str, operand: Expr) -> Expr:
        """An operation on one float."""
        return self.create(name, [operand])

    def binary(self, name: str, lhs: Expr, rhs: Expr | float) -> Expr:
        """An operation on two floats."""
        return self.create(name, [lhs, self._expr(rhs)])

    def _expr(self, operand: Expr | float) -> Expr:
        return operand if isinstance(operand, Expr) else self.constant(operand)

    def int_binary(self, name: str, lhs: Expr, rhs: Expr | int) -> Expr:
        """An operation on two integers."""
        if not isinstance(rhs, Expr):
            rhs = self.int_constant(rhs)
        return self.create(name, [lhs, rhs], self.int_type)

    def fma(self, a: Expr, b: Expr | float, c: Expr | float) -> Expr:
        """a * b + c, rounded once."""
        return self.create("math.fma", [a, self._expr(b), self._expr(c)])

    def abs(self, x: Expr) -> Expr:
        """The absolute value."""
        return self.unary("math.absf", x)

    def copysign(self, magnitude: Expr, sign: Expr) -> Expr:
        """`magnitude` with the sign of `sign`."""
        return self.binary("math.copysign", magnitude, sign)

    def compare(self, predicate: str, lhs: Expr, rhs: Expr | float) -> Expr:
        """lt, le, gt, ge, eq: false where an operand is NaN; uno: true there."""
        code = _FLOAT_PREDICATES[predicate]
        return self._compare("arith.cmpf", code, lhs, self._expr(rhs))

    def int_compare(self, predicate: str, lhs: Expr, rhs: Expr | int) -> Expr:
        """Comparison of signed integers."""
        if not isinstance(rhs, Expr):
            rhs = self.int_constant(rhs)
        return self._compare("arith.cmpi", _INT_PREDICATES[predicate], lhs, rhs)

    def _compare(self, name: str, code: int, lhs: Expr, rhs: Expr) -> Expr:
        predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), code)
        return self.create(name, [lhs, rhs], self.bool_type, predicate=predicate)

    def select(self, condition: Expr, a: Expr | float, b: Expr | float) -> Expr:
        """`a` where the condition holds, else `b`; also on integers."""
        a, b = self._expr(a), self._expr(b)
        return self.create("arith.select", [condition, a, b], a.value.type)

    def at_most(self, x: Expr, limit: float) -> Expr:
        """min(x, limit), NaN where x is NaN; one instruction on x86."""
        bound = self.constant(limit)
        return self.select(self.compare("lt", bound, x), bound, x)

    def at_least(self, x: Expr, limit: float) -> Expr:
        """max(x, limit), NaN where x is NaN; one instruction on x86."""
        bound = self.constant(limit)
        return self.select(self.compare("gt", bound, x), bound, x)

    def horner(self, x: Expr, coefficients: Sequence[float]) -> Expr:
        """The polynomial with these coefficients, highest power first."""
        result = self.constant(coefficients[0])
        for coefficient in coefficients[1:]:
            result = self.fma(result, x, coefficient)
        return result

    def bits(self, x: Expr) -> Expr:
        """The float's bits as an integer."""
        return self.create("arith.bitcast", [x], self.int_type)

    def from_bits(self, n: Expr) -> Expr:
        """The float with these bits."""
        return self.create("arith.bitcast", [n])

    def to_float(self, n: Expr) -> Expr:
        """A signed integer converted."""
        return self.create("arith.sitofp", [n])

    def round_scaled(self, x: Expr, scale: float) -> tuple[Expr, Expr]:
        """round(x * scale) as a float and as an integer; |x * scale| < 2**22."""
        shifted = self.fma(x, scale, ROUNDING_MAGIC)
        magic_bits = 0x4B400000  # of ROUNDING_MAGIC
        integer = self.int_binary("arith.subi", self.bits(shifted), magic_bits)
        return shifted - ROUNDING_MAGIC, integer

    def power_of_two(self, n: Expr) -> Expr:
        """2**n for integers n from -126 to 127."""
        biased = self.int_binary("arith.addi", n, 127)
        return self.from_bits(self.int_binary("arith.shli", biased, 23))

    def ldexp(self, x: Expr, n: Expr) -> Expr:
        """x * 2**n, rounded once, for |n| <= 252 and x in [0.5, 2]."""
        if self.has_ldexp:
            name = ir.StringAttr.get("llvm.ldexp")
            return self._call_intrinsic(name, x, n)
        half = self.int_binary("arith.shrsi", n, 1)
        rest = self.int_binary("arith.subi", n, half)
        return x * self.power_of_two(half) * self.power_of_two(rest)

    def _call_intrinsic(self, name: ir.StringAttr, x: Expr, n: Expr) -> Expr:
        segments = ir.DenseI32ArrayAttr
        return self.create(
            "llvm.call_intrinsic",
            [x, n],
            intrin=name,
            operandSegmentSizes=segments.get([2, 0]),
            op_bundle_sizes=segments.get([]),
        )

    def if_any(
        self, condition: Expr, then: Callable[[], Expr], otherwise: Expr
    ) -> Expr:
        """What `then` emits, run only where a lane's condition holds."""
        holds = condition
        if isinstance(self.type, ir.VectorType):
            holds = self._any(condition)
        operation = ir.Operation.create(
            "scf.if", results=[self.type], operands=[holds.value], regions=2
        )
        for region, emit in zip(
            operation.regions, (then, lambda: otherwise), strict=True
        ):
            with ir.InsertionPoint(region.blocks.append()):
                ir.Operation.create("scf.yield", operands=[emit().value])
        return Expr(operation.result, self)

    def _any(self, condition: Expr) -> Expr:
        bit = ir.IntegerType.get_signless(1)
        if self.type.rank != 1:
            flat = ir.VectorType.get([math.prod(self.type.shape)], bit)
            condition = self.create("vector.shape_cast", [condition], flat)
        kind = ir.Attribute.parse("#vector.kind<or>")
        return self.create("vector.reduction", [condition], bit, kind=kind)
