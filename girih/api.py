"""The public functions of girih."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from girih import backend as backends
from girih import config, fallbacks, log, marks, registry, stance, tally
from girih.loading import load_compiler
from girih.options import MODES, NAMES, Options, check_mode
from girih.reports import Reports
from girih.torch_compiled import torch_compiled
from girih.torch_switches import Switches, switches

if TYPE_CHECKING:
    from torch.nn import Module

    from girih.option_list import OptionDescriptions

_AT_RECOMPILE = "torch._dynamo.config.error_on_recompile is set"

log.configure()


def compile(
    model: Callable | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | backends.Backend | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Callable:
    """Compiles a function or a module; use it as a function or as a decorator.

    Nothing is compiled before the first call. Inputs for which no compiled code holds
    (another dtype, rank, size, attribute, ...) compile again.

    Args:
        model: A function, method, or ``nn.Module``. None: returns a decorator.
        fullgraph: Raise where a program can't be captured in one graph, or the graph
            can't be compiled, instead of running that as plain Python.
        dynamic: True: sizes are symbolic from the start. False: each size is
            compiled for itself. None: a size that changes becomes symbolic. Sizes 0
            and 1 are always compiled for themselves, as ``torch.compile`` does.
        backend: ``"girih"``, ``"eager"`` (runs the captured graph as it is), another
            name of ``girih.list_backends(())``, which is a backend of torch, or a
            callable ``(gm, example_inputs) -> callable``. None: what
            ``girih.set_default_backend`` set, or ``"girih"``.
        mode: One of ``girih.list_modes()``, torch's names: each is short for some
            options. On the CPU all compile alike. Backends that are not girih's get it.
        options: From option name to value, see ``girih.list_options()``. Backends that
            are not girih's get all but the options of capture.
        name: What the names of the graphs begin with in reports, logs and dumps, with
            ``_`` for what a folder can't be called. None: ``"graph"``.
        disable: True: returns ``model`` as it is; so ``torch._dynamo.config.disable``.
        recompile_limit: For how many values of one guard a function is compiled, as
            the option of this name, which it replaces.
        isolate_recompiles: torch's. In girih each compiled function has own entries.
        shapes_spec: Instead of ``dynamic``: torch's objects that say which sizes and
            numbers of the arguments vary. Other ones are fixed, up to a graph break.

    Returns:
        The compiled callable. For a module, a module with the same parameters,
        buffers, attributes and ``state_dict``.

    Raises:
        ImportError: The package of the backend is not installed.
        TypeError: An argument has the wrong type.
        ValueError: A backend, mode or option name is not known; the message lists
            the valid ones. Or ``dynamic`` and ``shapes_spec`` are given.
        RuntimeError: Both ``mode`` and ``options`` are given.
        girih.UnsupportedError: At a call, with ``fullgraph=True`` or
            ``options={"fallback": False}``.
    """
    again = {name: value for name, value in locals().items() if name != "model"}
    _check_arguments(fullgraph, mode, options, disable, isolate_recompiles)
    _check_values(dynamic, shapes_spec, name, recompile_limit)
    backend = registry.get_default_backend() if backend is None else backend
    given = (options, mode, dynamic, fullgraph, name)
    backend_fn, settings = backends.resolve(backend, *given)
    if model is None:
        return functools.partial(compile, **{**again, "backend": backend})
    _check_model(model)
    theirs = switches(NAMES if backend == "girih" else None)
    if disable or theirs.disable:
        return model
    return _compile(
        model,
        fullgraph=fullgraph,
        dynamic=theirs.dynamic if dynamic is None else dynamic,
        backend_fn=backend_fn,
        recompile_limit=recompile_limit or _limit(settings, theirs),
        fails_at_limit=theirs.fails_at_limit,
        fails_at_recompile=_AT_RECOMPILE if theirs.fails_at_recompile else "",
        fallback=settings.falls_back(),
        options=settings,
        shapes_spec=shapes_spec,
    )


def compile_module(module: Module, **options: Any) -> Module:
    """Compiles a module in place, as ``module.compile()`` does with ``torch.compile``.

    Calls of the module run compiled, hooks and all. It stays the same object, of the
    same class, with the same ``state_dict``. Copies of it, and what is unpickled, are
    not compiled. Another compilation replaces this one, whichever compiler does it; a
    ``__call__`` that the class defines itself runs as Python up to
    ``nn.Module.__call__``.

    Args:
        module: A module. Of what ``girih.compile`` or ``torch.compile`` returned, the
            original is compiled.
        options: As for ``girih.compile``.

    Returns:
        ``module``.

    Raises:
        TypeError: It is no module, or a TorchScript module, which holds no Python code.
    """
    torch = sys.modules.get("torch")
    target = marks.innermost(module)
    if torch is None or not isinstance(target, torch.nn.Module):
        kind = type(module).__name__
        raise TypeError(f"girih.compile_module expects an nn.Module, got {kind}")
    if isinstance(target, torch.jit.ScriptModule):
        raise TypeError(
            "girih.compile_module can't compile a TorchScript module in place; "
            "give it the module that torch.jit.script was given"
        )
    target._compiled_call_impl = compile(target._call_impl, **options)
    return module


def _check_arguments(fullgraph, mode, options, disable, isolate_recompiles) -> None:
    bools = {
        "fullgraph": fullgraph,
        "disable": disable,
        "isolate_recompiles": isolate_recompiles,
    }
    for name, value in bools.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, got {value!r}")
    if mode is not None and options is not None:
        raise RuntimeError("mode and options can't both be given; use one of them")


def _check_model(model: Any) -> None:
    if not callable(model) and not isinstance(model, classmethod):
        kind = type(model).__name__
        raise TypeError(f"girih.compile expects a callable or a module, got {kind}")


def _check_values(
    dynamic: bool | None,
    shapes_spec: Any,
    name: str | None,
    recompile_limit: int | None,
) -> None:
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"dynamic must be True, False or None, got {dynamic!r}")
    if dynamic is not None and shapes_spec is not None:
        raise ValueError("dynamic and shapes_spec can't both be given; use one of them")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a str, got {name!r}")
    limit = recompile_limit
    if limit is not None and (type(limit) is not int or limit < 1):
        raise ValueError(f"recompile_limit must be a number >= 1, got {limit!r}")


def _limit(settings: Options, theirs: Switches) -> int:
    given = settings.recompile_limit or theirs.recompile_limit
    return given or config.recompile_limit()


def _compile(model, *, options: Options, shapes_spec: Any, **settings):
    load_compiler()
    from girih.frontend.capture.api import Settings
    from girih.frontend.capture.budget import Limits
    from girih.frontend.capture.targets import compile_callable
    from girih.plugins import load_installed
    from girih.twins import follow_torch

    follow_torch(reset)
    stance.follow_environment()
    load_installed()
    limits = Limits(**options.capture_limits())
    if shapes_spec is not None:
        settings["spec"] = _spec(shapes_spec, marks.innermost(model))
        settings["dynamic"] = None
    settings |= {"limits": limits, "forced": {}, "ahead": compile_ahead}
    return compile_callable(model, Settings(**settings))


def compile_ahead(compiled: Callable, example_inputs: tuple, owner: Any) -> Any:
    """What the method ``aot_compile`` does; see ``girih.ahead.compiled``."""
    from girih.ahead import compiled as ahead  # few programs ask for it

    return ahead.compile_ahead(compiled, example_inputs, owner)


def _spec(given: Any, target: Callable) -> Any:
    try:
        from girih.frontend.capture.shapes_spec import ShapesSpec  # few give one
    except ImportError as error:
        raise TypeError("shapes_spec needs torch 2.13 or newer") from error
    return ShapesSpec(given, target)


def report(
    compiled: Callable | None = None, *, html: str | os.PathLike | None = None
) -> Reports:
    """What the compilation of ``compiled`` did.

    Args:
        compiled: What ``girih.compile`` returned, or ``torch.compile(...,
            backend="girih")``, or a module that either has compiled in place. None:
            all graphs that came through ``torch.compile``.
        html: A file for a page on all that, for browsers: breaks and guards, kernels
            with the user's lines, stages. With IR and what each pass changed in it, if
            the option ``dump_dir`` was given. The page loads nothing.

    Returns:
        The reports of this object's graphs. Its text says what can't be told, because
        TorchDynamo captured.

    Raises:
        TypeError: ``compiled`` is not compiled, or not with girih.
        OSError: The file of the page can't be written.
    """
    dispatcher = None
    if compiled is not None:
        from girih.frontend.capture.targets import dispatcher_of

        dispatcher = dispatcher_of(compiled)
    reports = _reports_of(compiled, dispatcher)
    if html is not None:
        load_compiler()
        from girih.html_report.page import written  # few ask for it

        title = "all graphs of torch.compile"
        if compiled is not None:
            title = marks.name_of(marks.innermost(compiled))
        Path(html).write_text(written(reports, dispatcher, title), encoding="utf-8")
    return reports


def _reports_of(compiled: Callable | None, dispatcher: Any) -> Reports:
    if compiled is None:
        return backends.last_reports
    if dispatcher is None:
        return _report_of_torch(compiled)
    settings = dispatcher.girih_compiler.settings
    reports = getattr(settings.backend_fn, "reports", Reports())
    forced = [
        getattr(b, "reports", Reports()) for b in (settings.forced or {}).values()
    ]
    graphs = [*reports.graphs, *(graph for each in forced for graph in each.graphs)]
    return replace(reports, graphs=graphs, functions=settings.fallbacks)


def _report_of_torch(compiled: Any) -> Reports:
    by_torch = torch_compiled(compiled)
    if by_torch is not None and by_torch.is_girihs:
        return by_torch.pick(backends.last_reports)
    got = f"{compiled!r}, which is not compiled (with disable=True girih.compile "
    got += "returns what it is given, and compiles nothing)"
    if by_torch is not None:
        got = f"what it compiled with the backend {by_torch.name!r}"
    raise TypeError(
        "girih.report expects what girih.compile returned, or "
        f'torch.compile(..., backend="girih"), got {got}'
    )


def reset() -> None:
    """Drops all that was compiled: the next calls capture and compile again."""
    # What is not loaded has nothing to drop.
    for name in ("girih.frontend.capture.api", "girih.compiler"):
        if module := sys.modules.get(name):
            module.reset()
    backends.last_reports.graphs.clear()
    fallbacks.forget()
    tally.clear()


def list_modes() -> list[str]:
    """Names that ``mode`` accepts."""
    return list(MODES)


def list_mode_options(
    mode: str | None = None, dynamic: bool | None = None
) -> dict[str, Any]:
    """The options that modes are short for; changes of the dictionary change nothing.

    Args:
        mode: The mode whose options are wanted. None: those of all modes, by mode.
        dynamic: torch's argument. girih's modes mean the same for symbolic sizes.

    Raises:
        ValueError: The mode is not known.
    """
    if mode is None:
        return {name: dict(options) for name, options in MODES.items()}
    return dict(MODES[check_mode(mode)])


def list_options() -> OptionDescriptions:
    """Names that ``options`` accepts, each with its type, default, unit and meaning.

    ``print(girih.list_options())`` prints them as text.
    """
    from girih.option_list import describe  # few ask for it

    return describe()
