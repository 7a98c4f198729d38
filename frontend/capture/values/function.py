"""Python functions, cells, bound methods, partials."""

from __future__ import annotations

import functools
import inspect
import types
from typing import TYPE_CHECKING, Any

from girih.errors import unsupported
from girih.frontend.capture.values.base import NotConstant, Value
from girih.frontend.capture.values.lookup import MISSING, static_lookup
from girih.frontend.capture.values.sequence import TupleValue

_KEPT = ("__doc__", "__module__", "__type_params__")  # and no more than that

if TYPE_CHECKING:
    from girih.frontend.capture.values.mapping import DictValue


class CellValue(Value):
    """A closure cell.

    Attributes:
        content: What is in it; None while it is empty.
        real: The cell, if it existed before the call.
    """

    def __init__(self, content: Value | None = None, source=None, real=None):
        self.content = content
        self.source = source
        self.real = real

    def python_type(self) -> type:
        """The type of cells."""
        return types.CellType

    def get_attr(self, tracer, name):
        """``cell_contents``."""
        if name == "cell_contents" and self.content is not None:
            return self.content
        return super().get_attr(tracer, name)


class FunctionValue(Value):
    """A Python function, either one that exists or one made while tracing.

    Attributes:
        code: Its code.
        namespace: Its globals.
        real: The function, if it existed before the call.
        attributes: What is set in C of one made while tracing: ``__doc__``, ....
        own: Its ``__dict__``, of one made while tracing.
        by_code: The tracer, where the guard is on the code alone: calls may bring
            functions that differ in their cells. Asked for its identity, it is guarded
            by that too.
    """

    by_code: Any = None

    def __init__(self, code, namespace: dict, source=None, real=None):
        self.code: types.CodeType = code
        self.namespace = namespace
        self.source = source
        self.real: types.FunctionType | None = real
        self.attributes: dict[str, Value] = {}
        self.own: DictValue | None = None
        self.name = code.co_name
        self.qualname = code.co_qualname
        self._defaults: list[Value] | None = None
        self._keyword_defaults: dict[str, Value] | None = None
        self._closure: list[CellValue] | None = None

    @classmethod
    def of(cls, function: types.FunctionType, source) -> FunctionValue:
        """A function that exists."""
        value = cls(function.__code__, function.__globals__, source, function)
        value.name = function.__name__
        value.qualname = function.__qualname__
        return value

    def make(self, defaults, keyword_defaults, closure) -> FunctionValue:
        """Completes a function made while tracing."""
        self._defaults = defaults
        self._keyword_defaults = keyword_defaults
        self._closure = closure
        return self

    def python_type(self) -> type:
        """The type of functions."""
        return types.FunctionType

    def as_python(self) -> Any:
        """The function, if it existed before."""
        if self.real is None:
            raise NotConstant(self)
        self._guard_identity()
        return self.real

    def identity(self) -> Any:
        """The function itself."""
        self._guard_identity()
        return self if self.real is None else self.real

    def _guard_identity(self) -> None:
        if self.by_code is not None and self.source.access != "function":
            self.by_code.guards.add(self.source, "is", self.real)

    def defaults(self, tracer) -> list[Value]:
        """Values of the positional parameters' defaults."""
        if self._defaults is None:
            real = self.real.__defaults__ or ()
            base = self._base(tracer).attribute("__defaults__")
            if self.by_code is not None:
                kind = ("length", len(real)) if real else ("is", None)
                tracer.guards.add(base, *kind)
            self._defaults = [
                tracer.wrap(value, base.index(index))
                for index, value in enumerate(real)
            ]
        return self._defaults

    def keyword_defaults(self, tracer) -> dict[str, Value]:
        """Values of the keyword-only parameters' defaults."""
        if self._keyword_defaults is None:
            real = self.real.__kwdefaults__ or {}
            base = self._base(tracer).attribute("__kwdefaults__")
            self._keyword_defaults = {
                name: tracer.wrap(value, base.dict_item(name))
                for name, value in real.items()
            }
        return self._keyword_defaults

    def closure(self, tracer) -> list[CellValue]:
        """The cells of the free variables."""
        if self._closure is None:
            cells = self.real.__closure__ or ()
            self._closure = [
                tracer.cell(cell, self._cell_source(tracer, cell, index))
                for index, cell in enumerate(cells)
            ]
        return self._closure

    def _base(self, tracer):
        """The source of attributes; most functions are guarded by identity."""
        return self.source if self.by_code else tracer.roots.constant(self.real)

    def _cell_source(self, tracer, cell, index: int):
        # Nested functions of one code share it, but each call has its own cells.
        if self.by_code:
            return self.source.closure(index)
        return tracer.roots.constant(cell, f"{self.name}.__closure__[{index}]")

    def get_attr(self, tracer, name):
        """Attributes of functions."""
        if name in self.attributes:
            return self.attributes[name]
        if name in ("__name__", "__qualname__"):
            known = self.name if name == "__name__" else self.qualname
            if self.real is None:
                return tracer.constant(known)
            return tracer.wrap(known, self._base(tracer).attribute(name))
        if name == "__code__":
            return tracer.constant(self.code)
        if name == "__defaults__":
            defaults = self.defaults(tracer)
            return TupleValue(defaults) if defaults else tracer.constant(None)
        if name == "__get__":
            return super().get_attr(tracer, name)
        if self.real is not None and hasattr(self.real, name):
            return self._real_attr(tracer, name)
        return self._made_attr(tracer, name)

    def _real_attr(self, tracer, name: str) -> Value:
        value = getattr(self.real, name)
        base = self._base(tracer)
        if name in self.real.__dict__:
            return tracer.wrap_found(value, base.in_instance(name))
        if name == "__dict__":
            return tracer.wrap(value, base.instance_dict())
        return tracer.wrap(value, base.attribute(name))

    def _made_attr(self, tracer, name: str) -> Value:
        if name == "__module__":
            return tracer.constant(self.namespace.get("__name__"))
        if name == "__type_params__":
            return TupleValue([])
        if name == "__doc__":
            docstring = self.code.co_consts[0] if self.code.co_consts else None
            is_text = isinstance(docstring, str)
            return tracer.constant(docstring if is_text else None)
        if name == "__dict__":
            return self._namespace(tracer)
        if name == "__annotations__":
            made = self.attributes[name] = tracer.dict_of([])
            return made
        if name == "__kwdefaults__":
            named = self.keyword_defaults(tracer)
            pairs = [(tracer.constant(key), value) for key, value in named.items()]
            return tracer.dict_of(pairs) if pairs else tracer.constant(None)
        if self.real is not None:
            tracer.guards.add(self._base(tracer).instance_dict(), "absent", name)
        found = self._namespace(tracer).find(tracer, tracer.constant(name))
        return super().get_attr(tracer, name) if found is None else found

    def _namespace(self, tracer) -> DictValue:
        if self.own is None:
            self.own = tracer.dict_of([])
        return self.own

    def set_attr(self, tracer, name, value):
        """Sets an attribute of a function made while tracing; None deletes."""
        if self.real is not None:
            super().set_attr(tracer, name, value)
        if static_lookup(types.FunctionType, name)[0] is not MISSING:
            self._set_in_c(tracer, name, value)
        elif value is not None:
            self._namespace(tracer).set_item(tracer, tracer.constant(name), value)
        elif self._namespace(tracer).find(tracer, tracer.constant(name)) is None:
            text = f"'function' object has no attribute '{name}'"
            tracer.throw(AttributeError, text)
        else:
            self._namespace(tracer).delete_item(tracer, tracer.constant(name))

    def _set_in_c(self, tracer, name: str, value: Value | None) -> None:
        """Sets what the C code of functions keeps and checks."""
        if name in ("__name__", "__qualname__") and value is not None:
            like = function_like(self.code)
            tracer.fold_raw(setattr, like, name, value.as_python())  # may raise
            setattr(self, name.strip("_"), value.as_python())
        elif name == "__defaults__" and isinstance(value, TupleValue):
            self._defaults = list(value.items)
        elif name in _KEPT and value is not None:
            self.attributes[name] = value
        elif name == "__annotations__" and value is not None:
            self.attributes[name] = value
        else:
            unsupported(
                kind="assignment to a part of a function",
                context=f"{self.qualname}.{name}",
                explanation=(
                    "girih assumes that this attribute of a function never changes."
                ),
            )

    def call(self, tracer, args, kwargs):
        """Follows the call."""
        return tracer.call_function(self, args, kwargs)

    def method___get__(self, tracer, instance, owner=None):
        """Binds the function as a method."""
        if tracer.is_none(instance):
            return self
        return BoundMethod(self, instance)

    def method___call__(self, tracer, /, *args, **kwargs):
        """``self(*args, **kwargs)``."""
        return self.call(tracer, list(args), kwargs)

    def __repr__(self) -> str:
        return f"the function {self.qualname}"


