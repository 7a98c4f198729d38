"""The elementwise ops whose classes say with what to try them: ``SAMPLE``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from girih.dialects import graph
from girih.dialects.definition import Op
from girih.dialects.graph.elementwise_classes import FloatFunction
from girih.dialects.graph.formulas import NoGradient


class Case(NamedTuple):
    """An operator of ATen with numbers among its arguments."""

    cls: type[Op]
    attributes: dict[str, Any]

    @property
    def name(self) -> str:
        """The op's name, with its attributes."""
        numbers = "-".join(str(value) for value in self.attributes.values())
        return "-".join(filter(None, (self.cls.SHORT_NAME, numbers)))

    @property
    def is_smooth(self) -> bool:
        """Whether it has derivatives."""
        return not isinstance(self.cls.GRADIENT, NoGradient)

    @property
    def function(self) -> Callable:
        """The operator as a function of the operands."""
        name, _, overload = self.cls.overload().partition(".")
        operator = getattr(getattr(torch.ops.aten, name), overload)
        rest = operator._schema.arguments[len(self.cls.OPERANDS) :]
        numbers = list(zip(rest, self.attributes.values(), strict=False))
        named = {each.name: value for each, value in numbers if each.kwarg_only}
        placed = [value for each, value in numbers if not each.kwarg_only]
        return lambda *operands: operator(*operands, *placed, **named)

    def operands(self, *shape: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
        """Random operands."""
        low, high = self.cls.SAMPLE[:2]
        return [
            (low + (high - low) * torch.rand(shape, dtype=torch.float64)).to(dtype)
            for _ in self.cls.OPERANDS
        ]


# Special functions have tests of their own, with more digits (``special_functions``).
CASES = [
    Case(cls, attributes)
    for cls in graph.OPS.values()
    if cls.SAMPLE is not None and not issubclass(cls, FloatFunction)
    for attributes in cls.SAMPLE.attributes
]
