"""Unpacking and pattern matching.

Source: https://docs.python.org/3.12/library/dis.html#opcode-UNPACK_SEQUENCE
"""

from __future__ import annotations

from itertools import islice

from girih.frontend.capture.bytecode.table import opcode
from girih.frontend.capture.models.python import is_instance
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.lookup import MISSING, is_changeable
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import ListValue, TupleValue


@opcode("UNPACK_SEQUENCE")
def _unpack_sequence(tracer, frame, instruction):
    expected = instruction.arg
    # An iterator is asked for one item more, and not for all that it has.
    value = _checked(tracer, frame.pop())
    items = list(islice(tracer.iterate(value), expected + 1))
    if len(items) < expected:
        message = f"not enough values to unpack (expected {expected}, got {len(items)})"
        tracer.throw(ValueError, message)
    if len(items) > expected:
        message = f"too many values to unpack (expected {expected})"
        tracer.throw(ValueError, message)
    frame.stack.extend(reversed(items))


def _checked(tracer, value: Value) -> Value:
    """A value that is unpacked into variables; raises where it has no items."""
    cls = value.python_type()
    found = (tracer.lookup(cls, name)[0] for name in ("__iter__", "__getitem__"))
    if all(member is MISSING for member in found):
        kind = cls.__name__
        tracer.throw(TypeError, f"cannot unpack non-iterable {kind} object")
    return value


@opcode("UNPACK_EX")
def _unpack_ex(tracer, frame, instruction):
    iterator = tracer.iterator(_checked(tracer, frame.pop()))
    before, after = instruction.arg & 0xFF, instruction.arg >> 8
    items: list[Value] = []
    while len(items) < before and (item := tracer.next_of(iterator)) is not None:
        items.append(item)
    if len(items) == before:
        # Python makes a list of the iterator, which calls its `__iter__` again.
        items += tracer.listed(iterator)
    if len(items) < before + after:
        message = f"not enough values to unpack (expected at least {before + after}"
        tracer.throw(ValueError, f"{message}, got {len(items)})")
    end = len(items) - after
    middle = ListValue(items[before:end])
    frame.stack.extend(reversed([*items[:before], middle, *items[end:]]))


# https://docs.python.org/3.12/library/dis.html#opcode-MATCH_SEQUENCE


_IS_SEQUENCE, _IS_MAPPING, _MATCHES_ITSELF = 1 << 5, 1 << 6, 1 << 22  # flags of types


@opcode("MATCH_SEQUENCE")
def _match_sequence(tracer, frame, instruction):
    frame.push(tracer.constant(_has_flag(tracer, frame.stack[-1], _IS_SEQUENCE)))


@opcode("MATCH_MAPPING")
def _match_mapping(tracer, frame, instruction):
    frame.push(tracer.constant(_has_flag(tracer, frame.stack[-1], _IS_MAPPING)))


def _has_flag(tracer, value: Value, flag: int) -> bool:
    """What a class is to patterns; ``register`` of an abstract class may change it."""
    cls = value.python_type()
    if is_changeable(cls):
        found = _pattern_flags(cls)
        tracer.registrations.expect(_pattern_flags, cls, answer=found)
    return bool(cls.__flags__ & flag)


def _pattern_flags(cls: type) -> int:
    return cls.__flags__ & (_IS_SEQUENCE | _IS_MAPPING)


@opcode("MATCH_KEYS")
def _match_keys(tracer, frame, instruction):
    subject, keys = frame.stack[-2], frame.stack[-1]
    missing = ObjectValue(object)
    found = []
    for key in keys.items:
        found.append(_value_of_key(tracer, subject, key, missing))
        if found[-1] is missing:
            frame.push(tracer.constant(None))
            return
    frame.push(TupleValue(found))


def _value_of_key(tracer, subject: Value, key: Value, missing: Value) -> Value:
    if isinstance(subject, ObjectValue):
        return tracer.call_method(subject, "get", [key, missing])
    if not subject.contains(tracer, key):
        return missing
    return tracer.get_item(subject, key)


@opcode("MATCH_CLASS")
def _match_class(tracer, frame, instruction):
    subject, cls, names = frame.pop_many(3)
    if not isinstance(cls, ClassValue):
        tracer.throw(TypeError, "called match pattern must be a class")
    if not is_instance(tracer, subject, cls.as_python()):
        frame.push(tracer.constant(None))
        return
    count = instruction.arg
    positional = _match_args(tracer, cls.as_python(), count) if count else []
    attributes = [*positional, *(name.as_python() for name in names.items)]
    found = [subject] if count and not positional else []
    for index, name in enumerate(attributes):
        if name in attributes[:index]:
            text = f"got multiple sub-patterns for attribute {name!r}"
            tracer.throw(TypeError, f"{cls.as_python().__name__}() {text}")
        value = tracer.find_attr(subject, name)
        if value is None:
            frame.push(tracer.constant(None))
            return
        found.append(value)
    frame.push(TupleValue(found))


def _match_args(tracer, cls: type, count: int) -> list[str]:
    """The attributes of positional patterns; none where the subject is meant."""
    member, _ = tracer.lookup(cls, "__match_args__")
    names = None if member is MISSING else getattr(cls, "__match_args__", None)
    itself = names is None and bool(cls.__flags__ & _MATCHES_ITSELF)
    names = () if names is None else names
    if not isinstance(names, tuple):
        kind = type(names).__name__
        text = f"{cls.__name__}.__match_args__ must be a tuple (got {kind})"
        tracer.throw(TypeError, text)
    allowed = 1 if itself else len(names)
    if allowed < count:
        plural = "" if allowed == 1 else "s"
        text = f"accepts {allowed} positional sub-pattern{plural} ({count} given)"
        tracer.throw(TypeError, f"{cls.__name__}() {text}")
    return list(names[:count])


@opcode("GET_LEN")
def _get_len(tracer, frame, instruction):
    frame.push(tracer.constant(frame.stack[-1].length(tracer)))
