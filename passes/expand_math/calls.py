"""Functions that are called: vectors in Sleef, scalars in libm.

Sleef's vector functions (exported by PyTorch's libtorch_cpu) take whole registers of
256 or 512 bits; the digits after `u` are their maximal error in tenths of an ulp.
Vectors of other lengths are cut into registers, the last one filled up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from girih.dialects.bindings import ir, llvm
from girih.passes.expand_math.emitter import Emitter, Expr


@dataclass(frozen=True)
class MathCall:
    """Names of one function: in libm, and in Sleef by its accuracy, if it is called."""

    libm: str
    accuracy: str | None = "u10"

    def sleef_name(self, is_double: bool, lanes: int) -> str:
        """For instance Sleef_powf16_u10 or Sleef_powd8_u10."""
        return f"Sleef_{self.libm}{'d' if is_double else 'f'}{lanes}_{self.accuracy}"

    def libm_name(self, is_double: bool) -> str:
        """For instance powf or pow."""
        return self.libm if is_double else f"{self.libm}f"


CALLS = {
    "arith.remf": MathCall("fmod", accuracy=None),
    "math.acos": MathCall("acos"),
    "math.acosh": MathCall("acosh"),
    "math.asin": MathCall("asin"),
    "math.asinh": MathCall("asinh"),
    "math.atan": MathCall("atan"),
    "math.atan2": MathCall("atan2"),
    "math.atanh": MathCall("atanh"),
    "math.cbrt": MathCall("cbrt"),
    "math.cos": MathCall("cos"),
    "math.cosh": MathCall("cosh"),
    "math.erf": MathCall("erf"),
    "math.erfc": MathCall("erfc", "u15"),
    "math.exp": MathCall("exp"),
    "math.exp2": MathCall("exp2"),
    "math.expm1": MathCall("expm1"),
    "math.log": MathCall("log"),
    "math.log10": MathCall("log10"),
    "math.log1p": MathCall("log1p"),
    "math.log2": MathCall("log2"),
    "math.powf": MathCall("pow"),
    "math.sin": MathCall("sin"),
    "math.sinh": MathCall("sinh"),
    "math.tan": MathCall("tan"),
    "math.tanh": MathCall("tanh"),
}

_NARROWEST_SLEEF_BITS = 256


class Caller:
    """Emits calls; one for each module, it declares each function once."""

    def __init__(self, module: ir.Operation, vector_bits: int, sleef: bool) -> None:
        """Make a caller.

        Args:
            module: where declarations go.
            vector_bits: width of the processor's registers.
            sleef: whether Sleef may be called.
        """
        self._body = module.regions[0].blocks[0]
        self._bits = vector_bits
        self._sleef = sleef and vector_bits >= _NARROWEST_SLEEF_BITS
        self._declared: set[str] = {
            ir.StringAttr(op.attributes["sym_name"]).value
            for op in self._body.operations
            if "sym_name" in op.attributes
        }

    def call(self, m: Emitter, name: str, operands: Sequence[Expr]) -> Expr:
        """The math op `name` as calls, for any float type and any vector shape."""
        function = CALLS[name]
        if not isinstance(m.type, ir.VectorType):
            return self._call(m, function.libm_name(_is_double(m.type)), operands)
        if m.type.rank == 1:
            return self._call_vector(m, function, operands)
        flat_type = ir.VectorType.get([_lanes(m.type)], m.type.element_type)
        flat = Emitter(flat_type, m.constants, m.has_ldexp)
        flattened = [flat.create("vector.shape_cast", [o]) for o in operands]
        result = self._call_vector(flat, function, flattened)
        return m.create("vector.shape_cast", [result])

    def _call_vector(
        self, m: Emitter, function: MathCall, operands: Sequence[Expr]
    ) -> Expr:
        if not self._sleef or function.accuracy is None:
            return self._call_lanes(m, function.libm_name(_is_double(m.type)), operands)
        element, lanes = m.type.element_type, _lanes(m.type)
        bits = min(self._bits, max(_NARROWEST_SLEEF_BITS, lanes * element.width))
        width = bits // element.width
        name = function.sleef_name(_is_double(m.type), width)
        if lanes == width:
            return self._call(m, name, operands)
        part = Emitter(ir.VectorType.get([width], element), m.constants, m.has_ldexp)
        result = m.constant(0.0)
        for start in range(0, lanes, width):
            size = min(width, lanes - start)
            cut = [_extract(part, o, start, size) for o in operands]
            result = _insert(m, self._call(part, name, cut), result, start, size)
        return result

    def _call_lanes(self, m: Emitter, name: str, operands: Sequence[Expr]) -> Expr:
        """The last resort: libm on each lane."""
        scalar = Emitter(m.type.element_type, m.constants, m.has_ldexp)
        result = m.constant(0.0)
        for lane in range(_lanes(m.type)):
            position = {"static_position": ir.DenseI64ArrayAttr.get([lane])}
            cut = [scalar.create("vector.extract", [o], **position) for o in operands]
            value = self._call(scalar, name, cut)
            result = m.create("vector.insert", [value, result], **position)
        return result

    def _call(self, m: Emitter, name: str, operands: Sequence[Expr]) -> Expr:
        if name not in self._declared:
            self._declare(name, m.type, len(operands))
        callee = ir.FlatSymbolRefAttr.get(name)
        if m.constants.is_in_kernel:  # see [Note: calls in kernels]
            return m.create("tile.call", operands, callee=callee)
        none = ir.DenseI32ArrayAttr.get([])
        return m.create(
            "llvm.call",
            operands,
            callee=callee,
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(operands), 0]),
            op_bundle_sizes=none,
        )

    def _declare(self, name: str, type: ir.Type, arity: int) -> None:
        self._declared.add(name)
        function_type = llvm.FunctionType.get(type, [type] * arity)
        attributes = {
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(function_type),
            "memory_effects": ir.Attribute.parse(_NO_EFFECTS),
            "no_unwind": ir.UnitAttr.get(),
            "will_return": ir.UnitAttr.get(),
        }
        top = ir.InsertionPoint.at_block_begin(self._body)
        ir.Operation.create("llvm.func", attributes=attributes, regions=1, ip=top)


# errno is written by some of libm's functions; nothing of ours reads it.
_NO_EFFECTS = (
    "#llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none, "
    "errnoMem = none, targetMem0 = none, targetMem1 = none>"
)


def _is_double(type: ir.Type) -> bool:
    element = type.element_type if isinstance(type, ir.VectorType) else type
    return isinstance(element, ir.F64Type)


def _lanes(type: ir.VectorType) -> int:
    lanes = 1
    for size in type.shape:
        lanes *= size
    return lanes


def _extract(part: Emitter, x: Expr, start: int, size: int) -> Expr:
    """Lanes of x as one register; missing ones are 0, which no function minds."""
    piece_type = ir.VectorType.get([size], part.type.element_type)
    piece = part.create(
        "vector.extract_strided_slice",
        [x],
        piece_type,
        offsets=_indices(start),
        sizes=_indices(size),
        strides=_indices(1),
    )
    if piece_type == part.type:
        return piece
    return _insert_slice(part, piece, part.constant(0.0), 0)


def _insert(m: Emitter, register: Expr, target: Expr, start: int, size: int) -> Expr:
    if _lanes(register.value.type) != size:
        register = m.create(
            "vector.extract_strided_slice",
            [register],
            ir.VectorType.get([size], m.type.element_type),
            offsets=_indices(0),
            sizes=_indices(size),
            strides=_indices(1),
        )
    return _insert_slice(m, register, target, start)


def _insert_slice(m: Emitter, piece: Expr, target: Expr, start: int) -> Expr:
    return m.create(
        "vector.insert_strided_slice",
        [piece, target],
        offsets=_indices(start),
        strides=_indices(1),
    )


def _indices(*numbers: int) -> ir.ArrayAttr:
    type = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get([ir.IntegerAttr.get(type, n) for n in numbers])
