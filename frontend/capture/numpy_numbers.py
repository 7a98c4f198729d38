"""Calls of NumPy on numbers, and the warnings that it gives of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from girih.errors import unsupported
from girih.frontend.capture.evaluate import name_of
from girih.frontend.capture.held_warnings import held

FUNCTION_TYPES = (numpy.ufunc, type(numpy.prod))
"""Types of NumPy's functions, which are no functions of Python."""

NUMBERS = (numpy.number, numpy.bool_)
"""Immutable numbers."""


def is_of_numpy(function: Any, args: Sequence) -> bool:
    """Whether NumPy computes the result of a call."""
    if isinstance(function, type):
        return issubclass(function, NUMBERS)
    if isinstance(function, FUNCTION_TYPES):
        return True
    return any(isinstance(arg, NUMBERS) for arg in args)


@contextmanager
def refused_warnings(function: Any) -> Iterator[None]:
    """Has a call that NumPy would warn of end the graph.

    A capture that gave the warning would give it while it tries programs that never
    run, and later calls would give none.

    Args:
        function: What is called inside.

    Raises:
        UnsupportedError: NumPy would warn.
    """
    kinds: list[str] = []
    modes = {kind: "call" for kind, mode in numpy.geterr().items() if mode == "warn"}
    with held() as found:
        try:
            with numpy.errstate(call=lambda kind, _: kinds.append(kind), **modes):
                yield
        finally:
            texts = kinds + [str(message) for message, _ in found]
            if texts:
                unsupported(
                    kind="call that NumPy warns of",
                    context=f"{name_of(function)}: {texts[0]}",
                    explanation="A graph cannot issue the warning at each call.",
                    hints=("Compute the number outside of compiled code.",),
                )


def is_quiet(function: Callable, *args: Any) -> bool:
    """Whether NumPy computes ``function(*args)`` and has nothing to warn of.

    A guard asks, so that code around a graph, which computes the number again for each
    call, never warns: the warning would not name the program's line.
    """
    modes = {kind: "raise" for kind, how in numpy.geterr().items() if how != "ignore"}
    with numpy.errstate(**modes):
        try:
            function(*args)
        except Exception:  # the program has to raise it, which is captured anew
            return False
    return True
