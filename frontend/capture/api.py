"""The compiled callables that ``girih.compile`` returns."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import sysconfig
import types
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import torch

from girih import collector, frontend, log
from girih.errors import UnsupportedError
from girih.frontend.capture import _frame
from girih.frontend.capture.capture import RAISES, Backend, CapturedFrame, capture
from girih.frontend.capture.graph import OPERATION_FAILED
from girih.frontend.capture.guard import GuardSet, GuardTree
from girih.frontend.capture.sizes import Sizes
from girih.frontend.capture.source import Source

_LOG = log.logger("capture")

# Entries per function; the next call with other guards runs as it was.
MAXIMAL_ENTRIES = 8

# Calls that failed to be captured, after which a function is left alone.
MAXIMAL_FAILURES = 8

# Eager raises its own error for these; only if it does not, ours is raised.
_EAGER_DECIDES = (RAISES, OPERATION_FAILED)

_compiled: WeakSet = WeakSet()


class Compiler:
    """Compiles the calls of one function; what a dispatcher asks on a miss.

    Args:
        fullgraph: Raise where a call can't be captured.
        dynamic: As for ``girih.compile``.
        backend_fn: Compiles a graph.
        is_callee: The function is called by a frame that runs as it was.
    """

    def __init__(
        self,
        fullgraph: bool,
        dynamic: bool | None,
        backend_fn: Backend,
        is_callee: bool = False,
    ):
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.backend_fn = backend_fn
        self.is_callee = is_callee
        self.captures = 0
        self.reset()

    def reset(self) -> None:
        """Forgets what was learned from calls."""
        self.sizes = Sizes(self.dynamic)
        self.frames: list[CapturedFrame] = []
        self.failures = 0
        self.reason = ""
        self._warned = False

    def miss(self, dispatcher, function, arguments: tuple):
        """Makes an entry for a call that no entry fits.

        Returns:
            The entry, or None: the call runs as it was.
        """
        if self.failures >= MAXIMAL_FAILURES:
            return None
        if len(dispatcher.entries) >= MAXIMAL_ENTRIES:
            self._warn_of_limit(function)
            return None
        self._log_recompilation(function)
        try:
            with collector.paused():
                captured = capture(function, arguments, self.sizes, self.backend_fn)
        except UnsupportedError as error:
            return self._give_up(function, error)
        if self.is_callee and captured.graph is None:
            self.failures = MAXIMAL_FAILURES
            return None
        self.captures += 1
        self.frames.insert(0, captured)
        dispatcher.entries.insert(0, captured.entry)
        return captured.entry

    def _give_up(self, function, error: UnsupportedError):
        self.reason = error.summary()
        eager_decides = error.kind in _EAGER_DECIDES
        if self.fullgraph:
            if eager_decides:
                return plain_entry(function, error)
            raise error
        _LOG.info("%s runs as it was: %s", function.__qualname__, self.reason)
        # A wrong argument says nothing about the next call; other reasons do.
        self.failures += 1 if eager_decides else MAXIMAL_FAILURES
        return None

    def _log_recompilation(self, function) -> None:
        if self.frames and _LOG.isEnabledFor(logging.INFO):
            reason = self.frames[0].failed_guard()
            _LOG.info("%s is compiled again: %s", function.__qualname__, reason)

    def _warn_of_limit(self, function) -> None:
        if self._warned or not self.frames:
            return
        self._warned = True
        _LOG.warning(
            "%s was compiled %d times; calls that fit none of them run as plain "
            "Python. The last guard that failed: %s",
            function.__qualname__,
            MAXIMAL_ENTRIES,
            self.frames[0].failed_guard(),
        )

    def admit(self, function):
        """A dispatcher for a function that is called by a frame that runs as it was.

        Returns:
            The dispatcher, or None: the function is left alone.
        """
        if not is_users_code(function.__code__):
            return None
        settings = (False, self.dynamic, self.backend_fn)
        return make_dispatcher(function, Compiler(*settings, is_callee=True))


def is_users_code(code: types.CodeType) -> bool:
    """Whether a function is worth capturing on its own: not torch's, not Python's."""
    filename = code.co_filename
    if (
        filename.startswith("<")
        or code.co_name.startswith("<")
        and (code.co_name != "<lambda>")
    ):
        return False
    if filename.startswith(_SKIPPED):
        return False
    return not filename.startswith(_LIBRARIES) or filename.startswith(_SITE_PACKAGES)


_SITE_PACKAGES = tuple(
    sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib")
)
_LIBRARIES = (sysconfig.get_path("stdlib") + os.sep,)
_SKIPPED = tuple(
    os.path.dirname(os.path.abspath(package.__file__)) + os.sep
    for package in (torch, frontend)
)


def compile_callable(
    fn: Callable,
    *,
    fullgraph: bool,
    dynamic: bool | None,
    backend_fn: Backend,
) -> Callable:
    """Makes a compiled callable of a function, a method, a module or a callable object.

    Args:
        fn: What to compile.
        fullgraph: Raise where a call can't be captured, instead of running it as it
            was.
        dynamic: True: sizes are symbolic. False: never. None: once they vary.
        backend_fn: ``(gm, example_inputs) -> callable``.
    """
    settings = (fullgraph, dynamic, backend_fn)
    if isinstance(fn, torch.nn.Module):
        from girih.frontend.capture.module import compile_module

        return compile_module(fn, settings)
    if isinstance(fn, types.FunctionType):
        return compile_function(fn, settings)
    if isinstance(fn, types.MethodType) and isinstance(fn.__func__, types.FunctionType):
        return functools.wraps(fn)(_partial_method(fn, settings))
    if isinstance(fn, _frame.Dispatcher):
        return compile_function(fn.__wrapped__, settings)
    return compile_function(_caller_of(fn), settings, wraps=fn)


def _partial_method(method: types.MethodType, settings: tuple) -> Callable:
    return functools.partial(
        compile_function(method.__func__, settings), method.__self__
    )


def _caller_of(fn: Callable) -> types.FunctionType:
    """A Python function that calls a callable of another kind."""

    def call(*args, **kwargs):
        return fn(*args, **kwargs)

    return call


def compile_function(
    function: types.FunctionType, settings: tuple, wraps: Any = None
) -> _frame.Dispatcher:
    """Makes a compiled callable of a Python function."""
    dispatcher = make_dispatcher(function, Compiler(*settings))
    for name in functools.WRAPPER_ASSIGNMENTS:
        value = getattr(wraps or function, name, None)
        if value is not None:
            setattr(dispatcher, name, value)
    dispatcher.__dict__.update(getattr(wraps or function, "__dict__", {}))
    _compiled.add(dispatcher)
    return dispatcher


def make_dispatcher(function, compiler: Compiler) -> CompiledFunction:
    """Joins a function with what compiles its calls."""
    dispatcher = CompiledFunction(function, compiler.miss, compiler.admit)
    dispatcher.girih_compiler = compiler
    return dispatcher


class CompiledFunction(_frame.Dispatcher):
    """A function that is compiled when it is called."""

    def cache_statistics(self) -> dict[str, int]:
        """How many calls were captured, and how many entries there are."""
        compiler = self.girih_compiler
        return {"captures": compiler.captures, "entries": len(self.entries)}

    def reset(self) -> None:
        """Drops what was compiled; the next call captures again."""
        self.entries.clear()
        self.callees.clear()
        self.girih_compiler.reset()


def backend_of(compiled: Any) -> Backend | None:
    """The backend of what ``compile_callable`` returned, or None for anything else."""
    if isinstance(compiled, functools.partial):
        compiled = compiled.func
    compiled = getattr(compiled, "girih_call", compiled)
    is_ours = isinstance(compiled, CompiledFunction)
    return compiled.girih_compiler.backend_fn if is_ours else None


def plain_entry(function, error: UnsupportedError) -> _frame.Entry:
    """An entry that runs the function as it was, which is expected to raise.

    Where it does not, ``error`` is raised: with ``fullgraph`` a call is captured or
    it fails.
    """
    code = function.__code__
    positional = code.co_argcount
    named = positional + code.co_kwonlyargcount

    def run(*values):
        keywords = dict(
            zip(code.co_varnames[positional:named], values[positional:], strict=False)
        )
        args, rest = values[:positional], list(values[named:])
        if code.co_flags & inspect.CO_VARARGS:
            args = (*args, *rest.pop(0))
        if code.co_flags & inspect.CO_VARKEYWORDS:
            keywords.update(rest.pop())
        function(*args, **keywords)
        raise error

    flags = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
    count = named + sum(bool(code.co_flags & flag) for flag in flags)
    sources = [Source("local", index, None) for index in range(count)]
    guards = GuardTree(GuardSet(), sources).build(0, None, None, None)
    return _frame.Entry(guards, run, -1)


def reset() -> None:
    """Drops what all compiled callables have compiled."""
    for dispatcher in list(_compiled):
        dispatcher.reset()
