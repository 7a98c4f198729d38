"""Numbers that only Python knows: ``id(x)``, ``threading.get_ident()``."""

from __future__ import annotations

from typing import Any

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant


class RunTimeNumber(Value):
    """An int that is asked for again by the surrounding code.

    It can be stored, compared with its like and be a key; for other uses Python has to
    know it.

    Attributes:
        function: The function that gives it.
        args: Its arguments.
    """

    def __init__(self, function: Any, *args: Value):
        self.function = function
        self.args = args

    def python_type(self) -> type:
        """``int``."""
        return int

    def identity(self) -> Any:
        """Equal for equal numbers."""
        return self.key()

    def key(self) -> tuple:
        """What two of them have in common if they are equal."""
        return (self.function, *(_Same(arg) for arg in self.args))

    def truth(self, tracer) -> bool:
        """Addresses and identifiers of threads are not 0."""
        return True

    def __repr__(self) -> str:
        return f"{self.function.__name__}({', '.join(map(repr, self.args))})"


class _Same:
    """A traced value that is equal to those that stand for the same object."""

    __slots__ = ("value", "identity")

    def __init__(self, value: Value):
        self.value = value
        self.identity = value.identity()

    def __hash__(self) -> int:
        if isinstance(self.value, Constant):
            return hash((type(self.identity), repr(self.identity)))
        return id(self.identity)

    def __eq__(self, other) -> bool:
        if isinstance(self.value, Constant) and isinstance(other.value, Constant):
            mine, theirs = self.identity, other.identity
            return mine is theirs or (type(mine) is type(theirs) and mine == theirs)
        return self.identity is other.identity
