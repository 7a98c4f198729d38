"""Dicts and sets."""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict
from typing import Any

from girih.errors import unsupported
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.hooks import holds_key
from girih.frontend.capture.values.key import Key, key_of
from girih.frontend.capture.values.lookup import content_of, is_same_key, length_of
from girih.frontend.capture.values.sequence import TupleValue

_MISSING = object()


class DictValue(Value):
    """A dict.

    One that existed before the call is read lazily: looking an item up guards that
    item alone; iterating guards all the keys.

    Attributes:
        items: From key to value, those that are known so far.
        cls: ``dict``, ``OrderedDict``, ``defaultdict``, ....
        real: The dict that existed before, until all of it was read.
        removals: How often keys have gone, or have moved.
        factory: Of a ``defaultdict``.
        attributes: What was set on an ``OrderedDict`` that was made while tracing.
    """

    def __init__(self, items=None, cls: type = dict, source=None, real=None):
        self.items: dict[Key, Value] = items if items is not None else {}
        self.cls = cls
        self.source = source
        self.real = real
        self.removals = 0
        self.factory: Value | None = None
        self.attributes: dict[str, Value] = {}

    def python_type(self) -> type:
        """The class."""
        return self.cls

    def as_python(self) -> Any:
        """The dict, where all of it is known; for folding only, it is a copy."""
        if self.real is not None:
            return super().as_python()
        pairs = [(k.value.as_python(), v.as_python()) for k, v in self.items.items()]
        if self.cls is defaultdict:
            return super().as_python()
        return self.cls(pairs)

    def read_all(self, tracer) -> dict[Key, Value]:
        """All items, of a dict that existed before too."""
        if self.real is None:
            return self.items
        self._guard_keys(tracer)
        known, self.items = self.items, {}
        real, self.real = self.real, None
        for python_key in content_of(real):
            key = Key(tracer.key_of(python_key))
            value = known.get(key)
            if value is None:
                value = tracer.wrap(
                    dict.__getitem__(real, python_key),
                    self.source.dict_item(python_key),
                )
            self.items[key] = value
        return self.items

    def _guard_keys(self, tracer) -> None:
        keys = tuple(content_of(self.real))
        if isinstance(self.real, OrderedDict):
            # An OrderedDict may be reordered without any change of its dict.
            tracer.guards.add(self.source, "call", KeyOrder(keys))
        tracer.sizes.check_keys(self.source)
        tracer.guards.add(self.source, "keys", keys)

    def find(self, tracer, key: Value) -> Value | None:
        """The item, or None."""
        found = self.items.get(key_of(tracer, key))
        if found is not None or self.real is None:
            return found
        python_key = tracer.key_python(key)
        value = dict.get(self.real, python_key, _MISSING)
        if value is _MISSING:
            tracer.guards.add(self.source, "absent", python_key)
            return None
        found = tracer.wrap_found(value, self.source.dict_item(python_key))
        self.items[key_of(tracer, key)] = found
        return found

    def truth(self, tracer) -> bool:
        """Whether it has items."""
        return self.length(tracer) > 0

    def length(self, tracer) -> int:
        """Number of items."""
        if self.real is None:
            return len(self.items)
        tracer.sizes.check_length(self.source)
        length = length_of(self.real)
        tracer.guards.add(self.source, "length", length)
        return length

    def iterate(self, tracer):
        """The keys."""
        return tracer.iterator(self).iterate(tracer)

    def contains(self, tracer, item) -> bool:
        """Whether a key is there."""
        found = holds_key(tracer, self, item)
        if found is not None:
            return found
        if key_of(tracer, item) in self.items:
            return True
        if self.real is None:
            return False
        python_key = tracer.key_python(item)
        found = dict.__contains__(self.real, python_key)
        tracer.guards.add(self.source, "contains" if found else "absent", python_key)
        return found

    def get_item(self, tracer, key):
        """``self[key]``."""
        found = self.find(tracer, key)
        if found is not None:
            return found
        if self.factory is not None and not tracer.is_none(self.factory):
            made = tracer.call(self.factory, [], {})
            self.set_item(tracer, key, made)
            return made
        tracer.throw_value(KeyError, [key])

    def set_item(self, tracer, key, value):
        """``self[key] = value``."""
        self.read_all(tracer)
        tracer.effects.change(self)
        self.items[key_of(tracer, key)] = value

    def delete_item(self, tracer, key):
        """``del self[key]``."""
        self._remove(tracer)
        if self.items.pop(key_of(tracer, key), None) is None:
            tracer.throw_value(KeyError, [key])

    def _remove(self, tracer) -> None:
        """Notes that keys are about to go."""
        self.read_all(tracer)
        tracer.effects.change(self)
        self.removals += 1

    def get_attr(self, tracer, name):
        """``default_factory``; attributes of an ``OrderedDict``; methods."""
        if name in self.attributes:
            return self.attributes[name]
        if name == "default_factory" and self.factory is not None:
            return self.factory
        return super().get_attr(tracer, name)

    def set_attr(self, tracer, name, value):
        """An ``OrderedDict`` takes attributes."""
        is_ours = self.cls is OrderedDict and self.source is None
        if not is_ours or value is None or hasattr(OrderedDict, name):
            super().set_attr(tracer, name, value)
        self.attributes[name] = value

    def method___getitem__(self, tracer, key):
        """``self.__getitem__(key)``."""
        return self.get_item(tracer, key)

    def method___setitem__(self, tracer, key, value):
        """``self.__setitem__(key, value)``."""
        self.set_item(tracer, key, value)
        return tracer.constant(None)

    def method___delitem__(self, tracer, key):
        """``self.__delitem__(key)``."""
        self.delete_item(tracer, key)
        return tracer.constant(None)

    def method___contains__(self, tracer, key):
        """``self.__contains__(key)``."""
        return tracer.constant(self.contains(tracer, key))

    def method___len__(self, tracer):
        """``self.__len__()``."""
        return tracer.constant(self.length(tracer))

    def method___iter__(self, tracer):
        """``self.__iter__()``."""
        return tracer.iterator(self)

    def method___init__(self, tracer, /, *args, **kwargs):
        """``dict.__init__``: an update."""
        return self.method_update(tracer, *args, **kwargs)

    def call_c_method(self, tracer, descriptor, args, kwargs):
        """A method of ``dict`` that knows nothing of the order does harm."""
        is_odd = self.cls is OrderedDict and descriptor.__objclass__ is dict
        if is_odd and getattr(OrderedDict, descriptor.__name__) is not descriptor:
            unsupported(
                kind="method of dict called with an OrderedDict",
                context=f"dict.{descriptor.__name__}",
                explanation=(
                    "The method of dict does not update the order that an OrderedDict "
                    "keeps."
                ),
            )
        return super().call_c_method(tracer, descriptor, args, kwargs)

    def method_get(self, tracer, key, default=None):
        """``self.get(key, default)``."""
        found = self.find(tracer, key)
        if found is not None:
            return found
        return tracer.constant(None) if default is None else default

    def method_pop(self, tracer, key, default=None):
        """``self.pop(key, default)``."""
        found = self.find(tracer, key)
        if found is None:
            return default or tracer.throw_value(KeyError, [key])
        self.delete_item(tracer, key)
        return found

    def method_popitem(self, tracer, last=None):
        """``self.popitem()``."""
        keys = list(self.read_all(tracer))
        if not keys:
            is_ordered = issubclass(self.cls, OrderedDict)
            text = "dictionary is empty"
            tracer.throw(KeyError, text if is_ordered else f"popitem(): {text}")
        self._remove(tracer)
        key = keys[-1 if last is None or last.truth(tracer) else 0]
        return TupleValue([key.value, self.items.pop(key)])

    def method_setdefault(self, tracer, key, default=None):
        """``self.setdefault(key, default)``."""
        found = self.find(tracer, key)
        if found is None:
            found = tracer.constant(None) if default is None else default
            self.set_item(tracer, key, found)
        return found

    def method_update(self, tracer, /, *args, **kwargs):
        """``self.update(other, **kwargs)``."""
        for other in args:
            for key, value in tracer.pairs_of(other):
                self.set_item(tracer, key, value)
        for name, value in kwargs.items():
            self.set_item(tracer, tracer.constant(name), value)
        return tracer.constant(None)

    def method_clear(self, tracer):
        """``self.clear()``."""
        self._remove(tracer)
        self.items.clear()
        return tracer.constant(None)

    def method_copy(self, tracer):
        """``self.copy()``."""
        return self.copied_like(tracer, self)

    def copied_like(self, tracer, other: DictValue) -> DictValue:
        """What ``self | other`` starts with: a subclass of ``dict`` makes its own."""
        like = other if self.cls is dict else self
        copied = DictValue(dict(self.read_all(tracer)), like.cls)
        copied.factory = like.factory
        return copied

    def method_keys(self, tracer):
        """``self.keys()``."""
        return ViewValue(self, "keys")

    def method_values(self, tracer):
        """``self.values()``."""
        return ViewValue(self, "values")

    def method_items(self, tracer):
        """``self.items()``."""
        return ViewValue(self, "items")

    def method_move_to_end(self, tracer, key, last=None):
        """``OrderedDict.move_to_end(key, last)``."""
        self._remove(tracer)
        index = key_of(tracer, key)
        if index not in self.items:
            tracer.throw_value(KeyError, [key])
        value = self.items.pop(index)
        if last is None or last.truth(tracer):
            self.items[index] = value
        else:
            others = dict(self.items)
            self.items.clear()  # a proxy may have the same items
            self.items.update({index: value, **others})
        return tracer.constant(None)

    def __repr__(self) -> str:
        return f"{self.cls.__name__}({len(self.items)} items)"


