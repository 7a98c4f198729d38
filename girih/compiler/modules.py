"""Modules: their functions, and how they wait without a context."""

from __future__ import annotations

import io

from girih.dialects import context as contexts
from girih.dialects.bindings import ir


def functions_of(module: ir.Module) -> dict[str, ir.OpView]:
    """The functions of a module by name."""
    return {
        op.attributes["sym_name"].value: op
        for op in module.body.operations
        if op.operation.name == "func.func"
    }


def alone(function: ir.OpView) -> ir.Module:
    """A module with a copy of a function, called ``@main``."""
    module = ir.Module.create(function.location)
    copy = function.operation.clone(ip=ir.InsertionPoint(module.body))
    copy.attributes["sym_name"] = ir.StringAttr.get("main")
    return module


def bytecode_of(module: ir.Module) -> bytes:
    """A module as bytecode."""
    file = io.BytesIO()
    module.operation.write_bytecode(file)
    return file.getvalue()


def parse(bytecode: bytes) -> ir.Module:
    """The module again, in the context of compilations."""
    return ir.Module.parse(bytecode, contexts.shared())
