"""``aot_compile`` and what it returns: a function that never compiles again."""

from __future__ import annotations

import inspect
import io
import os
import tempfile
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from girih import cache_artifacts, config, dynamic, exclusive, marks, stance
from girih.ahead import file, functions
from girih.codegen import disk_cache
from girih.compiler.keeping import keeping
from girih.errors import GirihError, RecompileError, unsupported
from girih.frontend.capture.api import CompiledFunction, Compiler, make_dispatcher
from girih.packaging.capturing import names_of_leaves, parameters_of


class AheadCompiled:
    """A function that was compiled ahead of time, for one kind of call.

    It is called as the function: of a method or module the object comes first. What
    the call depends on is checked at each call, as by ``girih.compile``.
    """

    def __init__(
        self,
        dispatcher: CompiledFunction,
        example: Mapping[str, Any],
        used: Collection[tuple[Path, str]],
        unkept: str = "",
    ):
        self._dispatcher = dispatcher
        self._example = example
        self._used = used
        self._unkept = unkept

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function.

        Raises:
            girih.RecompileError: It was compiled for another kind of call. It is a
                RuntimeError, and says which guard does not hold.
        """
        if not self._dispatcher.entries:
            self._load(args, kwargs)
        return self._dispatcher(*args, **kwargs)

    def guard_check(self, *args: Any, **kwargs: Any) -> bool:
        """Whether a call with these arguments fits."""
        if not self._dispatcher.entries:
            try:
                self._load(args, kwargs)
            except RecompileError:
                return False
        function = self._dispatcher.function
        arguments = _bound(function, args, kwargs)
        return self._dispatcher.entry_for(function, arguments) is not None

    def disable_guard_check(self) -> None:
        """Nothing: girih's checks fetch what the graph takes, so they stay."""

    def save_compiled_function(
        self, path: str | os.PathLike, external_data: Mapping[str, Any] | None = None
    ) -> None:
        """Writes the function to a file, for ``girih.load_compiled_function``.

        The file holds code, so it is for the same versions of Python, torch and girih,
        and for processors like this one.

        Args:
            path: The file; it is replaced.
            external_data: What a closure or default holds and the file is not to hold,
                such as modules, by names under which it is given again.

        Raises:
            OSError: The file can't be written.
            TypeError: The function holds what can't be written.
            girih.UnsupportedError: Its programs can't be kept.
        """
        file.write(path, self._packed(external_data or {}))

    def _packed(self, external: Mapping[str, Any]) -> bytes:
        if self._unkept:
            self._refuse(self._unkept)
        settings = self._dispatcher.girih_compiler.settings.for_copy()
        function = functions.encode((self._dispatcher.function, settings), external)
        found = cache_artifacts.packed(self._used)
        artifacts, info = found or (b"", cache_artifacts.CacheInfo())
        if sum(map(len, info.artifacts.values())) < len(self._used):
            self._refuse("the cache of compiled code has dropped some of it")
        return file.packed(file.Content(function, artifacts, self._example))

    def _refuse(self, reason: str) -> None:
        unsupported(
            kind="a compiled function that can't be saved",
            context=marks.name_of(self._dispatcher.function),
            explanation=f"Not all of it can be kept: {reason}.",
        )

    def _load(self, args: tuple, kwargs: Mapping) -> None:
        """Makes the entry of a function that comes from a file, without compiling."""
        dispatcher = self._dispatcher
        with exclusive.compilation(), keeping(is_strict=True) as found:
            if dispatcher.entries:
                return
            try:
                with _marked(args, kwargs, self._example["leaves"]):
                    _make_entry(dispatcher, args, kwargs)
            except GirihError as error:
                if not found.is_missing:
                    raise
                dispatcher.reset()  # it has learned from a wrong call
                raise self._misfit(args, kwargs) from error.__cause__

    def _misfit(self, args: tuple, kwargs: Mapping) -> RecompileError:
        name = marks.name_of(self._dispatcher.function)
        before = [each["is"] for each in self._example["leaves"]]
        now = [each["is"] for each in _leaves(self._dispatcher, args, kwargs)]
        names = _names(self._dispatcher.function, args, kwargs)
        reasons = [
            f"{what} is {new}, expected {old}"
            for what, old, new in zip(names, before, now, strict=False)
            if old != new
        ]
        if len(before) != len(now):
            reasons.append(f"{len(now)} values are given, expected {len(before)}")
        if not reasons:
            reasons.append(
                "what it reads beside its arguments (attributes, globals, grad mode, "
                "its own code) is not what it was"
            )
        text = "\n  ".join(reasons)
        return RecompileError(
            f"{name} was compiled for another kind of call:\n  {text}"
        )

    def __repr__(self) -> str:
        name = marks.name_of(self._dispatcher.function)
        return f"<girih function compiled ahead of time: {name}>"


