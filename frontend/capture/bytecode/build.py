"""Making containers, strings and functions.

Source: https://docs.python.org/3.12/library/dis.html#opcode-BUILD_TUPLE and following
"""

from __future__ import annotations

import operator

from girih.errors import unsupported
from girih.frontend.capture.bytecode.table import opcode
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.function import FunctionValue
from girih.frontend.capture.values.mapping import Key, SetValue
from girih.frontend.capture.values.sequence import ListValue, SliceValue, TupleValue


@opcode("BUILD_TUPLE")
def _build_tuple(tracer, frame, instruction):
    frame.push(TupleValue(frame.pop_many(instruction.arg)))


@opcode("BUILD_LIST")
def _build_list(tracer, frame, instruction):
    frame.push(ListValue(frame.pop_many(instruction.arg)))


@opcode("BUILD_SET")
def _build_set(tracer, frame, instruction):
    frame.push(SetValue([Key(item) for item in frame.pop_many(instruction.arg)]))


@opcode("BUILD_MAP")
def _build_map(tracer, frame, instruction):
    flat = frame.pop_many(2 * instruction.arg)
    pairs = list(zip(flat[::2], flat[1::2], strict=True))
    frame.push(tracer.dict_of(pairs))


@opcode("BUILD_CONST_KEY_MAP")
def _build_const_key_map(tracer, frame, instruction):
    *values, keys = frame.pop_many(instruction.arg + 1)
    frame.push(tracer.dict_of(list(zip(keys.items, values, strict=True))))


@opcode("BUILD_SLICE")
def _build_slice(tracer, frame, instruction):
    parts = frame.pop_many(instruction.arg)
    if len(parts) == 2:
        parts.append(tracer.constant(None))
    frame.push(SliceValue(*parts))


# https://docs.python.org/3.12/library/dis.html#opcode-LIST_APPEND


@opcode("LIST_APPEND")
def _list_append(tracer, frame, instruction):
    item = frame.pop()
    frame.stack[-instruction.arg].method_append(tracer, item)


@opcode("SET_ADD")
def _set_add(tracer, frame, instruction):
    item = frame.pop()
    frame.stack[-instruction.arg].method_add(tracer, item)


@opcode("MAP_ADD")
def _map_add(tracer, frame, instruction):
    key, value = frame.pop_many(2)
    frame.stack[-instruction.arg].set_item(tracer, key, value)


@opcode("LIST_EXTEND")
def _list_extend(tracer, frame, instruction):
    items = frame.pop()
    frame.stack[-instruction.arg].items.extend(list(tracer.iterate(items)))


@opcode("LIST_TO_TUPLE", until=(3, 11))
def _list_to_tuple(tracer, frame, instruction):
    frame.push(TupleValue(list(frame.pop().items)))


@opcode("SET_UPDATE")
def _set_update(tracer, frame, instruction):
    items = frame.pop()
    frame.stack[-instruction.arg].method_update(tracer, items)


@opcode("DICT_UPDATE")
def _dict_update(tracer, frame, instruction):
    other = frame.pop()
    frame.stack[-instruction.arg].method_update(tracer, other)


@opcode("DICT_MERGE")
def _dict_merge(tracer, frame, instruction):
    other = frame.pop()
    target = frame.stack[-instruction.arg]
    for key, value in tracer.pairs_of(other):
        if Key(key) in target.items:
            message = f"got multiple values for keyword argument {key.as_python()!r}"
            tracer.throw(TypeError, message)
        target.set_item(tracer, key, value)


# https://docs.python.org/3.12/library/dis.html#opcode-FORMAT_VALUE


@opcode("FORMAT_VALUE")
def _format_value(tracer, frame, instruction):
    flags = instruction.arg
    spec = frame.pop() if flags & 4 else tracer.constant("")
    value = frame.pop()
    conversion = (None, str, repr, ascii)[flags & 3]
    if conversion is not None:
        value = tracer.call(tracer.constant(conversion), [value], {})
    frame.push(tracer.call(tracer.constant(format), [value, spec], {}))


@opcode("BUILD_STRING")
def _build_string(tracer, frame, instruction):
    parts = [part.as_python() for part in frame.pop_many(instruction.arg)]
    frame.push(tracer.constant("".join(parts)))


# https://docs.python.org/3.12/library/dis.html#opcode-MAKE_FUNCTION


@opcode("MAKE_FUNCTION", until=(3, 12))
def _make_function(tracer, frame, instruction):
    flags = instruction.arg
    code = frame.pop().as_python()
    closure = frame.pop().items if flags & 8 else []
    if flags & 4:
        frame.pop()  # annotations
    keyword_defaults = _named(frame.pop()) if flags & 2 else {}
    defaults = frame.pop().items if flags & 1 else []
    made = FunctionValue(code, frame.namespace)
    frame.push(made.make(list(defaults), keyword_defaults, closure))


def _named(mapping) -> dict[str, Value]:
    return {key.value.as_python(): value for key, value in mapping.items.items()}


# https://docs.python.org/3.12/library/dis.html#opcode-CALL_INTRINSIC_1


@opcode("CALL_INTRINSIC_1", since=(3, 12))
def _call_intrinsic(tracer, frame, instruction):
    value = frame.pop()
    if instruction.arg == 5:  # INTRINSIC_UNARY_POSITIVE
        frame.push(tracer.unary(operator.pos, value))
    elif instruction.arg == 6:  # INTRINSIC_LIST_TO_TUPLE
        frame.push(TupleValue(list(value.items)))
    elif instruction.arg == 3:  # INTRINSIC_STOPITERATION_ERROR
        frame.push(value)
    else:
        unsupported(
            kind="intrinsic function",
            context=instruction.argrepr,
            explanation="girih does not follow this instruction.",
        )
