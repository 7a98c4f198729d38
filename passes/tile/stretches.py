"""Whether a loop over the lanes is cut where computed indices turn, and how wide."""

from dataclasses import replace

from girih.passes.tile.cost import GATHERED_LOAD, is_irregular, node_cost
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import Node
from girih.passes.tile.pieces import Segment, segments_along
from girih.passes.tile.sizes import known
from girih.passes.tile.subject import Subject
from girih.passes.tile.widths import EXPENSIVE_BODY, GUESSED_SIZE, power_of_two

# So few elements that are only copied are faster one by one than as a masked vector.
FEW_ELEMENTS = 4

Segments = tuple[Segment, ...]


def choose_segments(subject: Subject, lanes: Coordinate | None, width: int) -> Segments:
    """The stretches of the lanes' coordinate; none where one loop is as fast.

    Args:
        subject: the kernel and the target.
        lanes: the coordinate along which vectors lie.
        width: lanes of its loop.
    """
    segments = segments_along(subject.nodes, lanes, subject.formula.table)
    if not segments:
        return ()
    roots = [store.node for store in subject.formula.stores]
    roots += [node.operands[0] for node in subject.reductions]
    body = _body_cost(roots)
    if not subject.reductions:
        segments = tuple(_with_width(s, width, body) for s in segments)
    gathers = sum(is_irregular(load.offset, lanes) for load in subject.loads)
    whole = _steps(known(lanes.size, GUESSED_SIZE), width)
    uncut = whole * (body + gathers * GATHERED_LOAD)
    cut = sum(_cost(segment, width, roots) for segment in segments)
    return segments if cut < uncut else ()


def choose_outer_segments(subject: Subject, along: Coordinate) -> Segments:
    """The stretches of a coordinate of the loops around that of the lanes.

    None unless what is left out in each of them is worth code of its own: in a concat
    that is what the other parts would compute, and read with masks.
    """
    nodes, table = subject.nodes, subject.formula.table
    segments = segments_along(nodes, along, table, is_outer=True)
    if not segments:
        return ()
    roots = [store.node for store in subject.formula.stores]
    whole = known(along.size, GUESSED_SIZE) * _body_cost(roots)
    cut = sum(
        known(s.high - s.low, GUESSED_SIZE) * _body_cost(roots, s) for s in segments
    )
    return segments if cut * 4 <= whole * 3 else ()


def _body_cost(roots: list[Node], segment: Segment | None = None) -> int:
    """Instructions for one vector of values, without those for where they lie."""
    standing_for = dict(segment.substitutes) if segment else {}
    total, pending, seen = 0, list(roots), set()
    while pending:
        node = pending.pop()
        node = standing_for.get(node, node)
        if node.number not in seen:
            seen.add(node.number)
            total += node_cost(node)
            pending += node.operands
    return total


def _with_width(segment: Segment, width: int, body: int) -> Segment:
    """Short stretches of what is only stored have short vectors, or none."""
    length = segment.high - segment.low
    if not isinstance(length, int) or length >= width:
        return segment
    few = FEW_ELEMENTS if body < EXPENSIVE_BODY else 1
    return replace(segment, width=0 if length <= few else power_of_two(length))


def _cost(segment: Segment, width: int, roots: list[Node]) -> int:
    """Instructions on vectors of the loop's width, or shorter ones."""
    lanes = width if segment.width is None else max(segment.width, 1)
    length = known(segment.high - segment.low, GUESSED_SIZE)
    return _steps(length, lanes) * _body_cost(roots, segment)


def _steps(length: int, width: int) -> int:
    return -(-length // width)
