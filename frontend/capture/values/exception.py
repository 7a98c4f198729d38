"""Exceptions of the traced program."""

from __future__ import annotations

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import TupleValue

_FIELDS = ("__cause__", "__context__", "__traceback__", "__suppress_context__")


class ExceptionValue(ObjectValue):
    """An exception that was made while tracing."""

    def __init__(self, cls: type[BaseException], args: list[Value]):
        super().__init__(cls)
        self.args = args

    def find_attr(self, tracer, name):
        """``args`` and the chaining attributes; others as for any object."""
        if name in self.attributes:
            return self.attributes[name]
        if name == "args":
            return TupleValue(self.args)
        if name in _FIELDS:
            return tracer.constant(None)
        if name == "value" and issubclass(self.cls, StopIteration):
            return self.args[0] if self.args else tracer.constant(None)
        return super().find_attr(tracer, name)

    def generic_set_attr(self, tracer, name, value):
        """Sets an attribute; ``args`` as well."""
        if name == "args":
            self.args = list(value.iterate(tracer))
        else:
            self.attributes[name] = value

    def set_context(self, handled: Value) -> None:
        """Notes which exception was being handled when this one was raised."""
        if handled is not self:
            self.attributes.setdefault("__context__", handled)

    def _text(self, method: str) -> str:
        known = [item.as_python() for item in self.args]
        if method == "__repr__":
            parts = ", ".join(repr(item) for item in known)
            return f"{self.cls.__name__}({parts})"
        builtin = next(c for c in self.cls.__mro__ if c.__module__ == "builtins")
        return str(builtin(*known))

    def call_method(self, tracer, name, args, kwargs):
        """Methods of ``BaseException``."""
        if name == "__init__":
            self.args = list(args)
            return tracer.constant(None)
        if name == "with_traceback":
            return self
        if name == "add_note":
            notes = self.attributes.setdefault("__notes__", tracer.list_of([]))
            return notes.method_append(tracer, *args)
        if name in ("__str__", "__repr__"):
            return tracer.constant(self._text(name))
        return super().call_method(tracer, name, args, kwargs)
