"""Pointwise kernels whose rows start anywhere, as one row.

Elements of 16 bits that lie in rows of, say, 8191 can't be accessed 16 bytes at a time
row by row. All rows together are one contiguous row, which can: so rows and columns
become one coordinate where most of what is moved walks through both in one stride. What
does not, such as a bias that all rows share, is then gathered.
"""

from girih.passes.tile.domain import Formula, substitute
from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.coordinates import (
    Coordinates,
    columns_of,
    is_gathered,
    rest,
    traffic,
)
from girih.passes.tile.index import Affine, Coordinate, affine, of, quotient, remainder
from girih.passes.tile.sizes import exact_quotient, known, product
from girih.passes.tile.subject import Subject, with_formula

# Elements of so many bytes are slow one by one; larger ones fill lines as it is.
NARROW_BYTES = 2
# At least this part of the traffic (one of so many) must walk in one stride.
TOGETHER_SHARE = 2


def with_flat_rows(subject: Subject) -> Subject:
    """The kernel with one coordinate for rows and columns, where that pays."""
    formula = subject.formula
    if any(is_gathered(subject, c) for c in formula.parallel) or formula.reduced:
        return subject
    columns = columns_of(subject, formula.parallel)
    while rows := rest(subject.formula.parallel, columns)[-1:]:
        if not _pays(subject, rows[0], columns):
            break
        flat = flattened(subject.formula, rows[0], columns)
        subject = with_formula(subject, flat)
        columns = flat.parallel[-1]
    return subject


def flattened(formula: Formula, rows: Coordinate, columns: Coordinate) -> Formula:
    """A formula over one coordinate in place of two."""
    whole = Coordinate((*rows.key, -1), rows.size * columns.size)
    split = {
        rows: quotient(of(whole), columns.size),
        columns: remainder(of(whole), columns.size),
    }
    parallel = (*rest(formula.parallel, rows, columns), whole)

    def rejoin(index: Affine) -> Affine:
        """``c * n * (w // n) + c * (w % n)`` as ``c * w``."""
        (high, _), (low, _) = split[rows].terms[0], split[columns].terms[0]
        step = index.coefficient(low)
        if step == 0 or index.coefficient(high) != step * columns.size:
            return index
        return index - affine({high: step * columns.size, low: step}) + of(whole) * step

    return substitute(formula, (parallel, (), ()), split, rejoin=rejoin)


def _pays(subject: Subject, rows: Coordinate, columns: Coordinate) -> bool:
    """True where most of what is moved is narrow, and together begins anywhere."""
    sizes = (rows.size, columns.size)
    if not all(isinstance(size, int) for size in sizes) or product(sizes) >= 1 << 30:
        return False
    if any(load.guards for load in subject.loads):
        return False
    steps = [_steps(store.offset, rows, columns) for store in subject.formula.stores]
    if any(down != right * columns.size for down, right in steps):
        return False  # nothing is scattered
    moved = _moved_together(subject, rows, columns)
    return moved > 0 and moved * TOGETHER_SHARE >= traffic(subject, columns)


def _steps(offset: Affine, rows: Coordinate, columns: Coordinate) -> tuple:
    return offset.coefficient(rows), offset.coefficient(columns)


def _moved_together(subject: Subject, rows: Coordinate, columns: Coordinate) -> int:
    """Bytes of narrow accesses that walk through rows and columns in one stride."""
    everywhere: Coordinates = subject.formula.parallel
    points = product(known(c.size, policy.GUESSED_SIZE) for c in everywhere)
    accesses = [(n.buffer, n.offset) for n in subject.loads]
    accesses += [(s.buffer, s.offset) for s in subject.formula.stores]
    total = 0
    for buffer, offset in accesses:
        size = subject.source.buffers[buffer].element.bytes
        is_aligned = exact_quotient(columns.size * size, policy.ACCESS_BYTES)
        together = _steps(offset, rows, columns) == (columns.size, 1)
        if together and size <= NARROW_BYTES and is_aligned is None:
            total += points * size
    return total
