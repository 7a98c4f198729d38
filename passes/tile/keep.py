"""What a pass stores so that later passes need not compute it again."""

from dataclasses import replace

from girih.passes.tile.cost import node_cost
from girih.passes.tile.domain import Store
from girih.passes.tile.index import Affine, Coordinate, affine
from girih.passes.tile.nodes import LoadNode, Node, ReduceNode, sources_of
from girih.passes.tile.plan import Keep, Local, Pass
from girih.passes.tile.sizes import Size, product
from girih.passes.tile.subject import Subject

# A store and a load of the cache cost less than computing anew from here on.
KEEP_COST = 8


def keep_values(
    subject: Subject,
    passes: tuple[Pass, ...],
    reduced: tuple[Coordinate, ...],
    lanes: Coordinate | None,
) -> tuple[tuple[Pass, ...], tuple[Local, ...]]:
    """Decides which values are kept from one pass over the row to the next.

    A value goes to the output that is written last anyway where that has its type
    and covers it, else to a private buffer where the row is short enough for the
    caches, else it is computed again.
    """
    chooser = _Chooser(subject, reduced, lanes)
    result = list(passes)
    for number in range(len(passes) - 1):
        chosen = []
        for node in chooser.shared(passes, number):
            if not subject.takes(f"a value kept behind pass {number}"):
                continue
            keep = chooser.place(node, passes[number + 1 :])
            if keep is not None:
                chosen.append(keep)
        result[number] = replace(passes[number], keeps=tuple(chosen))
    return tuple(result), tuple(chooser.locals)


class _Chooser:
    def __init__(
        self,
        subject: Subject,
        reduced: tuple[Coordinate, ...],
        lanes: Coordinate | None,
    ) -> None:
        self.subject = subject
        self.formula = subject.formula
        self.source = subject.source
        self.reduced = reduced
        self.lanes = lanes
        self.options = subject.options
        self.locals: list[Local] = []
        self.kept: set[int] = set()
        self.used_outputs: set[int] = set()

    def shared(self, passes: tuple[Pass, ...], number: int) -> list[Node]:
        """Values that this pass computes and a later one needs, worth keeping."""
        here = self._cone(passes[number])
        later: dict[int, Node] = {}
        for walk in passes[number + 1 :]:
            later.update(self._cone(walk))
        frontier: dict[int, Node] = {}
        for consumer in later.values():
            if consumer.number in here:
                continue
            for node in sources_of(consumer):
                if node.number in here and node.number not in self.kept:
                    frontier[node.number] = node
        for root in self._later_roots(passes, number):
            if root.number in here and root.number not in self.kept:
                frontier[root.number] = root
        return [n for n in frontier.values() if self._is_worth_keeping(n)]

    def _is_worth_keeping(self, node: Node) -> bool:
        """Whether loads are cheaper. They load lanes, so no scalar is kept."""
        has_lanes = self.lanes is None or self.lanes in node.coordinates
        return has_lanes and recompute_cost(node) >= KEEP_COST

    def _later_roots(self, passes: tuple[Pass, ...], number: int) -> list[Node]:
        return [root for walk in passes[number + 1 :] for root in roots_of(walk)]

    def _cone(self, walk: Pass) -> dict[int, Node]:
        """Everything that varies along the row and that the pass computes."""
        inside = frozenset(self.reduced)
        found: dict[int, Node] = {}
        pending = roots_of(walk)
        while pending:
            node = pending.pop()
            if node.number in found or not node.coordinates & inside:
                continue
            found[node.number] = node
            if node.number not in self.kept:
                pending += sources_of(node)
        return found

    def place(self, node: Node, later: tuple[Pass, ...]) -> Keep | None:
        """Finds memory for a kept value."""
        store = self._output_for(node, later)
        if store is not None:
            self.used_outputs.add(store.buffer)
            return self._keep(node, store.buffer, store.offset)
        size: Size = product(c.size for c in self.reduced)
        vector_rows = self.lanes not in self.reduced
        if not isinstance(size, int) or vector_rows:
            return None
        element = node.element.computing
        if size * element.bytes > self.options.l2_bytes // 4:
            return None
        local = Local(self._next_number(), element, size, is_shared=False)
        self.locals.append(local)
        return self._keep(node, local.number, self._row_offset())

    def _output_for(self, node: Node, later: tuple[Pass, ...]) -> Store | None:
        """An output of the node's type that is written point by point afterwards.

        By the last pass that needs the node: what it writes is read no more.
        """
        everywhere = frozenset(self.formula.parallel + self.formula.reduced)
        for number, walk in enumerate(later):
            if any(node.number in self._cone(other) for other in later[number + 1 :]):
                continue
            for store in walk.stores:
                element = self.source.buffers[store.buffer].element
                fits = element == node.element.computing
                if not fits or store.buffer in self.used_outputs:
                    continue
                atoms = {atom for atom, _ in store.offset.terms}
                if atoms == everywhere and store.offset.coefficient(self.lanes) == 1:
                    return store
        return None

    def _keep(self, node: Node, buffer: int, offset: Affine) -> Keep:
        self.kept.add(node.number)
        element = node.element.computing
        load = LoadNode(element, buffer=buffer, offset=offset)
        return Keep(node, buffer, offset, self.formula.table.add(load, node.location))

    def _row_offset(self) -> Affine:
        terms, stride = {}, 1
        for coordinate in reversed(self.reduced):
            terms[coordinate] = stride
            stride = stride * coordinate.size
        return affine(terms)

    def _next_number(self) -> int:
        return self.subject.buffers + len(self.locals)


def roots_of(walk: Pass) -> list[Node]:
    """What a pass must compute at each point of the row."""
    return [node.operands[0] for node in walk.reductions] + [
        store.node for store in walk.stores
    ]


def recompute_cost(node: Node) -> int:
    """Instructions to compute a value from loads and finished reductions."""
    total, pending, seen = 0, [node], set()
    while pending:
        current = pending.pop()
        if current.number in seen or isinstance(current, ReduceNode):
            continue
        seen.add(current.number)
        total += node_cost(current)
        pending += sources_of(current)
    return total
