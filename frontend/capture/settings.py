"""How a compiled callable is compiled, and what captures are reported as."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from girih import config, stance
from girih.errors import UnsupportedError
from girih.fallbacks import Fallback
from girih.frontend.capture.budget import Limits
from girih.frontend.capture.capture import Backend, Call, CapturedFrame
from girih.frontend.capture.resume.origin import origin_of
from girih.frontend.capture.users_code import is_in_a_library


@dataclass(frozen=True)
class Attempt:
    """One attempt to capture a call, for ``girih.explain``.

    Attributes:
        call: The function and its arguments.
        captured: The entry that was made, or None.
        error: Why there is none.
        seconds: How long it took, with the backend.
    """

    call: Call
    captured: CapturedFrame | None
    error: UnsupportedError | None
    seconds: float

    @property
    def is_skipped(self) -> bool:
        """Whether nothing is won by the entry, so that none is used."""
        is_callee, captured = self.call.is_callee, self.captured
        if not is_callee or captured is None:
            return False
        return not is_worth_it(captured, self.call.function)


@dataclass(frozen=True)
class Settings:
    """How one compiled callable, and all that it calls, is compiled.

    Attributes:
        fullgraph: Raise where a call can't be captured in one graph.
        dynamic: As for ``girih.compile``.
        backend_fn: Compiles a graph.
        forced: Backends that the stance forced instead, as they compile here. None: it
            forces none.
        recompile_limit: Most values of one guard that a function is compiled for.
        fails_at_limit: Raise at a call beyond it, as ``fullgraph`` does.
        fails_at_recompile: Why a call raises that fits none of the entries there are;
            with "" it is compiled.
        limits: How much one attempt to capture may cost.
        observer: Called with each attempt to capture, or None.
        fallback: Whether what can't be captured may run as plain Python.
        fallbacks: What did so.
        spec: What ``shapes_spec`` says of the arguments, or None.
        ahead: ``ahead(compiled, example_inputs, owner)`` compiles a call ahead of time.
    """

    fullgraph: bool
    dynamic: bool | None
    backend_fn: Backend
    forced: dict[stance.Forced, Backend] | None = None
    recompile_limit: int = config.DEFAULT_RECOMPILE_LIMIT
    fails_at_limit: bool = False
    fails_at_recompile: str = ""
    limits: Limits = Limits()
    observer: Callable[[Attempt], None] | None = None
    fallback: bool = True
    fallbacks: list[Fallback] = field(default_factory=list)
    spec: Any = None
    ahead: Callable[[Any, Any, Any], Any] | None = None

    def for_copy(self) -> Settings:
        """The settings of a copy, whose reports are its own."""
        anew = getattr(self.backend_fn, "girih_anew", lambda: self.backend_fn)
        forced = None if self.forced is None else {}
        return replace(self, backend_fn=anew(), forced=forced, observer=None)

    def backend_of(self, forced: stance.Forced | None) -> Backend:
        """What compiles graphs now."""
        if forced is None:
            return self.backend_fn
        if forced not in self.forced:
            self.forced[forced] = forced.resolve(self.dynamic)
        return self.forced[forced]

    def reset(self) -> None:
        """Forgets what was found, and resets the backends that want to know."""
        self.fallbacks.clear()
        backends = [self.backend_fn, *(self.forced or {}).values()]
        for backend_fn in backends:  # as TorchDynamo does
            getattr(backend_fn, "reset", lambda: None)()
        if self.forced:
            self.forced.clear()


def is_worth_it(captured: CapturedFrame, function: types.FunctionType) -> bool:
    """Whether anything is won by an entry for a function that could run as it was.

    Where it breaks before it has met tensors, it may make some after the break. Of
    functions of libraries few do: they read configurations, and parse types.
    """
    if captured.broken is None:
        return captured.graph is not None
    code = function.__code__
    goes_on = origin_of(code) is not None
    return captured.has_tensors or goes_on or not is_in_a_library(code)
