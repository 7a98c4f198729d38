"""The tables of import rules, by the name of the ATen overload (``add.Tensor``).

* ``@imports("add.Tensor")``: ``rule(b, *args, **kwargs)`` gives the result (or a
  tuple of results) as operands. ``b`` is the ``Builder``; ``b.out`` says what eager
  gives. Tensors come as ``Operand``, symbolic ints as ``Dim``, which is not below
  zero unless the rule ``@takes_negative`` ones.
* ``@views("permute")``: ``rule(b, shape, *args, **kwargs)`` gives a ``ViewStep``, or
  a list of them; ``shape`` is that of the tensor which is viewed.
* ``@effects("native_batch_norm")``: ``rule(recorder, func, args, kwargs)`` gives the
  result of the call, for ops that write in ways that their schema does not tell.

A rule may return ``NotImplemented``: then the op is imported as ``graph.extern``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from girih.dialects.rule_table import RuleTable
from girih.frontend.importer.builder import Operand

RULES, VIEWS, EFFECTS = RuleTable.several("import rule of aten.", 3)
_TAKES_NEGATIVE: set[Callable] = set()
imports, views, effects = RULES.registering, VIEWS.registering, EFFECTS.registering


def takes_negative(rule: Callable) -> Callable:
    """Says that a rule knows what sizes (``Dim``s) mean that are below zero."""
    _TAKES_NEGATIVE.add(rule)
    return rule


def knows_negative(rule: Callable) -> bool:
    """Whether a rule may be given sizes that are below zero."""
    return rule in _TAKES_NEGATIVE


class ViewStep(NamedTuple):
    """How a view is computed from what it is a view of, and the way back.

    Attributes:
        forward: ``forward(base)`` is the view's value.
        inverse: ``inverse(base, new)`` is the base's value after the view became
            ``new``; None where a write through the view is not supported.
    """

    forward: Callable[[Operand], Operand]
    inverse: Callable[[Operand, Operand], Operand] | None


WHOLE = ViewStep(lambda base: base, lambda base, new: new)
"""Of views that are the tensor itself."""
