"""The score function as nodes over coordinates."""

from dataclasses import dataclass

from girih.passes.tile.access.evaluator import Coordinates, Evaluator
from girih.passes.tile.gpu.attention.source import GIVEN, AttentionSource
from girih.passes.tile.index import Affine, Coordinate, constant, of
from girih.passes.tile.nodes import Guards, LoadNode, Node, NodeTable
from girih.passes.tile.sizes import exact_quotient, is_constant


@dataclass(eq=False, slots=True)
class GivenNode(Node):
    """A value that the kernel computes itself: a score, or the gradient of one."""

    index: int = 0
    at: Coordinates = ()

    def key(self) -> tuple:
        """What makes two of them the same value."""
        return ("given", self.index)

    def indices(self) -> tuple[Affine, ...]:
        """The index expressions that it holds."""
        return self.at

    def with_indices(self, rewrite) -> "GivenNode":
        """A copy over rewritten index expressions."""
        at = tuple(map(rewrite, self.at))
        return GivenNode(self.element, index=self.index, at=at)


class ScoreEvaluator(Evaluator):
    """Evaluates a score function; what is given is itself, seen through any view."""

    def _evaluate(self, tensor: object, at: Coordinates, guards: Guards) -> Node:
        record = self.source.records[tensor]
        if record.name != GIVEN:
            return super()._evaluate(tensor, at, guards)
        number = record.attributes["number"]
        node = GivenNode(record.element, index=number, at=self.domain)
        return self.add(node, record)


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


@dataclass(frozen=True, slots=True)
class ScoreNodes:
    """The score function's nodes.

    Attributes:
        given: what the kernel computes before.
        results: what the function gives.
        rows: numbers for each row that are loaded, by name.
        unit: what logits were multiplied by: their powers are of e ** (1 / unit).
    """

    given: tuple[Node, ...]
    results: tuple[Node, ...]
    rows: dict[str, Node]
    unit: float = 1.0


def score_nodes(source: AttentionSource, space: ScoreSpace) -> ScoreNodes:
    """Evaluates the score function at each pair of positions."""
    table = NodeTable(frozenset())
    domain = (*space.of_query(), of(space.columns))
    evaluator = ScoreEvaluator(source.kernel, domain, table)
    given = tuple(evaluator.value(value, domain) for value in source.given)
    results = tuple(evaluator.value(value, domain) for value in source.yields)
    rows = {
        name: table.add(_row_load(source, space, name))
        for name in ("logsumexp", "delta")
        if name in source.inputs
    }
    return ScoreNodes(given, results, rows)


def _row_load(source: AttentionSource, space: ScoreSpace, name: str) -> LoadNode:
    buffer, offset = source.buffer(name), constant(0)
    for coordinate, stride in zip(space.of_query(), buffer.strides, strict=True):
        offset = offset + coordinate * stride
    return LoadNode(buffer.element, buffer=source.inputs[name], offset=offset)
