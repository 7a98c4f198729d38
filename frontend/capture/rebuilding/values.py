"""Writers of tensors, constants, and objects that the code holds."""

from __future__ import annotations

import ast

from girih.frontend.capture.rebuilding.code import call
from girih.frontend.capture.rebuilding.registry import writes
from girih.frontend.capture.values.base import Value
from girih.frontend.capture.values.builtin import BuiltinValue, NamespaceValue
from girih.frontend.capture.values.classes import ClassValue
from girih.frontend.capture.values.constant import Constant, ConstantMethod
from girih.frontend.capture.values.number import RunTimeNumber
from girih.frontend.capture.values.tensor import TensorValue

_LITERAL_TYPES = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis))


@writes(TensorValue)
def _write_tensor(rebuilder, value) -> ast.expr:
    present = [(name, v) for name, v in value.attributes.items() if v is not None]
    if not present:
        return rebuilder.output(value)
    made = rebuilder.assign(value, rebuilder.output(value))
    setter = rebuilder.constant(setattr)
    for name, item in present:
        rebuilder.do(call(setter, made, ast.Constant(name), rebuilder.expression(item)))
    return made


@writes(RunTimeNumber)
def _write_number(rebuilder, value: RunTimeNumber) -> ast.expr:
    args = [rebuilder.expression(arg) for arg in value.args]
    return rebuilder.assign(value, call(rebuilder.constant(value.function), *args))


@writes(Constant)
def _write_constant(rebuilder, value: Constant) -> ast.expr:
    if not value.is_guarded:
        return rebuilder.source(value.source)
    python = value.value
    if type(python) in _LITERAL_TYPES and python == python:
        return ast.Constant(python)
    return rebuilder.constant(python)


@writes(ClassValue, BuiltinValue, NamespaceValue, ConstantMethod)
def _write_held(rebuilder, value: Value) -> ast.expr:
    return rebuilder.constant(value.as_python())
