"""Writers of exceptions."""

from __future__ import annotations

import ast

from girih.frontend.capture.rebuilding.code import attribute, call, method
from girih.frontend.capture.rebuilding.registry import writes
from girih.frontend.capture.rebuilding.tracebacks import with_traceback
from girih.frontend.capture.values.exception import (
    CHAINING,
    ExceptionValue,
    builtin_base,
)
from girih.frontend.capture.values.lookup import SLOT_TYPES, static_lookup


@writes(ExceptionValue)
def _write_exception(rebuilder, value: ExceptionValue) -> ast.expr:
    builtin = builtin_base(value.cls)
    args = [rebuilder.expression(item) for item in value.args]
    cls = rebuilder.constant(value.cls)
    maker = rebuilder.constant(builtin.__new__)
    made = rebuilder.assign(value, call(maker, cls, *args))
    if builtin.__init__ is not BaseException.__init__:
        rebuilder.do(call(rebuilder.constant(builtin.__init__), made, *args))
    _write_attributes(rebuilder, value, made)
    if value.entries:
        entries = rebuilder.constant(tuple(value.entries))
        rebuilder.do(call(rebuilder.constant(with_traceback), made, entries))
    return made


def _write_attributes(rebuilder, value: ExceptionValue, made: ast.expr) -> None:
    """Plain attributes go to ``__dict__``, those of C code through their setters."""
    present = {name: v for name, v in value.attributes.items() if v is not None}
    present.pop("args", None)
    plain = {}
    for name, item in present.items():
        member, _ = static_lookup(value.cls, name)
        if isinstance(member, SLOT_TYPES) and name not in CHAINING:
            _set(rebuilder, made, name, item)
        elif name not in CHAINING:
            plain[name] = item
    for name in CHAINING:  # the cause before what it changes
        if name in present:
            _set(rebuilder, made, name, present[name])
    if plain:
        names = [ast.Constant(name) for name in plain]
        items = [rebuilder.expression(item) for item in plain.values()]
        namespace = attribute(made, "__dict__")
        rebuilder.do(method(namespace, "update", ast.Dict(names, items)))


def _set(rebuilder, made: ast.expr, name: str, item) -> None:
    setter = rebuilder.constant(object.__setattr__)
    rebuilder.do(call(setter, made, ast.Constant(name), rebuilder.expression(item)))
