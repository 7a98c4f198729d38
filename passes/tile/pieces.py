"""Indices that are computed, but linear piece by piece.

What clamps, mirrors or wraps a coordinate (``min(max(i - 1, 0), 31)``) is read at run
time in general: a ``Dynamic`` index, an element at a time. Cut where the formula turns,
each stretch of the coordinate has a linear index, and rows are read as vectors. The
same cuts decide the guards of pads and concats that are read so.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeVar

from girih.dialects.rule_table import RuleTable
from girih.passes.tile.elements import I64
from girih.passes.tile.index import (
    Affine,
    Coordinate,
    Dynamic,
    affine,
    bounds,
    constant,
    coordinates_of,
    is_non_negative,
    of,
)
from girih.passes.tile.nodes import (
    CheckedIndexNode,
    ComputeNode,
    ConstantNode,
    Guard,
    IndexNode,
    LoadNode,
    Node,
    NodeTable,
    SelectNode,
)
from girih.passes.tile.sizes import Size, exact_quotient, is_at_least, known

# Stretches of a row, each with code of its own; where there are more, the index is
# computed for each element.
MAX_SEGMENTS = 6
# Loads with guards, from which on loops without them are worth it (the gradient of
# mirrored borders in several dims has 6 and 18).
MANY_GUARDED = 3
# Coordinates are far below 2^31, so a linear value with smaller factors fits 64 bits.
_LARGE_FACTOR = 1 << 30
_LARGE_NUMBER = 1 << 61
# Stands for a symbolic length where lengths are compared.
_GUESSED_LENGTH = 512


Value = TypeVar("Value")


class NotLinear(Exception):
    """An index has no known linear pieces; never leaves this module."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The index is ``value`` where ``low <= coordinate < high``."""

    low: Size
    high: Size
    value: Affine


Pieces = tuple[Piece, ...]

