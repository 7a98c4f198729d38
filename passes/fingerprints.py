"""What a function does, as text that is equal in another process: for cache keys.

It is the function's bytecode with all that it reaches: defaults, what it closes over,
the functions and constants among its globals and among the attributes of modules, and
the files of modules and classes. A function of a notebook has no file, so its bytecode
stands for it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import types
import uuid
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

_PLAIN = (bool, bytes, complex, float, int, str, type(None), type(Ellipsis), range)


_KNOWN = frozenset({"girih", "torch"})
"""Packages whose files say what their functions do, whatever those reach."""

_STEADY = sys.stdlib_module_names - {"os"}
"""Modules of Python whose functions do the same in each process."""

_HEAD_BYTES = object.__basicsize__ + 16
"""What an object takes at most whose attributes are all in its ``__dict__``."""


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
            case staticmethod() | classmethod() | functools._lru_cache_wrapper():
                yield from self.parts(value.__wrapped__)
            case property():
                yield from self._all((value.fget, value.fset, value.fdel))
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
        names, modules = _names(function.__code__), []
        for cell in function.__closure__ or ():
            content = _content(cell)
            yield from self.parts(content)
            modules.append(content)
        for name in sorted(names):
            if name in function.__globals__:
                yield name
                yield from self.parts(function.__globals__[name])
                modules.append(function.__globals__[name])
            elif name in sys.modules:  # the function may import it
                modules.append(sys.modules[name])
        for module in _reached(modules, names):
            yield from self._attributes(module, names)

    def _attributes(self, module: types.ModuleType, names: set[str]) -> Iterator[str]:
        """What a function may read of a module that it reaches."""
        is_steady = module.__name__.partition(".")[0] in _STEADY
        for name in sorted(names & vars(module).keys()):
            value = vars(module)[name]
            if isinstance(value, types.ModuleType | type):
                continue
            if callable(value) and (is_steady or not _is_described(value)):
                continue
            yield f"{module.__name__} {name}"
            yield from self.parts(value)

    def _class(self, cls: type) -> Iterator[str]:
        yield f"{cls.__module__} {cls.__qualname__}"
        if cls.__module__ == "builtins":
            return
        file = _file_of(cls.__module__)
        if file is not None and "<locals>" not in cls.__qualname__:
            yield _status(file)
            for name, member in sorted(vars(cls).items()):
                if type(member) in _PLAIN and not name.startswith("__"):
                    yield f"{name} {member!r}"
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
        if _is_described(value):
            yield from self.parts(dict(vars(value)))
        else:
            yield uuid.uuid4().hex  # nothing says what it is


def _is_described(value: Any) -> bool:
    """Whether a function, or an object's attributes, say all that it is.

    A tensor has attributes, too, but its content is elsewhere, as that of slots is.
    """
    if isinstance(value, types.FunctionType | functools.partial):
        return True
    cls = type(value)
    return (
        hasattr(value, "__dict__")
        and not hasattr(cls, "__del__")
        and cls.__basicsize__ <= _HEAD_BYTES
        and not cls.__itemsize__
        and not any(
            isinstance(member, types.MemberDescriptorType)
            for base in cls.__mro__
            for member in vars(base).values()
        )
    )


def _reached(found: list[Any], names: set[str]) -> list[types.ModuleType]:
    """The modules among these values, and those among their attributes, each once."""
    modules: dict[str, types.ModuleType] = {}
    while found:
        value = found.pop()
        if not isinstance(value, types.ModuleType) or value.__name__ in modules:
            continue
        if value.__name__.partition(".")[0] not in _KNOWN:
            modules[value.__name__] = value
            found.extend(vars(value)[name] for name in names & vars(value).keys())
    return [modules[name] for name in sorted(modules)]


def _content(cell: types.CellType) -> Any:
    """What is in a cell; None: nothing is, yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _names(code: types.CodeType) -> set[str]:
    """The names that code, and what is defined in it, looks up."""
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _file_of(module: str) -> str | None:
    """The file of a module, None where it has none: a notebook's, a session's."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return file if file and os.path.exists(file) else None


def _status(file: str | None) -> str:
    """Size and time of change of a file."""
    if file is None or not os.path.exists(file):
        return ""
    status = Path(file).stat()
    return f"{status.st_size} {status.st_mtime_ns}"
