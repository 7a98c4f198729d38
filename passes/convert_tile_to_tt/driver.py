"""The pass: each grid of a scheduled kernel becomes a function."""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.passes.convert_tile_to_tt import (  # noqa: F401  (rules register themselves)
    arithmetic,
    contraction,
    control,
    error_function,
    functions,
    memory,
    vectors,
)
from girih.passes.convert_tile_to_tt.functions import LIBRARIES
from girih.passes.convert_tile_to_tt.kernel import convert_kernel
from girih.passes.registry import register_pass


@dataclass(frozen=True)
class ConvertTileToTtOptions:
    """Options of convert-tile-to-tt."""

    library: str = "cuda"
    """Library of math functions that kernels call: `cuda` (libdevice) or `hip`
    (ocml)."""
    aligned: bool = False
    """Whether each buffer begins at a multiple of 16 bytes, in kernels without the
    attribute `aligned`. The launcher must check that."""
    allow_tf32: bool = False
    """Whether products of float32 are rounded to tf32, which is faster."""
    num_warps: int = 4
    """Warps of an instance whose grid has no `num_warps`."""
    num_stages: int = 3
    """Stages of software pipelines of an instance whose grid has no `num_stages`."""


@register_pass("convert-tile-to-tt", options=ConvertTileToTtOptions)
def run(op: ir.Operation, options: ConvertTileToTtOptions) -> None:
    """Turns scheduled kernels into functions of Triton IR."""
    if options.library not in LIBRARIES:
        raise ValueError(
            f"convert-tile-to-tt expected library cuda or hip, got {options.library}"
        )
    defaults = {"num_warps": options.num_warps, "num_stages": options.num_stages}
    for kernel in list(op.regions[0].blocks[0].operations):
        if kernel.operation.name == "tile.kernel":
            convert_kernel(
                kernel,
                options.library,
                defaults,
                aligned=options.aligned,
                allow_tf32=options.allow_tf32,
            )
