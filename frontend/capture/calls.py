"""Calls: binding arguments, following functions, making objects."""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import logging
import types
from typing import Any

import torch

from girih.errors import unsupported
from girih.frontend.capture.finalizers import refuse_to_make
from girih.frontend.capture.frame import Frame
from girih.frontend.capture.models import families  # noqa: F401  (registers models)
from girih.frontend.capture.models.registry import model_of, prepare
from girih.frontend.capture.models.torch_operations import (
    TorchCalls,
    is_operation,
    is_tensor_method,
)
from girih.frontend.capture.numpy_numbers import is_of_numpy, refused_warnings
from girih.frontend.capture.values.arity import arity_of
from girih.frontend.capture.values.base import NotConstant, Raised, Value
from girih.frontend.capture.values.builtin import BuiltinValue
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.exception import ExceptionValue
from girih.frontend.capture.values.exception_making import (
    exception_like,
    new_exception,
)
from girih.frontend.capture.values.function import FunctionValue, function_like
from girih.frontend.capture.values.iterator import GeneratorValue
from girih.frontend.capture.values.lookup import (
    c_base,
    has_python_layer,
    is_plain_tuple_class,
    static_lookup,
)
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.module import ModuleValue
from girih.frontend.capture.values.object import LITERAL_BASES, ObjectValue
from girih.frontend.capture.values.outside import OutsideValue
from girih.frontend.capture.values.sequence import ListValue, TupleValue
from girih.frontend.capture.values.set import SetValue
from girih.frontend.capture.values.tensor import TensorValue

_ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_MAXIMAL_DEPTH = 150
_NOTHING = contextlib.nullcontext()

# C functions and types that only compute with their arguments.
_PURE_MODULES = frozenset(
    """builtins math cmath operator _operator itertools _functools _collections
    collections string re _sre struct _struct datetime decimal fractions numbers
    typing types copy keyword unicodedata""".split()
)


