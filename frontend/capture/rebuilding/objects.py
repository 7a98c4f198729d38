"""Writers of objects of classes, and of exceptions."""

from __future__ import annotations

import ast

from girih.frontend.capture.calls import c_base, c_method
from girih.frontend.capture.rebuilding.code import (
    attribute,
    call,
    list_of,
    method,
    tuple_of,
)
from girih.frontend.capture.rebuilding.registry import writes
from girih.frontend.capture.values.exception import ExceptionValue
from girih.frontend.capture.values.instance_dict import InstanceDictValue
from girih.frontend.capture.values.mapping import DictValue, SetValue
from girih.frontend.capture.values.object import ObjectValue
from girih.frontend.capture.values.sequence import ListValue, TupleValue


@writes(ObjectValue)
def _write_object(rebuilder, value: ObjectValue) -> ast.expr:
    cls = rebuilder.constant(value.cls)
    builtin = c_base(value.cls)
    maker = rebuilder.constant(builtin.__new__)
    if isinstance(value.base, TupleValue):
        items = [rebuilder.expression(item) for item in value.base.items]
        made = rebuilder.assign(value, call(maker, cls, tuple_of(items)))
    else:
        made = rebuilder.assign(value, call(maker, cls))
        _fill_base(rebuilder, value, made)
    _fill_attributes(rebuilder, value, made)
    return made


def _fill_base(rebuilder, value: ObjectValue, made) -> None:
    base = value.base
    if isinstance(base, DictValue):
        setter = rebuilder.constant(c_method(value.cls, "__setitem__"))
        for key, item in base.items.items():
            pair = (rebuilder.expression(key.value), rebuilder.expression(item))
            rebuilder.do(call(setter, made, *pair))
    elif isinstance(base, ListValue):
        items = [rebuilder.expression(item) for item in base.items]
        extend = rebuilder.constant(c_method(value.cls, "extend"))
        rebuilder.do(call(extend, made, list_of(items)))
    elif isinstance(base, SetValue):
        items = [rebuilder.expression(key.value) for key in base.items]
        update = rebuilder.constant(c_method(value.cls, "update"))
        rebuilder.do(call(update, made, list_of(items)))


def _fill_attributes(rebuilder, value: ObjectValue, made) -> None:
    present = {name: v for name, v in value.attributes.items() if v is not None}
    if not present:
        return
    if getattr(value.cls, "__dictoffset__", 0):
        names = [ast.Constant(name) for name in present]
        items = [rebuilder.expression(item) for item in present.values()]
        namespace = attribute(made, "__dict__")
        rebuilder.do(method(namespace, "update", ast.Dict(names, items)))
        return
    setter = rebuilder.constant(object.__setattr__)
    for name, item in present.items():
        made_item = rebuilder.expression(item)
        rebuilder.do(call(setter, made, ast.Constant(name), made_item))


@writes(InstanceDictValue)
def _write_instance_dict(rebuilder, value: InstanceDictValue) -> ast.expr:
    return attribute(rebuilder.expression(value.owner), "__dict__")


@writes(ExceptionValue)
def _write_exception(rebuilder, value: ExceptionValue) -> ast.expr:
    args = [rebuilder.expression(item) for item in value.args]
    return rebuilder.assign(value, call(rebuilder.constant(value.cls), *args))
