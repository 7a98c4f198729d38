"""The table of shape rules: what an ATen op gives, from what it takes.

torch's own meta kernels are Python for nearly every op; the first call of one loads
sympy (0.3 s) and Dynamo (0.7 s), and each call takes 50 to 300 us. A rule here takes
the arguments of the op and says size, strides and dtype of its results. It is
written for sizes that are ints or SymInts: a comparison of the latter is a guard.

A rule returns ``NotImplemented`` for what it does not cover, or where the call may
be an error; then torch's own kernel decides (and raises torch's own error).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from girih.dialects.rule_table import RuleTable


class Result(NamedTuple):
    """A tensor to make.

    Attributes:
        size: Its sizes.
        dtype: Its element type.
        stride: Its strides in elements; None is contiguous.
    """

    size: tuple
    dtype: torch.dtype
    stride: tuple | None = None

    def make_meta(self) -> torch.Tensor:
        """The tensor, on the meta device."""
        if self.stride is None:
            return torch.empty(self.size, dtype=self.dtype, device="meta")
        return torch.empty_strided(
            self.size, self.stride, dtype=self.dtype, device="meta"
        )


RULES: dict[str, Callable] = RuleTable("shape rule of aten.")


def shape_rule(*names: str):
    """Registers a function as the rule of ATen overloads, named ``add.Tensor``."""
    return RULES.registering(*names)
