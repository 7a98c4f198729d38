"""What an event of ``torch.profiler`` is of, and who watches programs.

Nothing of the compiler is loaded for this: programs that were packaged run without it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.autograd.profiler

from . import _runtime

if TYPE_CHECKING:
    from girih.dialects.locations import Position

PREFIX = "girih::"
"""What the names of events begin with."""


class Event(NamedTuple):
    """What an event is of.

    Attributes:
        name: That of a kernel, of an operator as IR has it, or of a program.
        operations: What the user's program calls there: ``add, softmax, gelu``.
        lines: Where the user's program asks for it: ``model.py:7, 8; layers.py:30``.
        bytes: What the tensors of a kernel or call take; None where sizes are symbolic,
            and for programs.
        flops: Floating-point operations of a product or convolution; None where sizes
            are symbolic, and for anything else.
        kind: "kernel", "call" (of a library) or "program".
        parts: Of a program, and of launches that are one event: all that is inside.
        regions: The user's ``record_function`` blocks around it, the outermost first.
        places: The positions that ``lines`` names, with the paths of files; packages,
            which leave the last field out, have none.
    """

    name: str
    operations: str = ""
    lines: str = ""
    bytes: int | None = None
    flops: int | None = None
    kind: str = "kernel"
    parts: tuple[Event, ...] = ()
    regions: tuple[str, ...] = ()
    places: tuple[Position, ...] = ()


def record(event: Event) -> AbstractContextManager:
    """An event of ``torch.profiler``."""
    found = {"operations": event.operations, "lines": event.lines}
    shown = {name: text for name, text in found.items() if text}
    made = torch._C._profiler._RecordFunctionFast(PREFIX + event.name, (), shown)
    return _within(event.regions, made) if event.regions else made


@contextmanager
def _within(regions: tuple[str, ...], made: AbstractContextManager):
    """An event inside of those that the user's program has around it."""
    with ExitStack() as stack:
        for name in regions:
            stack.enter_context(torch.autograd.profiler.record_function(name))
        stack.enter_context(made)
        yield


def replay_of(program: object) -> AbstractContextManager:
    """The event of a CUDA graph that stands for a program's call."""
    event, make = getattr(program, "event", None), _observers[-1]
    if make is None and torch.autograd.profiler._is_profiler_enabled:
        make = record
    if event is None or make is None:
        return nullcontext()
    return make(event._replace(name=f"{event.name} (CUDA graph)"))


_observers: list[Callable[[Event], AbstractContextManager] | None] = [None]
"""Those that were set, the innermost last."""

_runtime.watch_flag(vars(torch.autograd.profiler), "_is_profiler_enabled", record)


@contextmanager
def observed(make: Callable[[Event], AbstractContextManager]):
    """Has all programs of the process open events that ``make`` returns."""
    before = _runtime.set_observer(make)
    _observers.append(make)
    try:
        yield
    finally:
        _observers.pop()
        _runtime.set_observer(before)
