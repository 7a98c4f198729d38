"""Functions as bytes: those that a module has by name, others with their code.

The bytes are a pickle, with what pickle leaves out: code, cells, and functions that
were defined inside of others. Code is Python's own, of one version. Objects that are
not to be in a file stand for themselves where the caller names them.
"""

from __future__ import annotations

import functools
import importlib
import io
import marshal
import pickle
import sys
import types
from collections.abc import Mapping
from typing import Any

import torch

from girih.marks import innermost


def encode(value: Any, external: Mapping[str, Any]) -> bytes:
    """A function, with what it holds, as bytes.

    Args:
        value: The function, or a container of functions.
        external: What is not written, by the name under which it is given again.

    Raises:
        TypeError: It holds something that can't be written.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, external).dump(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(
            f"a compiled function can't be saved: {error}. Name what the file is not "
            "to hold: save_compiled_function(path, external_data={'name': value})"
        ) from error
    return file.getvalue()


def decode(data: bytes, external: Mapping[str, Any]) -> Any:
    """What ``encode`` was given.

    Args:
        data: The bytes; they can run any code.
        external: What was not written.

    Raises:
        KeyError: Something was not written, and is not given.
    """
    return _Unpickler(io.BytesIO(data), external).load()


def with_globals(function: types.FunctionType, extra: Mapping) -> types.FunctionType:
    """A function that finds other globals before its own."""
    made = types.FunctionType(
        function.__code__,
        {**function.__globals__, **extra},
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(made, function)


class _Pickler(pickle.Pickler):
    """Writes what pickle leaves out; see `encode`."""

    def __init__(self, file: io.BytesIO, external: Mapping[str, Any]):
        super().__init__(file, protocol=5)
        self._names = {id(value): name for name, value in external.items()}

    def persistent_id(self, value: Any) -> tuple[str, str] | None:
        """What stands for an object that is not written."""
        if id(value) in self._names:
            return "external", self._names[id(value)]
        if isinstance(value, types.ModuleType):
            return "module", value.__name__
        if isinstance(value, torch.nn.Module):
            kind = type(value).__qualname__
            raise TypeError(f"it holds a module of the class {kind}")
        return None

    def reducer_override(self, value: Any) -> Any:
        """How code, cells and functions are written."""
        if isinstance(value, types.CodeType):
            return marshal.loads, (marshal.dumps(value),)
        if isinstance(value, types.CellType):
            return _cell, (), _content(value), None, None, _fill
        if not isinstance(value, types.FunctionType):
            return NotImplemented
        place = value.__module__, value.__qualname__
        found = _found_in_another_process(*place)
        if found is value:
            return NotImplemented
        if innermost(found) is value:
            return _named, place
        made = (value.__code__, *place, value.__name__, value.__closure__)
        held = (value.__defaults__, value.__kwdefaults__)
        return _made, made, held, None, None, _complete


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` wrote."""

    def __init__(self, file: io.BytesIO, external: Mapping[str, Any]):
        super().__init__(file)
        self._external = external

    def persistent_load(self, name: tuple[str, str]) -> Any:
        """The object that was not written."""
        kind, name = name
        if kind == "module":
            return importlib.import_module(name)
        if name not in self._external:
            raise KeyError(
                f"the file does not hold {name!r}: give it as external_data="
                f"{{{name!r}: ...}}"
            )
        return self._external[name]


def _cell() -> types.CellType:
    return types.CellType()


def _content(cell: types.CellType) -> tuple:
    try:
        return (cell.cell_contents,)
    except ValueError:  # it is empty
        return ()


def _fill(cell: types.CellType, content: tuple) -> None:
    for value in content:
        cell.cell_contents = value


def _found_in_another_process(module: str, name: str) -> Any:
    """What other processes find in a module under a name, or None.

    The program of another process is another one, whatever it calls its functions.
    """
    if module == "__main__" or module not in sys.modules:
        return None
    return _found(module, name)


def _found(module: str, name: str) -> Any:
    found = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _named(module: str, name: str) -> Any:
    """A function without the decorators of compilers that a module shows."""
    importlib.import_module(module)
    found = innermost(_found(module, name))
    if not isinstance(found, types.FunctionType):
        raise AttributeError(f"the module {module} has no function {name} any more")
    return found


def _made(
    code: types.CodeType, module: str, name: str, short: str, cells: tuple | None
) -> types.FunctionType:
    namespace = vars(importlib.import_module(module))
    function = types.FunctionType(code, namespace, short, None, cells)
    function.__qualname__ = name
    function.__module__ = module
    return function


def _complete(function: types.FunctionType, held: tuple) -> None:
    function.__defaults__, function.__kwdefaults__ = held
