"""Writers of containers, slices and views."""

from __future__ import annotations

import ast
import collections
import types

from girih.frontend.capture.rebuilding.code import (
    call,
    list_of,
    mentions,
    method,
    tuple_of,
)
from girih.frontend.capture.rebuilding.registry import writes
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.lookup import c_method, content_of
from girih.frontend.capture.values.mapping import DictValue, ProxyValue, ViewValue
from girih.frontend.capture.values.sequence import ListValue, SliceValue, TupleValue
from girih.frontend.capture.values.set import SetValue


def dict_display(rebuilder, value: DictValue) -> ast.expr:
    """``{key: item, ...}`` of all that is in a dict."""
    keys = [rebuilder.expression(key.value) for key in value.items]
    items = [rebuilder.expression(item) for item in value.items.values()]
    return ast.Dict(keys, items)


def replay_set(rebuilder, value: SetValue, target: ast.expr) -> None:
    """Takes out and puts in what has changed, so that the rest keeps its order."""
    methods = (set.difference_update, set.update)
    for method_of, items in zip(methods, value.changes(), strict=True):
        if items:
            made = list_of([rebuilder.expression(item) for item in items])
            rebuilder.do(call(rebuilder.constant(method_of), target, made))


def replay_dict(rebuilder, value: DictValue, target, before: list[Value]) -> None:
    """Takes out, changes and adds items; where their order changed, all of them."""
    old = {id(key): item for key, item in zip(before[::2], before[1::2], strict=True)}
    now = {id(key.value): (key.value, item) for key, item in value.items.items()}
    kept = [key for key in old if key in now]
    if list(now)[: len(kept)] != kept:
        fresh = rebuilder.assign(TupleValue([]), dict_display(rebuilder, value))
        rebuilder.do(method(target, "clear"))
        rebuilder.do(method(target, "update", fresh))
        return
    changed = [pair for key, pair in now.items() if old.get(key) is not pair[1]]
    pairs = [
        (rebuilder.expression(key), rebuilder.expression(item)) for key, item in changed
    ]
    for key in before[::2]:
        if id(key) not in now:
            gone = rebuilder.expression(key)
            rebuilder.do(method(target, "__delitem__", gone))
    for pair in pairs:
        rebuilder.do(method(target, "__setitem__", *pair))


@writes(ListValue)
def _write_list(rebuilder, value: ListValue) -> ast.expr:
    made = rebuilder.assign(value, list_of([]))
    if value.items:
        place = len(rebuilder.body) - 1
        items = [rebuilder.expression(item) for item in value.items]
        if place == len(rebuilder.body) - 1 and not mentions(items, made.id):
            rebuilder.body[place].value = list_of(items)
        else:
            rebuilder.do(method(made, "extend", list_of(items)))
    return made


@writes(TupleValue)
def _write_tuple(rebuilder, value: TupleValue) -> ast.expr:
    items = tuple_of([rebuilder.expression(item) for item in value.items])
    if value.cls is tuple:
        return rebuilder.assign(value, items) if value.items else items
    cls = rebuilder.constant(value.cls)
    if hasattr(value.cls, "_fields"):  # a named tuple; its class may override more
        new = rebuilder.constant(tuple.__new__)
        return rebuilder.assign(value, call(new, cls, items))
    return rebuilder.assign(value, call(cls, items))


@writes(DictValue)
def _write_dict(rebuilder, value: DictValue) -> ast.expr:
    if value.cls is dict:
        empty: ast.expr = ast.Dict([], [])
    elif value.cls is collections.defaultdict:
        factory = rebuilder.expression(value.factory)
        empty = call(rebuilder.constant(value.cls), factory)
    else:
        empty = call(rebuilder.constant(value.cls))
    made = rebuilder.assign(value, empty)
    if value.items:
        rebuilder.do(method(made, "update", dict_display(rebuilder, value)))
    for name, item in value.attributes.items():
        args = made, ast.Constant(name), rebuilder.expression(item)
        rebuilder.do(call(rebuilder.constant(setattr), *args))
    return made


@writes(ProxyValue)
def _write_proxy(rebuilder, value: ProxyValue) -> ast.expr:
    content = rebuilder.expression(value.owner or value.method_copy(None))
    made = call(rebuilder.constant(types.MappingProxyType), content)
    return rebuilder.assign(value, made)


class _Hashed:
    """Has the place of a member in a set, and is equal to nothing else.

    The ``==`` of the members is not asked: that of two tensors is no answer, and that
    of an object runs the program's code.
    """

    __slots__ = ("hash",)

    def __init__(self, item):
        self.hash = hash(item)

    def __hash__(self):
        return self.hash


@writes(SetValue)
def _write_set(rebuilder, value: SetValue) -> ast.expr:
    items = [rebuilder.expression(item) for item in value.members()]
    display = list_of(items)
    known = [_Hashed(item) for item in content_of(value.order)]
    # Sets made of a list and of a set may differ in their order.
    if list(set(known)) != known:
        display = call(rebuilder.constant(frozenset), display)
    return rebuilder.assign(value, call(rebuilder.constant(value.cls), display))


@writes(SliceValue)
def _write_slice(rebuilder, value: SliceValue) -> ast.expr:
    parts = [rebuilder.expression(part) for part in value.parts]
    return rebuilder.assign(value, call(rebuilder.constant(slice), *parts))


@writes(ViewValue)
def _write_view(rebuilder, value: ViewValue) -> ast.expr:
    view_of = rebuilder.constant(c_method(value.owner.python_type(), value.kind))
    made = call(view_of, rebuilder.expression(value.owner))
    return rebuilder.assign(value, made)
