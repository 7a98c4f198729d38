"""``aot_compile`` and what it returns: a function that never compiles again."""

from __future__ import annotations

import inspect
import io
import os
import tempfile
import types
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from girih import (
    cache_artifacts,
    config,
    exclusive,
    marks,
    private_folder,
    stance,
)
from girih.ahead import file, functions
from girih.ahead.example import OTHER, known_of, marked, misfits, names_of
from girih.codegen import disk_cache
from girih.compiler.keeping import keeping
from girih.errors import PackageError, RecompileError, unsupported
from girih.frontend.capture.api import CompiledFunction, Compiler, make_dispatcher


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
        self._function = dispatcher.function
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
        if torch.compiler.is_compiling():  # it is a part of what is captured
            return self._function(*args, **kwargs)
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
        self,
        path: str | os.PathLike | io.IOBase,
        external_data: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes the function to a file, for ``girih.load_compiled_function``.

        The file holds code, so it is for the same versions of Python, torch and girih,
        and for processors like this one.

        Args:
            path: The file, which is replaced, or one that is open for bytes.
            external_data: What a closure or default holds and the file is not to hold,
                such as modules, by names under which it is given again.

        Raises:
            OSError: The file can't be written.
            TypeError: The function holds what can't be written.
            girih.UnsupportedError: Its programs can't be kept.
        """
        data = self._packed(external_data or {})
        if hasattr(path, "write"):
            path.write(data)
        else:
            file.write(path, data)

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
        keys = frozenset(key for _, key in self._used)
        with exclusive.compilation(), keeping(keys) as found:
            if dispatcher.entries:
                return
            arguments = _bound(dispatcher.function, args, kwargs)
            try:
                with marked(args, kwargs, self._example["leaves"]):
                    _make_entry(dispatcher, arguments)
            except RuntimeError as error:
                now = known_of(dispatcher, args, kwargs) | {"graphs": found.graphs}
                names = names_of(dispatcher.function, args, kwargs)
                reasons = misfits(self._example, now, names)
                if not (found.is_missing or reasons):
                    raise
                dispatcher.reset()  # it has learned from a wrong call
                head = f"{_name(dispatcher.function, args)} was compiled for another"
                text = "\n  ".join([f"{head} kind of call:", *(reasons or [OTHER])])
                raise RecompileError(text) from error.__cause__

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
    example = known_of(dispatcher, args, kwargs)
    arguments = _bound(dispatcher.function, args, kwargs)
    with disk_cache.recorded() as used, keeping() as found:
        _make_entry(dispatcher, arguments)
        found.compile_derivatives()
    example["graphs"] = found.graphs
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
    try:
        function, settings = functions.decode(content.function, external_data or {})
    except (AttributeError, ModuleNotFoundError) as error:
        raise PackageError(f"the function is not there any more: {error}") from error
    if f_globals:
        function = functions.with_globals(function, f_globals)
    folder, keys = _folder(), []
    if content.artifacts:
        files = cache_artifacts.unpacked(content.artifacts)[1]
        info = cache_artifacts.put(files, folder)
        keys = [key for found in info.artifacts.values() for key in found]
    backend_fn = settings.backend_fn.girih_kept(folder)
    settings = replace(settings, backend_fn=backend_fn)
    dispatcher = make_dispatcher(function, Compiler(settings))
    return AheadCompiled(dispatcher, content.example, [(folder, key) for key in keys])


@cache
def _own_folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="girih-")


def _folder() -> Path:
    """Where programs are kept: the user's cache, or a folder of this process."""
    folder = config.cache_dir()
    if folder is not None and _can_be_written(folder):
        return folder
    return Path(_own_folder().name)


def _can_be_written(folder: Path) -> bool:
    name = f"{os.getpid()}.tried"
    try:
        with private_folder.opened(folder) as opened:
            private_folder.write(opened, name, b"")
            private_folder.remove(opened, name)
    except (OSError, private_folder.UnsafeFile):
        return False
    return True


def _make_entry(dispatcher: CompiledFunction, arguments: tuple) -> None:
    """Captures and compiles a call.

    Raises:
        RuntimeError: The call raises, or a stance forbids to compile it.
    """
    function, compiler = dispatcher.function, dispatcher.girih_compiler
    compiler.miss(dispatcher, function, arguments)
    if not dispatcher.entries:
        why = compiler.reason or f"the stance is {stance.current()!r}"
        name = _name(function, arguments)
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


def _name(function: types.FunctionType, arguments: Sequence) -> str:
    """The name of a function; of a call of a module that of its ``forward``."""
    is_call = function.__code__ is torch.nn.Module.__call__.__code__
    if is_call and arguments and isinstance(arguments[0], torch.nn.Module):
        function = getattr(type(arguments[0]), "forward", function)
    return marks.name_of(function)
