"""Where a traced value came from.

A ``Source`` names a value that existed before the captured call: a local, an attribute
of it, a dict item, a cell, .... It says how guards reach the value at the next call,
how generated code would reach it, and how it reads as Python. Sources are interned:
the same path is the same object, so they hash by identity.

``ACCESS`` mirrors ``enum Access`` in ``_guards.c``.
"""

from __future__ import annotations

import types
from typing import Any

ACCESS = {
    name: code
    for code, name in enumerate(
        (
            "local",
            "constant",
            "function",
            "attribute",
            "dict",
            "dict_item",
            "index",
            "item",
            "cell",
            "type",
            "type_lookup",
            "closure",
            "referent",
            "key_at",
            "value_at",
        )
    )
}

_FORMATS = {
    "attribute": "{base}.{key}",
    "dict": "{base}.__dict__",
    "dict_item": "{base}[{key!r}]",
    "index": "{base}[{key}]",
    "item": "{base}[{key!r}]",
    "cell": "{base}.cell_contents",
    "type": "type({base})",
    "type_lookup": "{base}.{key}",
    "closure": "{base}.__closure__[{key}]",
    "referent": "{base}()",
    "key_at": "list({base})[{key}]",
    "value_at": "list({base}.values())[{key}]",
}


class Source:
    """A path to a value that existed before the call.

    Attributes:
        access: A key of ``ACCESS``.
        key: The local's index, the attribute's name, the dict's key, ....
        base: The source that the path goes on from; None for a root.
        label: For a root: how it reads in a printed guard.
    """

    __slots__ = ("access", "key", "base", "label", "_children")

    def __init__(self, access: str, key: Any, base: Source | None, label: str = ""):
        self.access = access
        self.key = key
        self.base = base
        self.label = label
        self._children: dict[Any, Source] = {}

    def _child(self, access: str, key: Any) -> Source:
        # 1, True and 1.0 are the same key of a dict, so the type is part of it.
        index = (access, type(key), key)
        found = self._children.get(index)
        if found is None:
            found = self._children[index] = Source(access, key, self)
        return found

    def attribute(self, name: str) -> Source:
        """``self.name`` as ``getattr`` finds it."""
        return self._child("attribute", name)

    def instance_dict(self) -> Source:
        """``self.__dict__``."""
        return self._child("dict", None)

    def dict_item(self, key: Any) -> Source:
        """``dict.__getitem__(self, key)``."""
        return self._child("dict_item", key)

    def index(self, index: int) -> Source:
        """Item of a list or tuple."""
        return self._child("index", index)

    def item(self, key: Any) -> Source:
        """``self[key]``, as ``operator.getitem`` finds it."""
        return self._child("item", key)

    def cell(self) -> Source:
        """Contents of a closure cell."""
        return self._child("cell", None)

    def closure(self, index: int) -> Source:
        """A cell of a function's closure."""
        return self._child("closure", index)

    def referent(self) -> Source:
        """What a weak reference refers to."""
        return self._child("referent", None)

    def key_at(self, index: int) -> Source:
        """The key of a dict that stands at a place in its order."""
        return self._child("key_at", index)

    def value_at(self, index: int) -> Source:
        """The value of a dict that stands at a place in its order."""
        return self._child("value_at", index)

    def is_in_dict_order(self) -> bool:
        """Whether the path leads through a value that was found by its place."""
        source = self
        while source is not None and source.access != "value_at":
            source = source.base
        return source is not None

    def type(self) -> Source:
        """``type(self)``."""
        return self._child("type", None)

    def type_lookup(self, name: str) -> Source:
        """What the classes of a type's MRO hold under ``name``."""
        return self._child("type_lookup", name)

    def root(self) -> Source:
        """Where the path begins."""
        source = self
        while source.base is not None:
            source = source.base
        return source

    def module_of_globals(self) -> str | None:
        """The name of the module whose globals are here, or None."""
        if self.access == "dict" and self.base is not None:
            return name_of(self.base.key) if _is_module(self.base) else None
        is_dict = self.access == "constant" and type(self.key) is dict
        is_globals = is_dict and "__builtins__" in self.key
        return self.key.get("__name__", "?") if is_globals else None

    def in_instance(self, name: str) -> Source:
        """``self.__dict__[name]``."""
        return self.instance_dict().dict_item(name)

    def __str__(self) -> str:
        if self.base is None:
            return self.label
        if self.access == "dict_item" and self.base.access == "dict":
            return f"{self.base.base}.{self.key}"
        key = name_of(self.key) or self.key
        if hasattr(type(key), "__torch_function__"):
            key = _TensorKey(key)  # the text of a tensor has all its elements
        return _FORMATS[self.access].format(base=self.base, key=key)

    __repr__ = __str__


def _is_module(source: Source) -> bool:
    return source.access == "constant" and isinstance(source.key, types.ModuleType)


class _TensorKey:
    """Names a tensor that is the key of a dict, as a parameter of its optimizer is."""

    def __init__(self, tensor: Any):
        self._text = f"<{type(tensor).__name__} at {id(tensor):#x}>"

    def __repr__(self) -> str:
        return self._text


class Roots:
    """The roots of one capture.

    Args:
        names: Names of the frame's locals, in order of the frame's slots.
    """

    def __init__(self, names: tuple[str, ...]):
        self.names = names
        self.function = Source("function", None, None, "function")
        self._locals: dict[int, Source] = {}
        self._constants: dict[int, Source] = {}

    def local(self, index: int) -> Source:
        """An argument of the captured frame."""
        found = self._locals.get(index)
        if found is None:
            label = f"L[{self.names[index]!r}]"
            found = self._locals[index] = Source("local", index, None, label)
        return found

    def constant(self, value: Any, label: str | None = None) -> Source:
        """An object that the cache entry itself holds."""
        found = self._constants.get(id(value))
        if found is None:
            label = label or f"<{_describe(value)}>"
            found = self._constants[id(value)] = Source("constant", value, None, label)
        return found


def name_of(value: Any) -> str | None:
    """What an object is called, if it has a name; asks no ``__getattr__`` for it."""
    if isinstance(value, types.ModuleType):
        found = vars(value).get("__name__")
    elif hasattr(type(value), "__getattr__"):
        found = None
    else:
        found = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return found if isinstance(found, str) else None


def _describe(value: Any) -> str:
    return name_of(value) or type(value).__qualname__


def global_label(namespace: dict) -> str:
    """How the globals of a module read in a printed guard."""
    return f"G[{namespace.get('__name__', '?')}]"