def compile_ahead(
    compiled: CompiledFunction,
    example_inputs: tuple[tuple, Mapping],
    owner: Any = None,
) -> AheadCompiled:
    """Compiles a function for one kind of call, with its derivatives; nothing runs.

    Args:
        compiled: What ``girih.compile`` returned, with ``fullgraph=True``.
        example_inputs: Positional arguments, and those by name.
        owner: What comes before them, if it is not None.

    Raises:
        TypeError: The example is not such a pair, or does not fit the function.
        girih.UnsupportedError: The call is no single graph, or can't be compiled.
        RuntimeError: ``fullgraph`` was not given, or the function raises.
    """
    args, kwargs = _pair(example_inputs)
    if owner is not None:
        args = (owner, *args)
    settings = compiled.girih_compiler.settings.for_copy()
    if not settings.fullgraph:
        raise RuntimeError(
            "Graph breaks are not supported with aot_compile. Please use "
            "girih.compile(fullgraph=True)."
        )
    if not hasattr(settings.backend_fn, "girih_anew"):
        raise RuntimeError("aot_compile needs the backend 'girih'")
    settings = replace(
        settings,
        backend_fn=settings.backend_fn.girih_kept(_folder()),
        fails_at_recompile="it was compiled ahead of time",
    )
    dispatcher = make_dispatcher(compiled.function, Compiler(settings))
    example = {"leaves": _leaves(dispatcher, args, kwargs)}
    with disk_cache.recorded() as used, keeping() as found:
        _make_entry(dispatcher, args, kwargs)
        found.compile_derivatives()
    return AheadCompiled(dispatcher, example, tuple(used), ", ".join(found.refusals))


def load(
    opened: io.IOBase | str | os.PathLike,
    f_globals: Mapping[str, Any] | None,
    external_data: Mapping[str, Any] | None,
) -> AheadCompiled:
    """Loads what ``save_compiled_function`` wrote; see ``girih.api``."""
    if isinstance(opened, (str, os.PathLike)):
        data = Path(opened).read_bytes()
    else:
        data = opened.read()
    content = file.unpacked(data)
    function, settings = functions.decode(content.function, external_data or {})
    if f_globals:
        function = functions.with_globals(function, f_globals)
    folder = _folder()
    if content.artifacts:
        cache_artifacts.put(cache_artifacts.unpacked(content.artifacts)[1], folder)
    backend_fn = settings.backend_fn.girih_kept(folder)
    settings = replace(settings, backend_fn=backend_fn)
    dispatcher = make_dispatcher(function, Compiler(settings))
    return AheadCompiled(dispatcher, content.example, (), "it comes from a file itself")


@cache
def _own_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="girih-")


def _folder() -> Path:
    """Where programs are kept: the user's cache, or a folder of this process."""
    return config.cache_dir() or Path(_own_folder().name)


def _make_entry(dispatcher: CompiledFunction, args: tuple, kwargs: Mapping) -> None:
    """Captures and compiles a call.

    Raises:
        RuntimeError: The call raises, or a stance forbids to compile it.
    """
    function, compiler = dispatcher.function, dispatcher.girih_compiler
    arguments = _bound(function, args, kwargs)
    compiler.miss(dispatcher, function, arguments)
    if not dispatcher.entries:
        why = compiler.reason or f"the stance is {stance.current()!r}"
        name = marks.name_of(function)
        raise RuntimeError(f"{name} can't be compiled ahead of time: {why}")


