"""What passes may know of an op without knowing its name: a role, traits, a cost.

They are data on the op's class, given where the class is defined, and subclasses have
those of their bases::

    class PermuteOp(GraphOp, name="permute", traits={VIEW, BIJECTIVE}): ...

    has(op, VIEW)            # an op, its class, or its name with the dialect
    has_any(op, VIEW, GATHERS)
    role_of(op) is Role.PRIMITIVE

Ops of other dialects (``arith``, ``func``) have no role and no traits. A pass that
needs to know a set of ops asks for a trait; where there is none, the fact is missing
here, and a set of names in the pass would hide it from every op that comes later.
"""

from __future__ import annotations

import enum


class Role(enum.Enum):
    """How an op of ``graph`` becomes code."""

    PRIMITIVE = "`fuse` puts the op into a fusion, which becomes a kernel"
    COMPOSITE = "`decompose` replaces the op by primitives and library ops"
    LIBRARY = (
        "a library computes the op, mostly through ATen; on a GPU "
        "`fuse-contractions` makes kernels of some products"
    )
    KERNEL = "the op is one kernel, with a schedule of its own"
    DERIVATIVE = "the op steers derivatives, and `autograd` removes it"
    STRUCTURE = "the op holds other ops, or ends a region"


class Trait(enum.Enum):
    """What an op does with its operands. Several may hold."""

    ELEMENTWISE = (
        "each element of the result depends on the operands' elements at its place only"
    )
    COMPARES = "the op is elementwise and compares two numbers"
    CREATES = "the op makes its results from attributes alone"
    REINDEXES = (
        "each element of the result is an element of the operand, whose coordinates "
        "the op computes"
    )
    VIEW = "the op reindexes, and strides can express how, where the layout allows it"
    BIJECTIVE = "the op is a view that has each element of the operand once"
    ACCUMULATES = (
        "the op adds to elements of the first operand, at places that another operand "
        "gives"
    )
    ASSEMBLES = "the op lays its operands side by side, or puts a filler around them"
    CHOOSES = "each element of the result is an operand's element, or 0"
    GATHERS = "an operand with indices chooses the elements of the first operand"
    REDUCES = "the op combines elements along dims, which have size 1 in the result"
    SCANS = (
        "the op combines each element with all those before it along a dim, and the "
        "result has the operand's shape"
    )
    FINDS_PLACE = "the op is a reduction that returns an element's index, not a value"
    CONTRACTION = "the op sums products of two operands' elements"
    PRODUCT = "the op multiplies matrices, or batches of matrices"
    MAY_ALIAS = "the result may share the memory of an operand"
    MAY_FAIL = "the op raises eager's error for some elements, unless they are floats"
    JUMPS = (
        "the result may change by a step when an operand changes in its last digit only"
    )
    KEEPS_DIGITS = "16 bits hold the result wherever they hold the operands"
    PASSES_DIGITS = "the result has as many digits as the first operand"
    TAKES_FLOAT8 = "kernels do the op on floats of 8 bits, which it moves or casts"
    TRANSFERS = "the op moves elements between memory and the points of a domain"
    RANDOM = "the op returns random numbers"


class Cost(enum.IntEnum):
    """What computing an element again costs, beside reading it from memory."""

    CHEAP = 0
    """An instruction or two."""
    DIVISION = 1
    """A division or square root: one slow instruction."""
    FUNCTION = 2
    """A polynomial, or a loop."""


NO_TRAITS: frozenset[Trait] = frozenset()


# The traits by themselves, for ``traits={VIEW, BIJECTIVE}`` and ``has(op, VIEW)``.
ACCUMULATES = Trait.ACCUMULATES
ASSEMBLES = Trait.ASSEMBLES
BIJECTIVE = Trait.BIJECTIVE
CHOOSES = Trait.CHOOSES
COMPARES = Trait.COMPARES
CONTRACTION = Trait.CONTRACTION
CREATES = Trait.CREATES
ELEMENTWISE = Trait.ELEMENTWISE
FINDS_PLACE = Trait.FINDS_PLACE
GATHERS = Trait.GATHERS
JUMPS = Trait.JUMPS
KEEPS_DIGITS = Trait.KEEPS_DIGITS
MAY_ALIAS = Trait.MAY_ALIAS
MAY_FAIL = Trait.MAY_FAIL
PASSES_DIGITS = Trait.PASSES_DIGITS
PRODUCT = Trait.PRODUCT
RANDOM = Trait.RANDOM
REDUCES = Trait.REDUCES
REINDEXES = Trait.REINDEXES
SCANS = Trait.SCANS
TAKES_FLOAT8 = Trait.TAKES_FLOAT8
TRANSFERS = Trait.TRANSFERS
VIEW = Trait.VIEW
