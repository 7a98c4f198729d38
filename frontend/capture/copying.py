"""Copies of what is compiled, in this process and in others.

A compiled callable is copied and pickled as what it was made of: a function as itself
and by its name, a callable object or a module with its state. A copy is compiled with
the same settings, for itself; nothing that was compiled goes with it.
"""

from __future__ import annotations

import copy
import sys
from typing import Any

from girih.frontend.capture import _frame
from girih.marks import innermost


def copied(compiled: _frame.Dispatcher) -> Any:
    """What ``copy.copy`` gives: functions are their own copies."""
    target = compiled.girih_function
    made = copy.copy(target)
    return compiled if made is target else _compiled_like(compiled, made)


def deeply_copied(compiled: _frame.Dispatcher, memo: dict[int, Any]) -> Any:
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


def reduced(compiled: _frame.Dispatcher) -> str | tuple:
    """How pickle keeps it: by its name, or as what it was made of."""
    name = getattr(compiled, "__qualname__", "")
    if _found_by_name(compiled) is compiled:
        return name
    target = compiled.girih_function
    named = _found_by_name(target)
    if named is not target and innermost(named) is target:
        target = named  # a decorator put it in the function's place
    return compiled.girih_again, (target, compiled.girih_compiler.settings.for_copy())


def _compiled_like(compiled: _frame.Dispatcher, target: Any) -> Any:
    return compiled.girih_again(target, compiled.girih_compiler.settings.for_copy())


def _found_by_name(function: Any) -> Any:
    """What a module holds under the name of a function, or None."""
    found = sys.modules.get(getattr(function, "__module__", None))
    for name in getattr(function, "__qualname__", "<none>").split("."):
        found = getattr(found, name, None)
    return found