class Calls(TorchCalls):
    """Mixin of the tracer: everything that is called."""

    def call(self, callee: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """``callee(*args, **kwargs)``."""
        return callee.call(self, args, kwargs)

    def call_from(self, frame: Frame, callee: Value, args, kwargs) -> Value:
        """A call whose result is what the frame's instruction pushes."""
        self.caller = frame
        try:
            return callee.call(self, args, kwargs)
        finally:
            self.caller = None

    def call_method(self, owner: Value, name: str, args: list[Value]) -> Value:
        """``owner.name(*args)``."""
        return self.call(self.get_attr(owner, name), args, {})

    # Functions

    def call_function(self, function: FunctionValue, args, kwargs) -> Value:
        """A Python function: modelled, an operation of the graph, or followed."""
        caller, self.caller = self.caller, None
        if function.real is not None:
            model = model_of(function.real, function)
            if model is not None:
                made = self._call_model(function.real, model, args, kwargs)
                if made is not None:
                    return made
            if is_operation(function.real):
                made = self.call_operation(function.real, args, kwargs)
                if made is not None:
                    return made
            prepare(function.real)
        self._check_followable(function)
        frame = Frame(function, self.bind(function, args, kwargs))
        frame.node_count = self.graph.node_count
        frame.is_direct = caller is not None and caller is self.frames[-1]
        kind, value = self.run(frame)
        if kind == "generator":
            frame.is_direct = False
            return GeneratorValue(frame)
        return value

    def _call_model(self, function, model, args, kwargs) -> Value:
        self.caller = None
        if not arity_of(function).takes(len(args), kwargs):
            self.reject_arguments(function, args, kwargs)
        try:
            return model(self, *args, **kwargs)
        except TypeError:
            _check_arguments(function, model, self, args, kwargs)
            raise

    def _check_followable(self, function: FunctionValue) -> None:
        if function.code.co_flags & _ASYNC:
            unsupported(
                kind="call of an async function",
                context=function.qualname,
                explanation="Coroutines are not captured.",
                hints=("Call it outside of compiled code.",),
            )
        self.budget.check(function.code)
        if len(self.frames) >= _MAXIMAL_DEPTH:
            unsupported(
                kind="calls nested too deeply",
                context=function.qualname,
                explanation=f"More than {_MAXIMAL_DEPTH} calls are nested.",
            )

    def bind(self, function: FunctionValue, args, kwargs) -> dict[str, Value]:
        """The locals of a new frame."""
        code = function.code
        names = code.co_varnames
        count, keyword_only = code.co_argcount, code.co_kwonlyargcount
        bound = dict(zip(names[:count], args, strict=False))
        rest = count + keyword_only
        if code.co_flags & inspect.CO_VARARGS:
            bound[names[rest]] = TupleValue(list(args[count:]))
            rest += 1
        elif len(args) > count:
            self._bind_wrongly(function, args, kwargs)
        extra = self._bind_keywords(function, args, kwargs, bound)
        if code.co_flags & inspect.CO_VARKEYWORDS:
            pairs = [(self.constant(name), value) for name, value in extra.items()]
            bound[names[rest]] = self.dict_of(pairs)
        elif extra:
            self._bind_wrongly(function, args, kwargs)
        if not self._bind_defaults(function, bound):
            self._bind_wrongly(function, args, kwargs)
        return bound

    def _bind_wrongly(self, function: FunctionValue, args, kwargs):
        """Raises what Python raises for arguments that a function does not take."""
        like = function_like(function.code)
        like.__qualname__ = function.qualname
        like.__defaults__ = (None,) * len(function.defaults(self))
        like.__kwdefaults__ = dict.fromkeys(function.keyword_defaults(self))
        self.fold_raw(like, *[None] * len(args), **dict.fromkeys(kwargs))
        raise AssertionError(f"girih bug: {function.qualname} takes the arguments")

    def _bind_keywords(self, function, args, kwargs, bound) -> dict[str, Value]:
        code = function.code
        named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        allowed = set(named[code.co_posonlyargcount :])
        extra = {}
        for name, value in kwargs.items():
            if name not in allowed:
                extra[name] = value
            elif name in bound:
                self._bind_wrongly(function, args, kwargs)
            else:
                bound[name] = value
        return extra

    def _bind_defaults(self, function, bound) -> bool:
        """Binds what was not given; False where something has no default."""
        code = function.code
        count = code.co_argcount
        named = code.co_varnames[: count + code.co_kwonlyargcount]
        missing = [name for name in named if name not in bound]
        if not missing:
            return True
        defaults = function.defaults(self)
        by_name = dict(zip(named[count - len(defaults) : count], defaults, strict=True))
        by_name.update(function.keyword_defaults(self))
        for name in missing:
            if name not in by_name:
                return False
            bound[name] = by_name[name]
        return True

    def reject_arguments(self, function, args, kwargs):
        """Raises what CPython raises for a call that it does not even begin."""
        self.fold_raw(function, *[None] * len(args), **dict.fromkeys(kwargs))
        _unmodelled_arguments(function)

    # C functions

    def call_builtin(self, callee: BuiltinValue, args, kwargs) -> Value:
        """A C function: modelled, an operation, a method of a type, or folded."""
        self.caller = None
        function = callee.function
        model = model_of(function)
        if model is not None:
            return self._call_model(function, model, args, kwargs)
        if is_operation(function):
            return self.call_operation(function, args, kwargs)
        if args and is_tensor_method(function) and isinstance(args[0], TensorValue):
            return self._call_tensor_method(function, args, kwargs)
        if isinstance(function, functools._lru_cache_wrapper):
            return self._call_cached(function, args, kwargs)
        return self._call_c_function(function, args, kwargs)

    def _call_tensor_method(self, function, args, kwargs) -> Value:
        """A method of tensors that was taken from the class."""
        name = function.__name__
        if static_lookup(args[0].cls, name)[0] is function:
            return args[0].call_method(self, name, args[1:], kwargs)
        unsupported(
            kind="method of tensors that the program replaced",
            context=f"torch.Tensor.{name}",
            explanation=(
                "A graph calls methods by name, and the name now means the "
                "program's method."
            ),
        )

    def _call_c_function(self, function, args, kwargs) -> Value:
        owner = getattr(function, "__objclass__", None)
        if owner is not None and args and issubclass(args[0].python_type(), owner):
            return args[0].call_c_method(self, function, args[1:], kwargs)
        bound_to = getattr(function, "__self__", None)
        if isinstance(bound_to, type) and function.__name__ == "__new__":
            if not args:
                self.fold_raw(function)  # raises
            return self.allocate(args[0].as_python(), args[1:], kwargs)
        if bound_to in (int, float, str, bytes):
            return self.fold_call(function, args, kwargs)
        if bound_to is not None and not isinstance(bound_to, types.ModuleType):
            return self._call_bound(function, bound_to, args, kwargs)
        if getattr(function, "__module__", None) in _PURE_MODULES:
            return self.fold_call(function, args, kwargs)
        unsupported(
            kind="call of a C function",
            context=f"{getattr(function, '__module__', '')}.{_name_of(function)}",
            explanation="girih does not know what the function does.",
            hints=(
                "Wrap it with torch.library.custom_op, or give a Python function "
                "in its place with girih.substitute_in_graph.",
            ),
        )

    def _call_bound(self, function, owner: Any, args, kwargs) -> Value:
        """A C method bound to an object that existed before."""
        value = self.held(owner)
        return value.call_method(self, function.__name__, args, kwargs)

    def _call_cached(self, function, args, kwargs) -> Value:
        """``functools.lru_cache``: the result, or the function it wraps."""
        if args and issubclass(args[0].python_type(), logging.Logger):
            # "Warn once": with a known message, once is now.
            items = [args[0].real, *(arg.as_python() for arg in args[1:])]
            return self.from_python(self.fold_raw(function, *items))
        try:
            return self.fold_call(function, args, kwargs, held=True)
        except NotConstant:
            return self.call(self.held(function.__wrapped__), args, kwargs)

    # Folding: running Python on values that are known

    def fold_raw(self, function, /, *args: Any, **kwargs: Any) -> Any:
        """Runs a function on known values; its exceptions become traced ones."""
        is_numpy = is_of_numpy(function, args)
        with refused_warnings(function) if is_numpy else _NOTHING:
            try:
                return function(*args, **kwargs)
            except RecursionError:
                raise  # says something of the stack that tracing takes
            except Exception as error:
                raise Raised(exception_like(self, error)) from None

    def fold(self, function, /, *args: Any, **kwargs: Any) -> Value:
        """The same, and makes the result a traced value."""
        return self.folded(self.fold_raw(function, *args, **kwargs))

    def folded(self, result: Any) -> Value:
        """A traced value for what a function that ran while tracing gave."""
        value = self.from_python(result)
        if isinstance(value, OutsideValue):  # each call has to make its own
            unsupported(
                kind="object made by a function written in C",
                context=f"{type(result).__module__}.{type(result).__qualname__}",
                explanation="girih does not model objects of this class.",
            )
        return value

    def fold_call(self, function, args, kwargs, held: bool = False) -> Value:
        """Calls a function where all arguments are known.

        Raises:
            NotConstant: They are not.
        """
        items = [self.known(arg).as_python() for arg in args]
        named = {name: self.known(v).as_python() for name, v in kwargs.items()}
        result = self.fold_raw(function, *items, **named)
        return self.held(result) if held else self.folded(result)

    # Making objects

    def construct(self, callee: ClassValue, args, kwargs) -> Value:
        """``cls(*args, **kwargs)``."""
        self.caller = None
        cls = callee.cls
        model = model_of(cls)
        if model is not None:
            return self._call_model(cls, model, args, kwargs)
        if issubclass(cls, BaseException):
            return self.construct_object(callee, args, kwargs)
        if issubclass(cls, (torch.Tensor, type)):
            unsupported(
                kind="object made while tracing",
                context=cls.__qualname__,
                explanation="Parameters and classes are made outside.",
                hints=("Make it once, before the compiled function runs.",),
            )
        maker, _ = self.lookup(type(cls), "__call__")
        if isinstance(maker, types.FunctionType):
            if issubclass(cls, enum.Enum):
                return self.fold_call(cls, args, kwargs, held=True)
            function = self.class_member(type(cls), "__call__")
            return self.call(function, [callee, *args], kwargs)
        if isinstance(maker, type):  # a TypedDict makes a dict
            return self.call(self.class_member(type(cls), "__call__"), args, kwargs)
        if cls.__module__ in _PURE_MODULES and not has_python_layer(cls):
            return self.fold_call(cls, args, kwargs)
        return self.construct_object(callee, args, kwargs)

    def construct_object(self, callee: ClassValue, args, kwargs) -> Value:
        """What ``type.__call__`` does: ``__new__``, then ``__init__``."""
        self.caller = None
        cls = callee.cls
        self.lookup(cls, "__del__")
        refuse_to_make(cls)
        maker, owner = self.lookup(cls, "__new__")
        part = "__func__" if isinstance(maker, staticmethod) else None
        if isinstance(maker.__func__ if part else maker, types.FunctionType):
            function = self.class_member(owner, "__new__", part=part)
            made = self.call(function, [callee, *args], kwargs)
        else:
            made = self.allocate(cls, args, kwargs)
        if issubclass(made.python_type(), cls) and isinstance(made, ObjectValue):
            self._initialize(made, args, kwargs)
        return made

    def _initialize(self, made: ObjectValue, args, kwargs) -> None:
        initializer, _ = self.lookup(made.cls, "__init__")
        if isinstance(initializer, types.FunctionType):
            function = self.class_member(made.cls, "__init__")
            found = self.call(function, [made, *args], kwargs)
            if not self.is_none(found):
                kind = found.python_type().__name__
                text = f"__init__() should return None, not '{kind}'"
                self.throw(TypeError, text)
        elif isinstance(made, ExceptionValue):
            made.method___init__(self, *args, **kwargs)
        elif initializer is object.__init__ and (args or kwargs):
            if self.lookup(made.cls, "__new__")[1] is object:
                like = type(made.cls.__name__, (), {})
                self.fold_raw(like, *[None] * len(args), **dict.fromkeys(kwargs))
        elif initializer is not object.__init__ and made.base is not None:
            made.base.call_method(self, "__init__", args, kwargs)

    def _allocate_part(self, cls: type, args, kwargs) -> Value | None:
        """What an object of a builtin class, or of a subclass, holds in C."""
        base = c_base(cls)
        if issubclass(cls, dict):
            return DictValue(cls=base)
        if issubclass(cls, list):
            return ListValue([])
        if issubclass(cls, LITERAL_BASES):
            return self.fold_call(base, args, kwargs)
        if issubclass(cls, (set, frozenset)):
            items = args if issubclass(cls, frozenset) else ()
            made = [SetValue.of(self, part, base) for part in items]
            return made[0] if made else SetValue((), base)
        return None

    def allocate(self, cls: type, args=(), kwargs=None) -> Value:
        """An object as ``cls.__new__(cls, *args)`` of the builtin base makes it."""
        if getattr(cls, "__abstractmethods__", None):
            self.fold_raw(object.__new__, cls)  # raises
        refuse_to_make(cls)
        if issubclass(cls, BaseException):
            return new_exception(self, cls, list(args), kwargs or {})
        if issubclass(cls, tuple) and c_base(cls) is not tuple:
            return self._allocate_structure(cls, args, kwargs or {})
        if issubclass(cls, tuple):
            made = self.listed(args[0]) if args else []
            if is_plain_tuple_class(cls):
                self.guard_tuple_class(cls)
                return TupleValue(made, cls)
            return ObjectValue(cls, base=TupleValue(made))
        part = self._allocate_part(cls, args, kwargs or {})
        if part is not None:
            return part if part.python_type() is cls else ObjectValue(cls, base=part)
        if _is_followable_class(cls):
            is_module = issubclass(cls, torch.nn.Module)
            return ModuleValue(cls) if is_module else ObjectValue(cls)
        _not_modelled(cls)

    def _allocate_structure(self, cls: type, args, kwargs) -> Value:
        """A tuple whose fields C names, such as ``time.struct_time``."""
        items = [item for arg in args for item in self.iterate(arg)]
        if kwargs or len(args) > 1 or not all(isinstance(i, Constant) for i in items):
            _not_modelled(cls)
        return self.fold_call(cls, args, kwargs, held=True)


def _not_modelled(cls: type):
    unsupported(
        kind="object of a class written in C",
        context=f"{cls.__module__}.{cls.__qualname__}",
        explanation="girih does not model objects of this class.",
    )


def _check_arguments(function, model, tracer, args, kwargs) -> None:
    """Tells a call that a model does not take from a bug in the model."""
    try:
        inspect.signature(model).bind(tracer, *args, **kwargs)
    except TypeError:
        _unmodelled_arguments(function)


def _unmodelled_arguments(function) -> None:
    unsupported(
        kind="arguments that a model does not take",
        context=_name_of(function),
        explanation=(
            "The call raises an error in Python, or has a form that girih does "
            "not model."
        ),
    )


def _is_followable_class(cls: type) -> bool:
    """Whether objects of a class hold nothing but Python attributes."""
    return c_base(cls) is object


def _name_of(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