_RULES: dict[str, Callable[..., Pieces]] = RuleTable("piecewise rule of ")
_pieces_of = _RULES.registering


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a coordinate in which some nodes have simpler ones.

    Attributes:
        low, high: ``low <= coordinate < high``.
        substitutes: what stands for which node there.
        width: lanes of its loop, None for as many as the whole loop has; 0 where it
            goes element by element.
    """

    low: Size
    high: Size
    substitutes: tuple[tuple[Node, Node], ...]
    width: int | None = None


def is_always_within(node: Node, size: Size) -> bool:
    """True where a computed index is proved to lie in ``[0, size)`` at each point."""
    if node.element != I64 or len(node.coordinates) > 1:
        return False
    # What varies along nothing has one piece along any coordinate.
    along = next(iter(node.coordinates), Coordinate((-2, 0), 1))
    try:
        _check_within(pieces_of(node, along), along, size)
    except NotLinear:
        return False
    return True


def longest_stride(index: Affine, along: Coordinate) -> Size | None:
    """The stride of an index along a coordinate, None where it is not linear.

    Where it is in pieces alone, that of the longest one.
    """
    stride = index.coefficient(along)
    try:
        for atom in _computed_atoms(index, along):
            longest = max(
                pieces_of(atom.node, along),
                key=lambda piece: known(piece.high - piece.low, _GUESSED_LENGTH),
                default=None,
            )
            if longest is None:
                # The coordinate has no values.
                return None
            stride = stride + longest.value.coefficient(along) * index.coefficient(atom)
    except NotLinear:
        return None
    return stride


# Pieces of an index -------------------------------------------------------------------


def pieces_of(node: Node, along: Coordinate) -> Pieces:
    """The linear pieces of a node's value, in the order of the coordinate.

    Raises:
        NotLinear: where none are known.
    """
    if node.element != I64:
        raise NotLinear
    match node:
        case ConstantNode():
            return (Piece(0, along.size, constant(node.value)),)
        case IndexNode():
            if along in _irregular_part(node.expression, along):
                raise NotLinear
            return (Piece(0, along.size, node.expression),)
        case CheckedIndexNode():
            return _checked(node, along)
        case ComputeNode():
            rule = _RULES.get(node.name)
            if rule is None:
                raise NotLinear
            operands = (pieces_of(o, along) for o in node.operands)
            return _without_overflow(rule(along, *operands))
    raise NotLinear


def _without_overflow(pieces: Pieces) -> Pieces:
    """The pieces, if no value of them can wrap around in 64 bits."""
    for piece in pieces:
        factors = [factor for _, factor in piece.value.terms]
        if not all(_is_below(factor, _LARGE_FACTOR) for factor in factors):
            raise NotLinear
        if not _is_below(piece.value.const, _LARGE_NUMBER):
            raise NotLinear
    return pieces


def _is_below(size: Size, limit: int) -> bool:
    # Symbolic ones are sizes of tensors, of which there are no such large ones.
    return not isinstance(size, int) or abs(size) < limit


def _irregular_part(index: Affine, along: Coordinate) -> frozenset[Coordinate]:
    """What an index depends on other than linearly in the coordinate."""
    return coordinates_of(affine({a: c for a, c in index.terms if a != along}))


def _checked(node: CheckedIndexNode, along: Coordinate) -> Pieces:
    """An index that is never out of range, counted from the start."""
    pieces = pieces_of(node.operands[0], along)
    if node.from_end:
        pieces = _chosen(
            along, pieces, lambda value: value, lambda value: value + node.size
        )
    _check_within(pieces, along, node.size)
    return pieces


def _check_within(pieces: Pieces, along: Coordinate, size: Size) -> None:
    for piece in pieces:
        ends = (
            _value_at(piece.value, along, piece.low),
            _value_at(piece.value, along, piece.high - 1),
        )
        for end in ends:
            if not (is_non_negative(end) and is_non_negative(end * -1 + (size - 1))):
                raise NotLinear


def _value_at(value: Affine, along: Coordinate, place: Size) -> Affine:
    step = value.coefficient(along)
    return value - of(along) * step + place * step


def _chosen(
    along: Coordinate,
    pieces: Pieces,
    positive: Callable[[Affine], Affine],
    negative: Callable[[Affine], Affine],
) -> Pieces:
    """One formula where a value is at least 0, another one elsewhere."""
    result = []
    for piece in pieces:
        for low, high, holds in _signs(piece, along):
            formula = positive if holds else negative
            result.append(Piece(low, high, formula(piece.value)))
    return tuple(result)


def _signs(piece: Piece, along: Coordinate) -> list[tuple[Size, Size, bool]]:
    """Stretches of a piece, and whether its value is at least 0 there."""
    value, step = piece.value, piece.value.coefficient(along)
    rest = value - of(along) * step
    low, high = piece.low, piece.high
    if is_non_negative(value):
        return [(low, high, True)]
    if _is_below_zero(value):
        return [(low, high, False)]
    if not isinstance(step, int) or step == 0 or not rest.is_const:
        raise NotLinear
    rises = step > 0
    if rises:
        # step * x + rest >= 0 from x = ceil(-rest / step) on.
        turn = _whole(rest.const, step) * -1
    else:
        turn = _whole(rest.const, -step) + 1
    turn = _clipped(turn, low, high)
    parts = [(low, turn, not rises), (turn, high, rises)]
    return [part for part in parts if part[0] != part[1]]


def _is_below_zero(value: Affine) -> bool:
    limits = bounds(value)
    return limits is not None and is_at_least(limits[1] * -1, 1)


def _whole(size: Size, divisor: int) -> Size:
    """``size // divisor``, rounded down."""
    if isinstance(size, int):
        return size // divisor
    found = exact_quotient(size, divisor)
    if found is None:
        raise NotLinear
    return found


def _clipped(place: Size, low: Size, high: Size) -> Size:
    return _smaller(_larger(place, low), high)


