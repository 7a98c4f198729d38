"""The choice of what is saved, as a minimum cut.

In the network a value is on the source's side where the forward pass has it, and on the
sink's side where the backward pass has it. So an op that runs again costs an edge from
the source to the op, and a value that is kept an edge from its op to the value.
"""

from girih.passes.partition.costs import Costs
from girih.passes.partition.max_flow import INFINITE, Network
from girih.passes.partition.program import Program
from girih.passes.partition.usage import Usage


def choose_saved(program: Program, usage: Usage, costs: Costs) -> frozenset[int]:
    """Values of least cost from which the backward pass can be computed."""
    return _Cut(program, usage, costs).run()


class _Cut:
    """A network of the values that may be saved or computed again.

    It ends at values that are saved in any case, and at ops that can't run again.
    """

    def __init__(self, program: Program, usage: Usage, costs: Costs):
        self._program = program
        self._costs = costs
        self._wanted = usage.wanted
        self._forced = frozenset(v for v in usage.wanted if self._must_keep(v))
        self._network = Network()
        self._ops: dict[int, int] = {}
        self._values: dict[int, int] = {}
        self._pending: list[int] = []

    def _must_keep(self, value: int) -> bool:
        """Whether the backward pass reads a value that it can't compute."""
        node = self._program.values[value].node
        given = node is None or self._costs.again(node) >= INFINITE
        return given and self._costs.keep(value) < INFINITE

    def run(self) -> frozenset[int]:
        network = self._network
        for value in self._wanted - self._forced:
            network.add_edge(self._vertex(value), network.sink, INFINITE)
        while self._pending:
            self._add(self._pending.pop())
        in_backward = network.minimum_cut()
        cut = (
            value
            for value, vertex in self._values.items()
            if in_backward[vertex] and not self._runs_again(value, in_backward)
        )
        return self._forced.union(cut)

    def _vertex(self, value: int) -> int:
        vertex = self._values.get(value)
        if vertex is None:
            vertex = self._values[value] = self._network.add_vertex()
            self._pending.append(value)
        return vertex

    def _add(self, value: int) -> None:
        """Adds the edge of keeping a value, from what it is made of."""
        node = self._program.values[value].node
        start = self._network.source if node is None else self._op(node)
        self._network.add_edge(start, self._vertex(value), self._costs.keep(value))

    def _op(self, node: int) -> int:
        vertex = self._ops.get(node)
        if vertex is not None:
            return vertex
        vertex = self._ops[node] = self._network.add_vertex()
        again = self._costs.again(node)
        if again:
            self._network.add_edge(self._network.source, vertex, again)
        if again < INFINITE:
            for operand in self._program.nodes[node].operands:
                if operand not in self._forced:
                    self._network.add_edge(self._vertex(operand), vertex, INFINITE)
        return vertex

    def _runs_again(self, value: int, in_backward: list[bool]) -> bool:
        node = self._program.values[value].node
        return node is not None and in_backward[self._ops[node]]
