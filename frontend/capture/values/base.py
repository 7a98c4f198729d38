"""The base of all traced values, and the exception that carries a traced raise."""

from __future__ import annotations

import inspect
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from girih.errors import unsupported
from girih.frontend.capture.values.arity import arity_of_method
from girih.frontend.capture.values.special import call_operator

if TYPE_CHECKING:
    from girih.frontend.capture.source import Source
    from girih.frontend.capture.tracer import Tracer


# What reading a method gives, by what the class holds.
BOUND_TYPES = {
    types.MethodDescriptorType: types.BuiltinMethodType,
    types.ClassMethodDescriptorType: types.BuiltinMethodType,
    types.BuiltinFunctionType: types.BuiltinMethodType,  # `__new__`
    types.WrapperDescriptorType: types.MethodWrapperType,
    types.FunctionType: types.MethodType,
    classmethod: types.MethodType,
}
_METHODS = (*BOUND_TYPES, staticmethod)


class NotConstant(Exception):
    """A traced value has no Python value that is known while tracing."""


class Raised(Exception):
    """The traced program raised.

    Attributes:
        value: The traced exception.
        is_new: Whether it was raised just now, and not raised again unchanged.
        break_points: Where the trace could stop before it, once known.
        frame: The frame that it was last seen in.
    """

    def __init__(self, value: Value, is_new: bool = True):
        super().__init__(value)
        self.value = value
        self.is_new = is_new
        self.break_points: tuple | None = None
        self.frame: object = None


def type_name(cls: type) -> str:
    """The name of a class in CPython's messages: with its module for C classes."""
    own_maker = isinstance(cls.__dict__.get("__new__"), types.BuiltinFunctionType)
    is_python = bool(cls.__flags__ & 1 << 9) and not own_maker
    plain = is_python or cls.__module__ == "builtins"
    return cls.__name__ if plain else f"{cls.__module__}.{cls.__name__}"


