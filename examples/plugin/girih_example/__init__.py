"""What a package can add to girih: each kind of extension, once.

* ``operators``   torch operators of our own, and how girih imports calls of them
* ``softclip``    a primitive: an elementwise op with a kernel and derivatives
* ``gate``        a composite, which is written with other ops
* ``running``     a library op, which is a call of a torch operator
* ``passes``      a pass that rewrites, and one that fuses
* ``polynomial``  a dialect of our own, which a pass lowers to girih's
"""

from girih_example import gate, operators, passes, polynomial, running, softclip
from girih_example.operators import (
    gated,
    mm_softclip,
    polynomial_of,
    running_sum,
    softclipped,
)

__all__ = [
    "gate",
    "gated",
    "mm_softclip",
    "operators",
    "passes",
    "polynomial",
    "polynomial_of",
    "running",
    "running_sum",
    "softclip",
    "softclipped",
]