def _larger(a: Size, b: Size) -> Size:
    if is_at_least(a, b):
        return a
    if is_at_least(b, a):
        return b
    raise NotLinear


def _smaller(a: Size, b: Size) -> Size:
    return b if _larger(a, b) == a else a


def _joined(
    along: Coordinate,
    first: Pieces,
    second: Pieces,
    combine: Callable[[Affine, Affine], Affine],
) -> Pieces:
    """Both values combined wherever their pieces meet."""
    result = []
    for one in first:
        for other in second:
            low, high = _larger(one.low, other.low), _smaller(one.high, other.high)
            if _is_stretch(low, high, (one, other)):
                result.append(Piece(low, high, combine(one.value, other.value)))
    return tuple(result)


def _is_stretch(low: Size, high: Size, met: Iterable[Piece]) -> bool:
    """Whether there may be something between two places where two pieces meet.

    A whole piece is a stretch even if nothing proves it: the coordinate may have a size
    of which only the caller knows that it is not negative, as ``s0 + a`` after a pad by
    a number that is an argument.

    Raises:
        NotLinear: where nobody knows which place is the lower one.
    """
    if is_at_least(low, high):
        return False
    if is_at_least(high, low) or any((p.low, p.high) == (low, high) for p in met):
        return True
    raise NotLinear


@_pieces_of("add")
def _sum(along: Coordinate, first: Pieces, second: Pieces) -> Pieces:
    return _joined(along, first, second, lambda a, b: a + b)


@_pieces_of("sub")
def _difference(along: Coordinate, first: Pieces, second: Pieces) -> Pieces:
    return _joined(along, first, second, lambda a, b: a - b)


@_pieces_of("mul")
def _product(along: Coordinate, first: Pieces, second: Pieces) -> Pieces:
    def multiply(a: Affine, b: Affine) -> Affine:
        if b.is_const:
            return a * b.const
        if a.is_const:
            return b * a.const
        raise NotLinear

    return _joined(along, first, second, multiply)


@_pieces_of("neg")
def _negated(along: Coordinate, pieces: Pieces) -> Pieces:
    return tuple(replace(piece, value=piece.value * -1) for piece in pieces)


@_pieces_of("abs")
def _absolute(along: Coordinate, pieces: Pieces) -> Pieces:
    return _chosen(along, pieces, lambda value: value, lambda value: value * -1)


@_pieces_of("maximum")
def _maximum(along: Coordinate, first: Pieces, second: Pieces) -> Pieces:
    # max(a, b) = b + max(a - b, 0)
    difference = _difference(along, first, second)
    excess = _chosen(along, difference, lambda value: value, lambda _: constant(0))
    return _sum(along, excess, second)


@_pieces_of("minimum")
def _minimum(along: Coordinate, first: Pieces, second: Pieces) -> Pieces:
    return _negated(
        along, _maximum(along, *(_negated(along, p) for p in (first, second)))
    )


# Segments of a walk -------------------------------------------------------------------


def segments_along(
    nodes: Iterable[Node],
    along: Coordinate | None,
    table: NodeTable,
    *,
    is_outer: bool = False,
) -> tuple[Segment, ...]:
    """The stretches in which all that a kernel reads is linear.

    Args:
        nodes: what the kernel computes.
        along: the coordinate of the lanes.
        table: the nodes that stand for others are added to it.
        is_outer: whether it is another one. There each ``where`` that asks where the
            coordinate stands cuts it, too: a concat then reads one of its parts.

    Returns:
        The segments in order; none where there is nothing to cut, or too much.
    """
    if along is None:
        return ()
    found = [cuts for node in nodes if (cuts := _Cuts.of(node, along)) is not None]
    if is_outer:
        found += [
            cuts for n in nodes if (cuts := _Cuts.of_choice(n, along)) is not None
        ]
    # Few guards alone are cheaper as masks than as loops of their own.
    guarded = sum(isinstance(cuts.node, LoadNode) for cuts in found)
    if guarded < MANY_GUARDED and not any(c.pieces or c.choice for c in found):
        return ()
    try:
        places = reduce(_with_places, (cuts.places for cuts in found), [0, along.size])
        if not 1 < len(places) <= MAX_SEGMENTS + 1:
            return ()
        pairs = zip(places, places[1:], strict=False)
        return tuple(_segment(low, high, found, table) for low, high in pairs)
    except NotLinear:
        return ()


