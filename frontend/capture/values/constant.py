"""Values that are known while tracing."""

from __future__ import annotations

import enum
import re
import types
from typing import Any

import numpy as np

from girih.errors import unsupported
from girih.frontend.capture.models.registry import model_of
from girih.frontend.capture.values.base import NotConstant, Value

# Types whose values are immutable and compare by content.
LITERALS = (int, float, complex, str, bytes, range)
_SINGLETONS = (bool, type(None), type(Ellipsis), type(NotImplemented))


def is_literal(value: Any) -> bool:
    """Whether a value is a number, a text or the like: there is no end of others."""
    return type(value) in LITERALS or isinstance(value, np.generic)


class Constant(Value):
    """An immutable Python value; guarded only when something looks at it.

    Args:
        value: The value.
        source: Where it came from, or None for one made while tracing.
        tracer: Takes the guard; needed with a source.
        by_identity: Guard it with ``is``: for enum members, dtypes and the like.
    """

    def __init__(self, value: Any, source=None, tracer=None, by_identity: bool = False):
        self._value = value
        self.source = source
        self._unguarded = tracer if source is not None else None
        self._by_identity = by_identity or isinstance(value, _SINGLETONS)

    @property
    def value(self) -> Any:
        """The value; looking at it guards it."""
        if self._unguarded is not None:
            self.add_guard(self._unguarded)
            self._unguarded = None
        return self._value

    def add_guard(self, tracer) -> None:
        """Guards the value."""
        kind = "is" if self._by_identity else "equals"
        if kind == "equals" and is_literal(self._value):
            tracer.sizes.check_value(self.source)
        tracer.guards.add(self.source, kind, self._value)

    @property
    def unguarded(self) -> Any:
        """The value, for one who guards what is found out about it."""
        return self._value

    @property
    def is_guarded(self) -> bool:
        """Whether the value is fixed for this cache entry."""
        return self._unguarded is None

    def is_none(self) -> bool:
        """``value is None``; for another value only its type is guarded."""
        if self._value is None:
            return self.value is None
        self.python_type()
        return False

    def python_type(self) -> type:
        """The type of the value, guarded without the value."""
        if self._unguarded is not None:
            self._unguarded.guards.add(self.source, "type", type(self._value))
        return type(self._value)

    def as_python(self) -> Any:
        """The value."""
        return self.value

    def identity(self) -> Any:
        """Small ints and strings are shared by CPython, so the value itself."""
        return self.value

    def truth(self, tracer) -> bool:
        """``bool(value)``."""
        return bool(self.value)

    def length(self, tracer) -> int:
        """``len(value)``."""
        return tracer.fold(len, self.value).value

    def iterate(self, tracer):
        """The items of a string, bytes or range."""
        items = tracer.fold_raw(iter, self.value)
        return (tracer.from_python(item) for item in items)

    def get_item(self, tracer, key):
        """``value[key]``."""
        return tracer.fold(lambda v, k: v[k], self.value, key.as_python())

    def contains(self, tracer, item) -> bool:
        """``item in value``."""
        return tracer.fold_raw(lambda v, i: i in v, self.value, item.as_python())

    def get_attr(self, tracer, name):
        """Attributes of immutable values are constants, their methods are folded."""
        tracer.lookup(type(self.value), name)
        attribute = tracer.fold_raw(getattr, self.value, name)
        if isinstance(attribute, (types.MethodType, types.BuiltinMethodType)) or (
            isinstance(attribute, types.MethodWrapperType)
        ):
            return ConstantMethod(self, name)
        return tracer.from_python(attribute)

    def call_method(self, tracer, name, args, kwargs):
        """Runs the method on known arguments."""
        return ConstantMethod(self, name).call(tracer, args, kwargs)

    def call_c_method(self, tracer, descriptor, args, kwargs):
        """``float.__repr__(value)``: past what the value's own class overrides."""
        if getattr(type(self._value), descriptor.__name__, None) is descriptor:
            return self.call_method(tracer, descriptor.__name__, args, kwargs)
        return tracer.fold_call(descriptor, [self, *args], kwargs)

    def call(self, tracer, args, kwargs):
        """Calls an immutable callable object on known arguments."""
        return tracer.fold_call(self.value, args, kwargs)

    def __repr__(self) -> str:
        return repr(self._value)


