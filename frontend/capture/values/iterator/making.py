"""``iter(value)`` and ``reversed(value)``: which iterator a value gives."""

from __future__ import annotations

import collections
import types

from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import LITERALS, Constant
from girih.frontend.capture.values.deque import DequeValue
from girih.frontend.capture.values.hooks import entries_of, goes_by_order
from girih.frontend.capture.values.iterator.base import ItemsIterator, IteratorValue
from girih.frontend.capture.values.iterator.containers import (
    ConstantIterator,
    DequeIterator,
    DictIterator,
    IndexIterator,
    OrderIterator,
    SequenceIterator,
    SetIterator,
)
from girih.frontend.capture.values.key import Key
from girih.frontend.capture.values.lookup import MISSING, content_of
from girih.frontend.capture.values.mapping import DictValue, ViewValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import ListValue, SequenceValue
from girih.frontend.capture.values.set import SetValue
from girih.frontend.capture.values.tensor import TensorValue


class _ByIndex:
    """An object that is iterated by index."""

    def __getitem__(self, index):
        raise IndexError


_SEQUENCE_CLASSES = {
    (True, 1): type(iter([])),
    (True, -1): type(reversed([])),
    (False, 1): type(iter(())),
    (False, -1): reversed,
}
_BY_INDEX = type(iter(_ByIndex()))


def iterator_of(tracer, value: Value) -> Value:
    """``iter(value)``."""
    if isinstance(value, IteratorValue):
        return value
    if isinstance(value, ObjectValue):
        return _of_object(tracer, value)
    return _of_builtin(tracer, value, value)


def reverse_iterator_of(tracer, value: Value) -> Value:
    """``reversed(value)``."""
    if isinstance(value, ObjectValue):
        return _reversed_object(tracer, value)
    return _reversed_builtin(tracer, value, value)


def _of_object(tracer, value: ObjectValue) -> Value:
    member, _ = tracer.lookup(value.cls, "__iter__")
    if member is MISSING or member is None:
        return _of_items(tracer, value, member)
    if value.base is not None and not _is_python(member):
        return _of_builtin(tracer, value.base, value)
    made = value.call_special(tracer, "__iter__", [])
    return _checked(tracer, made)


def _is_python(member) -> bool:
    return isinstance(member, types.FunctionType)


def _checked(tracer, made: Value) -> Value:
    """What ``__iter__`` returned, which has to be an iterator."""
    if isinstance(made, IteratorValue):
        return made
    if tracer.lookup(made.python_type(), "__next__")[0] is not MISSING:
        return made
    kind = made.python_type().__name__
    tracer.throw(TypeError, f"iter() returned non-iterator of type '{kind}'")


def _of_items(tracer, value: ObjectValue, member) -> Value:
    getter, _ = tracer.lookup(value.cls, "__getitem__")
    if getter is MISSING or member is None:
        kind = value.cls.__name__
        tracer.throw(TypeError, f"'{kind}' object is not iterable")
    return IndexIterator(value, _BY_INDEX)


def _of_builtin(tracer, value: Value, owner: Value) -> Value:
    """An iterator over a builtin value, which may be the base of an object."""
    if isinstance(value, SequenceValue):
        cls = _SEQUENCE_CLASSES[isinstance(value, ListValue), 1]
        return SequenceIterator(owner, value, cls)
    if isinstance(value, DictValue):
        return _of_dict(tracer, owner, value, "keys")
    if isinstance(value, ViewValue) and isinstance(value.owner, DictValue):
        return _of_dict(tracer, value.owner, value.owner, value.kind)
    if isinstance(value, SetValue):
        return SetIterator(value, value.ordered(tracer))
    if isinstance(value, DequeValue):
        return DequeIterator(value)
    if isinstance(value, Constant) and isinstance(value.value, LITERALS):
        return ConstantIterator(_iterable(tracer, value.value))
    if isinstance(value, TensorValue):
        items = list(value.iterate(tracer))
        return ItemsIterator(items, _SEQUENCE_CLASSES[False, 1])
    return ItemsIterator(list(value.iterate(tracer)), _SEQUENCE_CLASSES[True, 1])


def _iterable(tracer, value):
    tracer.fold_raw(iter, value)  # a number raises
    return value


def _of_dict(tracer, owner: Value, mapping: DictValue, kind: str, step=1) -> Value:
    by_order = goes_by_order(mapping)
    is_ordered = issubclass(mapping.cls, collections.OrderedDict)
    view = getattr((collections.OrderedDict if is_ordered else dict)(), kind)()
    cls = type(iter(view) if step > 0 else reversed(view))
    if by_order:
        keys = [Key(Constant(key)) for key in content_of(mapping.real)][::step]
        entries = entries_of(tracer, mapping)[::step]
        return OrderIterator(owner, mapping, kind, keys, cls, entries, step < 0)
    keys = list(mapping.read_all(tracer))[::step]
    return DictIterator(owner, mapping, kind, keys, cls, step < 0)


def _reversed_object(tracer, value: ObjectValue) -> Value:
    member, _ = tracer.lookup(value.cls, "__reversed__")
    if value.base is not None and not _is_python(member) and member is not MISSING:
        return _reversed_builtin(tracer, value.base, value)
    if member is None:
        _not_reversible(tracer, value)
    found = value.call_special(tracer, "__reversed__", [])
    if found is not None:
        return found
    asked = (tracer.lookup(value.cls, n)[0] for n in ("__len__", "__getitem__"))
    if value.base is not None and not any(map(_is_python, asked)):
        return _reversed_builtin(tracer, value.base, value)
    if tracer.lookup(value.cls, "__getitem__")[0] is MISSING or member is None:
        _not_reversible(tracer, value)
    length, changes = tracer.effects.observed(lambda: value.length(tracer))
    return IndexIterator(value, reversed, length - 1, -1, not changes)


def _not_reversible(tracer, value: Value):
    kind = value.python_type().__name__
    tracer.throw(TypeError, f"'{kind}' object is not reversible")


def _reversed_builtin(tracer, value: Value, owner: Value) -> Value:
    if isinstance(value, SequenceValue):
        cls = _SEQUENCE_CLASSES[isinstance(value, ListValue), -1]
        return SequenceIterator(owner, value, cls, -1)
    if isinstance(value, DictValue):
        return _of_dict(tracer, owner, value, "keys", -1)
    if isinstance(value, ViewValue) and isinstance(value.owner, DictValue):
        return _of_dict(tracer, value.owner, value.owner, value.kind, -1)
    if isinstance(value, DequeValue):
        return DequeIterator(value, is_reversed=True)
    if isinstance(value, Constant) and isinstance(value.value, LITERALS):
        if not isinstance(value.value, (str, bytes, range)):
            _not_reversible(tracer, owner)
        made = ConstantIterator(value.value[::-1])
        made.cls = type(reversed(value.value))
        return made
    if isinstance(value, TensorValue):
        return _reversed_tensor(tracer, value)
    cls = value.python_type()
    if not hasattr(cls, "__reversed__") and not hasattr(cls, "__getitem__"):
        _not_reversible(tracer, value)
    return ItemsIterator(list(value.iterate(tracer))[::-1], reversed)


def _reversed_tensor(tracer, value: TensorValue) -> Value:
    """``Tensor.__reversed__`` gives a tensor."""
    if value.fake.ndim == 0:
        return value
    return value.call_method(tracer, "flip", [tracer.constant(0)], {})
