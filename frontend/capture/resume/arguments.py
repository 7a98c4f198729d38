"""The arguments of code that restores a frame."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Any

from girih.frontend.capture.resume.layout import Layout
from girih.frontend.capture.resume.origin import original_code


def arguments(
    code: types.CodeType,
    layout: Layout,
    local_values: Mapping[str, Any],
    cells: Mapping[str, Any],
    stack: Sequence[Any],
    absent: Any = None,
) -> list[Any]:
    """The arguments for code that restores a frame, in order.

    Args:
        code: The code of the frame: the original, or resume code made from it.
        layout: The layout of the frame.
        local_values: By name, those of ``layout.locals`` at least.
        cells: By name, those of ``layout.cells`` at least.
        stack: What is passed for the stack: one for each slot that is not NULL.
        absent: What is passed for locals that are not in the layout.

    Returns:
        The arguments; what the kind of code takes more stands after them.
    """
    assert len(stack) == layout.passed(), "girih bug: stack and layout differ"
    bound = set(layout.locals)
    names = original_code(code).co_varnames
    values = [local_values[name] if name in bound else absent for name in names]
    return values + [cells[name] for name in layout.cells] + list(stack)
