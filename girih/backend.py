"""The function between a captured graph and a callable, for both doors.

``girih.compile`` and ``torch.compile(f, backend="girih")`` hand over the same thing:
a ``torch.fx.GraphModule`` of torch-level calls and its example inputs.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from girih import config
from girih.loading import load_compiler
from girih.options import CAPTURE_OPTIONS, Options, make_options
from girih.reports import Reports
from girih.torch_compiled import TorchReports
from girih.twins import capture_modules_of_torch, hide_from_dynamo
from girih.user_backend import UserBackend

Backend = Callable[[Any, Sequence[Any]], Callable[..., Any]]
"""``(gm, example_inputs) -> callable``, as for ``torch.compile``."""

last_reports = TorchReports()
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
    if config.is_disabled():
        return gm.forward
    load_compiler()
    from girih.compiler import site_of
    from girih.compiler.convention import with_dual_numbers
    from girih.frontend.importer.checkpoints import restore_checkpoints
    from girih.frontend.importer.random_numbers import as_given
    from girih.plugins import load_installed

    if "torch._dynamo" in sys.modules:  # who else may call it has no such tables
        hide_from_dynamo()
    load_installed()
    restore_checkpoints(gm)
    made = make_options(options, mode)
    made = replace(made, fallback=made.fallback and not _is_fullgraph())
    _check_types(gm, made)
    compiled = _compile(gm, as_given(gm, example_inputs), made, last_reports)
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


def resolve(
    backend: str | Backend,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
    dynamic: bool | None = None,
    fullgraph: bool = False,
    name: str | None = None,
) -> tuple[Backend, Options]:
    """The backend function for the arguments of ``girih.compile``, and its options.

    girih takes ``mode`` and ``options`` for its own backends. Another backend gets
    them as from ``torch.compile``, but for options of capture.

    Raises:
        ImportError: The package of the backend is not installed.
        TypeError: ``backend`` is neither a name nor a callable, or does not take the
            ``mode`` or ``options`` that are given.
        ValueError: A name is not known.
    """
    if backend in ("eager", "girih"):
        made = _made(options, mode, fullgraph)
        reports = Reports(name=re.sub(r"[^\w.-]+", "_", name or "graph"))
        return run_eagerly if backend == "eager" else _Girih(made, reports), made
    if not callable(backend) and not isinstance(backend, str):
        kind = type(backend).__name__
        raise TypeError(f"backend must be a name or a callable, got {kind}")
    own, others = _split(options)
    made = _made(own, None, fullgraph)
    if callable(backend):
        return _with_keywords(backend, mode, others), made
    from girih.torch_backend import TorchBackend  # it loads torch's compiler

    return TorchBackend(backend, mode, others, dynamic, made), made


def _made(options: Any, mode: str | None, fullgraph: bool) -> Options:
    made = make_options(options, mode)
    return replace(made, fallback=made.fallback and not fullgraph)


def _split(options: Mapping[str, Any] | None) -> tuple[dict | None, dict]:
    """Options of capture, and those of a backend that is not girih's."""
    if not isinstance(options, Mapping):
        return options, {}
    own = {name: options[name] for name in options if name in CAPTURE_OPTIONS}
    return own, {name: options[name] for name in options if name not in own}


def _with_keywords(backend: Backend, mode: str | None, options: dict) -> Backend:
    """A callable that gets ``mode`` and ``options`` where they are given."""
    given: dict[str, Any] = {}
    if mode is not None and mode != "default":
        given["mode"] = mode
    if options:
        given["options"] = options
    if not given:
        return UserBackend(backend, given)
    try:
        inspect.signature(backend).bind(None, None, **given)
    except TypeError as error:
        text = f"the backend {backend!r} does not take {' and '.join(given)}: {error}"
        raise TypeError(text) from None
    except ValueError:  # it has no signature
        pass
    return UserBackend(backend, given)


@dataclass(frozen=True)
class _Girih:
    """The backend ``"girih"`` of one compiled callable; pickled with its module."""

    options: Options
    reports: Reports

    def __call__(self, gm, example_inputs) -> Callable:
        return _compile(gm, example_inputs, self.options, self.reports)

    def girih_anew(self) -> Backend:
        """The backend of a copy of the callable."""
        return _Girih(self.options, Reports(name=self.reports.name))

    def girih_kept(self, folder: Path) -> Backend:
        """The backend of a callable whose programs are kept in a folder."""
        options = replace(self.options, cache=True, cache_dir=str(folder))
        return _Girih(options, Reports(name=self.reports.name))

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


# torch may have begun to compile a module, and loads this file because of that.
capture_modules_of_torch()
