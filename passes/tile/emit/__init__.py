"""From a plan to IR.

In the order to read it:

* ``kernel``      replaces a kernel's body
* ``program``     one grid: loops, passes over the row, stores
* ``frame``       the nest of open regions
* ``values``      nodes as values, each in the outermost frame that can compute it
* ``indices``     index expressions as values
* ``rules``       the table of emission rules for elementwise primitives, filled by
  ``arithmetic``, ``functions``, ``logic``, ``integers``, ``cast``, ``random``,
  and ``quotient``, which schedules make
* ``reduction``   identity, combination and horizontal step of each reduction
* ``builder``     makes ops quickly
"""

from girih.passes.tile.emit import (
    arithmetic,
    cast,
    functions,
    integers,
    logic,
    quotient,
    random,
)

__all__ = ["arithmetic", "cast", "functions", "integers", "logic", "quotient", "random"]
