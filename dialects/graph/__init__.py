"""The graph dialect: tensor programs with value semantics.

One file for each family of ops:

- ``elementwise``, ``creation``, ``shape``, ``reduction``, ``indexing``: primitives
  (what may stand in a kernel), and a few composites of the same family.
- ``functions``, ``special``, ``gamma``, ``bessel``, ``polynomials``: elementwise
  functions that are declared whole, with ``series``.
- ``normalization``, ``activation``: composites, lowered by ``decompose``.
- ``contraction``, ``pooling``, ``scan``, ``random``, ``extern``: library ops, and
  the primitive ``philox``.
- ``flash_attention``: attention as one kernel, made by ``recognize-attention``.
- ``structure``: fusions; ``differentiation``: what programs say about derivatives.
- ``base``: base classes and shape rules that they share; ``elementwise_classes``:
  those of elementwise ops; ``formulas``: their derivatives.

What passes may know of an op beyond its name is data on its class: its role and its
traits (``girih.dialects.traits``). An op may move to another file.

To make an op: ``graph.build("softmax", [x], {"dim": 1}, loc=loc, ip=ip).result`` or
``graph.SoftmaxOp.build(...)`` with the same arguments. Optional operands are ``None``
where left out, variadic ones are lists, attributes are Python values; the result types
follow from the op's ``infer_types`` unless given (``results=[type]``: obligatory for
``cast``, ``constant``, ``full``, ``iota``, ``reshape``, ``broadcast_to``, ``slice``,
``extern``, ``fusion`` and random ops). A context must be active.
"""

from girih.dialects import definition
from girih.dialects.bindings import add_dialect_package, ir
from girih.dialects.definition import Op
from girih.dialects.graph import (
    activation,
    bessel,
    contraction,
    creation,
    differentiation,
    elementwise,
    extern,
    flash_attention,
    functions,
    gamma,
    indexing,
    normalization,
    polynomials,
    pooling,
    random,
    reduction,
    scan,
    shape,
    special,
    structure,
)
from girih.dialects.graph.base import GraphOp, LibraryOp, OrderedOp
from girih.dialects.traits import Role, Trait

NAME = "graph"

OPS_BY_FAMILY = definition.ops_by_family(NAME)
OPS: dict[str, type[Op]] = definition.ops_of(NAME)
globals().update({cls.__name__: cls for cls in OPS.values()})

__all__ = [
    "COMPOSITES",
    "DIFFERENTIATION",
    "KERNELS",
    "LIBRARY",
    "NAME",
    "OPS",
    "OPS_BY_FAMILY",
    "PRIMITIVES",
    "GraphOp",
    "LibraryOp",
    "OrderedOp",
    "activation",
    "bessel",
    "build",
    "contraction",
    "creation",
    "differentiation",
    "elementwise",
    "extern",
    "flash_attention",
    "functions",
    "gamma",
    "indexing",
    "load",
    "normalization",
    "ops_with",
    "polynomials",
    "pooling",
    "random",
    "reduction",
    "scan",
    "shape",
    "special",
    "structure",
]
__all__ += [cls.__name__ for cls in OPS.values()]


def ops_with(*traits: Trait, role: Role | None = None) -> tuple[type[Op], ...]:
    """Returns the op classes with all these traits, and with this role."""
    return definition.ops_with(NAME, *traits, role=role)


def _names(role: Role) -> frozenset[str]:
    return frozenset(cls.OPERATION_NAME for cls in ops_with(role=role))


PRIMITIVES, COMPOSITES = _names(Role.PRIMITIVE), _names(Role.COMPOSITE)
LIBRARY, KERNELS = _names(Role.LIBRARY), _names(Role.KERNEL)
DIFFERENTIATION = _names(Role.DERIVATIVE)

_loaded = False


def load() -> None:
    """Registers the op classes with the bindings; later calls do nothing."""
    global _loaded
    if not _loaded:
        _loaded = True
        add_dialect_package("girih.dialects")
        definition.register(NAME)


def build(name: str, *args: object, **kwargs: object) -> ir.Operation:
    """Makes the op ``graph.name``; the other arguments are those of ``Op.build``."""
    return definition.op_named(name).build(*args, **kwargs)
