"""Along which coordinates accesses are contiguous."""

from collections.abc import Iterable
from dataclasses import replace

from girih.passes.tile.cost import is_irregular
from girih.passes.tile.domain import Store
from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.policy import Share
from girih.passes.tile.index import (
    Affine,
    Coordinate,
    Dynamic,
    coordinates_of,
    of,
)
from girih.passes.tile.nodes import (
    CheckedIndexNode,
    ComputeNode,
    IndexNode,
    LoadNode,
    Node,
)
from girih.passes.tile.sizes import Size, is_constant, known, product
from girih.passes.tile.subject import Subject

Coordinates = tuple[Coordinate, ...]


def traffic(subject: Subject, along: Coordinate) -> int:
    """Bytes moved by accesses that are contiguous along a coordinate."""
    return _moved(subject, (*subject.loads, *subject.formula.stores), along)


def loaded(subject: Subject, along: Coordinate) -> int:
    """Bytes of the loads that are contiguous along a coordinate."""
    return _moved(subject, subject.loads, along)


def _moved(
    subject: Subject, accesses: Iterable[LoadNode | Store], along: Coordinate
) -> int:
    buffers = subject.source.buffers
    total = 0
    for access in accesses:
        if is_constant(access.offset.coefficient(along), 1):
            sizes = [known(c.size, policy.GUESSED_SIZE) for c in access.coordinates]
            total += product(sizes) * buffers[access.buffer].element.bytes
    return total


def columns_of(subject: Subject, among: Coordinates) -> Coordinate | None:
    """The coordinate that most bytes are contiguous along; later ones win ties."""
    best, best_traffic = None, -1
    for coordinate in among:
        own = traffic(subject, coordinate)
        if own >= best_traffic:
            best, best_traffic = coordinate, own
    return best


def is_gathered(subject: Subject, along: Coordinate) -> bool:
    """True where a load's place depends on the coordinate other than linearly."""
    return any(is_irregular(load.offset, along) for load in subject.loads)


def step_along(offset: Affine, along: Coordinate) -> Size | None:
    """How far apart neighbours read as a rule; None where nothing is known.

    Padding clamps or mirrors an index at the ends of a row.
    """
    step = offset.coefficient(along)
    for atom, factor in offset.terms:
        if atom == along or along not in coordinates_of(of(atom)):
            continue
        slope = _slope(atom.node, along) if isinstance(atom, Dynamic) else None
        if slope is None:
            return None
        step = step + slope * factor
    return step


def _slope(node: Node, along: Coordinate) -> Size | None:
    """The steepest rise of a computed index along a coordinate, by its formula."""
    if along not in node.coordinates:
        return 0
    if isinstance(node, IndexNode):
        return step_along(node.expression, along)
    if isinstance(node, CheckedIndexNode):
        return _slope(node.operands[0], along)
    if not isinstance(node, ComputeNode):
        return None
    slopes = [_slope(operand, along) for operand in node.operands]
    if any(slope is None for slope in slopes):
        return None
    match node.name:
        case "add":
            return slopes[0] + slopes[1]
        case "sub":
            return slopes[0] - slopes[1]
        case "minimum" | "maximum" | "abs":
            return max(slopes, key=lambda slope: abs(known(slope, 1)))
    return None


def has_weights(subject: Subject, columns: Coordinate) -> bool:
    """True where a load along the columns is the same for all rows."""
    parallel = frozenset(subject.formula.parallel)
    return any(
        columns in load.coordinates and not load.coordinates & parallel
        for load in subject.loads
    )


def shared_out(subject: Subject, share: Share, columns: Coordinate | None) -> Share:
    """A share of the policy for this kernel: as measured for it, or by its accesses."""
    loads = [load.coordinates for load in subject.loads]
    stores = [store.coordinates for store in subject.formula.stores]
    blocks = [c for c in (*loads, *stores) if columns in c]
    share = share.for_accesses(len(blocks)).tuned(subject.source.tuning)
    if subject.choices.are_usual:
        return share
    elements, warps = share.elements, share.warps
    return replace(
        share,
        elements=subject.pick(
            "elements of a block", elements, (elements, *policy.OTHER_ELEMENTS)
        ),
        warps=subject.pick("warps, 0 by elements", warps, (warps, *policy.OTHER_WARPS)),
    )


def rest(coordinates: Coordinates, *without: Coordinate | None) -> Coordinates:
    """The coordinates but for some."""
    return tuple(c for c in coordinates if c not in without)
