"""Loaded kernels as launch programs want them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from girih.codegen.gpu.binary import Binary
from girih.codegen.gpu.link import load
from girih.codegen.runtime.device import GridKernel
from girih.dialects.dims import Size


@dataclass(frozen=True)
class Grid:
    """How a binary is launched: what `girih.launch` says of its function.

    Attributes:
        binary: the code.
        grid: how many programs, in terms of the kernel's symbols.
        symbols: their names, in the order of the function's arguments.
        workspace_bytes: scratch memory that the kernel's grids share.
    """

    binary: Binary
    grid: Size
    symbols: tuple[str, ...] = ()
    workspace_bytes: Size = 0


def load_kernel(
    grids: Sequence[Grid], device: int, *, source: Any = None
) -> list[GridKernel]:
    """Load the grids of a kernel on a device, for `build_program`.

    Args:
        grids: in the order in which they run.
        device: the number of the device.
        source: the driver to use, else the one of the binary's architecture.
    """
    return [
        GridKernel(
            function=load(grid.binary, device, source=source),
            grid=grid.grid,
            symbols=grid.symbols,
            threads=grid.binary.threads,
            workspace_bytes=grid.workspace_bytes,
            null_pointers=grid.binary.null_pointers,
        )
        for grid in grids
    ]
