"""Chooses how a kernel with scans runs on a GPU.

A program has whole rows along the scan, or walks along them block by block with what
comes before as an accumulator. Programs do not wait for one another, so a row is never
split; `fuse` leaves few long rows to a library.
"""

from dataclasses import replace

from girih.passes.tile.choose import split_passes
from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.coordinates import columns_of, rest, shared_out
from girih.passes.tile.gpu.grids import axes_of, blocks_text, make_grid, sizes_text
from girih.passes.tile.gpu.plan import Block
from girih.passes.tile.gpu.policy import Share
from girih.passes.tile.index import Coordinate
from girih.passes.tile.plan import SchedulePlan
from girih.passes.tile.sizes import known, product
from girih.passes.tile.subject import Subject

Blocks = tuple[Block, ...]


def choose_scan(subject: Subject) -> SchedulePlan:
    """Decides how a kernel with scans runs."""
    formula = subject.formula
    blocks, share = _blocks(subject)
    (walk,), final = split_passes(formula, [], formula.reduced)
    walk = replace(walk, scans=tuple(subject.scans))
    grid = make_grid(subject, axes_of(formula.parallel, blocks), blocks, (walk,), share)
    grid = replace(grid, stores=final)
    reason = (
        f"{sizes_text(formula.parallel)} rows of {sizes_text(formula.reduced)}"
        f" elements, {blocks_text(grid)}"
    )
    return SchedulePlan("scan", reason, (grid,), (), is_blocked=True)


def _blocks(subject: Subject) -> tuple[Blocks, Share]:
    formula = subject.formula
    if len(formula.reduced) > 1:
        # A scan through several coordinates takes one element after the other.
        columns = columns_of(subject, formula.parallel)
        share = shared_out(subject, policy.POINTWISE, columns)
        if columns is None:
            return (), share
        return (Block(columns, policy.block_of(columns.size, share.elements)),), share
    (along,) = formula.reduced
    columns = columns_of(subject, formula.parallel + formula.reduced)
    if columns == along:
        return _along_rows(subject, along)
    return _along_columns(subject, along, columns)


def _along_rows(subject: Subject, along: Coordinate) -> tuple[Blocks, Share]:
    """Blocks where the scan goes along contiguous memory."""
    length = along.size
    if not isinstance(length, int) or length > policy.SCANNED_ROW:
        share = shared_out(subject, policy.SCANNED_ROWS, along)
        return (Block(along, share.elements, is_looped=True),), share
    share = shared_out(subject, policy.SCANNED, along)
    own = Block(along, policy.power_of_two(length))
    space = share.elements // own.size
    rows = columns_of(subject, subject.formula.parallel)
    if rows is None or space < 2:
        return (own,), share
    height = min(space, policy.power_of_two(known(rows.size, space)))
    return (Block(rows, height), own), share


def _along_columns(
    subject: Subject, along: Coordinate, columns: Coordinate
) -> tuple[Blocks, Share]:
    """Blocks where other points are contiguous: several scans next to each other."""
    share = shared_out(subject, policy.SCANNED_COLUMNS, columns)
    width = policy.block_of(columns.size, _width(subject, columns))
    length = policy.power_of_two(known(along.size, share.elements))
    height = max(min(length, share.elements // width), 2)
    is_looped = not isinstance(along.size, int) or along.size > height
    return (Block(along, height, is_looped), Block(columns, width)), share


def _width(subject: Subject, columns: Coordinate) -> int:
    """Scans of a program: fewer where processors would be idle."""
    others = rest(subject.formula.parallel, columns)
    guess = policy.GUESSED_SIZE
    scans = product(known(c.size, guess) for c in (*others, columns))
    width = policy.SCANS
    while width > policy.LEAST_SCANS and scans // width < (
        policy.SCAN_PROGRAMS * subject.options.processors
    ):
        width //= 2
    return width
