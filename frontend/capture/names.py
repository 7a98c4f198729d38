"""What names mean: globals, builtins and imports."""

from __future__ import annotations

import builtins
import importlib
import sys
from typing import Any

from girih.errors import unsupported
from girih.frontend.capture.effects import Effects
from girih.frontend.capture.finalizers import refuse_to_lose
from girih.frontend.capture.frame import Frame
from girih.frontend.capture.guard import GuardSet
from girih.frontend.capture.source import Roots, Source, global_label
from girih.frontend.capture.values.base import Raised, Value

_MISSING = object()
_IMPORT = builtins.__import__


class Names:
    """Mixin of the tracer: what the names of a frame stand for.

    Attributes:
        guards: What the trace depended on.
        roots: Sources of held objects.
        effects: Changes to objects that existed before.
    """

    guards: GuardSet
    roots: Roots
    effects: Effects
    _globals: dict[tuple[int, str], Value]

    def load_global(self, namespace: dict, name: str, root: Source | None = None):
        """A global, or None."""
        key = (id(namespace), name)
        changed = self.effects.globals.get(key)
        if changed is not None:
            return changed[1]
        found = self._globals.get(key)
        if found is not None:
            return found
        value = namespace.get(name, _MISSING)
        root = root or self.roots.constant(namespace, global_label(namespace))
        if value is _MISSING:
            self.guards.add(root, "absent", name)
            return None
        found = self._globals[key] = self.wrap_found(value, root.dict_item(name))
        return found

    def load_builtin(self, frame: Frame, name: str) -> Value | None:
        """A builtin, or None; functions may have builtins of their own."""
        namespace = _builtins_of(frame)
        is_usual = namespace is vars(builtins)
        label = "builtins.__dict__" if is_usual else "__builtins__"
        return self.load_global(namespace, name, self.roots.constant(namespace, label))

    def load_name(self, frame: Frame, name: str) -> Value:
        """A global or a builtin."""
        found = self.load_global(frame.namespace, name)
        if found is None:
            found = self.load_builtin(frame, name)
        if found is None:
            self.throw(NameError, f"name '{name}' is not defined")
        return found

    def store_global(self, namespace: dict, name: str, value: Value | None) -> None:
        """Sets a global, or deletes it for None; replayed after the graph ran."""
        if value is None:  # replayed only where the name was there before
            root = self.roots.constant(namespace, global_label(namespace))
            self.guards.add(root, "contains" if name in namespace else "absent", name)
        if (id(namespace), name) not in self.effects.globals:
            refuse_to_lose(namespace.get(name))
        self.effects.set_global(namespace, name, value)

    def import_in(self, frame: Frame, name: str) -> Value:
        """A Python module, by an ``import`` statement of a frame."""
        importer = self.load_builtin(frame, "__import__")
        if importer is None or importer.identity() is not _IMPORT:
            unsupported(
                kind="import by a function of the program",
                context=f"import {name}",
                explanation="Someone replaced builtins.__import__.",
            )
        return self.imported(name)

    def imported(self, name: str) -> Value:
        """A Python module, imported while tracing."""
        if name not in sys.modules and name.split(".")[0] == "torch":
            unsupported(
                kind="import while tracing",
                context=name,
                explanation="Importing parts of torch has effects on tracing.",
                hints=("Import it at the top of the file.",),
            )
        try:
            module = self.fold_raw(importlib.import_module, name)
        except Raised:
            self._guard_missing(name)
            raise
        # What a module says of itself may be another module than the one named.
        if sys.modules.get(name) is not module:
            return self.held(module)
        return self.wrap(module, self._modules().dict_item(name))

    def _guard_missing(self, name: str) -> None:
        """Guards that a module, or a package that it is in, is still not there."""
        parts = name.split(".")
        for count in range(1, len(parts) + 1):
            prefix = ".".join(parts[:count])
            if prefix not in sys.modules:
                self.guards.add(self._modules(), "absent", prefix)
                return
            source = self._modules().dict_item(prefix)
            self.guards.add(source, "is", sys.modules[prefix])

    def _modules(self) -> Source:
        return self.roots.constant(sys.modules, "sys.modules")


def _builtins_of(frame: Frame) -> dict[str, Any]:
    if frame.function.real is not None:
        return frame.function.real.__builtins__
    found = frame.namespace.get("__builtins__", builtins)
    return found if isinstance(found, dict) else vars(found)
