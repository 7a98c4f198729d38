"""What a function does, as text that is equal in another process: for cache keys.

It is the function's bytecode with all that it reaches: defaults, what it closes over,
the functions and constants among its globals, and the files of modules and classes. A
function of a notebook has no file, so its bytecode stands for it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import types
import uuid
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

_PLAIN = (bool, bytes, complex, float, int, str, type(None), type(Ellipsis), range)


_KNOWN = frozenset({"girih", "torch"})
"""Packages whose files say what their functions do, whatever those reach."""


def fingerprint(function: Callable) -> str:
    """Returns a digest of what a function does.

    What it reaches may have no text that says what it is, as an open file. Then the
    digest is another one each time, so that nothing is taken for the same.
    """
    digest = hashlib.sha256()
    for part in _Walk().parts(function):
        digest.update(part.encode())
        digest.update(b"\0")
    return digest.hexdigest()[:32]


class _Walk:
    """A walk over all that a value reaches; each object is described once."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}  # kept, so that no id is given twice

    def parts(self, value: Any) -> Iterator[str]:
        """The texts that describe a value."""
        if isinstance(value, _PLAIN) and type(value) in _PLAIN:
            yield repr(value)
            return
        if id(value) in self._seen:
            yield f"seen {list(self._seen).index(id(value))}"
            return
        self._seen[id(value)] = value
        yield type(value).__qualname__
        yield from self._described(value)

    def _described(self, value: Any) -> Iterator[str]:
        match value:
            case types.CodeType():
                yield from self._code(value)
            case types.FunctionType():
                yield from self._function(value)
            case types.MethodType():
                yield from self._all((value.__func__, value.__self__))
            case functools.partial():
                yield from self._all((value.func, value.args, value.keywords))
            case types.ModuleType():
                yield value.__name__
                yield _status(getattr(value, "__file__", None))
            case type():
                yield from self._class(value)
            case Enum():
                yield f"{value!r}"
            case list() | tuple():
                yield from self._all(value)
            case dict():
                yield from self._all(value.items())
            case set() | frozenset():
                yield from sorted("".join(self.parts(item)) for item in value)
            case types.BuiltinFunctionType() | types.GetSetDescriptorType():
                # Descriptors of C have no module.
                yield f"{getattr(value, '__module__', '')} {value.__qualname__}"
            case _:
                yield from self._object(value)

    def _all(self, values: Any) -> Iterator[str]:
        for value in values:
            yield from self.parts(value)
        yield "end"

    def _code(self, code: types.CodeType) -> Iterator[str]:
        yield code.co_code.hex()
        yield from self._all(
            (code.co_consts, code.co_names, code.co_varnames, code.co_flags)
        )

    def _function(self, function: types.FunctionType) -> Iterator[str]:
        if function.__module__.partition(".")[0] in _KNOWN:
            yield f"{function.__module__} {function.__qualname__}"
            yield _status(_file_of(function.__module__))
            return
        yield from self._all(
            (function.__code__, function.__defaults__, function.__kwdefaults__)
        )
        for cell in function.__closure__ or ():
            yield from self._cell(cell)
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                yield name
                yield from self.parts(function.__globals__[name])

    def _cell(self, cell: types.CellType) -> Iterator[str]:
        try:
            content = cell.cell_contents
        except ValueError:
            yield "empty"
        else:
            yield from self.parts(content)

    def _class(self, cls: type) -> Iterator[str]:
        yield f"{cls.__module__} {cls.__qualname__}"
        if cls.__module__ == "builtins":
            return
        file = _file_of(cls.__module__)
        if file is not None:
            yield _status(file)
            return
        for name, member in sorted(vars(cls).items()):
            if name not in ("__dict__", "__weakref__", "__doc__"):
                yield name
                yield from self.parts(member)

    def _object(self, value: Any) -> Iterator[str]:
        yield from self.parts(type(value))
        if type(value).__module__.startswith("girih.plugins"):
            yield str(value)
            return
        names = getattr(value, "__dict__", None)
        if names is None or hasattr(type(value), "__del__"):
            yield uuid.uuid4().hex  # nothing says what it is
        else:
            yield from self.parts(dict(names))


def _names(code: types.CodeType) -> set[str]:
    """The names that code, and what is defined in it, looks up."""
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _file_of(module: str) -> str | None:
    """The file of a module, None where it has none: a notebook's, a session's."""
    import sys

    file = getattr(sys.modules.get(module), "__file__", None)
    return file if file and os.path.exists(file) else None


def _status(file: str | None) -> str:
    """Size and time of change of a file."""
    if file is None or not os.path.exists(file):
        return ""
    status = Path(file).stat()
    return f"{status.st_size} {status.st_mtime_ns}"
