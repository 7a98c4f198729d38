"""Grids from what was chosen, and their text for people."""

from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.coordinates import Coordinates
from girih.passes.tile.gpu.plan import Block, BlockGrid
from girih.passes.tile.gpu.policy import Share
from girih.passes.tile.plan import Axis, Pass
from girih.passes.tile.sizes import product
from girih.passes.tile.subject import Subject


def axes_of(parallel: Coordinates, blocks: tuple[Block, ...]) -> tuple[Axis, ...]:
    """One axis for each parallel coordinate: a block of it, or one value."""
    sizes = {block.coordinate: block.size for block in blocks}
    return tuple(Axis(c, sizes.get(c)) for c in parallel)


def make_grid(
    subject: Subject,
    axes: tuple[Axis, ...],
    blocks: tuple[Block, ...],
    passes: tuple[Pass, ...],
    share: Share,
) -> BlockGrid:
    """A grid over the axes; its loops go over what is reduced and has no dim."""
    formula = subject.formula
    reduced = formula.reduced if subject.reductions or subject.scans else ()
    bound = [block.coordinate for block in blocks]
    elements = product(block.size for block in blocks)
    return BlockGrid(
        axes=axes,
        blocks=blocks,
        loops=tuple(c for c in reduced if c not in bound),
        reduced=reduced,
        passes=passes,
        stores=(),
        substitutes=(),
        work=product(c.size for c in formula.parallel + formula.reduced),
        warps=share.warps_for(elements),
        stages=_stages(subject, blocks, share),
    )


def _stages(subject: Subject, blocks: tuple[Block, ...], share: Share) -> int:
    """Steps of a loop in flight: as many as shared memory has place for.

    The step that is being computed has left it.
    """
    step = sum(
        product(b.size for b in blocks if b.coordinate in load.coordinates)
        * subject.source.buffers[load.buffer].element.bytes
        for load in subject.loads
        if load.coordinates
    )
    shared = policy.SHARED_BYTES
    if subject.formula.closing:
        # A program walks along many rows, so loads in flight count more than others
        # beside it. RMS norm of 16384 x 8192 in bf16, a training step, 333 us, with
        # two steps in flight 404 (H200, 2026-11-28).
        shared = max(shared, subject.options.shared_bytes)
    place = 1 + shared // max(step, 1)
    return max(min(subject.options.stages, share.stages, place), 1)


def sizes_text(coordinates: Coordinates) -> str:
    """The sizes of coordinates."""
    return " x ".join(str(c.size) for c in coordinates) or "1"


def blocks_text(grid: BlockGrid) -> str:
    """A grid's block and warps."""
    dims = [
        f"{block.size} along d{block.coordinate.key[0]} of {block.coordinate.size}"
        + (" in a loop" if block.is_looped else "")
        for block in grid.blocks
    ]
    elements = product(block.size for block in grid.blocks)
    share = max(elements // (grid.warps * policy.THREADS), 1)
    peeled = ", peeled" if grid.peeling is not None else ""
    return (
        f"blocks of {' x '.join(dims) or 'one point'},"
        f" {grid.warps} warps of {share} elements a thread{peeled}"
    )