class TextConstant(Constant):
    """An immutable value whose text tells more than its equality does.

    Dates of two time zones and decimals of two precisions may be equal.
    """

    def add_guard(self, tracer) -> None:
        """Guards the text."""
        tracer.sizes.check_value(self.source)
        tracer.guards.add(self.source, "type", type(self._value))
        tracer.guards.add(self.source, "call", IsText(repr(self._value)))


class HasText:
    """A guard: ``repr()`` of a value is what it was."""

    def __init__(self, text: str):
        self.text = text
        self.__qualname__ = f"{text} == repr"

    def __call__(self, value: Any) -> bool:
        """Whether it is."""
        return repr(value) == self.text


class IsText(HasText):
    """The same for a value that is its text: there is no end of others."""


def limited_value(guard: Any) -> Any:
    """What a guard holds a number, a text or the like to; None for other guards.

    There is no end of such values, so only so many of them get entries of their own.
    """
    if guard.kind == "call" and isinstance(guard.operand, IsText):
        return guard.operand.text
    is_value = guard.kind == "equals" and is_literal(guard.operand)
    return guard.operand if is_value else None


class ConstantMethod(Value):
    """A bound method of an immutable value."""

    def __init__(self, owner: Constant, name: str):
        self.owner = owner
        self.name = name

    def python_type(self) -> type:
        """The type of the bound method."""
        return type(getattr(self.owner.value, self.name))

    def as_python(self) -> Any:
        """The bound method itself."""
        return getattr(self.owner.value, self.name)

    def call(self, tracer, args, kwargs):
        """Runs it where all arguments are known."""
        tracer.caller = None
        method = getattr(self.owner.value, self.name)
        if isinstance(method, types.MethodType):
            function = tracer.constant(method.__func__)
            return tracer.call(function, [self.owner, *args], kwargs)
        descriptor = getattr(type(self.owner.value), self.name, None)
        if model_of(descriptor) is not None:
            owner = [self.owner] if method.__self__ is self.owner.value else []
            return tracer.call(tracer.held(descriptor), [*owner, *args], kwargs)
        if isinstance(self.owner.value, re.Pattern) and self.name in ("sub", "subn"):
            return self._substitute(tracer, args, kwargs)
        if self.name == "join" and isinstance(self.owner.value, str) and len(args) == 1:
            items = tracer.fast_sequence(args[0], "can only join an iterable")
            args = [tracer.list_of(items)]
        try:
            return tracer.fold_call(method, args, kwargs)
        except NotConstant:
            unsupported(
                kind="method of a constant with traced arguments",
                context=f"{type(self.owner.value).__name__}.{self.name}",
                explanation="The arguments depend on tensors.",
                hints=("Give it plain values.",),
            )

    def _substitute(self, tracer, args, kwargs) -> Value:
        """``pattern.sub(replacement, text)``; the replacement may be a function."""
        method = getattr(self.owner.value, self.name)
        if not args or isinstance(args[0], Constant):
            return tracer.fold_call(method, args, kwargs)

        def replace(match: re.Match) -> Any:
            return tracer.call(args[0], [tracer.held(match)], {}).as_python()

        rest = [arg.as_python() for arg in args[1:]]
        named = {name: value.as_python() for name, value in kwargs.items()}
        return tracer.from_python(method(replace, *rest, **named))


class EnumMember(Constant):
    """A member of an enumeration: compared by identity, attributes are constants."""

    def __init__(self, value: enum.Enum, source=None, tracer=None):
        super().__init__(value, source, tracer, by_identity=True)
