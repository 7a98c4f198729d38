"""Which code was made from which, and the cache of what was made.

Nothing is held alive: what was made goes when nobody uses it any more.
"""

from __future__ import annotations

import dis
import logging
import threading
import types
import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from girih import log
from girih.frontend.capture.resume.identity import ByIdentity
from girih.frontend.capture.resume.layout import Layout

_LOG = log.logger("bytecode")


@dataclass(frozen=True)
class Origin:
    """What a code object was made from.

    Attributes:
        code: The original code.
        kind: ``"resume"``, ``"step"`` or ``"generator"``.
        standing: Index of the original instruction at which the frame stands: the call
            whose callee goes on, the instruction that is stepped, the target otherwise.
        target: Index of the original instruction that the prologue jumps to (of the
            one stepped in step code).
        moment: Index, in the new code, of the instruction that stands for the original
            one: the call of ``inner``, or the copy in step code. The jump otherwise.
        calls: Whether that is the call of ``inner``.
        prologue: How many instructions stand before the original ones.
        layout: The frame that the prologue restores.
        indices: The original index of each instruction after the prologue; None where
            they are the same.
    """

    code: types.CodeType
    kind: str
    standing: int
    target: int
    moment: int
    calls: bool
    prologue: int
    layout: Layout
    indices: tuple[int, ...] | None

    def index_of(self, index: int) -> int:
        """The original index of an instruction of the new code."""
        if index >= self.prologue:
            index -= self.prologue
            return index if self.indices is None else self.indices[index]
        return self.standing if index <= self.moment else self.target


_ORIGINS = ByIdentity()
_MADE = ByIdentity()
# Reentrant: what is allocated under it may run a finaliser.
_LOCK = threading.RLock()


def origin_of(code: types.CodeType) -> Origin | None:
    """What a resume, step or generator code was made from; None for other code."""
    return _ORIGINS.get(code)


def original_code(code: types.CodeType) -> types.CodeType:
    """The code that the user wrote: ``code``, or what it was made from."""
    origin = origin_of(code)
    return code if origin is None else origin.code


def in_prologue(code: types.CodeType, index: int) -> bool:
    """Whether an instruction only restores the frame."""
    origin = origin_of(code)
    return origin is not None and index < origin.prologue and index != origin.moment


def original_position(code: types.CodeType, index: int) -> tuple[types.CodeType, int]:
    """The original instruction that an instruction stands for.

    Up to and with the call of ``inner``, a prologue stands for the instruction at
    which the frame stands; after it for the instruction that it jumps to.
    """
    origin = origin_of(code)
    return (code, index) if origin is None else (origin.code, origin.index_of(index))


def made(
    code: types.CodeType,
    key: Hashable,
    make: Callable[[], tuple[types.CodeType, Origin]],
) -> types.CodeType:
    """Code made under an equal key before, as long as it is in use, or new code."""
    with _LOCK:
        cache = _MADE.get(code)
        if cache is None:
            cache = weakref.WeakValueDictionary()
            _MADE.set(code, cache)
        found = cache.get(key)
        if found is None:
            found, origin = make()
            _ORIGINS.set(found, origin)
            cache[key] = found
            _log(found, origin)
        return found


def _log(code: types.CodeType, origin: Origin) -> None:
    if _LOG.isEnabledFor(logging.INFO):
        text = dis.Bytecode(code).dis().rstrip().replace("\n", "\n  ")
        place = f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})"
        _LOG.info("%s code of %s:\n  %s", origin.kind, place, text)
