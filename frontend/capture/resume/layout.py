"""What of a frame is alive at an instruction, and how it is passed as arguments."""

from __future__ import annotations

import enum
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class Slot(enum.Enum):
    """What a slot of the value stack holds."""

    VALUE = "value"
    """An object; passed as it is. A cell that 3.12 saved around a comprehension too."""
    NULL = "null"
    """The NULL beside a callable, or a local that was unbound; not passed."""
    PREVIOUS = "previous"
    """What PUSH_EXC_INFO saved and POP_EXCEPT restores. Passed is the exception that
    has been handled since. (That exception may lie on the stack too, as a value.)"""
    OFFSET = "offset"
    """The offset that an entry of the exception table with ``lasti`` pushes, for
    tracebacks; passed as the offset in the original code, in code units."""


@dataclass(frozen=True)
class Layout:
    """What of a frame is alive before an instruction.

    Only the slots that POP_EXCEPT has not consumed yet are PREVIOUS: CPython's cleanup
    (``COPY 3; POP_EXCEPT; RERAISE 1``) leaves one on the stack that means nothing any
    more, a plain value.

    Attributes:
        locals: Names of fast locals that are bound and passed.
        cells: Names of ``co_cellvars`` whose cells exist and are passed. The cells of
            free variables come through the closure of the function.
        stack: The value stack, bottom first.
        held: Those of ``locals`` that stay bound even where nothing reads them any
            more: it may matter when their objects die.
    """

    locals: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    stack: tuple[Slot, ...] = ()
    held: tuple[str, ...] = ()

    def passed(self) -> int:
        """How many slots of the stack are passed as arguments."""
        return sum(slot is not Slot.NULL for slot in self.stack)


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
        The arguments; what the kind of code takes more stands behind them.
    """
    from girih.frontend.capture.resume.origin import original_code

    assert len(stack) == layout.passed(), "girih bug: stack and layout differ"
    bound = set(layout.locals)
    names = original_code(code).co_varnames
    values = [local_values[name] if name in bound else absent for name in names]
    return values + [cells[name] for name in layout.cells] + list(stack)
