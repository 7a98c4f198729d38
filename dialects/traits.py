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

    PRIMITIVE = "may stand in a kernel"
    COMPOSITE = "is written with primitives by `decompose`"
    LIBRARY = "runs as a call of ATen, never in a kernel"
    KERNEL = "is a kernel by itself, with a schedule of its own"
    DERIVATIVE = "says something about derivatives, and is gone behind the autograd"
    STRUCTURE = "holds other ops, or ends a region"


class Trait(enum.Enum):
    """What an op does with its operands. Several may hold."""

    ELEMENTWISE = (
        "each element of the result comes of those of the operands at its place"
    )
    COMPARES = "an elementwise question about two numbers"
    CREATES = "results are made of attributes alone"
    REINDEXES = "each element of the result is one of the operand, found by coordinates"
    VIEW = "reindexes in a way that strides can tell, where the layout allows it"
    BIJECTIVE = "a view that has each element once"
    ASSEMBLES = "the operands' elements side by side, or with a filler around them"
    GATHERS = "which elements of the first operand are read is data"
    REDUCES = "the result has size 1 where the operand has elements that are combined"
    FINDS_PLACE = "a reduction that gives the place of an element, not a value"
    CONTRACTION = "sums of products of two operands"
    PRODUCT = "a product of matrices, or of batches of matrices"
    MAY_ALIAS = "the result may be memory of an operand"
    MAY_FAIL = "raises eager's error for some elements, unless they are floats"
    JUMPS = "the result changes by a step where an operand changes by its last digit"
    KEEPS_DIGITS = "16 bits hold the result wherever they hold the operands"
    PASSES_DIGITS = "the result has as many digits as the first operand"
    TRANSFERS = "moves elements between memory and the points of a domain"
    RANDOM = "gives numbers that are meant to look random"


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
ASSEMBLES = Trait.ASSEMBLES
BIJECTIVE = Trait.BIJECTIVE
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
TRANSFERS = Trait.TRANSFERS
VIEW = Trait.VIEW
