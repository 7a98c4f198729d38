"""From tensors to formulas: which element of which buffer a value needs.

Read in this order:

* ``evaluator``  asks an op for its value at given coordinates, remembering answers
* ``shape``      views: they only change the coordinates
* ``indexing``   take and gather: a coordinate that is read at run time
* ``creation``   constants, iota, sizes

Elementwise ops and reductions need no rule of their own here: the evaluator hands
the coordinates on to their operands.
"""

from girih.passes.tile.access import creation, indexing, shape

__all__ = ["creation", "indexing", "shape"]
