"""Shape rules of the ops whose classes say them: ``ATEN`` and ``PROMOTES``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from girih.dialects import graph
from girih.dialects.definition import Op
from girih.dialects.graph.formulas import Promotes
from girih.frontend.fake.elementwise import elementwise_result
from girih.frontend.fake.layout import preserved_strides
from girih.frontend.fake.promotion import promote, promote_to_float
from girih.frontend.fake.rules import RULES, Result

_TO_FLOAT = (Promotes.TO_FLOAT, Promotes.SCALED)
_COMPLEX = ("any", "number", "float", "bool")


def takes_complex(cls: type[Op]) -> bool:
    """Whether the operands of an elementwise op may be complex numbers."""
    return cls.ELEMENTS in _COMPLEX


def overloads(cls: type[Op]) -> Iterator[tuple[str, torch.FunctionSchema]]:
    """The overloads that a class says all of, named ``eq.Scalar``, and their schemas.

    For an op with attributes it is the one that ``ATEN`` names. Without, any argument
    may be a number: those that return a tensor and write none.
    """
    if cls.PROMOTES is None:
        return
    operator, _, named = cls.overload().partition(".")
    packet = getattr(torch.ops.aten, operator, None)
    if packet is None:  # an op of a user's, who derived it from a class of girih's
        return
    for overload in [named] if cls.ATTRIBUTES else packet.overloads():
        schema = getattr(packet, overload)._schema
        is_pure = not any(each.alias_info for each in schema.arguments)
        is_whole = len(schema.arguments) == len(cls.OPERANDS) + len(cls.ATTRIBUTES)
        takes_tensor = any(map(_is_tensor, schema.arguments))
        if is_pure and is_whole and takes_tensor and _is_tensor(schema.returns[0]):
            name = operator if overload == "default" else f"{operator}.{overload}"
            yield name, schema


def _is_tensor(argument: torch.Argument) -> bool:
    return str(argument.type) == "Tensor"


def _rule(cls: type[Op]) -> Callable:
    count = len(cls.OPERANDS)

    def rule(*args: Any, **kwargs: Any) -> Any:
        operands = args[:count]
        if cls.ATTRIBUTES:  # the operand need not stand first
            operands = [each for each in args if isinstance(each, torch.Tensor)]
        dtype = promote(*operands)
        if len(operands) != count or _is_refused(cls, dtype):
            return NotImplemented
        if cls.PROMOTES in _TO_FLOAT:
            dtype = promote_to_float(*operands)
        elif cls.PROMOTES in (Promotes.COMPARES, Promotes.TRUTHS):
            dtype = torch.bool
        if cls.PROMOTES is Promotes.SCALED:
            (x,) = operands
            return Result(tuple(x.size()), dtype, preserved_strides(x))
        return elementwise_result(tuple(operands), dtype)

    return rule


def _is_refused(cls: type[Op], dtype: torch.dtype) -> bool:
    """Whether torch's own rule has to decide, as eager may raise an error."""
    if dtype.is_complex and not takes_complex(cls):
        return True
    if cls.PROMOTES in _TO_FLOAT or cls.ELEMENTS != "real float":
        return cls.PROMOTES is Promotes.SAME and dtype == torch.bool
    is_whole = not dtype.is_floating_point and dtype != torch.bool
    return not (dtype.is_floating_point or cls.PROMOTES is Promotes.WHOLE and is_whole)


for _cls in graph.OPS.values():
    for _name, _schema in overloads(_cls):
        if _name not in RULES:
            RULES.add(_name, _rule(_cls))
