"""convert-tile-to-cpu: scheduled kernels become functions for a processor.

Requires: scheduled `tile.kernel`s; `host.native` around launches that run together.
Establishes: no `tile.kernel`; functions of `vector`, `arith`, `math`, `scf`, `omp` and
`llvm` ops, all `k(ptr buffers, ptr symbols, ptr status)`; for each `host.native` one
such function, named by its attribute `function`.

    tile.grid(%count, %work) { ... }         omp.parallel if(%work >= 32768) {
                                               omp.wsloop { omp.loop_nest ... } }
    tile.loop(%lo, %hi) {width = 16} {       scf.for %i = %lo to %end step 16 { load }
      tile.load %x[%i] strides(1)            scf.if %end < %hi { masked load }
        masks(%mask) }

A kernel that no run launches keeps its name and can be called from outside.
It does not choose vector lengths or the order of loops: that is `tile`'s.

Read in this order: `driver` (the pass), `kernel` (functions), `lowering` (the table of
rules), `control` (grids and loops), `access`, `strided` and `memory` (loads and
stores), `vectors` (vectors of rank 2), `builder` (short names for upstream ops).
"""

from girih.passes.convert_tile_to_cpu.driver import ConvertTileToCpuOptions, run

__all__ = ["ConvertTileToCpuOptions", "run"]
