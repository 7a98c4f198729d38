"""The stance: what calls of compiled callables do, for the whole process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from girih import config
from girih.options import unknown_name
from girih.torch_switches import warn_once

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

        skip_guard_eval_unsafe: torch's. It has no effect in girih, which warns once.
        force_backend: torch's. It has no effect in girih, which warns once.

    Raises:
        RuntimeError: ``force_backend`` is given with another stance than the default.
        ValueError: The stance is not known.
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: str | Callable | None = None,
    ):
        if stance not in STANCES:
            raise ValueError(unknown_name("stance", stance, STANCES))
        if force_backend is not None and stance != "default":
            text = 'force_backend goes with the stance "default" alone'
            raise RuntimeError(f"{text}, got the stance {stance!r}")
        warn_of(skip_guard_eval_unsafe, force_backend)
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


def warn_of(skip_guard_eval_unsafe: bool, force_backend: object) -> None:
    """Warns, once each, of torch's arguments of a stance, which girih does not have."""
    given = {
        "skip_guard_eval_unsafe": skip_guard_eval_unsafe,
        "force_backend": force_backend is not None,
    }
    switched = (f"{name} of set_stance" for name, is_on in given.items() if is_on)
    warn_once(switched)


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