class Value:
    """A Python value of the traced program.

    Attributes:
        source: Where it came from, for a value that existed before the call.
        is_part: Whether it is the builtin part of an object of a subclass.
    """

    source: Source | None = None
    is_part: bool = False

    def python_type(self) -> type:
        """What ``type()`` gives."""
        raise NotImplementedError(type(self).__name__)

    def as_python(self) -> Any:
        """The value itself, where all of it is known.

        Raises:
            NotConstant: It depends on tensors, or is an object made while tracing.
        """
        raise NotConstant(self)

    def identity(self) -> Any:
        """What ``is`` compares: the same object for the same Python object."""
        return self

    def truth(self, tracer: Tracer) -> bool:
        """``bool(self)``."""
        return True

    def length(self, tracer: Tracer) -> int:
        """``len(self)``."""
        kind = self.python_type().__name__
        tracer.throw(TypeError, f"object of type '{kind}' has no len()")

    def iterate(self, tracer: Tracer) -> Iterator[Value]:
        """The items, as a Python iterator over traced values."""
        kind = self.python_type().__name__
        tracer.throw(TypeError, f"'{kind}' object is not iterable")

    def get_item(self, tracer: Tracer, key: Value) -> Value:
        """``self[key]``."""
        kind = self.python_type().__name__
        tracer.throw(TypeError, f"'{kind}' object is not subscriptable")

    def set_item(self, tracer: Tracer, key: Value, value: Value) -> None:
        """``self[key] = value``."""
        kind = self.python_type().__name__
        message = f"'{kind}' object does not support item assignment"
        tracer.throw(TypeError, message)

    def delete_item(self, tracer: Tracer, key: Value) -> None:
        """``del self[key]``."""
        kind = self.python_type().__name__
        message = f"'{kind}' object doesn't support item deletion"
        tracer.throw(TypeError, message)

    def contains(self, tracer: Tracer, item: Value) -> bool:
        """``item in self``."""
        return any(tracer.equal(own, item) for own in self.iterate(tracer))

    def get_attr(self, tracer: Tracer, name: str) -> Value:
        """``self.name``; by default the methods of a builtin type."""
        cls = self.python_type()
        if name == "__class__":
            return tracer.constant(cls)
        # What the metaclass has is found on the class, and not on its objects.
        member, owner = tracer.lookup(cls, name)
        if owner is None:
            message = f"'{type_name(cls)}' object has no attribute '{name}'"
            tracer.throw(AttributeError, message)
        if isinstance(member, _METHODS):
            return Method(self, name)
        if tracer.lookup(type(member), "__get__")[1] is None:
            return tracer.class_member(cls, name)
        unsupported(
            kind="attribute of a builtin value",
            context=f"{cls.__name__}.{name}",
            explanation="girih does not model this attribute.",
        )

    def set_attr(self, tracer: Tracer, name: str, value: Value | None) -> None:
        """``self.name = value``, or ``del self.name`` for None."""
        unsupported(
            kind="attribute assignment",
            context=f"{self.python_type().__name__}.{name}",
            explanation="Attributes of this kind of object can't be set in a graph.",
        )

    def call(
        self, tracer: Tracer, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        """``self(*args, **kwargs)``."""
        kind = type_name(self.python_type())
        tracer.throw(TypeError, f"'{kind}' object is not callable")

    def call_method(
        self, tracer: Tracer, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        """``self.name(*args, **kwargs)`` for a method of a builtin type."""
        tracer.caller = None  # what it calls gives parts of its result at most
        method = getattr(self, "method_" + name, None)
        if method is None:
            found = self._call_special_method(tracer, name, args)
            if found is not None:
                return found
            unsupported(
                kind="method of a builtin value",
                context=f"{self.python_type().__name__}.{name}",
                explanation="girih does not model this method.",
            )
        cls = self.python_type()
        if not arity_of_method(cls, name).takes(len(args), kwargs):
            reject_arguments(cls, name, args, kwargs, tracer)
        try:
            return method(tracer, *args, **kwargs)
        except TypeError:
            check_arguments(cls, name, method, args, kwargs, tracer)
            raise

    def _call_special_method(self, tracer, name: str, args: list[Value]):
        """An operator called by its method's name; None for other methods."""
        return call_operator(tracer, self, name, args)

    def call_c_method(self, tracer, descriptor, args, kwargs) -> Value:
        """``descriptor(self, *args, **kwargs)`` for a method written in C."""
        return self.call_method(tracer, descriptor.__name__, args, kwargs)

    def __repr__(self) -> str:
        kind = type_name(self.python_type())
        return f"a {kind}, {self.source}" if self.source else f"a {kind}"


def check_arguments(cls: type, name: str, method, args, kwargs, tracer) -> None:
    """Tells a call that a model of a method does not take from a bug in it."""
    try:
        inspect.signature(method).bind(tracer, *args, **kwargs)
    except TypeError:
        reject_arguments(cls, name, args, kwargs, tracer)


def reject_arguments(cls: type, name: str, args, kwargs, tracer) -> None:
    """Raises what CPython raises where a method does not take the arguments."""
    if cls in (list, tuple, dict, set, frozenset, deque, OrderedDict, defaultdict):
        nothing = [None] * len(args)
        tracer.fold_raw(getattr(cls, name), cls(), *nothing, **dict.fromkeys(kwargs))
    unsupported(
        kind="arguments that girih's model of a method does not take",
        context=f"{cls.__name__}.{name}",
        explanation=(
            "The call raises an error in Python, or has a form that girih does "
            "not model."
        ),
    )


class Method(Value):
    """A method of a builtin value, bound.

    Attributes:
        owner: The value.
        name: The method's name.
    """

    def __init__(self, owner: Value, name: str, source=None):
        self.owner = owner
        self.name = name
        self.source = source

    def python_type(self) -> type:
        """The type of bound methods of this kind."""
        member = inspect.getattr_static(self.owner.python_type(), self.name, None)
        if isinstance(member, staticmethod):
            return type(member.__func__)
        return BOUND_TYPES.get(type(member), types.BuiltinMethodType)

    def identity(self) -> Any:
        """Bound methods are made anew at each access; equal ones never are one."""
        return self

    def get_attr(self, tracer: Tracer, name: str) -> Value:
        """``__self__`` and ``__name__``."""
        if name == "__self__":
            return self.owner
        if name == "__name__":
            return tracer.constant(self.name)
        return super().get_attr(tracer, name)

    def call(self, tracer, args, kwargs):
        """Calls the method."""
        return self.owner.call_method(tracer, self.name, args, kwargs)


class Null(Value):
    """The NULL that CPython pushes beside a callable."""

    def python_type(self) -> type:
        """NULL is no Python object."""
        return type(None)


NULL = Null()
