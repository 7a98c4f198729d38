"""The pass: finds math ops and replaces each by its rule or its call."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.passes.expand_math import (  # noqa: F401  (the rules register themselves)
    error_function,
    exponential,
    hyperbolic,
    logarithm,
    remainder,
    trigonometric,
)
from girih.passes.expand_math.calls import CALLS, Caller
from girih.passes.expand_math.emitter import ConstantPool, Emitter, Expr
from girih.passes.expand_math.rules import RULES
from girih.passes.registry import register_pass

# Instructions of every processor, or of its LLVM backend; left to upstream passes.
NATIVE = frozenset(
    {
        "math.absf",
        "math.absi",
        "math.ceil",
        "math.copysign",
        "math.ctlz",
        "math.ctpop",
        "math.cttz",
        "math.floor",
        "math.fma",
        "math.isfinite",
        "math.isinf",
        "math.isnan",
        "math.isnormal",
        "math.round",
        "math.roundeven",
        "math.sqrt",
        "math.trunc",
    }
)
_AVX512_BITS = 512


@dataclass(frozen=True)
class ExpandMathOptions:
    """Options of expand-math."""

    vector_bits: int = 256
    """Width of the processor's vector registers; 512 means AVX-512."""
    vector_library: str = "sleef"
    """Library for functions of vectors without an inlined formula: `sleef`, or `none`
    (libm for each lane)."""


@register_pass("expand-math", options=ExpandMathOptions)
def run(op: ir.Operation, options: ExpandMathOptions) -> None:
    """Replaces math functions by inlined formulas or by calls."""
    if options.vector_library not in ("none", "sleef"):
        raise ValueError(
            "expand-math expected vector-library none or sleef, "
            f"got {options.vector_library}"
        )
    found = _functions_in(op)
    if not found:
        return
    sleef = options.vector_library == "sleef"
    expansion = _Expansion(Caller(op, options.vector_bits, sleef), options)
    for operation in found:
        expansion.replace(operation)


def _functions_in(op: ir.Operation) -> list[ir.Operation]:
    """The math ops to replace, operands before users."""
    found = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        name = operation.name
        is_math = name.startswith("math.") and name not in NATIVE
        if is_math or name in RULES:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


class _Expansion:
    """The state of one run: constants of each kernel, declarations of the module."""

    def __init__(self, caller: Caller, options: ExpandMathOptions) -> None:
        self._caller = caller
        self._ldexp = options.vector_bits >= _AVX512_BITS
        self._pools: dict[ir.Block, ConstantPool] = {}

    def replace(self, operation: ir.Operation) -> None:
        type = operation.results[0].type
        with operation.location, ir.InsertionPoint(operation):
            m = Emitter(_computed_type(type), self._pool(operation), self._ldexp)
            operands = [_convert(m, v, "arith.extf") for v in operation.operands]
            result = self._expand(m, operation.name, operands)
            if m.type != type:
                result = m.create("arith.truncf", [result], type)
        operation.results[0].replace_all_uses_with(result.value)
        operation.erase()

    def _expand(self, m: Emitter, name: str, operands: list[Expr]) -> Expr:
        if name == "math.rsqrt":
            return m.constant(1.0) / m.unary("math.sqrt", operands[0])
        call = functools.partial(self._caller.call, m, name, operands)
        rule = RULES.get(name)
        if rule is not None and not (m.is_f32 or rule.of_doubles):
            rule = None
        if rule is None and name not in CALLS:
            raise ValueError(f"girih bug: {name} has neither a formula nor a function")
        if rule is None:
            return call()
        extra = (call,) if rule.with_library else ()
        return rule.function(m, *operands, *extra)

    def _pool(self, operation: ir.Operation) -> ConstantPool:
        block = _entry_block(operation)
        if block not in self._pools:
            self._pools[block] = ConstantPool(block)
        return self._pools[block]


def _computed_type(type: ir.Type) -> ir.Type:
    """f32 in place of narrower floats."""
    vector = isinstance(type, ir.VectorType)
    element = type.element_type if vector else type
    if isinstance(element, (ir.F32Type, ir.F64Type)):
        return type
    return (
        ir.VectorType.get(type.shape, ir.F32Type.get()) if vector else ir.F32Type.get()
    )


def _convert(m: Emitter, value: ir.Value, name: str) -> Expr:
    operand = Expr(value, m)
    return operand if value.type == m.type else m.create(name, [operand])


def _entry_block(operation: ir.Operation) -> ir.Block:
    """The first block of the kernel or function around an operation."""
    while operation.parent.parent is not None:
        outer, operation = operation, operation.parent
    return outer.block.region.blocks[0]
