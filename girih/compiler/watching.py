"""Whoever wants to see the IR of programs as they are compiled, and their calls.

While somebody watches, kernels are compiled anew, so that their passes run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from girih.dialects.bindings import ir
from girih.passes.pipeline_syntax import Step


class Watch(Protocol):
    """What sees the compilation of programs."""

    def before(self, runner: Any, module: ir.Operation) -> None:
        """Sees the IR before passes that run at once.

        Args:
            runner: The `Runner` of the program.
            module: The IR, which is changed later.
        """

    def after(self, runner: Any, steps: Sequence[Step], module: ir.Operation) -> None:
        """Sees the IR after a pass; see `before`."""

    def program(self, runner: Any, module: ir.Module, program: Callable) -> Callable:
        """Returns what is called in place of a program.

        Args:
            runner: The `Runner` of the program.
            module: Its launch program.
            program: From the arguments of ``@main`` to its results.
        """


_watches: list[Watch] = []


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """In the block, the watch sees all compilations."""
    _watches.append(watch)
    try:
        yield
    finally:
        _watches.remove(watch)


def current() -> Watch | None:
    """Who watches, or None."""
    return _watches[-1] if _watches else None


class Observer:
    """Tells a watch what runs; an observer of `run_pipeline`.

    Args:
        watch: Who watches.
        runner: Whose passes run.
        inner: Another observer, or None.
    """

    def __init__(self, watch: Watch, runner: Any, inner: Any):
        self._watch, self._runner, self._inner = watch, runner, inner
        self._steps: Sequence[Step] = ()

    def note(self, steps: Sequence[Step]) -> None:
        """Notes what has run, before `after` is called."""
        self._steps = list(steps)

    def before(self, name: str, module: ir.Operation) -> None:
        """Tells the other observer alone."""
        if self._inner is not None:
            self._inner.before(name, module)

    def after(self, name: str, module: ir.Operation) -> None:
        """Tells the watch, then the other observer."""
        self._watch.after(self._runner, self._steps, module)
        if self._inner is not None:
            self._inner.after(name, module)
