"""Derivatives of arithmetic on complex numbers, which the graph has as calls of ATen.

The gradient of a real function by z = x + yi is that by x plus i times that by y, so a
holomorphic function gives the cotangent times the conjugate of its derivative. What a
real operand gets is the real part. All rules make calls that ``write-out-complex``
knows, so gradients of any order become kernels.
"""

from __future__ import annotations

from typing import Any

from girih.dialects import types as ty
from girih.dialects.attributes import Argument, OperandRef
from girih.dialects.bindings import ir
from girih.passes.autograd.extern import calls
from girih.passes.autograd.indexing import call_aten
from girih.passes.autograd.rules import VjpBuilder

_X, _Y = OperandRef(0), OperandRef(1)
_Factor = ir.Value | complex

_TWINS = {
    "aten._conj_physical.default": "aten._conj_physical.default",
    "aten.view_as_complex_copy.default": "aten.view_as_real_copy.default",
    "aten.view_as_real_copy.default": "aten.view_as_complex_copy.default",
}


# Parts ----------------------------------------------------------------------------


@calls(*_TWINS)
def vjp_view_of_complex(op, cotangents, b: VjpBuilder) -> Any:
    """The way back; torch has no derivative of the copying views."""
    (x,) = op.inputs
    return [call_aten(b, _TWINS[op.op], [cotangents[0]], [_X], x.type)]


@calls("aten.complex.default")
def vjp_complex(op, cotangents, b: VjpBuilder) -> Any:
    """Each part has its own gradient."""
    (g,) = cotangents
    if op.kwargs or len(op.args) != 2:
        return NotImplemented
    parts = [_part(b, g, place) for place in range(2)]
    return _collected(op, b, list(zip(op.args, parts, strict=True)))


@calls("aten.abs.default")
def vjp_abs_of_complex(op, cotangents, b: VjpBuilder) -> Any:
    """g * x / |x|, 0 where x is."""
    (g,), (x,) = cotangents, op.inputs
    if not _is_complex(x):
        return NotImplemented
    unit = call_aten(b, "aten.sgn.default", [x], [_X], x.type)
    return [call_aten(b, "aten.mul.Tensor", [g, unit], [_X, _Y], x.type)]


# Arithmetic -----------------------------------------------------------------------


@calls("aten.add.Tensor", "aten.sub.Tensor")
def vjp_sum_of_complex(op, cotangents, b: VjpBuilder) -> Any:
    """g; for what is subtracted -g."""
    (g,) = cotangents
    if op.kwargs or not _is_arithmetic(op):
        return NotImplemented
    second = call_aten(b, "aten.neg.default", [g], [_X], g.type) if _needs(op, b) else g
    return _collected(op, b, [(op.args[0], g), (op.args[1], second)])


def _needs(op, b: VjpBuilder) -> bool:
    """Whether there is a gradient of what is subtracted."""
    argument = op.args[1]
    is_tensor = isinstance(argument, OperandRef)
    return op.op.startswith("aten.sub") and is_tensor and b.needs(_at(op, argument))


@calls("aten.neg.default", "aten.clone.default", "aten._to_copy.default")
def vjp_copy_of_complex(op, cotangents, b: VjpBuilder) -> Any:
    """The same of the gradient, in the operand's type."""
    (g,) = cotangents
    if not _is_complex(g) or not set(op.kwargs) <= {"dtype", "memory_format"}:
        return NotImplemented
    if op.op == "aten.neg.default":
        g = call_aten(b, op.op, [g], [_X], g.type)
    return _collected(op, b, [(op.args[0], g)])


@calls("aten.mul.Tensor")
def vjp_mul_of_complex(op, cotangents, b: VjpBuilder) -> Any:
    """g * conj(other)."""
    (g,) = cotangents
    if op.kwargs or not _is_arithmetic(op):
        return NotImplemented
    pairs = []
    for argument, other in zip(op.args, op.args[::-1], strict=True):
        if _is_wanted(op, argument, b):
            turned = _conjugate(b, _at(op, other))
            pairs.append((argument, _call(b, op.op, g, turned)))
    return _collected(op, b, pairs)


@calls("aten.div.Tensor")
def vjp_div_of_complex(op, cotangents, b: VjpBuilder) -> Any:
    """x: g / conj(y); y: -g * conj(x / y / y)."""
    (g,) = cotangents
    if op.kwargs or not _is_arithmetic(op):
        return NotImplemented
    pairs, y = [], _at(op, op.args[1])
    if _is_wanted(op, op.args[0], b):
        pairs.append((op.args[0], _call(b, op.op, g, _conjugate(b, y))))
    if _is_wanted(op, op.args[1], b):
        slope = _conjugate(b, _call(b, op.op, op.outputs[0], y))
        against = call_aten(b, "aten.neg.default", [g], [_X], g.type)
        pairs.append((op.args[1], _call(b, "aten.mul.Tensor", against, slope)))
    return _collected(op, b, pairs)


@calls("aten.exp.default", "aten.reciprocal.default")
def vjp_function_of_complex(op, cotangents, b: VjpBuilder) -> Any:
    """exp: g * conj(y); reciprocal: -g * conj(y * y)."""
    (g,), (y,) = cotangents, op.outputs
    if not _is_complex(g):
        return NotImplemented
    if op.op == "aten.reciprocal.default":
        g = call_aten(b, "aten.neg.default", [g], [_X], g.type)
        y = _call(b, "aten.mul.Tensor", y, y)
    return [_call(b, "aten.mul.Tensor", g, _conjugate(b, y))]


