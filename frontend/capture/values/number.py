"""Numbers that only Python knows: ``id(x)``, ``threading.get_ident()``."""

from __future__ import annotations

import weakref
from typing import Any

from girih.errors import unsupported
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant


class RunTimeNumber(Value):
    """An int that is asked for again by the surrounding code.

    It can be stored, compared with its like and be a key; for other uses Python has to
    know it.

    Attributes:
        function: The function that gives it.
        held: Its arguments, as ``_held`` gives them.
    """

    def __init__(self, function: Any, *args: Value):
        self.function = function
        self.held = [_held(arg) for arg in args]

    @property
    def args(self) -> list[Value]:
        """Its arguments, which still have to exist."""
        return [_alive(held) for held in self.held]

    @property
    def is_stale(self) -> bool:
        """Whether an argument is gone: other objects may get its number."""
        return any(_referent(held) is None for held in self.held)

    def python_type(self) -> type:
        """``int``."""
        return int

    def identity(self) -> Any:
        """Equal for equal numbers."""
        return self.key()

    def key(self) -> tuple:
        """What two of them have in common if they are equal."""
        return (self.function, *(_Same(held) for held in self.held))

    def truth(self, tracer) -> bool:
        """Addresses and identifiers of threads are not 0."""
        return True

    def __repr__(self) -> str:
        return f"{self.function.__name__}({', '.join(map(repr, self.args))})"


def _held(value: Value) -> Any:
    """A value, or a weak reference to one that lives no longer than in Python.

    An object has one such reference, which stands for it when it is gone, too.
    """
    is_new = value.source is None and value.identity() is value
    return weakref.ref(value) if is_new else value


def _referent(held: Any) -> Value | None:
    return held() if isinstance(held, weakref.ref) else held


def _alive(held: Any) -> Value:
    value = _referent(held)
    return object_is_gone() if value is None else value


def object_is_gone():
    """Raises where the number of an object could be that of another one by now."""
    unsupported(
        kind="id of an object that no longer exists",
        context="id()",
        explanation="Another object may have got its address.",
        hints=("Keep the object as long as its id is used.",),
    )


class _Same:
    """What stands for an object, equal to what stands for the same object."""

    __slots__ = ("held", "identity")

    def __init__(self, held: Any):
        self.held = held
        is_weak = isinstance(held, weakref.ref)
        self.identity = held if is_weak else held.identity()

    def __hash__(self) -> int:
        if isinstance(self.held, Constant):
            return hash((type(self.identity), repr(self.identity)))
        return id(self.identity)

    def __eq__(self, other) -> bool:
        mine, theirs = self.identity, other.identity
        if isinstance(self.held, Constant) and isinstance(other.held, Constant):
            return mine is theirs or (type(mine) is type(theirs) and mine == theirs)
        return mine is theirs
