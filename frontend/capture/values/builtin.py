"""Functions written in C, and Python modules."""

from __future__ import annotations

from typing import Any

from girih.frontend.capture.values.base import Value


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
        """A global of the module."""
        namespace = vars(self.module)
        if name in namespace or (id(namespace), name) in tracer.effects.globals:
            root = tracer.roots.constant(namespace, f"{self.module.__name__}.__dict__")
            found = tracer.load_global(namespace, name, root)
            if found is None:  # it was deleted
                text = f"module '{self.module.__name__}' has no attribute '{name}'"
                tracer.throw(AttributeError, text)
            return found
        if name == "__dict__":
            return tracer.held(namespace)
        return tracer.held(tracer.fold_raw(getattr, self.module, name))

    def set_attr(self, tracer, name, value):
        """Sets a global of the module, or deletes it."""
        if value is None:
            self.get_attr(tracer, name)  # raises where there is none
        tracer.store_global(vars(self.module), name, value)