def _pair(example_inputs: Any) -> tuple[tuple, Mapping]:
    try:
        args, kwargs = example_inputs
        return tuple(args), dict(kwargs)
    except (TypeError, ValueError):
        raise TypeError(
            "aot_compile expects ((x, y), {'name': z}): positional arguments, and "
            f"those by name; got {type(example_inputs).__name__}"
        ) from None


def _bound(function: types.FunctionType, args: tuple, kwargs: Mapping) -> tuple:
    """The arguments of a call in the order of the frame's slots.

    Raises:
        TypeError: They don't fit.
    """
    signature = inspect.Signature.from_callable(function, follow_wrapped=False)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    flags = (inspect.CO_VARARGS, inspect.CO_VARKEYWORDS)
    count += sum(bool(code.co_flags & flag) for flag in flags)
    return tuple(bound.arguments[name] for name in code.co_varnames[:count])


# What is known of the call ------------------------------------------------------------


def _names(function: types.FunctionType, args: tuple, kwargs: Mapping) -> list[str]:
    return names_of_leaves(args, kwargs, parameters_of(function, len(args)))


def _leaves(dispatcher: CompiledFunction, args: tuple, kwargs: Mapping) -> list[dict]:
    """What is known of each value in the arguments, for JSON."""
    is_dynamic = dispatcher.girih_compiler.settings.dynamic is True
    found = pytree.tree_leaves((args, dict(kwargs)))
    return [_leaf(value, is_dynamic) for value in found]


def _leaf(value: Any, is_dynamic: bool) -> dict[str, Any]:
    if not isinstance(value, torch.Tensor):
        is_plain = isinstance(value, (bool, int, float, complex, str, type(None)))
        return {"is": repr(value) if is_plain else f"a {type(value).__qualname__}"}
    ranges = getattr(value, "_dynamo_dynamic_range", ())
    dynamic = [[each.dim, each.min, each.max] for each in ranges]
    maybe = sorted(getattr(value, "_dynamo_weak_dynamic_indices", ()))
    static = sorted(getattr(value, "_dynamo_static_indices", ()))
    free = {*maybe, *(dim for dim, *_ in dynamic)}
    if is_dynamic:
        free = set(range(value.dim())) - {*static}
    sizes = [
        "*" if dim in free and size > 1 else str(size)
        for dim, size in enumerate(value.shape)
    ]
    text = f"{str(value.dtype).removeprefix('torch.')}[{', '.join(sizes)}]"
    text += f" on {value.device}"
    text += " that requires a gradient" if value.requires_grad else ""
    return {"is": text, "dynamic": dynamic, "maybe": maybe, "static": static}


@contextmanager
def _marked(args: tuple, kwargs: Mapping, leaves: Sequence[Mapping]) -> Iterator[None]:
    """Marks sizes in the block as they were marked where the function was compiled."""
    given = pytree.tree_leaves((args, dict(kwargs)))
    before = [
        (value, dict(vars(value)))
        for value, known in zip(given, leaves, strict=False)
        if isinstance(value, torch.Tensor) and len(known) > 1
    ]
    try:
        for value, known in zip(given, leaves, strict=False):
            if isinstance(value, torch.Tensor) and len(known) > 1:
                _mark(value, known)
        yield
    finally:
        for value, attributes in before:
            vars(value).clear()
            vars(value).update(attributes)


def _mark(value: torch.Tensor, known: Mapping) -> None:
    for dim, least, most in known["dynamic"]:
        if dim < value.dim():
            dynamic.mark_dynamic(value, dim, min=least, max=most)
    for dim in known["maybe"]:
        if dim < value.dim():
            dynamic.maybe_mark_dynamic(value, dim)
    for dim in known["static"]:
        if dim < value.dim():
            dynamic.mark_static(value, dim)
