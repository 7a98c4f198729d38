"""Marks on functions: what capture does with a call of them.

The marks are torch's own attributes, so one that was set through ``torch.compiler`` or
``torch._dynamo`` counts under girih. What torch keeps in tables of its compiler is read
there, if that compiler is loaded; girih never loads it.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Set by torch.compiler.disable, see torch/_dynamo/eval_frame.py.
DISABLED = "_torchdynamo_disable"
REASON = "_torchdynamo_disable_msg"
RECURSIVE = "_torchdynamo_disable_recursive"
ORIGINAL = "_torchdynamo_orig_callable"
WRAPPER = "_torchdynamo_wrapper_id"
# Set by torch.compiler.assume_constant_result and torch._dynamo.forbid_in_graph.
CONSTANT = "_dynamo_marked_constant"
FORBIDDEN = "_dynamo_forbidden"

_TORCH_TABLES = "torch._dynamo.trace_rules"
_TORCH_MODULES = "torch._dynamo.eval_frame"  # of the class of compiled modules

_allowed: set[int] = set()
_substitutes: dict[Any, Substitute] = {}
_left_alone: weakref.WeakSet[types.CodeType] = weakref.WeakSet()
_kept: list[Any] = []  # marked objects that can't be referenced weakly


@dataclass(frozen=True)
class Disabled:
    """A function is not to be compiled.

    Attributes:
        recursive: Neither are the functions that it calls.
        reason: Why, in the words of the program, or "".
        is_marked: The program, or torch, marks it; else girih leaves it to Python.
    """

    recursive: bool = True
    reason: str = ""
    is_marked: bool = True


@dataclass(frozen=True)
class Substitute:
    """A Python function that is followed in place of another one.

    Attributes:
        function: The function to follow.
        folds: It is pure: where all arguments are known, the original is called.
    """

    function: Callable
    folds: bool = False


def allow(function: Any) -> None:
    """Makes calls of a function operations of the graph."""
    if id(function) in _allowed:
        return
    _allowed.add(id(function))
    try:
        weakref.finalize(function, _allowed.discard, id(function)).atexit = False
    except TypeError:  # its id must not be reused
        _kept.append(function)


def substitute(original: Any, wrapper: Any, replacement: Substitute) -> None:
    """Makes capture follow another function in place of ``original``.

    Raises:
        ValueError: It has a replacement already.
    """
    if original in _substitutes:
        known = _substitutes[original].function
        raise ValueError(f"{original!r} is replaced by {known!r} already")
    _substitutes[original] = _substitutes[wrapper] = replacement


def may_be_marked(function: Any) -> bool:
    """A quick no for what carries no mark at all; asked at each call in a trace."""
    attributes = getattr(function, "__dict__", None)
    if attributes and (isinstance(attributes, dict) or FORBIDDEN in attributes):
        return True
    if id(function) in _allowed or _TORCH_TABLES in sys.modules:
        return True
    code = getattr(function, "__code__", None)
    if code is _lazily_disabled_code() or code is _lbfgs_code():
        return True
    return bool(_substitutes) and substitute_of(function) is not None


def disabled(function: Any) -> Disabled | None:
    """The mark that a function is not to be compiled, or None."""
    attributes = getattr(function, "__dict__", None)
    if attributes and attributes.get(DISABLED) and _is_own(attributes, function):
        recursive = attributes.get(RECURSIVE, False)
        return Disabled(recursive, attributes.get(REASON) or "")
    code = getattr(function, "__code__", None)
    if code is _lazily_disabled_code():
        recursive = inspect.getclosurevars(function).nonlocals.get("recursive", True)
        return Disabled(recursive, "torch marks it so")
    if code is _lbfgs_code():
        return Disabled(False, "It keeps lists that grow with each step", False)
    return None


def _is_own(attributes: dict, function: Any) -> bool:
    """False for marks that ``functools.wraps`` copied from another function."""
    return attributes.get(WRAPPER, id(function)) == id(function)


@functools.cache
def _lazily_disabled_code() -> types.CodeType | None:
    """The code of what ``torch._disable_dynamo`` returns: it loads Dynamo when run."""
    torch = sys.modules.get("torch")
    wrapper = torch and torch._disable_dynamo(lambda: None)
    return getattr(wrapper, "__code__", None)


@functools.cache
def _lbfgs_code() -> types.CodeType | None:
    """The code of a step of L-BFGS, which torch.compile leaves alone, too.

    What grows would be compiled for each length. The closure is compiled by itself.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    step = torch.optim.LBFGS.step
    while hasattr(step, "__wrapped__"):
        step = step.__wrapped__
    return step.__code__


