"""What of a frame is alive at an instruction, and how it is passed as arguments."""

from __future__ import annotations

import enum
from dataclasses import dataclass


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
