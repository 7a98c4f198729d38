"""Writers of functions, cells, methods and partials."""

from __future__ import annotations

import ast
import functools
import types

from girih.frontend.capture.rebuilding.code import attribute, call, method, tuple_of
from girih.frontend.capture.rebuilding.registry import writes
from girih.frontend.capture.values.base import Method
from girih.frontend.capture.values.classes import ClassValue, SuperValue
from girih.frontend.capture.values.function import (
    BoundMethod,
    CellValue,
    FunctionValue,
    PartialValue,
)
from girih.frontend.capture.values.getter import GetterValue
from girih.frontend.capture.values.lookup import DescriptorMethod


@writes(CellValue)
def _write_cell(rebuilder, value: CellValue) -> ast.expr:
    if value.real is not None:
        return rebuilder.source(value.source)
    made = rebuilder.assign(value, call(rebuilder.constant(types.CellType)))
    if value.content is not None:
        place = ast.Attribute(made, "cell_contents", ast.Store())
        content = rebuilder.expression(value.content)
        rebuilder.body.append(ast.Assign([place], content))
    return made


@writes(FunctionValue)
def _write_function(rebuilder, value: FunctionValue) -> ast.expr:
    if value.real is not None:
        return rebuilder.constant(value.real)
    cells = [rebuilder.expression(cell) for cell in value._closure]
    defaults = [rebuilder.expression(item) for item in value._defaults]
    made = call(
        rebuilder.constant(types.FunctionType),
        rebuilder.constant(value.code),
        rebuilder.constant(value.namespace),
        ast.Constant(value.name),
        tuple_of(defaults) if defaults else ast.Constant(None),
        tuple_of(cells) if cells else ast.Constant(None),
    )
    if rebuilder.made(value) is None:  # else a cell of its closure holds it
        _fill_function(rebuilder, value, rebuilder.assign(value, made))
    return rebuilder.made(value)


def _fill_function(rebuilder, value: FunctionValue, made) -> None:
    setter = rebuilder.constant(setattr)
    if value._keyword_defaults:
        names = [ast.Constant(name) for name in value._keyword_defaults]
        items = [rebuilder.expression(v) for v in value._keyword_defaults.values()]
        text = ast.Constant("__kwdefaults__")
        rebuilder.do(call(setter, made, text, ast.Dict(names, items)))
    text = ast.Constant("__qualname__")
    rebuilder.do(call(setter, made, text, ast.Constant(value.qualname)))
    for name, item in value.attributes.items():
        made_item = rebuilder.expression(item)
        rebuilder.do(call(setter, made, ast.Constant(name), made_item))
    if value.own is not None:
        own = rebuilder.expression(value.own)
        rebuilder.do(call(setter, made, ast.Constant("__dict__"), own))


@writes(BoundMethod)
def _write_method(rebuilder, value: BoundMethod) -> ast.expr:
    parts = (rebuilder.expression(value.function), rebuilder.expression(value.owner))
    made = call(rebuilder.constant(types.MethodType), *parts)
    return rebuilder.assign(value, made)


@writes(Method)
def _write_builtin_method(rebuilder, value: Method) -> ast.expr:
    made = attribute(rebuilder.expression(value.owner), value.name)
    return rebuilder.assign(value, made)


@writes(DescriptorMethod)
def _write_descriptor_method(rebuilder, value: DescriptorMethod) -> ast.expr:
    owner = rebuilder.expression(value.owner)
    descriptor = rebuilder.constant(value.descriptor)
    if isinstance(value.descriptor, types.ClassMethodDescriptorType):
        is_class = isinstance(value.owner, ClassValue)
        cls = owner if is_class else call(rebuilder.constant(type), owner)
        made = method(descriptor, "__get__", rebuilder.constant(None), cls)
    else:
        made = method(descriptor, "__get__", owner)
    return rebuilder.assign(value, made)


@writes(SuperValue)
def _write_super(rebuilder, value: SuperValue) -> ast.expr:
    owner = rebuilder.expression(value.owner)
    made = call(rebuilder.constant(super), rebuilder.constant(value.start), owner)
    return rebuilder.assign(value, made)


@writes(GetterValue)
def _write_getter(rebuilder, value: GetterValue) -> ast.expr:
    args = [rebuilder.expression(item) for item in value.args]
    made = call(rebuilder.constant(value.cls), *args)
    made.keywords = [
        ast.keyword(name, rebuilder.expression(item))
        for name, item in value.kwargs.items()
    ]
    return rebuilder.assign(value, made)


@writes(PartialValue)
def _write_partial(rebuilder, value: PartialValue) -> ast.expr:
    args = [rebuilder.expression(item) for item in [value.function, *value.args]]
    made = call(rebuilder.constant(functools.partial), *args)
    made.keywords = [
        ast.keyword(name, rebuilder.expression(item))
        for name, item in value.kwargs.items()
    ]
    return rebuilder.assign(value, made)
