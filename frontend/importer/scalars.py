"""Python numbers that are inputs: values without dims in the graph.

A float that is an input is an argument ``tensor<f64>``, and so is (as ``tensor<i64>``)
an int that may be negative; other ints are symbols, as sizes are. What ATen's own
functions compute from such numbers is converted from torch's expression for it.
sympy is never imported here: a SymFloat exists only where torch has loaded it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from girih.dialects.dims import Size
from girih.frontend.fake.foreach import calls, is_foreach
from girih.frontend.importer.builder import Builder, Operand, Scalar
from girih.frontend.importer.symbols import Symbols

_LARGEST_POWER = 8

# Rules that take a number which is no constant. The first group computes with the
# number as with a tensor without dims; ATen converts the numbers of the second one
# to the dtype of the result, and raises where they do not fit.
_WRAPPED = frozenset(
    f"{name}.{overload}"
    for names, overloads in (
        ("add sub mul div", "Tensor Scalar"),
        ("rsub remainder fmod eq ne lt le gt ge", "Tensor Scalar"),
        ("div", "Tensor_mode Scalar_mode"),
        ("where", "ScalarSelf ScalarOther Scalar"),
    )
    for name in names.split()
    for overload in overloads.split()
) | {"floor_divide", "floor_divide.Scalar"}
_CONVERTED = frozenset(
    """addcdiv addcmul clamp clamp_max clamp_min fill.Scalar full full_like lerp.Scalar
    masked_fill.Scalar new_full pow.Scalar pow.Tensor_Scalar scalar_tensor""".split()
)
# These take them as ``double``.
_IN_FULL = frozenset(
    """huber_loss smooth_l1_loss native_layer_norm native_group_norm
    _native_batch_norm_legit_no_training _native_batch_norm_legit.no_stats""".split()
)
_CONVERTED_BY_ALPHA = frozenset(("add.Tensor", "sub.Tensor", "rsub.Tensor"))
# What fits into float32 fits into these. (Of the floats that a program takes itself,
# OP_LOAD_NUMBER leaves the others to eager.)
_NARROW = (torch.float16, torch.bfloat16)
_EXACT = frozenset("mul div floor_divide addcmul addcdiv".split())
_EXACT_ON_GPU = _EXACT | frozenset("add sub rsub".split())
_WIDE = (torch.float32, torch.float64, torch.bfloat16)


def apply_rule(
    b: Builder, rule: Callable, name: str, args: list, kwargs: dict
) -> Operand | tuple[Operand, ...]:
    """Calls the rule of an op.

    Where arithmetic of 16-bit floats takes a number as float32, and does not round it,
    the whole rule computes in float32.
    """
    values = [*args, *kwargs.values()]
    exact = _EXACT if b.device.type == "cpu" else _EXACT_ON_GPU
    is_exact = name.split(".")[0] in exact and b.out[0].dtype in _NARROW
    if not is_exact or not any(isinstance(value, Scalar) for value in values):
        return rule(b, *args, **kwargs)
    spec = b.out[0]
    b.out = [spec._replace(dtype=torch.float32)]
    wide = [_widened(b, value) for value in args]
    result = rule(b, *wide, **{key: _widened(b, v) for key, v in kwargs.items()})
    b.out = [spec]
    return result if result is NotImplemented else b.cast(result, spec.dtype)


def _widened(b: Builder, value: Any) -> Any:
    is_narrow = isinstance(value, Operand) and value.dtype in _NARROW
    return b.cast(value, torch.float32) if is_narrow else value


def _holds_number(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_holds_number(item) for item in value)
    return isinstance(value, Scalar)


class _Unknown(Exception):
    """An expression has no value in the graph."""


def takes_numbers(name: str, args: list, kwargs: dict, dtype: torch.dtype) -> bool:
    """Whether the rule of an op may be given the numbers among its arguments.

    Args:
        name: The overload.
        args: Its arguments, as rules take them.
        kwargs: Its keyword arguments.
        dtype: The dtype of the result.
    """
    if is_foreach(name):
        each = calls(name, args, kwargs)
        return all(takes_numbers(c.name, c.args, c.kwargs, dtype) for c in each)
    values = [*args, *kwargs.values()]
    if not any(isinstance(value, Scalar) for value in values):
        return not _holds_number(values)
    is_alpha = name in _CONVERTED_BY_ALPHA and isinstance(kwargs.get("alpha"), Scalar)
    if name in _IN_FULL:
        return True
    if name in _CONVERTED or is_alpha:
        fit = all(v.fits for v in values if isinstance(v, Scalar))
        return fit and dtype in _WIDE
    return name in _WRAPPED and (dtype in _WIDE or dtype in (torch.bool, torch.float16))


class Scalars:
    """The numbers of one import.

    Args:
        builder: Makes the ops that compute with them.
        symbols: Tells which of them are sizes.
    """

    def __init__(self, builder: Builder, symbols: Symbols):
        self._builder = builder
        self._symbols = symbols
        self._values: dict[object, Operand] = {}
        self._fitting: set[object] = set()
        self._shape_env: object = None

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A region: numbers that are computed in it are not known outside."""
        outer, self._values = self._values, dict(self._values)
        yield
        self._values = outer

    def bind(
        self, value: torch.SymInt | torch.SymFloat, operand: Operand, *, fits: bool
    ) -> None:
        """Says which value a symbol has.

        Args:
            value: The symbol.
            operand: Its value.
            fits: Whether the program is run only where it fits into float32.
        """
        self._values[value.node.expr] = operand
        if fits:
            self._fitting.add(value.node.expr)

    def of(self, value: torch.SymInt | torch.SymFloat) -> Scalar | Size | float:
        """A number as rules take it; a constant where the graph can't compute it."""
        expression = value.node.expr
        self._shape_env = value.node.shape_env
        if not expression.is_number:
            try:
                operand = self._convert(expression)
            except _Unknown:
                pass
            else:
                return Scalar(operand, expression in self._fitting)
        # A constant, and a guard of whoever captured the program.
        is_int = isinstance(value, torch.SymInt)
        return self._symbols.size(value) if is_int else float(value)

    def _convert(self, expression: Any) -> Operand:
        known = self._values.get(expression)
        if known is None:
            known = self._values[expression] = self._compute(expression)
        return known

    def _compute(self, expression: Any) -> Operand:
        if expression.is_Integer:
            return self._builder.constant(int(expression), torch.int64)
        if expression.is_number:
            return self._builder.constant(float(expression), torch.float64)
        if expression.is_Symbol:
            return self._size(expression)
        function = _FUNCTIONS.get(type(expression).__name__)
        if function is None:
            return self._computed_size(expression)
        return function(self, *expression.args)

    def _size(self, symbol: Any) -> Operand:
        if not symbol.is_integer:
            raise _Unknown(symbol)
        return self._builder.size(self._symbols.dim(symbol, self._shape_env))

    def _computed_size(self, expression: Any) -> Operand:
        names = map(str, expression.free_symbols)
        if not expression.is_integer or self._symbols.numbers.intersection(names):
            raise _Unknown(expression)
        size = self._symbols.of_expression(expression, self._shape_env)
        if isinstance(size, int):
            return self._builder.constant(size, torch.int64)
        return self._builder.size(size)

    def _float(self, expression: Any) -> Operand:
        return self._builder.cast(self._convert(expression), torch.float64)

    def _fold(self, name: str, parts: tuple) -> Operand:
        operands = [self._convert(part) for part in parts]
        if any(operand.dtype == torch.float64 for operand in operands):
            operands = [self._builder.cast(o, torch.float64) for o in operands]
        result = operands[0]
        for operand in operands[1:]:
            result = self._builder.binary(name, result, operand)
        return result

    def _power(self, base: Any, exponent: Any) -> Operand:
        if not exponent.is_Integer or abs(int(exponent)) > _LARGEST_POWER:
            raise _Unknown(exponent)
        if int(exponent) > 0:
            return self._fold("mul", (base,) * int(exponent))
        if not self._convert(base).dtype.is_floating_point:
            raise _Unknown(base)
        one = self._builder.constant(1.0, torch.float64)
        return self._builder.div(one, self._fold("mul", (base,) * -int(exponent)))

    def _root(self, radicand: Any) -> Operand:
        return self._builder.unary("sqrt", self._float(radicand))

    def _quotient(self, numerator: Any, denominator: Any) -> Operand:
        return self._builder.div(self._float(numerator), self._float(denominator))


# Names of sympy's functions, and of torch's own (torch.utils._sympy.functions).
_FUNCTIONS = {
    "Add": lambda scalars, *parts: scalars._fold("add", parts),
    "FloatTrueDiv": Scalars._quotient,
    "IntTrueDiv": Scalars._quotient,
    "Mul": lambda scalars, *parts: scalars._fold("mul", parts),
    "OpaqueUnaryFn_sqrt": Scalars._root,
    "Pow": Scalars._power,
    "ToFloat": Scalars._float,
}
