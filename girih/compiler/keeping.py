"""What a compilation ahead of time asks of the compiler: that all programs are kept.

It is noted which programs can't be, and what may have derivatives. Where a file with
programs was loaded, a program that is not in it is no reason to compile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from girih.codegen.runtime.differentiable import Differentiable


class NotKept(Exception):
    """A program is not among those that were compiled ahead of time."""


@dataclass
class Keeping:
    """One compilation.

    Attributes:
        is_strict: Whether programs that are not kept must not be compiled.
        refusals: Why programs can't be kept, each reason once.
        differentiable: The functions with derivatives that were made.
        is_missing: Whether a program was not there.
    """

    is_strict: bool = False
    refusals: dict[str, None] = field(default_factory=dict)
    differentiable: list[Differentiable] = field(default_factory=list)
    is_missing: bool = False

    def compile_derivatives(self) -> None:
        """Compiles the backward programs that all results' gradients take."""
        for each in self.differentiable:
            if count := len(each.interface.differentiable):
                each.backward_for(tuple(range(count)))


_current: ContextVar[Keeping | None] = ContextVar("keeping", default=None)


@contextmanager
def keeping(is_strict: bool = False) -> Iterator[Keeping]:
    """In the block, compilations are ahead of time, or only load what was."""
    token = _current.set(found := Keeping(is_strict))
    try:
        yield found
    finally:
        _current.reset(token)


def refuse(reason: str) -> None:
    """Notes that a program can't be kept."""
    if (found := _current.get()) is not None:
        found.refusals[reason] = None


def note(differentiable: Differentiable) -> None:
    """Notes a function with derivatives."""
    if (found := _current.get()) is not None:
        found.differentiable.append(differentiable)


def miss() -> None:
    """Notes that a program is not kept.

    Raises:
        NotKept: It must not be compiled.
    """
    found = _current.get()
    if found is not None and found.is_strict:
        found.is_missing = True
        raise NotKept
