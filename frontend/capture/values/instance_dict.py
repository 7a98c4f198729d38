"""``__dict__`` of an object."""

from __future__ import annotations

from typing import Any

from girih.errors import unsupported
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.lookup import (
    MISSING,
    SLOT_TYPES,
    static_lookup,
)
from girih.frontend.capture.values.sequence import TupleValue


class InstanceDictValue(Value):
    """``self.__dict__`` of an object: reads and writes go to the object."""

    def __init__(self, owner: Value):
        self.owner = owner

    def python_type(self) -> type:
        """``dict``."""
        return dict

    def identity(self) -> Any:
        """The same dict at each access."""
        return ("__dict__ of", id(self.owner))

    def _names(self, tracer) -> list[str]:
        owner = self.owner
        names = {}
        if owner.real is not None and hasattr(owner.real, "__dict__"):
            keys = tuple(owner.real.__dict__)
            tracer.guards.add(owner.source.instance_dict(), "keys", keys)
            added = tracer.effects.added_attributes(owner)
            names = dict.fromkeys(key for key in keys if key not in added)
            names.update(dict.fromkeys(added))
        names.update(dict.fromkeys(owner.attributes))
        return [name for name in names if self._find(tracer, name) is not None]

    def _is_elsewhere(self, name: str) -> bool:
        """Whether the object keeps an attribute in a slot, or in C."""
        return isinstance(static_lookup(self.owner.cls, name)[0], SLOT_TYPES)

    def _find(self, tracer, name: str) -> Value | None:
        if self._is_elsewhere(name):
            return None
        return self.owner.find_in_instance(tracer, name)

    def length(self, tracer) -> int:
        """Number of attributes."""
        return len(self._names(tracer))

    def truth(self, tracer) -> bool:
        """Whether there are attributes."""
        return bool(self._names(tracer))

    def iterate(self, tracer):
        """Names of the attributes."""
        return iter([tracer.constant(name) for name in self._names(tracer)])

    def contains(self, tracer, item) -> bool:
        """Whether an attribute is there."""
        return self._find(tracer, item.as_python()) is not None

    def get_item(self, tracer, key):
        """An attribute."""
        found = self._find(tracer, key.as_python())
        return found if found is not None else tracer.throw_value(KeyError, [key])

    def set_item(self, tracer, key, value):
        """Sets an attribute, past ``__setattr__`` and descriptors."""
        owner, name = self.owner, key.as_python()
        if self._is_elsewhere(name):
            unsupported(
                kind="name in __dict__ that the class has a slot for",
                context=f"{owner.cls.__name__}.{name}",
                explanation="The class stores this attribute in a slot. girih can't "
                "keep a second value of the same name in __dict__.",
            )
        previous = self._find(tracer, name)
        previous = MISSING if previous is None else previous
        tracer.effects.set_attr(owner, name, value, previous)

    def delete_item(self, tracer, key):
        """Deletes an attribute."""
        self.get_item(tracer, key)
        self.set_item(tracer, key, None)

    def _snapshot(self, tracer):
        pairs = [
            (tracer.constant(name), self._find(tracer, name))
            for name in self._names(tracer)
        ]
        return tracer.dict_of(pairs)

    def method___getitem__(self, tracer, key):
        """``self[key]``."""
        return self.get_item(tracer, key)

    def method___setitem__(self, tracer, key, value):
        """``self[key] = value``."""
        self.set_item(tracer, key, value)
        return tracer.constant(None)

    def method_get(self, tracer, key, default=None):
        """``self.get(key, default)``."""
        found = self._find(tracer, key.as_python())
        return found or (tracer.constant(None) if default is None else default)

    def method_pop(self, tracer, key, default=None):
        """``self.pop(key, default)``."""
        found = self._find(tracer, key.as_python())
        if found is None:
            return default or tracer.throw_value(KeyError, [key])
        self.set_item(tracer, key, None)
        return found

    def method_update(self, tracer, /, *others, **kwargs):
        """``self.update(other, **kwargs)``."""
        for other in others:
            for key, value in tracer.pairs_of(other):
                self.set_item(tracer, key, value)
        for name, value in kwargs.items():
            self.set_item(tracer, tracer.constant(name), value)
        return tracer.constant(None)

    def method_setdefault(self, tracer, key, default):
        """``self.setdefault(key, default)``."""
        found = self._find(tracer, key.as_python())
        if found is None:
            self.set_item(tracer, key, default)
        return found or default

    def method_keys(self, tracer):
        """``self.keys()`` as of now."""
        return self._snapshot(tracer).method_keys(tracer)

    def method_values(self, tracer):
        """``self.values()`` as of now."""
        return self._snapshot(tracer).method_values(tracer)

    def method_items(self, tracer):
        """``self.items()`` as of now."""
        return self._snapshot(tracer).method_items(tracer)

    def method_clear(self, tracer):
        """``self.clear()``."""
        for name in self._names(tracer):
            self.set_item(tracer, tracer.constant(name), None)
        return tracer.constant(None)

    def method_popitem(self, tracer):
        """``self.popitem()``."""
        names = self._names(tracer)
        if not names:
            tracer.throw(KeyError, "popitem(): dictionary is empty")
        key = tracer.constant(names[-1])
        return TupleValue([key, self.method_pop(tracer, key)])

    def call_method(self, tracer, name, args, kwargs):
        """A method; those that only read work on a copy."""
        if hasattr(self, f"method_{name}"):
            return super().call_method(tracer, name, args, kwargs)
        return self._snapshot(tracer).call_method(tracer, name, args, kwargs)

    def method_copy(self, tracer):
        """``self.copy()``."""
        return self._snapshot(tracer)
