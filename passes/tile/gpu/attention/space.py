"""The coordinates of an attention kernel."""

from dataclasses import dataclass

from girih.passes.tile.access.evaluator import Coordinates
from girih.passes.tile.gpu.attention.source import AttentionSource
from girih.passes.tile.index import Affine, Coordinate, constant, of
from girih.passes.tile.sizes import exact_quotient, is_constant


@dataclass(frozen=True, slots=True)
class ScoreSpace:
    """Where attention happens.

    Attributes:
        batch, group, member: the batch, the head of keys, and which of its heads of
            queries.
        rows, columns: the position of a query, and of a key.
    """

    batch: Coordinate
    group: Coordinate
    member: Coordinate
    rows: Coordinate
    columns: Coordinate

    @property
    def head(self) -> Affine:
        """The head of queries."""
        return _index(self.group) * self.member.size + _index(self.member)

    def of_query(self) -> Coordinates:
        """The place of a query in [b, h, s]."""
        return (_index(self.batch), self.head, of(self.rows))

    def of_key(self) -> Coordinates:
        """The place of a key in [b, h_kv, t]."""
        return (_index(self.batch), _index(self.group), of(self.columns))


def _index(coordinate: Coordinate) -> Affine:
    """A coordinate; 0 where there is nothing else."""
    return constant(0) if is_constant(coordinate.size, 1) else of(coordinate)


def score_space(source: AttentionSource) -> ScoreSpace:
    """The coordinates of a kernel."""
    batch, heads, rows, columns = source.shape
    member = exact_quotient(heads, source.groups)
    if member is None:
        member = heads // source.groups
    sizes = (batch, source.groups, member, rows, columns)
    return ScoreSpace(*(Coordinate((n, 0), size) for n, size in enumerate(sizes)))
