"""Making containers, strings and functions.

Source: https://docs.python.org/3.12/library/dis.html#opcode-BUILD_TUPLE and following
"""

from __future__ import annotations

import operator
import typing

from girih.errors import unsupported
from girih.frontend.capture.bytecode.table import of_version, opcode
from girih.frontend.capture.values.base import NULL, Value
from girih.frontend.capture.values.exception_group import what_to_reraise
from girih.frontend.capture.values.function import FunctionValue, name_of_callee
from girih.frontend.capture.values.iterator.generator import stop_iteration_as_error
from girih.frontend.capture.values.key import key_of
from girih.frontend.capture.values.lookup import is_iterable
from girih.frontend.capture.values.sequence import ListValue, SliceValue, TupleValue
from girih.frontend.capture.values.set import SetValue


@opcode("BUILD_TUPLE")
def _build_tuple(tracer, frame, instruction):
    frame.push(TupleValue(frame.pop_many(instruction.arg)))


@opcode("BUILD_LIST")
def _build_list(tracer, frame, instruction):
    frame.push(ListValue(frame.pop_many(instruction.arg)))


@opcode("BUILD_SET")
def _build_set(tracer, frame, instruction):
    items = frame.pop_many(instruction.arg)
    frame.push(SetValue([key_of(tracer, item) for item in items]))


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
    added = frame.pop()
    if not is_iterable(tracer, added):
        kind = added.python_type().__name__
        tracer.throw(TypeError, f"Value after * must be an iterable, not {kind}")
    items = tracer.listed(added)
    target = frame.stack[-instruction.arg]  # may have been made before a break
    tracer.effects.change(target)
    target.items.extend(items)


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
    has_keys = hasattr(other.python_type(), "keys")
    if not has_keys and tracer.find_attr(other, "keys") is None:
        kind = other.python_type().__name__
        tracer.throw(TypeError, f"'{kind}' object is not a mapping")
    frame.stack[-instruction.arg].method_update(tracer, other)


@opcode("DICT_MERGE")
def _dict_merge(tracer, frame, instruction):
    other = frame.pop()
    target = frame.stack[-instruction.arg]
    below = frame.stack[-instruction.arg - 3 : -instruction.arg - 1]
    (callee,) = (value for value in below if value is not NULL)
    if not hasattr(other.python_type(), "keys"):
        kind = other.python_type().__name__
        message = f"argument after ** must be a mapping, not {kind}"
        tracer.throw(TypeError, f"{name_of_callee(callee)} {message}")
    for key, value in tracer.pairs_of(other):
        if key_of(tracer, key) in target.items:
            message = f"got multiple values for keyword argument {key.as_python()!r}"
            tracer.throw(TypeError, f"{name_of_callee(callee)} {message}")
        target.set_item(tracer, key, value)


# https://docs.python.org/3.12/library/dis.html#opcode-FORMAT_VALUE

_CONVERSIONS = (None, str, repr, ascii)


@opcode("FORMAT_VALUE", until=(3, 12))
def _format_value(tracer, frame, instruction):
    flags = instruction.arg
    spec = frame.pop() if flags & 4 else tracer.constant("")
    value = _converted(tracer, frame.pop(), _CONVERSIONS[flags & 3])
    frame.push(tracer.call(tracer.constant(format), [value, spec], {}))


@opcode("CONVERT_VALUE", since=(3, 13))
def _convert_value(tracer, frame, instruction):
    conversion = _CONVERSIONS[instruction.arg]
    frame.push(_converted(tracer, frame.pop(), conversion))


@opcode("FORMAT_SIMPLE", since=(3, 13))
def _format_simple(tracer, frame, instruction):
    args = [frame.pop(), tracer.constant("")]
    frame.push(tracer.call(tracer.constant(format), args, {}))


@opcode("FORMAT_WITH_SPEC", since=(3, 13))
def _format_with_spec(tracer, frame, instruction):
    args = frame.pop_many(2)
    frame.push(tracer.call(tracer.constant(format), args, {}))


def _converted(tracer, value: Value, conversion) -> Value:
    if conversion is None:
        return value
    return tracer.call(tracer.constant(conversion), [value], {})


