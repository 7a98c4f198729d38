"""What can be compiled: functions, methods, modules, classes, other callables."""

from __future__ import annotations

import inspect
import types
import weakref
from collections.abc import Callable
from typing import Any

import torch

from girih.errors import SourceLocation, UnsupportedError
from girih.fallbacks import Site
from girih.frontend.capture import api
from girih.frontend.capture.api import CompiledFunction, Settings
from girih.frontend.capture.methods import keep_methods_compiled
from girih.marks import innermost

_LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def compile_callable(fn: Any, settings: Settings) -> Any:
    """Makes a compiled callable.

    What is compiled or disabled already is compiled anew. Of a class, ``__call__`` is
    compiled, in place. Functions whose body runs after the call (async functions and
    generators) are returned as they are.

    Args:
        fn: A function, method, static or class method, module, class, or any other
            callable.
        settings: How it is compiled.

    Raises:
        UnsupportedError: With ``fullgraph`` or without ``fallback``: an async or
            generator function.
    """
    return _compile(innermost(fn), settings)


def _compile(fn: Any, settings: Settings) -> Any:
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(_compile(innermost(fn.__func__), settings))
    if isinstance(fn, torch.nn.Module):
        from girih.frontend.capture.module import compile_module

        return compile_module(fn, settings)
    if _runs_later(fn):
        return _left_alone(fn, settings)
    if _has_model(fn):
        return _compile_function(_caller_of(fn), settings, wraps=fn)
    if isinstance(fn, types.FunctionType):
        return _compile_function(fn, settings)
    if isinstance(fn, types.MethodType) and isinstance(fn.__func__, types.FunctionType):
        keep_methods_compiled()
        compiled = _compile_function(fn.__func__, settings)
        compiled.girih_owner = _reference(fn.__self__)
        return types.MethodType(compiled, fn.__self__)
    if isinstance(fn, type):
        return _compile_class(fn, settings)
    return _compile_function(_caller_of(fn), settings, wraps=fn)


def _compile_function(
    function: types.FunctionType, settings: Settings, wraps: Any = None
) -> CompiledFunction:
    return api.compile_function(function, settings, wraps, again=compile_callable)


def _has_model(fn: Any) -> bool:
    """Whether capture knows what a function means, and follows only calls of it."""
    from girih.frontend.capture.models import families  # noqa: F401  (registers them)
    from girih.frontend.capture.models.registry import has_model

    return has_model(getattr(fn, "__func__", fn))


def _runs_later(fn: Any) -> bool:
    code = getattr(getattr(fn, "__func__", fn), "__code__", None)
    return isinstance(code, types.CodeType) and bool(code.co_flags & _LATER)


def _left_alone(fn: Any, settings: Settings) -> Any:
    code = fn.__code__
    is_generator = bool(code.co_flags & inspect.CO_GENERATOR)
    error = UnsupportedError(
        "generator function" if is_generator else "async function",
        fn.__qualname__,
        "The body runs in steps after the call, so the call cannot be captured.",
        ("Compile the functions that the body calls.",),
        SourceLocation(code.co_filename, code.co_firstlineno, fn.__qualname__),
    )
    if settings.fullgraph:
        raise error
    site = Site(fn.__qualname__, settings.fallback, found=settings.fallbacks)
    site.leave("generator", error)
    return fn


def _compile_class(cls: type, settings: Settings) -> type:
    if not any("__call__" in base.__dict__ for base in cls.__mro__):
        raise TypeError(
            f"girih.compile expects something to call; objects of the class "
            f"{cls.__qualname__} have no __call__"
        )
    member = innermost(cls.__call__)
    function = member if isinstance(member, types.FunctionType) else _caller_of(member)
    try:
        cls.__call__ = _compile_function(function, settings)
    except TypeError as error:
        text = f"girih.compile can't change the class {cls.__qualname__}: {error}"
        raise TypeError(text) from None
    return cls


def _reference(owner: Any) -> Callable[[], Any]:
    """Gives the object of a method, which it does not keep alive where that can be."""
    try:
        return weakref.ref(owner)
    except TypeError:
        return lambda: owner


def _caller_of(fn: Callable) -> types.FunctionType:
    """A Python function that calls a callable of another kind."""

    def call(*args, **kwargs):
        return fn(*args, **kwargs)

    return call


def dispatcher_of(compiled: Any) -> CompiledFunction | None:
    """The dispatcher in what ``compile_callable`` returned, or None."""
    if isinstance(compiled, torch.nn.Module) and not hasattr(compiled, "girih_call"):
        compiled = vars(compiled).get("_compiled_call_impl")  # in place
    if isinstance(compiled, types.MethodType):
        compiled = compiled.__func__
    elif isinstance(compiled, type):
        compiled = compiled.__dict__.get("__call__")
    compiled = getattr(compiled, "girih_call", compiled)
    return compiled if isinstance(compiled, CompiledFunction) else None
