"""What a program says to the compiler about its functions, under torch's names."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from girih import marks
from girih.marks import Substitute


def disable(
    fn: Any = None, recursive: bool = True, *, reason: str | None = None
) -> Any:
    """Leaves a function alone: it runs as plain Python, between graphs.

    A use as a decorator, with or without arguments, and as a function.

    Args:
        fn: A function, method, callable object, module or class. Of a class,
            ``__init__`` and ``__call__`` are left alone. None: returns a decorator.
        recursive: True: nothing that it calls is captured either. False: what it
            calls is captured on its own.
        reason: Why; messages about graph breaks show it.

    Returns:
        A wrapper of the function; for a module, a module that shares everything with
        it; for a class, the class. ``girih.compile`` of it compiles the function.

    Raises:
        TypeError: ``fn`` is not callable, or ``reason`` is no text.
    """
    if reason is not None and not isinstance(reason, str):
        raise TypeError(f"reason must be a str, got {reason!r}")
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(disable(fn.__func__, recursive, reason=reason))
    fn = marks.innermost(fn)
    if not callable(fn):
        kind = type(fn).__name__
        raise TypeError(f"girih.disable expects a callable or a module, got {kind}")
    if isinstance(fn, type):
        return _disable_class(fn, recursive, reason)
    if _is_module(fn):
        from girih.frontend.capture.module import disabled_module

        return disabled_module(fn, recursive, reason)
    return marks.disabled_function(fn, recursive, reason)


def _disable_class(cls: type, recursive: bool, reason: str | None) -> type:
    has_call = any("__call__" in base.__dict__ for base in cls.__mro__)
    for name in ("__init__", "__call__") if has_call else ("__init__",):
        member = marks.innermost(getattr(cls, name))
        disabled = marks.disabled_function(member, recursive, reason)
        try:
            setattr(cls, name, disabled)
        except TypeError as error:
            text = f"girih.disable can't change the class {cls.__qualname__}: {error}"
            raise TypeError(text) from None
    return cls


def graph_break(msg: str = "") -> None:
    """Ends the graph here; what follows is in another one. Plain Python: does nothing.

    Args:
        msg: Why; messages show it.
    """


def is_compiling() -> bool:
    """Whether girih (or ``torch.compile``, or ``torch.export``) captures this call.

    ``torch.compiler.is_compiling()`` is true too while girih captures.
    """
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def allow_in_graph(fn: Any) -> Any:
    """Takes calls of a function as one operation of the graph; they are not followed.

    The function takes and returns tensors and plain values. It uses no tensors but its
    arguments and has no effect but its result: capture runs it once, on tensors
    without data.

    Args:
        fn: A callable, or a list or tuple of them.

    Returns:
        ``fn``; for a list or tuple, a list.

    Raises:
        TypeError: ``fn`` is not callable.
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(item) for item in fn]
    if not callable(fn):
        kind = type(fn).__name__
        raise TypeError(f"girih.allow_in_graph expects a callable, got {kind}")
    marks.allow(fn)
    return fn


def assume_constant_result(fn: Callable) -> Callable:
    """Takes the result of a function as a constant: it is called while capturing.

    Nothing checks that the result stays the same.

    Args:
        fn: A Python function. Its arguments have to be known while capturing; for a
            tensor that is given to the compiled function, its value then is taken.

    Returns:
        ``fn``.

    Raises:
        TypeError: Attributes can't be set on ``fn``.
    """
    try:
        setattr(fn, marks.CONSTANT, True)
    except AttributeError:
        kind = type(fn).__name__
        message = f"girih.assume_constant_result expects a Python function, got {kind}"
        raise TypeError(message) from None
    return fn


def substitute_in_graph(
    original_fn: Callable,
    *,
    can_constant_fold_through: bool = False,
    skip_signature_check: bool = False,
) -> Callable[[Callable], Callable]:
    """Registers a Python function that capture follows in place of another one.

    Plain calls still call the original.

    Args:
        original_fn: The function that is replaced, usually one written in C.
        can_constant_fold_through: The function is pure: where all arguments are known
            it is called while capturing.
        skip_signature_check: Accept other parameters than the original's.

    Returns:
        A decorator. It returns a function that behaves as the original in plain calls
        and as the replacement when captured.

    Raises:
        TypeError: One of the two is no function, or their parameters differ.
        ValueError: The original has a replacement already.
    """
    if not inspect.isroutine(original_fn):
        kind = type(original_fn).__name__
        raise TypeError(f"girih.substitute_in_graph expects a function, got {kind}")

    def decorate(function: Callable) -> Callable:
        if not isinstance(function, types.FunctionType):
            kind = type(function).__name__
            raise TypeError(f"the replacement must be a Python function, got {kind}")
        if not skip_signature_check:
            _check_signatures(original_fn, function)

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return original_fn(*args, **kwargs)

        replacement = Substitute(function, can_constant_fold_through)
        marks.substitute(original_fn, wrapper, replacement)
        return wrapper

    return decorate


def _check_signatures(original: Callable, function: Callable) -> None:
    try:
        wanted = inspect.signature(original)
    except ValueError:  # a C function that does not say
        return
    given = inspect.signature(function)
    parts = (_parameters(wanted), _parameters(given))
    if parts[0] != parts[1] and _ANY_PARAMETERS not in parts:
        raise TypeError(
            f"{function.__qualname__}{given} has other parameters than "
            f"{original.__qualname__}{wanted}; skip_signature_check=True accepts that"
        )


def _parameters(signature: inspect.Signature) -> tuple:
    """What a call depends on: names, order, defaults; not annotations."""
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = [p for p in signature.parameters.values() if p.kind not in variadic]
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    return (
        tuple(p.name for p in named if p.kind is not keyword_only),
        {p.name for p in named if p.kind is keyword_only},
        {p.name: p.default for p in named},
    )


_ANY_PARAMETERS = _parameters(inspect.signature(lambda *args, **kwargs: None))


def _is_module(fn: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(fn, torch.nn.Module)
