"""Writers of objects of classes, and of exceptions."""

from __future__ import annotations

import ast

from girih.frontend.capture.rebuilding.code import (
    attribute,
    call,
    list_of,
    method,
    tuple_of,
)
from girih.frontend.capture.rebuilding.registry import writes
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.constant import Constant
from girih.frontend.capture.values.deque import DequeValue
from girih.frontend.capture.values.instance_dict import InstanceDictValue
from girih.frontend.capture.values.lookup import (
    SLOT_TYPES,
    c_base,
    c_method,
    static_lookup,
)
from girih.frontend.capture.values.mapping import DictValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import ListValue, TupleValue
from girih.frontend.capture.values.set import SetValue


@writes(ObjectValue)
def _write_object(rebuilder, value: ObjectValue) -> ast.expr:
    cls = rebuilder.constant(value.cls)
    builtin = c_base(value.cls)
    maker = rebuilder.constant(builtin.__new__)
    if isinstance(value.base, TupleValue):
        items = [rebuilder.expression(item) for item in value.base.items]
        if rebuilder.made(value) is not None:
            return rebuilder.made(value)  # one of its items holds it
        made = rebuilder.assign(value, call(maker, cls, tuple_of(items)))
    elif isinstance(value.base, Constant) or issubclass(value.cls, frozenset):
        part = rebuilder.expression(value.base)
        made = rebuilder.assign(value, call(maker, cls, part))
    else:
        made = rebuilder.assign(value, call(maker, cls))
        fill_part(rebuilder, value.base, value.cls, made)
    _fill_attributes(rebuilder, value, made)
    return made


def fill_part(rebuilder, base: Value, cls: type, made, clear: bool = False) -> None:
    """Fills the builtin part of an object, past what its class overrides.

    Args:
        rebuilder: Takes the statements.
        base: The part.
        cls: Its builtin class, or the class of the object.
        made: The object.
        clear: Whether the object holds something before.
    """
    if isinstance(base, DictValue):
        name, arguments = "__setitem__", _pairs(rebuilder, base)
    elif isinstance(base, (ListValue, DequeValue)):
        items = [rebuilder.expression(item) for item in base.items]
        name, arguments = "extend", [[list_of(items)]]
    elif isinstance(base, SetValue) and not issubclass(cls, frozenset):
        items = [rebuilder.expression(item) for item in base.members()]
        name, arguments = "update", [[list_of(items)]]
    else:
        return
    if clear:
        rebuilder.do(call(rebuilder.constant(c_method(cls, "clear")), made))
    method_of = rebuilder.constant(c_method(cls, name))
    for args in arguments:
        rebuilder.do(call(method_of, made, *args))


def _pairs(rebuilder, base: DictValue) -> list[list[ast.expr]]:
    return [
        [rebuilder.expression(key.value), rebuilder.expression(item)]
        for key, item in base.items.items()
    ]


def _fill_attributes(rebuilder, value: ObjectValue, made) -> None:
    present = {name: v for name, v in value.attributes.items() if v is not None}
    setter = rebuilder.constant(object.__setattr__)
    for name in [name for name in present if _is_slot(value.cls, name)]:
        item = rebuilder.expression(present.pop(name))
        rebuilder.do(call(setter, made, ast.Constant(name), item))
    if present:
        names = [ast.Constant(name) for name in present]
        items = [rebuilder.expression(item) for item in present.values()]
        namespace = attribute(made, "__dict__")
        rebuilder.do(method(namespace, "update", ast.Dict(names, items)))


def _is_slot(cls: type, name: str) -> bool:
    return isinstance(static_lookup(cls, name)[0], SLOT_TYPES)


@writes(DequeValue)
def _write_deque(rebuilder, value: DequeValue) -> ast.expr:
    parts = tuple_of([]), ast.Constant(value.maxlen)
    made = rebuilder.assign(value, call(rebuilder.constant(value.cls), *parts))
    if value.items:
        fill_part(rebuilder, value, value.cls, made)
    return made


@writes(InstanceDictValue)
def _write_instance_dict(rebuilder, value: InstanceDictValue) -> ast.expr:
    return attribute(rebuilder.expression(value.owner), "__dict__")
