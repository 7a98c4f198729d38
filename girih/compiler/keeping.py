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

from girih.compiler.modules import bytecode_of
from girih.dialects.bindings import ir
from girih.dialects.locations import regions_of

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
        keys: What may be loaded, where that is strict.
        graphs: The captured graphs, as text.
    """

    is_strict: bool = False
    keys: frozenset[str] = frozenset()
    graphs: list[str] = field(default_factory=list)
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
def keeping(keys: frozenset[str] | None = None) -> Iterator[Keeping]:
    """In the block, compilations are ahead of time, or only load what was.

    Args:
        keys: Of the entries of the cache that may be loaded; None: compile.
    """
    found = Keeping() if keys is None else Keeping(is_strict=True, keys=keys)
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)


def is_on() -> bool:
    """Whether a compilation is ahead of time, or only loads what was."""
    return _current.get() is not None


@contextmanager
def again(is_ahead: bool) -> Iterator[None]:
    """In the block, what belongs to such a compilation is compiled, or found."""
    if not is_ahead:
        yield
        return
    token = _current.set(_current.get() or Keeping())
    try:
        yield
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


def note_graph(graph: object) -> None:
    """Notes a captured graph."""
    if (found := _current.get()) is not None:
        found.graphs.append(str(graph))


def identity(module: ir.Module | ir.Operation) -> str | bytes:
    """What tells modules apart.

    Events of programs name lines of the user's. Who compiled ahead of time may move the
    file since, or write a comment above. The blocks of ``record_function`` are names of
    locations, too, but a part of what the program does.
    """
    if _current.get() is None:
        return bytecode_of(module)
    regions = []

    def note_regions(op: ir.Operation) -> ir.WalkResult:
        regions.extend(regions_of(op.location))
        return ir.WalkResult.ADVANCE

    module.operation.walk(note_regions)
    return f"{module.operation}{regions}"


def is_there(key: str) -> bool:
    """Whether an entry of the cache may be loaded."""
    found = _current.get()
    return found is None or not found.is_strict or key in found.keys


def miss() -> None:
    """Notes that a program is not kept.

    Raises:
        NotKept: It must not be compiled.
    """
    found = _current.get()
    if found is not None and found.is_strict:
        found.is_missing = True
        raise NotKept
