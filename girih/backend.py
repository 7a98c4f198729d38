"""The function between a captured graph and a callable, for both doors.

``girih.compile`` and ``torch.compile(f, backend="girih")`` hand over the same thing:
a ``torch.fx.GraphModule`` of torch-level calls and its example inputs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from girih.options import Options, make_options, unknown_name
from girih.reports import Reports
from girih.twins import hide_from_dynamo

Backend = Callable[[Any, Sequence[Any]], Callable[..., Any]]
"""``(gm, example_inputs) -> callable``, as for ``torch.compile``."""

BACKENDS = ("eager", "girih")

last_reports = Reports()
"""Graphs that were compiled through ``torch.compile``."""


def girih(gm, example_inputs, *, mode: str | None = None, options=None):
    """The backend that ``torch.compile`` finds under the name ``"girih"``.

    Args:
        gm: The captured graph, a ``torch.fx.GraphModule`` of torch-level calls.
        example_inputs: Tensors (real or fake) and integers, one per placeholder.
        mode: One of ``girih.list_modes()``, or None.
        options: Dictionary of options, see ``girih.list_options()``.

    Returns:
        A callable that takes the inputs and returns a tuple of outputs.

    Raises:
        ValueError: The mode or an option is not known.
    """
    from girih.compiler import site_of
    from girih.compiler.convention import with_dual_numbers
    from girih.frontend.importer.checkpoints import restore_checkpoints
    from girih.plugins import load_installed

    if "torch._dynamo" in sys.modules:  # who else may call it has no such tables
        hide_from_dynamo()
    load_installed()
    restore_checkpoints(gm)
    made = make_options(options, mode)
    made = replace(made, fallback=made.fallback and not _is_fullgraph())
    _check_types(gm, made)
    compiled = _compile(gm, example_inputs, made, last_reports)
    return with_dual_numbers(compiled, gm, site_of(gm, made, last_reports.graphs[-1]))


def _check_types(gm, options: Options) -> None:
    """Has Dynamo leave a function to Python whose graph lost types of arguments."""
    from girih.compiler import site_of
    from girih.frontend.importer.lost_types import lost_type

    error = lost_type(gm)
    if error is not None:
        report = last_reports.begin()
        site_of(gm, options, report).leave("capture", error)
        exceptions = sys.modules.get("torch._dynamo.exc")
        raise exceptions.SkipFrame(error.summary()) if exceptions else error


def _is_fullgraph() -> bool:
    """Whether Dynamo, which calls the backend, was told ``fullgraph=True``."""
    translator = sys.modules.get("torch._dynamo.symbolic_convert")
    current = getattr(translator, "tls", None)
    return bool(getattr(getattr(current, "current_tx", None), "one_graph", False))


def resolve(backend: str | Backend, options: Options) -> Backend:
    """The backend function for the ``backend`` argument of ``girih.compile``.

    Raises:
        TypeError: ``backend`` is neither a name nor a callable.
        ValueError: The name is not known.
    """
    if callable(backend):
        return backend
    if not isinstance(backend, str):
        kind = type(backend).__name__
        raise TypeError(f"backend must be a name or a callable, got {kind}")
    if backend == "eager":
        return run_eagerly
    if backend == "girih":
        return _Girih(options, Reports())
    names = unknown_name("backend", backend, BACKENDS)
    raise ValueError(f"{names}, or a callable (gm, example_inputs) -> callable")


@dataclass(frozen=True)
class _Girih:
    """The backend ``"girih"`` of one compiled callable; pickled with its module."""

    options: Options
    reports: Reports

    def __call__(self, gm, example_inputs) -> Callable:
        return _compile(gm, example_inputs, self.options, self.reports)

    def girih_anew(self) -> Backend:
        """The backend of a copy of the callable."""
        return _Girih(self.options, Reports())

    def reset(self) -> None:
        """Drops the reports of what was compiled; called when that is dropped."""
        self.reports.graphs.clear()


def run_eagerly(gm, example_inputs):
    """The backend ``"eager"``: runs the captured graph as it is."""
    return gm.forward


# With ``dynamic=True`` it gets numbers and sizes that depend on data as symbols without
# a value; other backends get a graph break there, unless they say this too.
run_eagerly.takes_unbacked_sizes = True


def _compile(gm, example_inputs, options: Options, reports: Reports):
    from girih.compiler import compile_graph

    report = reports.begin()
    if options.check:
        from girih.checking.checked import checked  # few programs ask for it

        return checked(gm, example_inputs, options, report, compile_graph)
    return compile_graph(gm, example_inputs, options, report)
