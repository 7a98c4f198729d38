"""The table of functions whose meaning girih knows.

A model is ``f(tracer, *args, **kwargs) -> Value`` on traced values. It stands for a
function written in C, or for a Python function that can't or need not be followed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MODELS: dict[Any, Callable] = {}


def models(*functions: Any):
    """Registers the decorated function as the model of ``functions``."""

    def register(model: Callable) -> Callable:
        for function in functions:
            assert function not in _MODELS, f"girih bug: two models of {function}"
            _MODELS[function] = model
        return model

    return register


def model_of(function: Any) -> Callable | None:
    """The model of a function, or None."""
    try:
        return _MODELS.get(function)
    except TypeError:  # not hashable
        return None
