"""The host dialect: the launch program, a straight line of ops over buffers.

``program`` holds all its ops. Build ops as those of ``graph``:
``host.build("launch", [buffers], {"kernel": "k0", "outputs": 1}, loc=loc, ip=ip)``.
"""

from girih.dialects import definition
from girih.dialects.bindings import add_dialect_package, ir
from girih.dialects.definition import Op
from girih.dialects.host import program
from girih.dialects.host.program import HostOp

NAME = "host"

OPS_BY_FAMILY = definition.ops_by_family(NAME)
OPS: dict[str, type[Op]] = definition.ops_of(NAME)
globals().update({cls.__name__: cls for cls in OPS.values()})

MATMUL = "matmul"
"""What `host.launch` names for a product of matrices: a library's, no kernel."""

MATMUL_ADD = "matmul_add"
"""The same, but the product is added to what the result holds."""

__all__ = ["MATMUL", "MATMUL_ADD", "NAME", "OPS", "OPS_BY_FAMILY", "HostOp", "build"]
__all__ += ["load", "program"]
__all__ += [cls.__name__ for cls in OPS.values()]

_loaded = False


def load() -> None:
    """Registers the op classes with the bindings; later calls do nothing."""
    global _loaded
    if not _loaded:
        _loaded = True
        add_dialect_package("girih.dialects")
        definition.register(NAME)


def build(name: str, *args: object, **kwargs: object) -> ir.Operation:
    """Makes the op ``host.name``; the other arguments are those of ``Op.build``."""
    return OPS[f"host.{name}"].build(*args, **kwargs)
