"""Schedules for GPUs: a program handles a block of points.

A block has one or two dims, each along a coordinate of the domain, with a power of two
of elements; values that do not vary along a dim have size 1 there, and those that vary
along none are scalars. A block is bound by the program's number, or holds a whole
reduced coordinate, or walks along one in a loop. Coordinates without a dim are spread
over the grid, or looped over where they are reduced.

Read in this order: ``plan`` (blocks and grids), ``policy`` (sizes of blocks, warps, and
what was measured), ``coordinates`` (where accesses are contiguous), ``choose`` and
``choose_reduction`` (which schedule), ``flatten`` and ``one_pass`` (formulas that are
rewritten for it), ``grids``, ``split`` (reductions with few results); then what makes
the IR: ``indices``, ``values``, ``reductions`` and ``program``.
Products of matrices (``contraction*``) and attention (``attention``) have their own.
"""
