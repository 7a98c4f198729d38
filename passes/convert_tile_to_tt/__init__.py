"""convert-tile-to-tt: scheduled kernels become functions of Triton IR.

Requires: scheduled `tile.kernel`s whose vectors have sizes that are powers of two.
Establishes: no `tile.kernel`; for grid n of kernel `k` a `tt.func @k_n` of `tt`,
`arith`, `math` and `scf` ops on tensors, with the attribute `girih.launch`.

    tile.grid(%count, %work) {               %pid = tt.get_program_id
      tile.load %x[%i] strides(1)            %p = tt.splat (%x + %i) + tt.make_range
        masks(%mask) : vector<1024xf32> }    tt.load %p, %mask, 0 : tensor<1024xf32>

It does not choose block sizes, warps or stages: those are `tile`'s. Programs of one
grid must not read what others, or other lanes, of the same grid write.

Read in this order: `driver` (the pass), `kernel` (functions), `lowering` (the table of
rules), `index_width`, `control` (loops), `memory`, `vectors`, `contraction`,
`arithmetic`, `float8`, `functions` (of mathematics), `error_function`, `builder` (short
names).
"""

from girih.passes.convert_tile_to_tt.driver import ConvertTileToTtOptions, run

__all__ = ["ConvertTileToTtOptions", "run"]