class KeyOrder:
    """A guard on the order of the items of an OrderedDict or a set."""

    def __init__(self, keys: tuple):
        self.keys = keys
        self.__qualname__ = f"keys are {list(keys)}: "

    def __call__(self, value) -> bool:
        """Whether a container has them in that order."""
        found = content_of(value)
        pairs = zip(found, self.keys, strict=False)
        return len(found) == len(self.keys) and all(is_same_key(*p) for p in pairs)


class ProxyValue(DictValue):
    """A ``mappingproxy`` that was made while tracing: a dict that can't be changed.

    Attributes:
        content: The class of the dict behind it.
        owner: That dict, which has the same items, now and later; None for a copy.
    """

    owner: DictValue | None = None

    def __init__(self, items: dict[Key, Value], content: type):
        super().__init__(items, types.MappingProxyType)
        self.content = content

    def as_python(self) -> Any:
        """A proxy of an equal dict, where all of it is known."""
        return types.MappingProxyType(self.method_copy(None).as_python())

    set_item = Value.set_item
    delete_item = Value.delete_item

    def method_copy(self, tracer):
        """A copy of the dict behind it."""
        return DictValue(dict(self.items), self.content)


class ViewValue(Value):
    """``keys()``, ``values()`` or ``items()`` of a dict."""

    def __init__(self, owner: DictValue, kind: str):
        self.owner = owner
        self.kind = kind

    def python_type(self) -> type:
        """The type of the view."""
        return type(getattr({}, self.kind)())

    def length(self, tracer) -> int:
        """Number of items."""
        return self.owner.length(tracer)

    def truth(self, tracer) -> bool:
        """Whether there are items."""
        return self.owner.truth(tracer)

    def contains(self, tracer, item) -> bool:
        """Whether an item is there."""
        if self.kind == "keys":
            return self.owner.contains(tracer, item)
        return super().contains(tracer, item)

    def iterate(self, tracer):
        """The keys, values or pairs."""
        return tracer.iterator(self).iterate(tracer)

    def method___iter__(self, tracer):
        """``iter(self)``."""
        return tracer.iterator(self)
