"""Import rules of the ops whose classes say them: ``ATEN`` and ``PROMOTES``.

Each overload of the operator that ``ATEN`` names has the rule, but for those that
another file has written a rule for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from girih.dialects import graph
from girih.dialects.attributes import FLOAT, SCALAR
from girih.dialects.definition import Op
from girih.dialects.graph.formulas import Promotes
from girih.frontend.fake.declared import overloads, takes_complex
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.elements import is_integral
from girih.frontend.importer.elementwise import (
    promoted as promoted_together,
)
from girih.frontend.importer.elementwise import (
    promoted_dtype,
    promoted_to_float,
    rounded,
    to_bool,
)
from girih.frontend.importer.registry import RULES


def _as_compared(b: Builder, *values: Any) -> list[Operand]:
    dtype = promoted_dtype(*values)
    return [rounded(b, value, dtype) for value in values]


_OPERANDS: dict[Promotes, Callable[..., list[Operand]]] = {
    Promotes.SAME: lambda b, *values: list(values),
    Promotes.WHOLE: lambda b, *values: list(values),
    Promotes.TO_FLOAT: promoted_to_float,
    Promotes.SCALED: promoted_to_float,
    Promotes.COMMON: promoted_together,
    Promotes.COMPARES: _as_compared,
    Promotes.TRUTHS: lambda b, *values: [to_bool(b, value) for value in values],
}


def _rule(cls: type[Op], schema: torch.FunctionSchema) -> Callable:
    """The rule of one overload for an op's class."""
    count = len(cls.OPERANDS)

    def rule(b: Builder, *args: Any, **kwargs: Any) -> Any:
        values = list(_arguments(schema, args, kwargs))
        if cls.ATTRIBUTES:  # the operand need not stand first
            values.sort(key=lambda value: not isinstance(value, Operand))
        operands, numbers = values[:count], values[count:]
        tensors = [value for value in operands if isinstance(value, Operand)]
        is_complex = any(value.dtype.is_complex for value in tensors)
        if not tensors or (is_complex and not takes_complex(cls)):
            return NotImplemented
        if not all(map(getattr(cls, "takes", _takes_all), numbers)):
            return NotImplemented
        if cls.PROMOTES is Promotes.WHOLE and is_integral(tensors[0].dtype):
            return tensors[0]
        promoted = _OPERANDS[cls.PROMOTES](b, *operands)
        if not _are_elements(cls, promoted[0].dtype):
            return NotImplemented
        return _made(b, cls, promoted, numbers)

    return rule


def _are_elements(cls: type[Op], dtype: torch.dtype) -> bool:
    """Whether kernels compute the op of elements of a dtype."""
    return cls.ELEMENTS != "real float" or dtype.is_floating_point


def _takes_all(number: Any) -> bool:
    """Takes every number."""
    return True


def _arguments(schema: torch.FunctionSchema, args: tuple, kwargs: dict) -> Iterator:
    for place, argument in enumerate(schema.arguments):
        if place < len(args):
            yield args[place]
        else:
            yield kwargs.get(argument.name, argument.default_value)


def _made(b: Builder, cls: type[Op], operands: list[Operand], numbers: list) -> Operand:
    is_bool = cls.PROMOTES in (Promotes.COMPARES, Promotes.TRUTHS)
    if len(operands) == 2:
        make = b.compare if is_bool else b.binary
        return make(cls.SHORT_NAME, *operands)
    (x,) = operands
    pairs = zip(cls.ATTRIBUTES.items(), numbers, strict=True)
    attributes = {name: _number(x, field, v) for (name, field), v in pairs}
    dtype = torch.bool if is_bool else x.dtype
    return b.op(cls.SHORT_NAME, [x], attributes, (x.shape, dtype))


def _number(x: Operand, field: Any, value: Any) -> Any:
    """A number as an attribute, whose kind says whether it is a float."""
    if field.kind is FLOAT or (field.kind is SCALAR and not is_integral(x.dtype)):
        return float(value)
    return int(value) if field.kind is SCALAR else value


for _cls in graph.OPS.values():
    for _name, _schema in overloads(_cls):
        if _name not in RULES:
            RULES.add(_name, _rule(_cls, _schema))
