"""Acts when a module is imported, now or later, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_Action = Callable[[ModuleType], Any]


def when_imported(name: str, act: _Action) -> None:
    """Calls a function with a module, as soon as the module has been executed.

    Args:
        name: The full name of the module.
        act: What is called, at once if the module is there. It is asked for once; a
            later function for the same module takes its place.
    """
    module = sys.modules.get(name)
    if module is not None and not _is_executing(module):
        _finder.waiting.pop(name, None)
        act(module)
        return
    _finder.waiting[name] = act
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def _is_executing(module: ModuleType) -> bool:
    return getattr(module.__spec__, "_initializing", False)


class _Finder:
    """Finds nothing itself: it extends the loaders that others find."""

    def __init__(self):
        self.waiting: dict[str, _Action] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that the other finders make, with a loader that tells of its end."""
        if name not in self.waiting:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find and find(name, path, target)
            if spec is not None:
                _act_after(spec, name)
                return spec
        return None


_finder = _Finder()


def _act_after(spec: ModuleSpec, name: str) -> None:
    """Has the loader of one module act after the module was executed.

    The loader stays what it is, since others look at its class.
    """
    loader = spec.loader
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        vars(loader).pop("exec_module", None)
        if module.__name__ == name and name in _finder.waiting:
            _finder.waiting.pop(name)(module)

    loader.exec_module = exec_module
