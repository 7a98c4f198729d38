"""Object code of an LLVM-dialect module, made in this process for this host.

The module must have gone through the `cpu` pipeline: every function is an
`llvm.func`. Public functions with a body are exported, declarations are imported.
No tool is started; the object travels through anonymous memory.

LLVM's passes over its own IR (`opt_level`) are left out: the kernels come as explicit
vectors, with addresses computed once, and selection, scheduling and registers are the
work of the code generator, which is the same at every level. Measured 2026-11-28
(AVX-512, one thread): 60 programs of `benchmarks.shapes` and 247 of PyTorch's table of
operators run at 1.00 of the speed of level 2 (geometric mean; the worst 0.95), and LLVM
takes 1.9 s instead of 2.7 s for the 60.
"""

from __future__ import annotations

from collections.abc import Mapping

from girih.codegen.cpu.culprit import name_callers, name_culprit
from girih.codegen.cpu.errors import CodegenError, UnknownSymbols
from girih.codegen.cpu.guard import LostCompilation, object_code
from girih.codegen.cpu.link import Library, link
from girih.codegen.cpu.object_code import ObjectCode
from girih.codegen.cpu.symbols import own_symbols, resolve
from girih.dialects.bindings import ir


def compile_module(
    module: ir.Module,
    *,
    symbols: Mapping[str, int] | None = None,
    opt_level: int = 0,
    seconds: float = 0.0,
) -> tuple[ObjectCode, Library]:
    """Compile a module and load it.

    Args:
        module: functions in the LLVM dialect.
        symbols: addresses of declared functions; those not given are looked up as
            `resolve` does.
        opt_level: how much LLVM optimises its IR before it generates code, 0 to 3.
        seconds: of processor time that LLVM may take; 0 for any.

    Returns:
        The object code, for a cache, and the loaded library, ready to call.

    Raises:
        CodegenError: a declared function has no address, or LLVM failed, maybe in an
            error that no caller can catch, or took too long. The message names the
            kernel and the user's line.
    """
    exports, imports = _interface(module)
    try:
        addresses = own_symbols() | resolve(imports, symbols or {})
    except UnknownSymbols as error:
        callers = name_callers(module, error.names)
        is_one = len(error.names) == 1
        called = "This function is" if is_one else "These functions are"
        raise CodegenError(f"{error}. {called} called by {callers}.") from None
    if not exports:
        raise CodegenError("the module exports no function (girih bug)")
    try:
        data = object_code(module, exports[0], addresses, opt_level, seconds)
    except LostCompilation as error:
        culprit = name_culprit(module, error, addresses, opt_level, seconds)
        raise CodegenError(f"no code for {culprit}: {error}") from None
    library = link(data, exports, addresses)
    return ObjectCode(data, exports, imports), library


def _interface(module: ir.Module) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the functions that the module defines for others, and declares."""
    exports, imports = [], []
    for op in module.body.operations:
        if op.operation.name != "llvm.func":
            continue
        attributes = op.operation.attributes
        name = ir.StringAttr(attributes["sym_name"]).value
        if not op.operation.regions[0].blocks:
            imports.append(name)
        elif "internal" not in str(attributes["linkage"]):
            exports.append(name)
    return tuple(exports), tuple(n for n in imports if not n.startswith("llvm."))
