"""The score function as nodes over coordinates."""

from dataclasses import dataclass

from girih.passes.tile.access.evaluator import Coordinates, Evaluator
from girih.passes.tile.gpu.attention.source import GIVEN, AttentionSource
from girih.passes.tile.gpu.attention.space import ScoreSpace
from girih.passes.tile.gpu.attention.visible import Visible, visible_keys
from girih.passes.tile.index import Affine, constant, of
from girih.passes.tile.nodes import Guards, LoadNode, Node, NodeTable


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
class ScoreNodes:
    """The score function's nodes.

    Attributes:
        given: what the kernel computes before.
        results: what the function gives.
        rows: numbers for each row that are loaded, by name.
        visible: which keys a query can see.
        unit: what logits were multiplied by: their powers are of e ** (1 / unit).
    """

    given: tuple[Node, ...]
    results: tuple[Node, ...]
    rows: dict[str, Node]
    visible: Visible
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
        for name in ("largest", "total", "delta")
        if name in source.inputs
    }
    return ScoreNodes(given, results, rows, visible_keys(results[0], space))


def _row_load(source: AttentionSource, space: ScoreSpace, name: str) -> LoadNode:
    buffer, offset = source.buffer(name), constant(0)
    for coordinate, stride in zip(space.of_query(), buffer.strides, strict=True):
        offset = offset + coordinate * stride
    return LoadNode(buffer.element, buffer=source.inputs[name], offset=offset)
