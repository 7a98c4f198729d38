"""Numbers that a graph returns and that follow from its inputs: ``x.shape[0] == n``.

TorchDynamo makes them results where they live across a graph break. They are computed
by Python, from the sizes and numbers that a call has, so each call gets its own and
nothing has to be guarded. What does not follow from inputs alone is fixed, which is a
guard of whoever captured the graph.

sympy is imported where a symbol was met, so it is loaded already.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from girih.frontend.importer.symbols import values_of_symbols

Symbolic = torch.SymInt | torch.SymFloat | torch.SymBool


def number_of(value: Symbolic, inputs: Sequence[Any]) -> Callable | bool | int | float:
    """What gives a number at a call.

    Args:
        value: The number, as the graph returns it.
        inputs: Those of the graph: fake tensors, symbolic and other numbers.

    Returns:
        The number itself where it is always the same, else a function of the inputs.
    """
    places = _places_of_symbols(inputs)
    symbols = sorted(value.node.expr.free_symbols, key=str)
    if symbols and all(symbol in places for symbol in symbols):
        compute = _written(value, symbols)
        hint = value.node.hint
        if hint is not None and _gives(compute, _hints(value, symbols), hint):
            return _Computed(compute, tuple(places[symbol] for symbol in symbols))
    return _fixed(value)


def _fixed(value: Symbolic) -> bool | int | float:
    if isinstance(value, torch.SymBool):
        return bool(value)
    return int(value) if isinstance(value, torch.SymInt) else float(value)


class _Computed:
    """A number, as a function of the inputs of a call.

    Args:
        compute: A function of the symbols.
        places: For each of them the input, and its dim if that is a tensor.
    """

    def __init__(self, compute: Callable, places: tuple[tuple[int, int | None], ...]):
        self._compute = compute
        self._places = places

    def __call__(self, inputs: Sequence[Any]) -> bool | int | float:
        return self._compute(
            *(
                inputs[index] if dim is None else inputs[index].shape[dim]
                for index, dim in self._places
            )
        )


def _places_of_symbols(inputs: Sequence[Any]) -> dict[object, tuple[int, int | None]]:
    """Where a call finds the value of each symbol of torch."""
    places: dict[object, tuple[int, int | None]] = {}
    for index, value in enumerate(inputs):
        if isinstance(value, torch.Tensor):
            found = [(size, (index, dim)) for dim, size in enumerate(value.shape)]
        else:
            found = [(value, (index, None))]
        for number, place in found:
            if isinstance(number, (torch.SymInt, torch.SymFloat)):
                places.setdefault(number.node.expr, place)
    return places


def _written(value: Symbolic, symbols: Sequence[Any]) -> Callable:
    """The expression of a number as a function of its symbols."""
    from torch.utils._sympy.printers import PythonPrinter

    names = ", ".join(map(str, symbols))
    text = PythonPrinter().doprint(value.node.expr)
    kind = _KINDS[type(value)]
    scope = {"math": math, "torch": torch, "kind": kind}
    return eval(f"lambda {names}: kind({text})", scope)  # noqa: S307


_KINDS = {torch.SymBool: bool, torch.SymFloat: float, torch.SymInt: int}


def _hints(value: Symbolic, symbols: Sequence[Any]) -> list[Any]:
    values = values_of_symbols(value.node.shape_env)
    kinds = {True: int, False: float}
    known = [values.get(symbol) for symbol in symbols]
    return [
        None if hint is None else kinds[bool(symbol.is_integer)](hint)
        for symbol, hint in zip(symbols, known, strict=True)
    ]


def _gives(compute: Callable, values: Sequence[Any], expected: Any) -> bool:
    """Whether what was written gives what torch knows of this call."""
    try:
        return compute(*values) == expected
    except (ArithmeticError, NameError, AttributeError, TypeError, ValueError):
        return False
