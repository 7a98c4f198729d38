"""Functions written in C, and Python modules."""

from __future__ import annotations

import types
from typing import Any

from girih.frontend.capture.values.base import Raised, Value
from girih.frontend.capture.values.lookup import (
    MISSING,
    is_changeable,
    is_of_library,
)


class BuiltinValue(Value):
    """A callable that is not a Python function: builtins, torch's operators, ...."""

    def __init__(self, function: Any, source=None):
        self.function = function
        self.source = source

    def python_type(self) -> type:
        """Its type."""
        return type(self.function)

    def as_python(self) -> Any:
        """The callable."""
        return self.function

    def identity(self) -> Any:
        """The callable."""
        return self.function

    def get_attr(self, tracer, name):
        """Attributes of callables are constants."""
        return tracer.held(tracer.fold_raw(getattr, self.function, name))

    def call(self, tracer, args, kwargs):
        """Calls it: modelled, in the graph, or folded."""
        return tracer.call_builtin(self, args, kwargs)

    def __repr__(self) -> str:
        return repr(self.function)


class NamespaceValue(Value):
    """A Python module."""

    def __init__(self, module: Any, source=None):
        self.module = module
        self.source = source

    def python_type(self) -> type:
        """The type of modules."""
        return type(self.module)

    def as_python(self) -> Any:
        """The module."""
        return self.module

    def identity(self) -> Any:
        """The module."""
        return self.module

    def get_attr(self, tracer, name):
        """``module.name``, by Python's rules: ``__getattr__`` where it is missing."""
        namespace, cls = vars(self.module), type(self.module)
        if isinstance(tracer.lookup(cls, "__getattribute__")[0], types.FunctionType):
            method = tracer.class_member(cls, "__getattribute__")
            return tracer.call(method, [self, tracer.constant(name)], {})
        above, _ = tracer.lookup(cls, name)
        if is_changeable(cls) and tracer.is_data_descriptor(above):
            return tracer.held(tracer.fold_raw(getattr, self.module, name))
        if name in namespace or (id(namespace), name) in tracer.effects.globals:
            return self._global(tracer, name)
        if name == "__dict__":
            return tracer.held(namespace)
        return self._missing(tracer, name)

    def _root(self, tracer):
        label = f"{self.module.__name__}.__dict__"
        return tracer.roots.constant(vars(self.module), label)

    def _global(self, tracer, name: str) -> Value:
        found = tracer.load_global(vars(self.module), name, self._root(tracer))
        if found is None:  # it was deleted
            text = f"module '{self.module.__name__}' has no attribute '{name}'"
            tracer.throw(AttributeError, text)
        return found

    def _missing(self, tracer, name: str) -> Value:
        """What the class says of a name, or the module's own ``__getattr__``."""
        namespace, above = vars(self.module), type(self.module)
        is_plain = tracer.lookup(above, name)[0] is MISSING
        is_plain = tracer.lookup(above, "__getattr__")[0] is MISSING and is_plain
        getter = namespace.get("__getattr__") if is_plain else None
        if getter is not None and not is_of_library(getter):
            tracer.guards.add(self._root(tracer), "absent", name)
            return tracer.call(
                self._global(tracer, "__getattr__"), [tracer.constant(name)], {}
            )
        if is_plain and getter is None:
            tracer.load_global(namespace, "__getattr__", self._root(tracer))
        return self._read(tracer, name)

    def _read(self, tracer, name: str) -> Value:
        """What ``getattr`` gives; lazy modules put it into their namespace."""
        namespace = vars(self.module)
        try:
            found = tracer.fold_raw(getattr, self.module, name)
        except Raised:
            tracer.guards.add(self._root(tracer), "absent", name)
            raise
        if name in namespace:
            return self._global(tracer, name)
        tracer.guards.add(self._root(tracer), "absent", name)
        return tracer.held(found)

    def own_dir(self, tracer) -> Value | None:
        """What the module's own ``__dir__`` gives; None without one."""
        found = tracer.load_global(vars(self.module), "__dir__", self._root(tracer))
        return None if found is None else tracer.call(found, [], {})

    def set_attr(self, tracer, name, value):
        """Sets a global of the module, or deletes it."""
        if value is None:
            self.get_attr(tracer, name)  # raises where there is none
        tracer.store_global(vars(self.module), name, value)
