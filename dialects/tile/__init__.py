"""The tile dialect: kernels, before and after they are scheduled.

- ``kernel``: kernels, grids, loops, and whole-tensor reads and writes.
- ``contraction``: products of blocks; ``scan``: scans of blocks; ``call``: calls of
  functions.
- ``memory``: loads, stores, gathers, local buffers, checks.
- ``base``: the base class and checks that they share.

The body of a scheduled kernel also consists of upstream ``arith``, ``math``, ``scf``
and ``vector`` ops. Build ops as those of ``graph``: ``tile.build("load", [buffer,
offset, [stride], [mask], None], results=[vector_type], loc=loc, ip=ip).result``.
"""

from girih.dialects import definition
from girih.dialects.bindings import add_dialect_package, ir
from girih.dialects.definition import Op
from girih.dialects.tile import call, contraction, kernel, memory, scan
from girih.dialects.tile.base import TileOp

NAME = "tile"

OPS_BY_FAMILY = definition.ops_by_family(NAME)
OPS: dict[str, type[Op]] = definition.ops_of(NAME)
globals().update({cls.__name__: cls for cls in OPS.values()})

__all__ = ["NAME", "OPS", "OPS_BY_FAMILY", "TileOp", "build", "call", "contraction"]
__all__ += [
    "kernel",
    "kernels",
    "load",
    "memory",
    "scan",
    *(cls.__name__ for cls in OPS.values()),
]

_loaded = False


def load() -> None:
    """Registers the op classes with the bindings; later calls do nothing."""
    global _loaded
    if not _loaded:
        _loaded = True
        add_dialect_package("girih.dialects")
        definition.register(NAME)


def build(name: str, *args: object, **kwargs: object) -> ir.Operation:
    """Makes the op ``tile.name``; the other arguments are those of ``Op.build``."""
    return OPS[f"tile.{name}"].build(*args, **kwargs)


def kernels(module: ir.Module | ir.Operation) -> dict[str, kernel.KernelOp]:
    """Returns the kernels of a module by name, in order."""
    body = module.operation.regions[0].blocks[0]
    found = [op for op in body.operations if op.operation.name == "tile.kernel"]
    return {op.sym_name: op for op in found}
