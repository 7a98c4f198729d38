"""Kernels as one row of points or windows, in the order in which their results lie.

A block has rows and columns. Where both are short, as those of a pixel shuffle are, a
program would have a few elements for its warp. With one coordinate in place of all of
them, blocks are as large as one likes and stores are contiguous; what was a coordinate
is computed from it by divisions with constant divisors, so loads are gathered. The
cache joins what neighbours of a block read of one line. Blocks of 2 x 2 as channels, 16
x 768 x 16 x 16 in bfloat16: 119 us in blocks of 2 x 8, where Inductor takes 6.6 in this
way and a copy 6.3 (H100, 2026-11-27).
"""

from collections.abc import Callable

from girih.passes.tile.domain import Formula, Store, substitute
from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.coordinates import Coordinates
from girih.passes.tile.gpu.plan import Block
from girih.passes.tile.index import (
    Affine,
    Coordinate,
    affine,
    constant,
    of,
    quotient,
    remainder,
)
from girih.passes.tile.sizes import is_constant, product
from girih.passes.tile.subject import Subject, with_formula

_LARGEST = 1 << 30
"""Points, so that indices have 32 bits."""


def is_poor(ordered: Coordinates, blocks: tuple[Block, ...], is_turned: bool) -> bool:
    """Whether blocks are small, narrow, much outside, or turn a short side."""
    if not all(isinstance(c.size, int) for c in ordered):
        return False
    if is_turned:
        return min(b.coordinate.size for b in blocks) < policy.LEAST_TURNED
    if blocks[-1].size < min(policy.LEAST_COLUMNS, blocks[-1].coordinate.size):
        return True
    elements = product(block.size for block in blocks)
    points = product(c.size for c in ordered)
    if elements < policy.LEAST_BLOCK and elements < points:
        return True
    covered = product(-(-b.coordinate.size // b.size) * b.size for b in blocks)
    inside = product(b.coordinate.size for b in blocks)
    return covered > inside * policy.LARGEST_COVER and points > policy.LEAST_BLOCK


def in_one_row(subject: Subject) -> Subject | None:
    """The kernel over one coordinate; None where its stores lie otherwise."""
    order = None if subject.formula.reduced else _order_of(subject.formula)
    if order is None or len(order) < 2:
        return None
    formula = _linear(subject.formula, order)
    return with_formula(subject, formula)


def windows_in_one_row(subject: Subject, columns: Coordinate) -> Subject | None:
    """The results of windows over one coordinate; None where they lie otherwise.

    Args:
        subject: The kernel, whose stores vary along no reduced coordinate.
        columns: The coordinate along which windows lie side by side.
    """
    order = _order_of(subject.formula)
    if order is None or len(order) < 2 or order[-1] != columns:
        return None
    return with_formula(subject, _linear(subject.formula, order))


def _order_of(formula: Formula) -> Coordinates | None:
    """The coordinates, outermost first, as all stores lie densely in them."""
    coordinates = [c for c in formula.parallel if not is_constant(c.size, 1)]
    points = product(c.size for c in coordinates)
    if not isinstance(points, int) or points >= _LARGEST:
        return None
    if all(store.accumulates for store in formula.stores):
        return tuple(coordinates)
    first = formula.stores[0].offset
    if not all(isinstance(first.coefficient(c), int) for c in coordinates):
        return None
    order = tuple(sorted(coordinates, key=lambda c: -first.coefficient(c)))
    return order if all(_is_dense(s, order) for s in formula.stores) else None


def _is_dense(store: Store, order: Coordinates) -> bool:
    step = 1
    for coordinate in reversed(order):
        if not is_constant(store.offset.coefficient(coordinate), step):
            return False
        step *= coordinate.size
    return len(store.offset.terms) == len(order)


def _linear(formula: Formula, order: Coordinates) -> Formula:
    whole = Coordinate((*order[0].key, -1), product(c.size for c in order))
    digits, inner = {}, 1
    for coordinate in reversed(order):
        digits[coordinate] = _digit(whole, inner, coordinate.size)
        inner *= coordinate.size
    dropped = {c: constant(0) for c in formula.parallel if c not in digits}
    rejoin = _joiner(whole, order, digits)
    kept = ((whole,), formula.reduced, formula.closing)
    return substitute(formula, kept, digits | dropped, rejoin=rejoin)


def _digit(whole: Coordinate, inner: int, size: int) -> Affine:
    """``whole // inner % size``; the outermost digit is what the division leaves."""
    high = quotient(of(whole), inner)
    return high if inner * size == whole.size else remainder(high, size)


def _joiner(
    whole: Coordinate, order: Coordinates, digits: dict[Coordinate, Affine]
) -> Callable[[Affine], Affine]:
    """Writes digits next to each other, that lie densely in an access, as one."""
    atoms = {c: digits[c].terms[0][0] for c in order}

    def rejoin(index: Affine) -> Affine:
        result, place = index, len(order) - 1
        inner = 1
        while place >= 0:
            last = order[place]
            step = index.coefficient(atoms[last])
            size, count = last.size, 1
            if isinstance(step, int) and step:
                while place - count >= 0:
                    above = order[place - count]
                    if index.coefficient(atoms[above]) != step * size:
                        break
                    size, count = size * above.size, count + 1
            if count > 1:
                for joined in order[place - count + 1 : place + 1]:
                    atom = atoms[joined]
                    result = result - affine({atom: index.coefficient(atom)})
                result = result + _digit(whole, inner, size) * step
            inner *= size
            place -= count
        return result

    return rejoin
