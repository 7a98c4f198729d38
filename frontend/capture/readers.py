"""Functions that look at the frames of their callers.

``sys._getframe(1).f_locals`` has the variables that Python would have there, also those
that nothing reads any more. So the frames of code that calls such functions keep all of
their variables wherever they are broken. Which code does is looked up by the names in
it, through modules, classes and the functions that those call.
"""

from __future__ import annotations

import builtins
import inspect
import os
import sys
import sysconfig
import traceback
import types
from collections.abc import Iterator

import torch

from girih.frontend.capture.resume.identity import ByIdentity
from girih.frontend.capture.resume.liveness import is_observed, observe
from girih.frontend.capture.resume.origin import original_code

READING = (inspect.__file__, traceback.__file__)
"""Files of the standard library that look at frames for the program."""

_NAMES = frozenset(("_getframe", "_current_frames", "currentframe", "f_back"))
_DEPTH = 4  # of calls from the code to what looks at the frames
_STANDARD = sysconfig.get_path("stdlib") + os.sep
_PACKAGES = tuple(sysconfig.get_path(n) + os.sep for n in ("purelib", "platlib"))
_TORCH = os.path.dirname(torch.__file__) + os.sep
_cleared: ByIdentity[types.CodeType, int] = ByIdentity()
"""Code in which nothing was found, up to that depth of calls."""


def is_library(code: types.CodeType) -> bool:
    """Whether code is torch's or of the standard library."""
    name = code.co_filename
    is_standard = name.startswith((_STANDARD, "<frozen "))
    is_standard = is_standard and not name.startswith(_PACKAGES)
    return is_standard or name.startswith(_TORCH)


def prepare_frame(frame) -> None:
    """Has a frame keep its variables, if what it calls may look at them.

    Args:
        frame: A traced frame, which is about to be broken.
    """
    code = original_code(frame.code)
    if is_observed(code) or frame.plan.is_library:
        return
    cells = [cell.content for cell in frame.cells.values()]
    held = [*frame.locals.values(), *cells]
    reals = (getattr(value, "real", None) for value in held)
    objects = [real for real in reals if real is not None]
    objects += [part for v in objects for part in _parts(v, code.co_names)]
    found = [v if isinstance(v, _LOOKED_INTO) else type(v) for v in objects]
    if _calls_readers(code, frame.namespace, tuple(found), _DEPTH):
        observe(code)


def _parts(obj, names: tuple[str, ...]) -> list:
    """What an object itself holds under some names."""
    namespace = getattr(obj, "__dict__", {})
    if isinstance(obj, torch.nn.Module):
        # Without any before `nn.Module.__init__` has run.
        namespace = {**namespace, **namespace.get("_modules", {})}
    return [namespace[name] for name in names if name in namespace]


def _reads(function: types.FunctionType, cls: tuple, depth: int) -> bool:
    code = function.__code__
    if (_cleared.get(code) or -1) >= depth:
        return False
    _cleared.set(code, depth)  # now already: calls may go in a circle
    found = _may_read(function, cls, depth)
    if found:
        _cleared.set(code, -1)
    return found


def _may_read(function: types.FunctionType, cls: tuple, depth: int) -> bool:
    code = original_code(function.__code__)
    if is_library(code) and code.co_filename not in READING:
        return False
    if not _NAMES.isdisjoint(_names_in(code)):
        return True
    if not depth or code.co_filename in READING:
        return code.co_filename in READING and "stack" in code.co_names
    contents = [_content(cell) for cell in function.__closure__ or ()]
    objects = (*cls, *(v for v in contents if isinstance(v, _LOOKED_INTO)))
    return _calls_readers(code, function.__globals__, objects, depth)


def _content(cell: types.CellType):
    try:
        return cell.cell_contents
    except ValueError:
        return None


_LOOKED_INTO = (types.ModuleType, type, types.FunctionType)


def _calls_readers(code, namespace: dict, objects: tuple, depth: int) -> bool:
    """Whether anything that the names in some code may mean looks at frames."""
    names = _names_in(code)
    if "_getframe" in names:  # called as `sys._getframe(1)`: the frame after the next
        return True
    return any(
        _reads(function, cls, depth - 1)
        for function, cls in _functions(names, namespace, objects)
    )


def _functions(names: frozenset[str], namespace: dict, objects: tuple) -> Iterator:
    """The functions, with the class that they are of, that some names may mean."""
    missing = object()
    found = [namespace.get(n, getattr(builtins, n, missing)) for n in names]
    owners = [v for v in (*found, *objects) if v is not missing]
    owners += [type(v) for v in found if not isinstance(v, _LOOKED_INTO)]
    for owner in owners:
        if isinstance(owner, types.FunctionType):
            yield owner, ()
        elif isinstance(owner, (types.ModuleType, type)) and not _is_plain(owner):
            cls = (owner,) if isinstance(owner, type) else ()
            special = ("__init__", "__call__", "forward") if cls else ()
            for name in (*names, *special):
                member = _function_of(inspect.getattr_static(owner, name, None))
                if member is not None:
                    yield member, cls


def _is_plain(owner) -> bool:
    """Whether a module or class is one that no reader of frames is found in."""
    module = owner.__name__ if isinstance(owner, types.ModuleType) else owner.__module__
    package = str(module).partition(".")[0]
    if package in ("inspect", "traceback"):
        return False
    return package in ("torch", "builtins") or package in sys.stdlib_module_names


def _function_of(member) -> types.FunctionType | None:
    for part in ("__func__", "fget", "func"):
        if not isinstance(member, types.FunctionType):
            member = inspect.getattr_static(member, part, member)
    member = inspect.unwrap(member) if callable(member) else member
    return member if isinstance(member, types.FunctionType) else None


def _names_in(code: types.CodeType) -> frozenset[str]:
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return frozenset(code.co_names).union(*map(_names_in, inner))