@calls("aten.square.default", "aten.pow.Tensor_Scalar")
def vjp_power_of_complex(op, cotangents, b: VjpBuilder) -> Any:
    """g * conj(n * x^(n - 1)), for squares and cubes."""
    (g,) = cotangents
    exponent = op.args[1] if op.op == "aten.pow.Tensor_Scalar" else 2
    if not _is_complex(g) or op.kwargs or exponent not in (2, 3):
        return NotImplemented
    x = _at(op, op.args[0])
    if not _is_complex(x):
        return NotImplemented
    power = x if exponent == 2 else _call(b, "aten.mul.Tensor", x, x)
    slope = _call(b, "aten.mul.Tensor", power, exponent)
    return [_call(b, "aten.mul.Tensor", g, _conjugate(b, slope))]


@calls("aten.where.self")
def vjp_where_of_complex(op, cotangents, b: VjpBuilder) -> Any:
    """What was selected gets the gradient, the other 0.

    ATen's own derivative (torch 2.13) is an error for a real operand.
    """
    (g,) = cotangents
    operands = [_at(op, argument) for argument in op.args[1:]]
    if not _is_complex(g) or not all(map(_is_complex, operands)):
        return NotImplemented
    condition, zero = _at(op, op.args[0]), b.like(0j, g)
    sides = [(g, zero), (zero, g)]
    pairs = [
        (argument, b.where(condition, *side))
        for argument, side in zip(op.args[1:], sides, strict=True)
        if _is_wanted(op, argument, b)
    ]
    return _collected(op, b, pairs)


# Sums -----------------------------------------------------------------------------


@calls("aten.mean.default", "aten.mean.dim", "aten.sum.default", "aten.sum.dim_IntList")
def vjp_sum_of_elements(op, cotangents, b: VjpBuilder) -> Any:
    """g for each element; of a mean, over their number."""
    (g,), x = cotangents, _at(op, op.args[0])
    if not _is_complex(g) or op.kwargs or x.type.element_type != g.type.element_type:
        return NotImplemented
    shape = ty.shape_of(x.type)
    _, dims, *_ = (*op.args, None)
    dims = {dim % len(shape) for dim in dims or range(len(shape))}
    kept = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
    if op.op.startswith("aten.mean"):
        sizes = [size for dim, size in enumerate(shape) if dim in dims]
        count = b.count(sizes, ty.real_part(g.type.element_type))
        g = _call(b, "aten.div.Tensor", g, count)
    return [b.broadcast_to(b.reshape(g, kept), shape)]


# Helpers --------------------------------------------------------------------------


def _is_complex(value: ir.Value) -> bool:
    return isinstance(value.type.element_type, ir.ComplexType)


def _at(op, argument: Argument) -> Any:
    """What an argument stands for: an operand, or a number."""
    return op.inputs[argument.index] if isinstance(argument, OperandRef) else argument


def _is_wanted(op, argument: Argument, b: VjpBuilder) -> bool:
    return isinstance(argument, OperandRef) and b.needs(_at(op, argument))


def _is_arithmetic(op) -> bool:
    """Whether an op has a complex result, of two tensors or numbers."""
    kinds = (OperandRef, bool, int, float, complex)
    known = all(isinstance(argument, kinds) for argument in op.args)
    return known and len(op.args) == 2 and _is_complex(op.outputs[0])


def _call(b: VjpBuilder, name: str, x: ir.Value, other: _Factor) -> ir.Value:
    """A call of a binary op of x, which has the result's type."""
    if isinstance(other, ir.Value):
        return call_aten(b, name, [x, other], [_X, _Y], x.type)
    return call_aten(b, name, [x], [_X, other], x.type)


def _conjugate(b: VjpBuilder, x: _Factor) -> _Factor:
    if not isinstance(x, ir.Value):
        return x.conjugate()
    if not _is_complex(x):
        return x
    return call_aten(b, "aten._conj_physical.default", [x], [_X], x.type)


def _part(b: VjpBuilder, x: ir.Value, place: int) -> ir.Value:
    """The real or the imaginary part."""
    shape, element = ty.shape_of(x.type), ty.real_part(x.type.element_type)
    pairs = ty.tensor_type((*shape, 2), element)
    whole = call_aten(b, "aten.view_as_real_copy.default", [x], [_X], pairs)
    starts, steps = (*(0,) * len(shape), place), (1,) * (len(shape) + 1)
    column = b.typed("slice", [whole], (*shape, 1), element, starts=starts, steps=steps)
    return b.reshape(column, shape)


def _collected(op, b: VjpBuilder, pairs: list[tuple[Argument, ir.Value]]) -> list:
    """Gradients of arguments as those of the operands that stand for them."""
    gradients: list[ir.Value | None] = [None] * len(op.inputs)
    for argument, gradient in pairs:
        if not _is_wanted(op, argument, b):
            continue
        operand = _at(op, argument)
        if _is_complex(gradient) and not _is_complex(operand):
            gradient = _part(b, gradient, 0)
        gradient = b.unbroadcast(gradient, operand)
        gradient = b.cast(gradient, operand.type.element_type)
        known = gradients[argument.index]
        total = gradient if known is None else b.add(known, gradient)
        gradients[argument.index] = total
    return gradients
