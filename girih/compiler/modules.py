"""Modules: their functions, and how they wait without a context."""

from __future__ import annotations

import io

from girih.codegen.runtime.mutation import written_arguments
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


def bytecode_of(module: ir.Module | ir.Operation) -> bytes:
    """A module as bytecode."""
    file = io.BytesIO()
    module.operation.write_bytecode(file)
    return file.getvalue()


def parse(bytecode: bytes) -> ir.Module:
    """The module again, in the context of compilations."""
    return ir.Module.parse(bytecode, contexts.shared())


def kernel_text(module: ir.Module | ir.Operation) -> str:
    """Text of all that becomes code: kernels, and which run together."""
    ops = module.operation.regions[0].blocks[0].operations
    kernels = [op for op in ops if op.operation.name == "tile.kernel"]
    return "\n".join(map(str, [*kernels, *native_calls(module)]))


def native_calls(module: ir.Module | ir.Operation) -> list[ir.OpView]:
    """The runs of launches of the host program, in order."""
    calls = []
    for op in module.operation.regions[0].blocks[0].operations:
        if op.operation.name == "func.func":
            body = op.operation.regions[0].blocks[0]
            calls.extend(o for o in body if o.operation.name == "host.native")
    return calls


def has_aten_write(module: ir.Module) -> bool:
    """Whether a launch program has ATen write into its arguments."""
    functions = functions_of(module).values()
    return any(written_arguments(function).by_aten for function in functions)


def cloned(module: ir.Module | ir.Operation, only: str | None = None) -> ir.Module:
    """A copy of a module, or of its ops of one name."""
    clone = ir.Module.create(module.operation.location)
    for op in module.operation.regions[0].blocks[0].operations:
        if only in (None, op.operation.name):
            op.operation.clone(ip=ir.InsertionPoint(clone.body))
    return clone


def erase_host_program(module: ir.Module) -> None:
    """Leaves the kernels alone."""
    for op in list(module.body.operations):
        if op.operation.name == "func.func":
            op.operation.erase()
