"""The tables of import rules, by the name of the ATen overload (``add.Tensor``).

* ``@imports("add.Tensor")``: ``rule(b, *args, **kwargs)`` gives the result (or a
  tuple of results) as operands. ``b`` is the ``Builder``; ``b.out`` says what eager
  gives. Tensors come as ``Operand``, symbolic ints as ``Dim``.
* ``@views("permute")``: ``rule(b, shape, *args, **kwargs)`` gives a ``ViewStep``, or
  a list of them; ``shape`` is that of the tensor which is viewed.
* ``@effects("native_batch_norm")``: ``rule(recorder, func, args, kwargs)`` gives the
  result of the call, for ops that write in ways that their schema does not tell.

A rule may return ``NotImplemented``: then the op is imported as ``graph.extern``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from girih.frontend.importer.builder import Operand

RULES: dict[str, Callable] = {}
VIEWS: dict[str, Callable] = {}
EFFECTS: dict[str, Callable] = {}


class ViewStep(NamedTuple):
    """How a view is computed from what it is a view of, and the way back.

    Attributes:
        forward: ``forward(base)`` is the view's value.
        inverse: ``inverse(base, new)`` is the base's value after the view became
            ``new``; None where a write through the view is not supported.
    """

    forward: Callable[[Operand], Operand]
    inverse: Callable[[Operand, Operand], Operand] | None


def _module_of(rule: Callable) -> str:
    return rule.__module__


def _registrar(table: dict[str, Callable]):
    def names(*names: str):
        def register(function: Callable) -> Callable:
            for name in names:
                known = RULES.get(name) or VIEWS.get(name) or EFFECTS.get(name)
                # One of the same module is defined again, as in a notebook's cell.
                is_again = table.get(name) is known and known is not None
                is_again = is_again and _module_of(known) == _module_of(function)
                if known is not None and not is_again:
                    raise ValueError(f"second import rule of aten.{name}")
                table[name] = function
            return function

        return register

    return names


imports = _registrar(RULES)
views = _registrar(VIEWS)
effects = _registrar(EFFECTS)