def function_like(code: types.CodeType) -> types.FunctionType:
    """A function that takes the arguments that a code takes, and does nothing."""
    flags = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
    nothing = (lambda: None).__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += sum(bool(code.co_flags & flag) for flag in flags)
    made = nothing.replace(
        co_argcount=code.co_argcount,
        co_posonlyargcount=code.co_posonlyargcount,
        co_kwonlyargcount=code.co_kwonlyargcount,
        co_varnames=code.co_varnames[:count],
        co_nlocals=count,
        co_flags=nothing.co_flags | code.co_flags & sum(flags),
        co_name=code.co_name,
    )
    return types.FunctionType(made, {})


def name_of_callee(callee: Value) -> str:
    """How CPython names what is called, where it says something of the arguments.

    Source: ``_PyObject_FunctionStr`` in Objects/object.c.
    """
    if isinstance(callee, BoundMethod):
        callee = callee.function
    if isinstance(callee, FunctionValue):
        module, name = callee.namespace.get("__name__"), callee.qualname
    else:
        function = callee.as_python()
        module = getattr(function, "__module__", None)
        name = getattr(function, "__qualname__", None)
        if name is None:
            return repr(function)
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"


class BoundMethod(Value):
    """A method bound to an instance or a class."""

    def __init__(self, function: Value, owner: Value, source=None):
        self.function = function
        self.owner = owner
        self.source = source

    def python_type(self) -> type:
        """The type of bound methods."""
        return types.MethodType

    def identity(self) -> Any:
        """Bound methods are made anew at each access."""
        return self

    def as_python(self) -> Any:
        """A bound method, if the instance is known."""
        return types.MethodType(self.function.as_python(), self.owner.as_python())

    def get_attr(self, tracer, name):
        """``__self__``, ``__func__`` and the function's attributes."""
        if name == "__self__":
            return self.owner
        if name == "__func__":
            return self.function
        return self.function.get_attr(tracer, name)

    def call(self, tracer, args, kwargs):
        """Calls the function with the owner first."""
        return tracer.call(self.function, [self.owner, *args], kwargs)