def _with_places(places: list[Size], more: Iterable[Size]) -> list[Size]:
    """Places in ascending order, with some more."""
    for place in more:
        position = 0
        while position < len(places) and _larger(places[position], place) == place:
            if places[position] == place:
                break
            position += 1
        else:
            places = [*places[:position], place, *places[position:]]
    return places


def _computed_atoms(index: Affine, along: Coordinate) -> list[Dynamic]:
    """The parts of an index that depend on a coordinate through computed values."""
    found = []
    for atom, _ in index.terms:
        if atom == along or along not in coordinates_of(of(atom)):
            continue
        if not isinstance(atom, Dynamic):
            raise NotLinear
        found.append(atom)
    return found


@dataclass(frozen=True, slots=True)
class _Cuts:
    """A node, and where along a coordinate it becomes another one.

    Attributes:
        pieces: of each computed part of its indices.
        guards: each of its guards that varies along the coordinate: where it holds.
        choice: where the condition of a ``where`` holds.
    """

    node: Node
    along: Coordinate
    pieces: dict[Dynamic, Pieces]
    guards: dict[Guard, list[tuple[Size, Size, bool]]]
    choice: tuple[tuple[Size, Size, bool], ...] = ()

    @classmethod
    def of_choice(cls, node: Node, along: Coordinate) -> "_Cuts | None":
        """The cuts of a ``where`` that compares the coordinate with a number."""
        if not isinstance(node, ComputeNode) or node.name != "where":
            return None
        condition = node.operands[0]
        compares = isinstance(condition, ComputeNode) and condition.name in _COMPARED
        if not compares or along not in condition.coordinates:
            return None
        first, second = condition.operands
        if first.element != I64 or second.element != I64:
            return None
        try:
            sides = (pieces_of(side, along) for side in condition.operands)
            difference = _difference(along, *sides)
            choice = _COMPARED[condition.name](along, difference)
        except NotLinear:
            return None
        parts = tuple(
            (piece.low, piece.high, bool(piece.value.const)) for piece in choice
        )
        return cls(node, along, {}, {}, parts) if len(parts) > 1 else None

    @classmethod
    def of(cls, node: Node, along: Coordinate) -> "_Cuts | None":
        """The cuts of a node that has any."""
        if not isinstance(node, (LoadNode, SelectNode)):
            return None
        try:
            return cls._found(node, along)
        except NotLinear:
            return None

    @classmethod
    def _found(cls, node: Node, along: Coordinate) -> "_Cuts | None":
        pieces = {
            atom: pieces_of(atom.node, along)
            for index in node.indices()
            for atom in _computed_atoms(index, along)
        }
        guards = {
            guard: _where_it_holds(guard, along, pieces)
            for guard in node.guards
            if along in coordinates_of(guard.expression)
        }
        return cls(node, along, pieces, guards) if pieces or guards else None

    @property
    def places(self) -> list[Size]:
        """Where the coordinate is cut."""
        ends = [piece.high for pieces in self.pieces.values() for piece in pieces]
        ends += [high for _, high, _ in self.choice]
        return ends + [high for parts in self.guards.values() for _, high, _ in parts]

    def within(self, low: Size, high: Size, table: NodeTable) -> Node:
        """What stands for the node in a stretch without a cut.

        Raises:
            NotLinear: where the stretch lies in none of the pieces.
        """
        if self.choice:
            return self.node.operands[1 if _at(low, high, self.choice) else 2]
        values = {
            atom: _at(low, high, [(p.low, p.high, p.value) for p in pieces])
            for atom, pieces in self.pieces.items()
        }
        held = {guard: _at(low, high, parts) for guard, parts in self.guards.items()}
        node = self.node
        if isinstance(node, SelectNode) and not all(held.values()):
            return node.operands[1]
        left = tuple(guard for guard in node.guards if not held.get(guard, False))
        if isinstance(node, SelectNode) and not left:
            return node.operands[0]
        copy = replace_guards(node, left).with_indices(
            lambda index: _with_values(index, values)
        )
        return table.add(copy, node.location)


