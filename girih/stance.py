"""The stance: what calls of compiled callables do, for the whole process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from girih import config
from girih.options import unknown_name

STANCES = (
    "default",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
    "eager_then_compile",
    "aot_eager_then_compile",
)

_current = "default"


def current() -> str:
    """The stance that is set."""
    return _current


class set_stance:  # noqa: N801 - torch's name
    """Sets what calls of compiled callables do, in all threads.

    As a function it holds until the next call, as a context manager in its block, as
    a decorator in calls of the function.

    Args:
        stance: ``"default"``: compile what is not compiled yet. ``"force_eager"``: run
            everything as plain Python. ``"eager_on_recompile"``: use what is compiled,
            and run the other calls as plain Python. ``"fail_on_recompile"``: use what
            is compiled, and raise ``girih.RecompileError`` at other calls.
            ``"eager_then_compile"``: run the first call of each function as plain
            Python and compile at the second, which then knows from both which sizes
            and numbers change. ``"aot_eager_then_compile"``: the same.

    Raises:
        ValueError: The stance is not known.
    """

    def __init__(self, stance: str = "default"):
        if stance not in STANCES:
            raise ValueError(unknown_name("stance", stance, STANCES))
        self.stance = stance
        self._before = [set_current(stance)]

    def __call__(self, function: Callable) -> Callable:
        """Makes a function whose calls have the stance."""
        set_current(self._before.pop())
        stance = self.stance

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with set_stance(stance):
                return function(*args, **kwargs)

        wrapper._dynamo_forbidden = True
        return wrapper

    def __enter__(self) -> None:
        if not self._before:  # entered again
            self._before.append(set_current(self.stance))

    def __exit__(self, *exception: Any) -> None:
        set_current(self._before.pop())


set_stance._dynamo_forbidden = True


def set_current(stance: str) -> str:
    """Sets the stance; returns the one before."""
    global _current
    from girih.frontend.capture import _frame

    before, _current = _current, stance
    _frame.force_eager(stance == "force_eager" or config.is_disabled())
    return before


@functools.cache
def follow_environment() -> None:
    """Has calls run as plain Python where an environment variable disables girih."""
    if config.is_disabled():
        set_current(_current)
