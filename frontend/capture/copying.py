"""Copies of what is compiled, in this process and in others.

A compiled callable is copied and pickled as what it was made of: a function as itself
and by its name, a callable object or a module with its state. A copy is compiled with
the same settings, for itself; nothing that was compiled goes with it.
"""

from __future__ import annotations

import copy
import copyreg
import sys
import types
from typing import Any

from girih.frontend.capture.api import CompiledFunction
from girih.frontend.capture.targets import compile_callable
from girih.marks import innermost


def copied(compiled: CompiledFunction) -> Any:
    """What ``copy.copy`` gives: functions are their own copies."""
    target = compiled.girih_function
    made = copy.copy(target)
    return compiled if made is target else _compiled_like(compiled, made)


def deeply_copied(compiled: CompiledFunction, memo: dict[int, Any]) -> Any:
    """What ``copy.deepcopy`` gives, within one walk of it."""
    target = compiled.girih_function
    made = copy.deepcopy(target, memo)
    if made is target:
        return compiled
    if id(compiled) in memo:  # the target holds it
        return memo[id(compiled)]
    again = memo[id(compiled)] = _compiled_like(compiled, made)
    for name, value in vars(compiled).items():
        if name not in vars(again):
            setattr(again, name, copy.deepcopy(value, memo))
    return again


def reduced(compiled: CompiledFunction) -> str | tuple:
    """How pickle keeps it: by its name, or as what it was made of."""
    name = getattr(compiled, "__qualname__", "")
    if _found_by_name(compiled) is compiled:
        return name
    target = compiled.girih_function
    named = _found_by_name(target)
    if named is not target and innermost(named) is target:
        target = named  # a decorator put it in the function's place
    return compile_callable, (target, compiled.girih_compiler.settings.for_copy())


def keep_methods_compiled() -> None:
    """Has methods of compiled functions pickled as such, in the whole process.

    Python keeps a method by its name: what ``m.forward = compile(m.forward)`` put into
    an object would come back as the method of the class, which is not compiled.
    """
    copyreg.pickle(types.MethodType, _reduced_method)


def _reduced_method(method: types.MethodType) -> str | tuple:
    function, owner = method.__func__, method.__self__
    if not isinstance(function, CompiledFunction) or isinstance(owner, type):
        return method.__reduce__()
    if getattr(type(owner), function.__name__, None) is function:
        return method.__reduce__()
    return _method, (function, owner)


def _method(function: CompiledFunction, owner: Any) -> types.MethodType:
    return types.MethodType(function, owner)


def _compiled_like(compiled: CompiledFunction, target: Any) -> Any:
    return compile_callable(target, compiled.girih_compiler.settings.for_copy())


def _found_by_name(function: Any) -> Any:
    """What a module holds under the name of a function, or None."""
    found = sys.modules.get(getattr(function, "__module__", None))
    for name in getattr(function, "__qualname__", "<none>").split("."):
        found = getattr(found, name, None)
    return found