class PartialValue(Value):
    """``functools.partial``.

    Attributes:
        function: What it calls.
        args: The arguments that come first.
        kwargs: The arguments by name.
        real: The partial, if it existed before the call.
    """

    def __init__(
        self, function: Value, args: list[Value], kwargs, source=None, real=None
    ):
        self.function = function
        self.args = args
        self.kwargs: dict[str, Value] = kwargs
        self.source = source
        self.real: functools.partial | None = real

    def python_type(self) -> type:
        """``functools.partial``."""
        return functools.partial

    def as_python(self) -> Any:
        """An equal partial, where all of it is known."""
        kwargs = {name: value.as_python() for name, value in self.kwargs.items()}
        args = [value.as_python() for value in self.args]
        return functools.partial(self.function.as_python(), *args, **kwargs)

    def get_attr(self, tracer, name):
        """``func``, ``args`` and ``keywords``; what the program has set."""
        if name == "func":
            return self.function
        if name == "args":
            return TupleValue(list(self.args))
        if name == "keywords":
            return tracer.dict_of(
                [(tracer.constant(key), value) for key, value in self.kwargs.items()]
            )
        if self.real is not None and name != "__class__":
            return self._real_attr(tracer, name)
        return super().get_attr(tracer, name)

    def _real_attr(self, tracer, name: str) -> Value:
        namespace = self.source.instance_dict()
        if name == "__dict__":
            return tracer.wrap(self.real.__dict__, namespace)
        if name in self.real.__dict__:
            return tracer.wrap_found(
                self.real.__dict__[name], self.source.in_instance(name)
            )
        tracer.guards.add(namespace, "absent", name)
        return super().get_attr(tracer, name)

    def call(self, tracer, args, kwargs):
        """Calls the function with the stored arguments first."""
        merged = {**self.kwargs, **kwargs}
        return tracer.call(self.function, [*self.args, *args], merged)