# Of a comparison of a value with 0: 1 where it holds, elsewhere 0.
_COMPARED: dict[str, Callable[..., Pieces]] = RuleTable("piecewise comparison by ")
_compares = _COMPARED.registering


@_compares("ge")
def _from_zero(along: Coordinate, pieces: Pieces) -> Pieces:
    return _chosen(along, pieces, lambda _: affine({}, 1), lambda _: affine({}, 0))


@_compares("lt")
def _below_zero(along: Coordinate, pieces: Pieces) -> Pieces:
    return _chosen(along, pieces, lambda _: affine({}, 0), lambda _: affine({}, 1))


@_compares("gt")
def _above_zero(along: Coordinate, pieces: Pieces) -> Pieces:
    return _from_zero(along, _lowered(pieces))


@_compares("le")
def _up_to_zero(along: Coordinate, pieces: Pieces) -> Pieces:
    return _below_zero(along, _lowered(pieces))


def _lowered(pieces: Pieces) -> Pieces:
    """Values that are at least 0 where these are more than 0."""
    return tuple(replace(piece, value=piece.value - 1) for piece in pieces)


def replace_guards(node: Node, guards: tuple[Guard, ...]) -> Node:
    """A copy of a load or a select with other guards."""
    if isinstance(node, SelectNode):
        return SelectNode(node.element, node.operands, guards=guards)
    return LoadNode(node.element, buffer=node.buffer, offset=node.offset, guards=guards)


def _at(start: Size, end: Size, parts: Iterable[tuple[Size, Size, Value]]) -> Value:
    """What belongs to the part that holds a stretch.

    Raises:
        NotLinear: where no part is known to hold it.
    """
    for low, high, value in parts:
        if is_at_least(start, low) and is_at_least(high, end):
            return value
    raise NotLinear


def _with_values(index: Affine, values: dict[Dynamic, Affine]) -> Affine:
    result = affine({}, index.const)
    for atom, coefficient in index.terms:
        result = result + values.get(atom, of(atom)) * coefficient
    return result


def _where_it_holds(
    guard: Guard, along: Coordinate, pieces: dict[Dynamic, Pieces]
) -> list[tuple[Size, Size, bool]]:
    """Stretches of the coordinate, and whether the guard holds there."""
    expression = (Piece(0, along.size, guard.expression),)
    for atom, own in pieces.items():
        coefficient = guard.expression.coefficient(atom)
        if coefficient != 0:
            scaled = tuple(
                replace(p, value=(p.value - of(atom)) * coefficient) for p in own
            )
            expression = _sum(along, expression, scaled)
    parts = []
    for piece in expression:
        above = replace(piece, value=piece.value - guard.low)
        for low, high, is_above in _signs(above, along):
            below = Piece(low, high, piece.value * -1 + (guard.high - 1))
            parts += [(a, b, is_above and c) for a, b, c in _signs(below, along)]
    return parts


def _segment(low: Size, high: Size, found: list[_Cuts], table: NodeTable) -> Segment:
    """The nodes of one stretch; what stands for a node is never replaced itself."""
    direct = {cuts.node: cuts.within(low, high, table) for cuts in found}
    substitutes = []
    for node, other in direct.items():
        while direct.get(other, other) is not other:
            other = direct[other]
        substitutes.append((node, other))
    return Segment(low, high, tuple(substitutes))
