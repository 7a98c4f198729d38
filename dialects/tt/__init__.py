"""The tt dialect: Triton IR, as far as girih emits it.

- ``function``: functions, program ids, assertions.
- ``shape``: ranges, splats, broadcasts and other changes of shape.
- ``memory``: arithmetic on pointers, loads, stores, atomic updates.
- ``elementwise``, ``reduction``, ``contraction``: computation beyond ``arith``.
- ``base``: the base class, the type of pointers, checks that they share.

Values are scalars, ``!tt.ptr<f32>`` and builtin ranked tensors of them. Ops are named
and print as those of Triton 3.6, whose parser takes the printed module.
"""

from girih.dialects import definition
from girih.dialects.bindings import add_dialect_package, ir
from girih.dialects.definition import Op
from girih.dialects.tt import (
    contraction,
    elementwise,
    function,
    memory,
    reduction,
    shape,
)
from girih.dialects.tt.base import TtOp, pointer_type

NAME = "tt"

OPS_BY_FAMILY = definition.ops_by_family(NAME)
OPS: dict[str, type[Op]] = definition.ops_of(NAME)
globals().update({cls.__name__: cls for cls in OPS.values()})

__all__ = ["NAME", "OPS", "OPS_BY_FAMILY", "TtOp", "build", "contraction"]
__all__ += ["elementwise", "function", "load", "memory", "pointer_type", "reduction"]
__all__ += ["program_texts", "shape", *(cls.__name__ for cls in OPS.values())]

_loaded = False


def load() -> None:
    """Registers the op classes with the bindings; later calls do nothing."""
    global _loaded
    if not _loaded:
        _loaded = True
        add_dialect_package("girih.dialects")
        definition.register(NAME)


def build(name: str, *args: object, **kwargs: object) -> ir.Operation:
    """Makes the op ``tt.name``; the other arguments are those of ``Op.build``."""
    return OPS[f"tt.{name}"].build(*args, **kwargs)


def program_texts(module: ir.Module) -> dict[str, str]:
    """Returns each function by name, as the text of a module of its own.

    Triton's compiler takes one kernel at a time.
    """
    texts = {}
    for op in module.body.operations:
        if op.operation.name == "tt.func":
            with op.location:
                alone = ir.Module.create()
                op.operation.clone(ip=ir.InsertionPoint(alone.body))
            texts[op.sym_name] = alone.operation.get_asm()
    return texts


# Processors' compilations never need this dialect, so no context loads it:
# importing this module, as the passes and tools for GPUs do, is enough.
load()
