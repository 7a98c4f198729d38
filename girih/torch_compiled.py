"""What ``torch.compile(f, backend="girih")`` returned, read for girih's functions.

TorchDynamo captures there, and hands girih one graph after another. Which call of
``torch.compile`` a graph is for is found when girih gets it, in TorchDynamo's own
state; ``girih.report`` picks the graphs of one object by that.
"""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from girih import marks
from girih.reports import Origin, Report, Reports

CAPTURED_BY_GIRIH = (
    "girih captured this call. torch.compile has TorchDynamo capture, whose graphs, "
    'breaks and guards may be others: torch._dynamo.explain(f, backend="girih")(*args) '
    "has those."
)
"""What explanations and checks of such an object say."""

_NOT_TOLD = (
    "TorchDynamo captured: graph breaks, and what it left to Python, are not in this "
    "report. torch._dynamo.explain and TORCH_LOGS=graph_breaks have them."
)
_SHARED_BACKEND = (
    "The graphs are those of all functions that torch._dynamo.optimize compiled with "
    "girih; it does not say for which of them a graph is."
)


@dataclass(frozen=True)
class TorchCompiled:
    """What an object was compiled with.

    Attributes:
        backend: What stands for one call of ``torch.compile``.
        dynamic: The argument of ``torch.compile``.
        code: That of the function or of the module's ``forward``, or None.
    """

    backend: Any
    dynamic: bool | None
    code: types.CodeType | None

    @property
    def mode(self) -> str | None:
        """The argument of ``torch.compile``."""
        return self._given.get("mode")

    @property
    def options(self) -> Mapping[str, Any] | None:
        """The argument of ``torch.compile``."""
        return self._given.get("options")

    @property
    def is_girihs(self) -> bool:
        """Whether the backend is girih."""
        compiler = getattr(self.backend, "compiler_fn", self.backend)
        return getattr(compiler, "__module__", None) == "girih.backend"

    @property
    def name(self) -> str:
        """The name of the backend."""
        given = getattr(self.backend, "compiler_name", None)
        return given or getattr(self.backend, "__name__", repr(self.backend))

    @property
    def _given(self) -> dict[str, Any]:
        return getattr(self.backend, "kwargs", {})

    def pick(self, reports: Reports) -> Reports:
        """The reports of this object's graphs, with what can't be told of it."""
        own, shared = [], []
        for report in reports.graphs:
            backend = report.origin and report.origin.backend()
            if backend is self.backend:
                own.append(report)
            elif backend is not None and self._may_use(report.origin, backend):
                shared.append(report)
        notes = [_NOT_TOLD]
        if not hasattr(self.backend, "compiler_fn"):
            notes.append(_SHARED_BACKEND)
        if shared:
            names = ", ".join(report.name for report in shared)
            notes.append(
                f"Another object of the same code was compiled with the same options; "
                f"TorchDynamo may run its graphs here, too: {names}."
            )
        return Reports(own, notes=notes)

    def _may_use(self, origin: Origin, backend: Any) -> bool:
        """Whether TorchDynamo keeps a graph of another object for this one as well."""
        return self.code is not None and (
            origin.code() is self.code and backend == self.backend
        )


class TorchReports(Reports):
    """Reports of graphs that come through ``torch.compile``."""

    def begin(self) -> Report:
        """Adds the report of a graph, and notes for what TorchDynamo captured it."""
        report = super().begin()
        report.origin = _current()
        return report


def _current() -> Origin | None:
    """For what TorchDynamo captures now, if it does."""
    translator = sys.modules.get("torch._dynamo.symbolic_convert")
    current = getattr(getattr(translator, "tls", None), "current_tx", None)
    if current is None:
        return None
    backend = _innermost_backend(current.output.compiler_fn)
    return Origin(weakref.ref(backend), weakref.ref(current.f_code))


def _innermost_backend(backend: Any) -> Any:
    """The backend that ``torch.compile`` made, inside of what TorchDynamo adds."""
    while (inside := getattr(backend, "_torchdynamo_orig_backend", None)) is not None:
        backend = inside
    return backend


def torch_compiled(compiled: Any) -> TorchCompiled | None:
    """How ``torch.compile`` compiled an object; None where it did not.

    Args:
        compiled: A function, method, class or module. A module may have been compiled
            in place.
    """
    context = _context_of(compiled)
    callback = getattr(context, "callback", None)
    if not callable(callback):
        return None
    code = _code_of(marks.innermost(compiled))
    dynamic = getattr(context, "_dynamic", None)
    return TorchCompiled(_innermost_backend(callback), dynamic, code)


def _context_of(compiled: Any) -> Any:
    """The object of TorchDynamo that holds what ``torch.compile`` was given."""
    if isinstance(compiled, types.MethodType):
        compiled = compiled.__func__
    attributes = getattr(compiled, "__dict__", {})
    if isinstance(compiled, type):
        return _context_of(attributes["__call__"]) if "__call__" in attributes else None
    if "dynamo_ctx" in attributes:
        return attributes["dynamo_ctx"]
    if attributes.get("_compiled_call_impl") is not None:
        return _context_of(attributes["_compiled_call_impl"])
    if not isinstance(compiled, types.FunctionType):
        return None
    if attributes.get(marks.WRAPPER) != id(compiled):  # copied by functools.wraps
        return None
    names = compiled.__code__.co_freevars
    if "self" not in names:
        return None
    return compiled.__closure__[names.index("self")].cell_contents


def _code_of(target: Any) -> types.CodeType | None:
    """The code that TorchDynamo captures first for a function or a module."""
    if isinstance(target, type):
        target = marks.innermost(target.__call__)
    target = getattr(target, "forward", target)
    return getattr(marks.innermost(target), "__code__", None)
