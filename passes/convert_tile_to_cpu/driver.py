"""The pass: kernels become functions, runs of launches become functions too."""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.passes.convert_tile_to_cpu import (  # noqa: F401  (rules register themselves)
    control,
    memory,
    vectors,
)
from girih.passes.convert_tile_to_cpu.kernel import convert_kernel
from girih.passes.convert_tile_to_cpu.runs import make_run
from girih.passes.registry import register_pass


@dataclass(frozen=True)
class ConvertTileToCpuOptions:
    """Options of convert-tile-to-cpu."""

    vector_bits: int = 256
    """Width of the processor's vector registers."""
    parallel_threshold: int = 32768
    """Fewest elements of a grid that runs on several threads. Waking them takes about 5
    us."""
    table_launches: int = 24
    """Fewest launches of a native call that becomes a loop over a table. A loop is less
    to compile."""


@register_pass("convert-tile-to-cpu", options=ConvertTileToCpuOptions)
def run(op: ir.Operation, options: ConvertTileToCpuOptions) -> None:
    """Turns scheduled kernels and native calls into functions over pointers."""
    block = op.regions[0].blocks[0]
    runs = [native for native in _natives(op) if native.function is None]
    launched = {launch.kernel for native in runs for launch in native.launches}
    for kernel in [o for o in block.operations if o.operation.name == "tile.kernel"]:
        convert_kernel(
            kernel,
            exported=kernel.sym_name not in launched,
            vector_bits=options.vector_bits,
            threshold=options.parallel_threshold,
        )
    for number, native in enumerate(runs):
        name = f"run{number}"
        with native.location, ir.InsertionPoint(block):
            make_run(native, name, options.vector_bits, options.table_launches)
        native.attributes["function"] = ir.FlatSymbolRefAttr.get(name)


def _natives(op: ir.Operation) -> list[ir.OpView]:
    """Every `host.native`, in order."""
    found = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name.startswith("tile."):
            return ir.WalkResult.SKIP
        if operation.name == "host.native":
            found.append(operation.opview)
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