@opcode("BUILD_STRING")
def _build_string(tracer, frame, instruction):
    parts = [part.as_python() for part in frame.pop_many(instruction.arg)]
    frame.push(tracer.constant("".join(parts)))


# https://docs.python.org/3.12/library/dis.html#opcode-MAKE_FUNCTION


@opcode("MAKE_FUNCTION", until=(3, 12))
def _make_function(tracer, frame, instruction):
    made = FunctionValue(frame.pop().as_python(), frame.namespace).make([], {}, [])
    for flag in (8, 4, 2, 1):
        if instruction.arg & flag:
            _set_function_attribute(tracer, made, flag, frame.pop())
    frame.push(made)


@opcode("MAKE_FUNCTION", since=(3, 13))
def _make_plain_function(tracer, frame, instruction):
    made = FunctionValue(frame.pop().as_python(), frame.namespace)
    frame.push(made.make([], {}, []))


@opcode("SET_FUNCTION_ATTRIBUTE", since=(3, 13))
def _set_attribute_of_function(tracer, frame, instruction):
    value, function = frame.pop_many(2)
    _set_function_attribute(tracer, function, instruction.arg, value)
    frame.push(function)


def _set_function_attribute(tracer, made, flag: int, value) -> None:
    """Sets defaults (1), keyword defaults (2), annotations (4) or the closure (8)."""
    defaults, named = made.defaults(tracer), made.keyword_defaults(tracer)
    closure = made.closure(tracer)
    if flag == 1:
        defaults = list(value.items)
    elif flag == 2:
        named = _named(value)
    elif flag == 8:
        closure = value.items
    else:
        pairs = zip(value.items[::2], value.items[1::2], strict=True)
        made.attributes["__annotations__"] = tracer.dict_of(list(pairs))
    made.make(defaults, named, closure)


def _named(mapping) -> dict[str, Value]:
    return {key.value.as_python(): value for key, value in mapping.items.items()}


# https://docs.python.org/3.12/library/dis.html#opcode-CALL_INTRINSIC_1


@opcode("CALL_INTRINSIC_1", since=(3, 12))
def _call_intrinsic(tracer, frame, instruction):
    frame.push(_intrinsic(instruction)(tracer, frame.pop()))


@opcode("CALL_INTRINSIC_2", since=(3, 12))
def _call_intrinsic_on_two(tracer, frame, instruction):
    first, second = frame.pop_many(2)
    frame.push(_intrinsic(instruction)(tracer, first, second))


def _intrinsic(instruction):
    function = _INTRINSICS.get((instruction.opname, instruction.arg))
    if function is None:
        unsupported(
            kind="intrinsic function",
            context=instruction.argrepr or f"{instruction.opname} {instruction.arg}",
            explanation="girih does not follow this instruction.",
        )
    return function


def _type_variable(cls: type):
    return lambda tracer, name: tracer.held(cls(name.as_python()))


def _type_var(tracer, name):
    return tracer.held(typing.TypeVar(name.as_python(), **_TYPE_VAR_OPTIONS))


_TYPE_VAR_OPTIONS = of_version({(3, 11): {}, (3, 12): {"infer_variance": True}})


def _set_type_parameters(tracer, function, parameters):
    function.attributes["__type_params__"] = parameters
    return function


# By number, as in CPython's Include/internal/pycore_intrinsics.h.
_INTRINSICS = {
    ("CALL_INTRINSIC_1", 3): stop_iteration_as_error,
    ("CALL_INTRINSIC_1", 5): lambda tracer, value: tracer.unary(operator.pos, value),
    ("CALL_INTRINSIC_1", 6): lambda tracer, value: TupleValue(list(value.items)),
    ("CALL_INTRINSIC_1", 7): _type_var,
    ("CALL_INTRINSIC_1", 8): _type_variable(typing.ParamSpec),
    ("CALL_INTRINSIC_1", 9): _type_variable(typing.TypeVarTuple),
    ("CALL_INTRINSIC_2", 1): what_to_reraise,
    ("CALL_INTRINSIC_2", 4): _set_type_parameters,
}
