"""Which kernel of a module the code generator fails on, and whose line that is."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from girih.codegen.cpu.errors import CodegenError
from girih.codegen.cpu.guard import LostCompilation, object_code
from girih.dialects.bindings import ir
from girih.dialects.locations import positions_of

_PART_OF_THE_TIME = 10
"""The time for one kernel is this part of that for a module, but a second at least."""
_NAMED = 3


def name_culprit(
    module: ir.Module,
    error: LostCompilation,
    symbols: Mapping[str, int],
    opt_level: int,
    seconds: float,
) -> str:
    """The kernels, with the user's lines, among which is the one at fault."""
    kernels = _kernels(module)
    if len(kernels) > 1:
        named = [n for n in kernels if f"In function: {n}\n" in f"{error.message}\n"]
        kernels = named or _failing_alone(
            module, kernels, error, symbols, opt_level, seconds
        )
    return _listed(module, kernels)


def name_callers(module: ir.Module, names: Collection[str]) -> str:
    """The kernels, with the user's lines, that call some of these functions."""
    functions = _functions(module).items()
    callers = [name for name, body in functions if _called(body) & set(names)]
    return _listed(module, callers) if callers else "no kernel"


def _listed(module: ir.Module, kernels: list[str]) -> str:
    descriptions = [_described(module, name) for name in kernels[:_NAMED]]
    if len(kernels) > _NAMED:
        descriptions.append(f"{len(kernels) - _NAMED} more")
    return ", ".join(descriptions)


def _functions(module: ir.Module) -> dict[str, ir.Operation]:
    """Functions with a body, by name."""
    return {
        ir.StringAttr(op.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if op.operation.name == "llvm.func" and op.operation.regions[0].blocks
    }


def _kernels(module: ir.Module) -> list[str]:
    """Functions that call no other of the module; those only call these."""
    functions = _functions(module)
    names = functions.keys()
    return [name for name, body in functions.items() if not _called(body) & names]


def _called(function: ir.Operation) -> set[str]:
    """The functions that one calls."""
    called: set[str] = set()

    def note(op: ir.Operation) -> ir.WalkResult:
        if op.name == "llvm.call" and "callee" in op.attributes:
            called.add(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        return ir.WalkResult.ADVANCE

    function.walk(note, ir.WalkOrder.PRE_ORDER)
    return called


def _failing_alone(
    module: ir.Module,
    names: list[str],
    error: LostCompilation,
    symbols: Mapping[str, int],
    opt_level: int,
    seconds: float,
) -> list[str]:
    """The first kernel that fails where it is compiled alone; else all of them."""
    if error.is_running:
        return names
    limit = max(seconds / _PART_OF_THE_TIME, 1.0) if seconds else 0.0
    for name in names:
        try:
            object_code(_alone(module, name), name, symbols, opt_level, limit)
        except LostCompilation:
            return [name]
        except CodegenError:
            continue
    return names


def _alone(module: ir.Module, name: str) -> ir.Module:
    """A module with one of the functions, for others to call."""
    with module.context, ir.Location.unknown():
        copy = ir.Module.parse(module.operation.get_asm(enable_debug_info=True))
        for other, function in _functions(copy).items():
            if other == name:
                linkage = ir.Attribute.parse("#llvm.linkage<external>")
                function.attributes["linkage"] = linkage
            else:
                function.erase()
    return copy


def _described(module: ir.Module, name: str) -> str:
    positions = dict.fromkeys(positions_of(_functions(module)[name].location))
    lines = ", ".join(map(str, positions))
    return f"kernel {name} ({lines})" if lines else f"kernel {name}"
