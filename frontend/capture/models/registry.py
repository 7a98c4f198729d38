"""The table of functions whose meaning girih knows.

A model is ``f(tracer, *args, **kwargs) -> Value`` on traced values. It stands for a
function written in C, or for a Python function that can't or need not be followed; for
the latter it may return None, and the function is followed.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from girih.frontend.capture.models.marked import marked_model

_MODELS: dict[Any, Callable] = {}
_NAMED_MODELS: dict[tuple[str, str], Callable] = {}
_CODE_MODELS: dict[CodeType, Callable] = {}
_WHOLE: set[CodeType] = set()
_PREPARATIONS: dict[CodeType, Callable] = {}


def models(*functions: Any):
    """Registers the decorated function as the model of ``functions``."""

    def register(model: Callable) -> Callable:
        for function in functions:
            assert function not in _MODELS, f"girih bug: two models of {function}"
            _MODELS[function] = model
        return model

    return register


def models_named(module: str, qualname: str):
    """Registers a model of a function whose module girih must not import."""

    def register(model: Callable) -> Callable:
        name = (module, qualname)
        assert name not in _NAMED_MODELS, f"girih bug: two models of {name}"
        _NAMED_MODELS[name] = model
        return model

    return register


def models_of_code(code: CodeType, *, is_whole: bool = False):
    """Registers a model of the functions that run a code: those of a decorator.

    It is ``f(tracer, function, *args, **kwargs)`` with the traced function.

    Args:
        code: The code.
        is_whole: The model stands for the function, which has ``*args`` alone, also
            where it is what the program compiles: a part of it is of no use.
    """

    def register(model: Callable) -> Callable:
        assert code not in _CODE_MODELS, f"girih bug: two models of {code}"
        _CODE_MODELS[code] = model
        if is_whole:
            _WHOLE.add(code)
        return model

    return register


def before_tracing(code: CodeType):
    """Registers what is done with a function of this code before it is traced.

    It changes what only a first call would change, where calls that are traced do not
    look at that, so that the first call is like all others.
    """

    def register(preparation: Callable) -> Callable:
        _PREPARATIONS[code] = preparation
        return preparation

    return register


def prepare(function: FunctionType) -> None:
    """Does what is to be done before a function is traced."""
    preparation = _PREPARATIONS.get(function.__code__)
    if preparation is not None:
        preparation(function)


def is_whole(code: CodeType) -> bool:
    """Whether a function of this code is modelled where the program compiles it."""
    return code in _WHOLE


def _with_function(model: Callable, function: FunctionType, value: Any) -> Callable:
    def bound(tracer, /, *args, **kwargs):
        known = tracer.held(function) if value is None else value
        return model(tracer, known, *args, **kwargs)

    return bound


def has_model(function: Any) -> bool:
    """Whether there is a model of a Python function itself, whatever it is marked."""
    return isinstance(function, FunctionType) and function in _MODELS


def model_of(function: Any, value: Any = None) -> Callable | None:
    """The model of a function, or None; marks of the program come before most.

    Args:
        function: The function.
        value: Its traced value. Another call may bring a function of the same code,
            so what a model reads of it has to be guarded where this came from.
    """
    if isinstance(function, FunctionType):
        named = _NAMED_MODELS.get((function.__module__, function.__qualname__))
        if named is not None:
            return named
        by_code = _CODE_MODELS.get(function.__code__)
        if by_code is not None:
            return _with_function(by_code, function, value)
    marked = marked_model(function)
    if marked is not None:
        return marked
    try:
        return _MODELS.get(function)
    except TypeError:  # not hashable
        return None
