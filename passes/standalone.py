"""A function with what it needs, as the text of a module: what ``--load`` can import.

A pass that is defined in a notebook, or inside of another function, cannot be imported
by name. To be replayed elsewhere it is written to a file of its own.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LITERALS = (bool, bytes, float, int, str, type(None))


class NotStandalone(Exception):
    """Why a function can't be written to a file of its own."""


def is_importable(function: Callable) -> bool:
    """Whether another process finds a function by its module and name.

    One of the program that runs is not: importing that would run it again.
    """
    if function.__module__ == "__main__":
        return False
    module = sys.modules.get(function.__module__)
    if getattr(module, "__file__", None) is None:
        return False
    found: Any = module
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def place_of(module_name: str) -> str:
    """What ``--load`` takes for a module: its name, or its file.

    A module of a package is found by its name, and its imports need that. Another one
    may lie where only this program looks.
    """
    module: Any = sys.modules.get(module_name)
    package = sys.modules.get(module_name.rpartition(".")[0])
    file = getattr(module, "__file__", None)
    is_of_package = getattr(package, "__file__", None) is not None
    is_package = file is not None and Path(file).stem == "__init__"
    return module_name if file is None or is_of_package or is_package else file


def module_of(place: str) -> str:
    """The name of the module that ``--load`` makes of a name or a file."""
    return Path(place).stem if place.endswith(".py") else place


def source_of(function: Callable) -> tuple[str, list[str]]:
    """Returns the text of a module that defines a function, and what it has to load.

    Raises:
        NotStandalone: It has no source, or uses what can't be written as text.
    """
    writer = _Writer()
    writer.define(function.__name__, function)
    text = "\n\n".join(["\n".join(writer.imports), *writer.definitions])
    return f"{text}\n", list(writer.loads)


class _Writer:
    """Collects what a module has to hold."""

    def __init__(self) -> None:
        self.imports: dict[str, None] = {"from __future__ import annotations": None}
        self.definitions: list[str] = []
        self.loads: dict[str, None] = {}
        self._done: dict[str, Any] = {}

    def define(self, name: str, value: Any) -> None:
        """Has the module define a name."""
        if name in self._done:
            if self._done[name] is not value:
                raise NotStandalone(f"the name {name!r} means two different objects")
            return
        self._done[name] = value
        if isinstance(value, types.ModuleType):
            self.imports[f"import {value.__name__} as {name}"] = None
        elif _is_literal(value):
            self.definitions.append(f"{name} = {value!r}")
        elif isinstance(value, types.FunctionType) and not is_importable(value):
            self._define_function(name, value)
        elif isinstance(value, types.FunctionType | type | types.BuiltinFunctionType):
            self._import(name, value)
        else:
            raise NotStandalone(f"{name!r} is a {type(value).__name__}")

    def _import(self, name: str, value: Any) -> None:
        if "." in value.__qualname__:
            raise NotStandalone(f"{name!r} can't be imported")
        place = place_of(value.__module__)
        if place == "__main__":
            raise NotStandalone(f"{name!r} can't be imported")
        if place.endswith(".py"):
            self.loads[place] = None
        line = f"from {module_of(place)} import {value.__qualname__} as {name}"
        self.imports[line] = None

    def _define_function(self, name: str, function: types.FunctionType) -> None:
        if function.__name__ == "<lambda>":
            raise NotStandalone("a lambda has no source of its own")
        if function.__name__ != name:
            other = function.__name__
            raise NotStandalone(f"{name!r} is defined under another name, {other!r}")
        try:
            source = textwrap.dedent(inspect.getsource(function))
        except (OSError, TypeError):
            raise NotStandalone(f"{name!r} has no source") from None
        for used, value in _used_by(function).items():
            if used != name:
                self.define(used, value)
        self.definitions.append(source.rstrip())


def _used_by(function: types.FunctionType) -> dict[str, Any]:
    """What a function's names stand for: globals, and what it closes over."""
    code = function.__code__
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        reason = "the function uses an outer variable that has no value yet"
        raise NotStandalone(reason) from None
    used = dict(zip(code.co_freevars, cells, strict=True))
    names = list(_names(code)) + _names_of_decorators(function)
    for name in names:
        if name in function.__globals__:
            used[name] = function.__globals__[name]
    return used


def _names_of_decorators(function: types.FunctionType) -> list[str]:
    """The names in decorators, defaults and annotations: what the def line needs."""
    import ast

    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    parts = [*tree.decorator_list, *tree.args.defaults, *tree.args.kw_defaults]
    walked = (node for part in parts if part for node in ast.walk(part))
    return [node.id for node in walked if isinstance(node, ast.Name)]


def _names(code: types.CodeType) -> set[str]:
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _is_literal(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_literal, value))
    if isinstance(value, dict):
        return all(_is_literal(part) for item in value.items() for part in item)
    return type(value) in _LITERALS