def innermost(fn: Any) -> Any:
    """What a compiled or disabled callable was made of; ``fn`` itself for others.

    Of a method it is the method, of the same object, of what its function was made of.
    """
    while True:
        attributes = getattr(fn, "__dict__", {})
        if hasattr(type(fn), "girih_original"):
            fn = fn.girih_original
        elif hasattr(type(fn), "girih_function"):
            fn = fn.girih_function
        elif type(fn).__module__ == _TORCH_MODULES and "_modules" in attributes:
            fn = attributes["_modules"]["_orig_mod"]
        elif ORIGINAL in attributes and attributes.get(WRAPPER) == id(fn):
            fn = attributes[ORIGINAL]
        elif isinstance(fn, types.MethodType):
            function = innermost(fn.__func__)
            if function is fn.__func__:
                return fn
            fn = types.MethodType(function, fn.__self__)
        else:
            return fn


def name_of(target: Any) -> str:
    """The name of a callable, with file and line where it is a function."""
    code = getattr(target, "__code__", None)
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else name


def of_wrapper(wrapper: Any, fn: Any) -> dict[str, Any]:
    """The marks by which torch, and ``innermost``, find what a wrapper was made of."""
    return {ORIGINAL: fn, WRAPPER: id(wrapper)}


def leave_alone(fn: Any) -> None:
    """Frames of a function's code are not captured; what they call is."""
    code = getattr(fn, "__code__", None)
    if code is not None:
        _left_alone.add(code)


def is_left_alone(code: types.CodeType) -> bool:
    """Whether ``leave_alone`` was called for a function with this code."""
    return code in _left_alone


def is_constant(function: Any) -> bool:
    """Whether the result of a function is taken as a constant."""
    return _has_mark(function, CONSTANT)


def is_forbidden(function: Any) -> bool:
    """Whether torch says that a function must not be traced."""
    return _has_mark(function, FORBIDDEN)


def _has_mark(function: Any, name: str) -> bool:
    attributes = getattr(function, "__dict__", None)
    return bool(attributes) and bool(attributes.get(name))


def is_allowed_in_graph(function: Any) -> bool:
    """Whether calls of a function are operations of the graph."""
    return id(function) in _allowed or _is_in_torch_table(
        "_allowed_callable_ids", function
    )


def is_disallowed_in_graph(function: Any) -> bool:
    """Whether ``torch._dynamo.disallow_in_graph`` was called for a function."""
    return _is_in_torch_table("_disallowed_callable_ids", function)


def _is_in_torch_table(table: str, function: Any) -> bool:
    rules = sys.modules.get(_TORCH_TABLES)
    found = getattr(rules, table, None)
    numbers = getattr(found, "function_ids", None)
    return bool(numbers) and id(function) in numbers


def substitute_of(function: Any) -> Substitute | None:
    """What is followed in place of a function, or None."""
    try:
        found = _substitutes.get(function)
    except TypeError:  # not hashable
        return None
    return found or _torch_substitute(function)


def _torch_substitute(function: Any) -> Substitute | None:
    """A replacement that the program gave to ``torch.compiler``."""
    functions = sys.modules.get("torch._dynamo.variables.functions")
    polyfilled = getattr(functions, "PolyfilledFunctionVariable", None)
    if polyfilled is None:
        return None
    wrapper = polyfilled._get_polyfill_handlers().get(function)
    replacement = getattr(wrapper, "__torch_dynamo_polyfill__", None)
    if replacement is None or replacement.__module__.startswith("torch._dynamo."):
        return None  # torch's own: girih has models of these
    folds = getattr(wrapper, "__torch_dynamo_can_constant_fold_through__", False)
    return Substitute(replacement, folds)


def disabled_function(fn: Callable, recursive: bool, reason: str | None) -> Callable:
    """A function that calls ``fn`` and is marked as not to be compiled."""
    if recursive:

        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            return fn(*args, **kwargs)

    else:

        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            return fn(*args, **kwargs)

        leave_alone(fn)
    wrapper.__dict__.update(
        {
            DISABLED: True,
            REASON: reason,
            RECURSIVE: recursive,
            **of_wrapper(wrapper, fn),
        }
    )
    return wrapper
