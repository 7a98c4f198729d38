"""``tile``: gives each kernel a schedule; the only place that knows schedules.

Requires: unscheduled ``tile.kernel``s: whole tensors are read, computed on by graph
primitives in the normal form of docs/inside/graph.md, and written; no output shares
memory with another argument.
Establishes: scheduled kernels: grids of programs, loops, loads and stores of scalars
and vectors; the attribute ``schedule`` says which schedule was chosen and why.

Before::

    %0 = "tile.read"(%x) : (!tile.buffer<f32, [64], [1]>) -> tensor<64xf32>
    %1 = "graph.exp"(%0) : (tensor<64xf32>) -> tensor<64xf32>
    "tile.write"(%1, %y) : (tensor<64xf32>, !tile.buffer<f32, [64], [1]>) -> ()

After::

    "tile.grid"(%c1, %c64) ({ ^bb0(%program: index):
      "tile.loop"(%low, %high) <{width = 16}> ({ ^bb0(%i: index, %mask: vector<16xi1>):
        %0 = "tile.load"(%x, %i, %c1, %mask) ...
        %1 = math.exp %0
        "tile.store"(%1, %y, %i, %c1, %mask) ...

It decides nothing about threads, and it does not fuse: one kernel stays one kernel.

``print-schedules`` prints what ``tile`` would choose and changes nothing.

Read in this order: ``options`` (the target), ``kernel`` (reading the IR), ``index`` and
``sizes`` (index expressions), ``nodes`` (formulas), ``access`` (how views become index
expressions), ``domain`` (refined and merged coordinates), ``pieces`` (computed
indices), ``plan`` (what a schedule is), ``subject``, ``cost``, ``widths``,
``stretches``, ``keep``, ``split``, ``transpose``, ``choose`` (which schedule),
``contraction`` (what is a product of matrices), ``product`` (its schedule),
``window_sums`` (that of convolutions of single channels), ``emit`` (IR), ``gpu`` (the
same for GPUs), ``driver``.
"""

from girih.passes.tile.driver import print_schedules, run
from girih.passes.tile.options import TileOptions

__all__ = ["TileOptions", "print_schedules", "run"]
