"""``operator.itemgetter``, ``attrgetter`` and ``methodcaller``."""

from __future__ import annotations

import operator
from typing import Any

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.sequence import TupleValue


class GetterValue(Value):
    """A callable that gets items or attributes, or calls a method.

    Attributes:
        cls: Its class.
        args: What it was made with.
        kwargs: The keyword arguments of a method.
    """

    def __init__(self, cls: type, args: list[Value], kwargs, source=None):
        self.cls = cls
        self.args = args
        self.kwargs: dict[str, Value] = kwargs
        self.source = source

    def python_type(self) -> type:
        """The class."""
        return self.cls

    def as_python(self) -> Any:
        """An equal one, where its arguments are known."""
        kwargs = {name: value.as_python() for name, value in self.kwargs.items()}
        return self.cls(*(arg.as_python() for arg in self.args), **kwargs)

    def call(self, tracer, args, kwargs):
        """Gets what it was made for."""
        tracer.caller = None
        if len(args) != 1 or kwargs:
            name = self.cls.__name__
            message = f"{name} expected 1 argument, got {len(args)}"
            tracer.throw(TypeError, message)
        (owner,) = args
        if self.cls is operator.methodcaller:
            method = tracer.get_attr(owner, self.args[0].as_python())
            return tracer.call(method, self.args[1:], self.kwargs)
        found = [self._get(tracer, owner, key) for key in self.args]
        return found[0] if len(found) == 1 else TupleValue(found)

    def _get(self, tracer, owner: Value, key: Value) -> Value:
        if self.cls is operator.itemgetter:
            return tracer.get_item(owner, key)
        for name in key.as_python().split("."):
            owner = tracer.get_attr(owner, name)
        return owner
