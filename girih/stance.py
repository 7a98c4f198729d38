"""The stance: what calls of compiled callables do, for the whole process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from weakref import WeakValueDictionary

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
_forced: Forced | None = None
_known: WeakValueDictionary = WeakValueDictionary()


@dataclass(frozen=True, eq=False)
class Forced:
    """A backend that counts instead of those that functions were compiled with.

    There is one object for one backend, by which compiled code tells what made it.

    Attributes:
        given: Its name, or the backend.
    """

    given: str | Callable

    def resolve(self, dynamic: bool | None = None) -> Callable:
        """The function that compiles graphs for one compiled callable.

        Raises:
            ImportError: The package of the backend is not installed.
            TypeError: It is neither a name nor a callable.
            ValueError: The name is not known.
        """
        resolve = import_module("girih.backend").resolve  # it imports this file
        return resolve(self.given, dynamic=dynamic)[0]


def forced_by(given: str | Callable | None) -> Forced | None:
    """The backend that ``force_backend`` names; None where it names none."""
    if given is None:
        return None
    key = given if isinstance(given, str) else id(given)
    made = _known.get(key) or Forced(given)
    _known[key] = made
    return made


def current() -> str:
    """The stance that is set."""
    return _current


def forced() -> Forced | None:
    """The backend that the stance forces."""
    return _forced


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

        skip_guard_eval_unsafe: torch's. girih checks all guards, and warns once.
        force_backend: A backend as for ``girih.compile``, which compiles all functions
            without their modes and options. What it compiled, and what their
            own backends did, is kept for when either counts again. It goes with the
            default stance alone.

    Raises:
        ImportError: The package of ``force_backend`` is not installed.
        RuntimeError: ``force_backend`` is given with another stance than the default.
        TypeError: ``force_backend`` is neither a name nor a callable.
        ValueError: The stance, or the backend, is not known.
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
        if skip_guard_eval_unsafe:
            warn_of_guards()
        self.stance, self._forced = stance, forced_by(force_backend)
        if self._forced is not None:
            self._forced.resolve()  # raises for wrong names
        self._before = [set_current(stance, self._forced)]

    def __call__(self, function: Callable) -> Callable:
        """Makes a function whose calls have the stance."""
        set_current(*self._before.pop())
        stance, given = self.stance, self._forced and self._forced.given

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with set_stance(stance, force_backend=given):
                return function(*args, **kwargs)

        wrapper._dynamo_forbidden = True
        return wrapper

    def __enter__(self) -> None:
        if not self._before:  # entered again
            self._before.append(set_current(self.stance, self._forced))

    def __exit__(self, *exception: Any) -> None:
        set_current(*self._before.pop())


set_stance._dynamo_forbidden = True


def warn_of_guards() -> None:
    """Warns, once, that girih has no stance in which guards are not checked."""
    instead = "girih checks all guards, which takes nanoseconds each"
    warn_once("skip_guard_eval_unsafe of set_stance", instead)


def set_current(stance: str, forced: Forced | None = None) -> tuple[str, Forced | None]:
    """Sets the stance and the backend that it forces; returns those before."""
    global _current, _forced
    from girih.frontend.capture import _frame

    before = _current, _forced
    _current, _forced = stance, forced
    _frame.force_eager(stance == "force_eager" or config.is_disabled())
    _frame.force_backend(forced)
    return before


set_current._dynamo_forbidden = True  # a program may enter what it made before


@functools.cache
def follow_environment() -> None:
    """Has calls run as plain Python where an environment variable disables girih."""
    if config.is_disabled():
        set_current(_current, _forced)
