"""The compiled callables that ``girih.compile`` returns."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import torch

from girih import log
from girih.errors import UnsupportedError
from girih.frontend.capture import _frame
from girih.frontend.capture.capture import RAISES, Backend, capture
from girih.frontend.capture.graph import OPERATION_FAILED
from girih.frontend.capture.sizes import Sizes

_LOG = log.logger("capture")

# Entries per function; the next call with other guards runs as it was.
MAXIMAL_ENTRIES = 8

# Eager raises its own error for these; only if it does not, ours is raised.
_EAGER_DECIDES = (RAISES, OPERATION_FAILED)

_compiled: WeakSet = WeakSet()


class Compiler:
    """Compiles the calls of one function; what a dispatcher asks on a miss.

    Args:
        fullgraph: Raise where a call can't be captured.
        dynamic: As for ``girih.compile``.
        backend_fn: Compiles a graph.
    """

    def __init__(self, fullgraph: bool, dynamic: bool | None, backend_fn: Backend):
        self.fullgraph = fullgraph
        self.dynamic = dynamic
        self.backend_fn = backend_fn
        self.sizes = Sizes(dynamic)
        self.captures = 0
        self.skipped: str = ""
        self.frames: list = []
        self._warned = False

    def miss(self, dispatcher, function, arguments: tuple):
        """Makes an entry for a call that no entry fits.

        Returns:
            The entry, or None: the call runs as it was.
        """
        if len(dispatcher.entries) >= MAXIMAL_ENTRIES:
            self._warn_of_limit(function, arguments)
            return None
        try:
            self._log_recompilation(function, arguments)
            captured = capture(function, arguments, self.sizes, self.backend_fn)
        except UnsupportedError as error:
            return self._give_up(function, arguments, error)
        self.captures += 1
        self.frames.insert(0, captured)
        dispatcher.entries.insert(0, captured.entry)
        return captured.entry

    def _give_up(self, function, arguments, error: UnsupportedError):
        _LOG.info("%s runs as it was: %s", function.__qualname__, error.summary())
        self.skipped = error.summary()
        if not self.fullgraph:
            return None
        if error.kind in _EAGER_DECIDES:
            return _Failing(error).entry()
        raise error

    def _log_recompilation(self, function, arguments) -> None:
        if not self.frames or not _LOG.isEnabledFor(20):
            return
        newest = self.frames[0]
        reason = newest.tree.failure(newest.entry.guards)
        _LOG.info("%s is compiled again: %s", function.__qualname__, reason)

    def _warn_of_limit(self, function, arguments) -> None:
        if self._warned:
            return
        self._warned = True
        newest = self.frames[0]
        reason = newest.tree.failure(newest.entry.guards)
        _LOG.warning(
            "%s was compiled %d times; further calls that fit none of them run as "
            "plain Python. The last guard that failed: %s",
            function.__qualname__,
            MAXIMAL_ENTRIES,
            reason,
        )

    def admit(self, function):
        """A dispatcher for a function that is called by a frame that runs as it was.

        Returns:
            The dispatcher, or None: the function is left alone.
        """
        return None

    def reset(self) -> None:
        """Forgets what was learned from calls."""
        self.sizes = Sizes(self.dynamic)
        self.frames.clear()
        self._warned = False


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
    compiler = Compiler(*settings)
    dispatcher = CompiledFunction(function, compiler.miss, compiler.admit)
    dispatcher.girih_compiler = compiler
    for name in functools.WRAPPER_ASSIGNMENTS:
        value = getattr(wraps or function, name, None)
        if value is not None:
            setattr(dispatcher, name, value)
    dispatcher.__dict__.update(getattr(wraps or function, "__dict__", {}))
    _compiled.add(dispatcher)
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


class _Failing:
    """An entry for a call that eager is expected to refuse."""

    def __init__(self, error: UnsupportedError):
        self.error = error

    def entry(self):
        """Raises the error of ``fullgraph``."""
        raise self.error


def reset() -> None:
    """Drops what all compiled callables have compiled."""
    for dispatcher in list(_compiled):
        dispatcher.reset()
