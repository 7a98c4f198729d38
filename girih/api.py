"""The public functions of girih."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from girih import backend as backends
from girih import config, fallbacks, log, marks, registry, tally
from girih.options import MODES, Options, check_mode
from girih.reports import Reports
from girih.torch_compiled import torch_compiled

if TYPE_CHECKING:
    from torch.nn import Module

    from girih.option_list import OptionDescriptions

log.configure()


def compile(
    model: Callable | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | backends.Backend | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    disable: bool = False,
) -> Callable:
    """Compiles a function or a module; use it as a function or as a decorator.

    Nothing is compiled before the first call. A call with inputs for which the
    compiled code does not hold (another dtype, rank, size, attribute, ...) compiles
    again.

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
        disable: True: returns ``model`` as it is.

    Returns:
        The compiled callable. For a module, a module with the same parameters,
        buffers, attributes and ``state_dict``.

    Raises:
        ImportError: The package of the backend is not installed.
        TypeError: An argument has the wrong type.
        ValueError: A backend, mode or option name is not known; the message lists
            the valid ones.
        RuntimeError: Both ``mode`` and ``options`` are given.
        girih.UnsupportedError: At a call, with ``fullgraph=True`` or
            ``options={"fallback": False}``.
    """
    _check_arguments(fullgraph, dynamic, mode, options, disable)
    backend = registry.get_default_backend() if backend is None else backend
    given = (options, mode, dynamic, fullgraph)
    backend_fn, settings = backends.resolve(backend, *given)
    if model is None:
        return lambda target: compile(
            target,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
        )
    if not callable(model) and not isinstance(model, classmethod):
        kind = type(model).__name__
        raise TypeError(f"girih.compile expects a callable or a module, got {kind}")
    if disable:
        return model
    limit = settings.recompile_limit or config.recompile_limit()
    return _compile(
        model,
        fullgraph=fullgraph,
        dynamic=dynamic,
        backend_fn=backend_fn,
        recompile_limit=limit,
        fallback=settings.falls_back(),
        options=settings,
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


def _check_arguments(fullgraph, dynamic, mode, options, disable):
    for name, value in (("fullgraph", fullgraph), ("disable", disable)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, got {value!r}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"dynamic must be True, False or None, got {dynamic!r}")
    if mode is not None and options is not None:
        raise RuntimeError("mode and options can't both be given; use one of them")


def _compile(model, *, options: Options, **settings):
    from girih.frontend.capture.api import Settings
    from girih.frontend.capture.budget import Limits
    from girih.frontend.capture.targets import compile_callable
    from girih.plugins import load_installed
    from girih.twins import follow_torch

    follow_torch(reset)
    load_installed()
    limits = Limits(**options.capture_limits())
    return compile_callable(model, Settings(limits=limits, **settings))


def report(compiled: Callable | None = None) -> Reports:
    """What the compilation of ``compiled`` did.

    Args:
        compiled: What ``girih.compile`` returned, or ``torch.compile(...,
            backend="girih")``, or a module that either has compiled in place. None:
            all graphs that came through ``torch.compile``.

    Returns:
        The reports of this object's graphs. Its text says what can't be told, because
        TorchDynamo captured.

    Raises:
        TypeError: ``compiled`` is not compiled, or not with girih.
    """
    if compiled is None:
        return backends.last_reports
    from girih.frontend.capture.targets import dispatcher_of

    dispatcher = dispatcher_of(compiled)
    if dispatcher is None:
        return _report_of_torch(compiled)
    settings = dispatcher.girih_compiler.settings
    reports = getattr(settings.backend_fn, "reports", Reports())
    return replace(reports, functions=settings.fallbacks)


def _report_of_torch(compiled: Any) -> Reports:
    by_torch = torch_compiled(compiled)
    if by_torch is not None and by_torch.is_girihs:
        return by_torch.pick(backends.last_reports)
    got = repr(compiled)
    if by_torch is not None:
        got = f"what it compiled with the backend {by_torch.name!r}"
    raise TypeError(
        "girih.report expects what girih.compile returned, or "
        f'torch.compile(..., backend="girih"), got {got}'
    )


def reset() -> None:
    """Drops all that was compiled: the next calls capture and compile again."""
    from girih import compiler
    from girih.frontend.capture.api import reset as reset_capture

    reset_capture()
    compiler.reset()
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
