"""The table of inlined functions: which rule expands which math op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from girih.dialects.rule_table import RuleTable
from girih.passes.expand_math.emitter import Expr


@dataclass(frozen=True)
class Rule:
    """How one math op is inlined, on float32 or also on float64.

    Attributes:
        function: (emitter, *operands) -> result; where `with_library`, also a last
            argument that emits the library's call on demand.
        with_library: the formula covers a part of the arguments only.
        of_doubles: the formula holds for float64, too.
    """

    function: Callable[..., Expr]
    with_library: bool
    of_doubles: bool


RULES: dict[str, Rule] = RuleTable("expansion of ")


def expands(
    name: str, *, with_library: bool = False, of_doubles: bool = False
) -> Callable[[Callable[..., Expr]], Callable[..., Expr]]:
    """Register the decorated function as the rule of a math op.

    Raises:
        ValueError: the op has a rule already.
    """

    def register(function: Callable[..., Expr]) -> Callable[..., Expr]:
        RULES.add(name, Rule(function, with_library, of_doubles))
        return function

    return register
