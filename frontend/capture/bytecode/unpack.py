"""Unpacking and pattern matching.

Source: https://docs.python.org/3.12/library/dis.html#opcode-UNPACK_SEQUENCE
"""

from __future__ import annotations

from girih.frontend.capture.bytecode.table import opcode
from girih.frontend.capture.models.python import is_instance
from girih.frontend.capture.values.instance_dict import InstanceDictValue
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import (
    ListValue,
    SequenceValue,
    TupleValue,
)


@opcode("UNPACK_SEQUENCE")
def _unpack_sequence(tracer, frame, instruction):
    items = list(tracer.iterate(frame.pop()))
    expected = instruction.arg
    if len(items) < expected:
        message = f"not enough values to unpack (expected {expected}, got {len(items)})"
        tracer.throw(ValueError, message)
    if len(items) > expected:
        message = f"too many values to unpack (expected {expected})"
        tracer.throw(ValueError, message)
    frame.stack.extend(reversed(items))


@opcode("UNPACK_EX")
def _unpack_ex(tracer, frame, instruction):
    items = list(tracer.iterate(frame.pop()))
    before, after = instruction.arg & 0xFF, instruction.arg >> 8
    if len(items) < before + after:
        message = f"not enough values to unpack (expected at least {before + after}"
        tracer.throw(ValueError, f"{message}, got {len(items)})")
    end = len(items) - after
    middle = ListValue(items[before:end])
    frame.stack.extend(reversed([*items[:before], middle, *items[end:]]))


# https://docs.python.org/3.12/library/dis.html#opcode-MATCH_SEQUENCE


@opcode("MATCH_SEQUENCE")
def _match_sequence(tracer, frame, instruction):
    subject = frame.stack[-1]
    frame.push(tracer.constant(isinstance(subject, SequenceValue)))


@opcode("MATCH_MAPPING")
def _match_mapping(tracer, frame, instruction):
    subject = frame.stack[-1]
    if isinstance(subject, ObjectValue):
        subject = subject.base
    frame.push(tracer.constant(isinstance(subject, (DictValue, InstanceDictValue))))


@opcode("MATCH_KEYS")
def _match_keys(tracer, frame, instruction):
    subject, keys = frame.stack[-2], frame.stack[-1]
    found = [subject.contains(tracer, key) for key in keys.items]
    if not all(found):
        frame.push(tracer.constant(None))
        return
    frame.push(TupleValue([tracer.get_item(subject, key) for key in keys.items]))


@opcode("MATCH_CLASS")
def _match_class(tracer, frame, instruction):
    subject, cls, names = frame.pop_many(3)
    python_cls = cls.as_python()
    if not is_instance(tracer, subject, python_cls):
        frame.push(tracer.constant(None))
        return
    attributes = [name.as_python() for name in names.items]
    count = instruction.arg
    found = []
    if count and python_cls in _SELF_MATCHING:
        found.append(subject)
    elif count:
        attributes = [*python_cls.__match_args__[:count], *attributes]
    for name in attributes:
        value = tracer.find_attr(subject, name)
        if value is None:
            frame.push(tracer.constant(None))
            return
        found.append(value)
    frame.push(TupleValue(found))


_SELF_MATCHING = frozenset(
    (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
)


@opcode("GET_LEN")
def _get_len(tracer, frame, instruction):
    frame.push(tracer.constant(frame.stack[-1].length(tracer)))
