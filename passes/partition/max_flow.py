"""Maximum flow by Dinic's algorithm, without recursion.

Source: E. A. Dinic, Algorithm for solution of a problem of maximum flow in networks
with power estimation, Soviet Mathematics Doklady 11 (1970).
"""

from collections import deque

# More than any sum of costs: an edge that no minimum cut goes through.
INFINITE = 1 << 80


class Network:
    """A directed graph with capacities; edge ``e ^ 1`` is the reverse of edge ``e``.

    Attributes:
        source, sink: where flow starts and ends.
    """

    source = 0
    sink = 1

    def __init__(self) -> None:
        self._edges: list[list[int]] = [[], []]
        self._targets: list[int] = []
        self._room: list[int] = []

    def add_vertex(self) -> int:
        """Returns a new vertex."""
        self._edges.append([])
        return len(self._edges) - 1

    def add_edge(self, start: int, end: int, capacity: int) -> None:
        """Lets ``capacity`` flow from start to end."""
        self._edges[start].append(len(self._targets))
        self._edges[end].append(len(self._targets) + 1)
        self._targets += [end, start]
        self._room += [capacity, 0]

    def minimum_cut(self) -> list[bool]:
        """For each vertex whether it is on the sink's side of a minimum cut.

        Of several minimum cuts it is the one nearest to the sink.

        Raises:
            AssertionError: No cut avoids infinite edges.
        """
        flow = 0
        while (levels := self._levels())[self.sink] >= 0:
            flow += self._block(levels)
            assert flow < INFINITE, (
                "girih bug: the gradients need a value that nothing computes"
            )
        return self._reaches_sink()

    def _levels(self) -> list[int]:
        """How many edges with room left it takes from the source, -1: no way."""
        levels = [-1] * len(self._edges)
        levels[self.source] = 0
        pending = deque([self.source])
        while pending:
            vertex = pending.popleft()
            for edge in self._edges[vertex]:
                target = self._targets[edge]
                if self._room[edge] and levels[target] < 0:
                    levels[target] = levels[vertex] + 1
                    pending.append(target)
        return levels

    def _block(self, levels: list[int]) -> int:
        """Fills shortest paths until each has a full edge; returns the flow."""
        following = [0] * len(self._edges)
        total = 0
        while path := self._path(levels, following):
            amount = min(self._room[edge] for edge in path)
            for edge in path:
                self._room[edge] -= amount
                self._room[edge ^ 1] += amount
            total += amount
        return total

    def _path(self, levels: list[int], following: list[int]) -> list[int]:
        """The edges of a shortest path with room, none where there is no more."""
        edges, targets, room = self._edges, self._targets, self._room
        path: list[int] = []
        vertex = self.source
        while vertex != self.sink:
            while following[vertex] < len(edges[vertex]):
                edge = edges[vertex][following[vertex]]
                if room[edge] and levels[targets[edge]] == levels[vertex] + 1:
                    break
                following[vertex] += 1
            else:
                if not path:
                    return []
                vertex = targets[path.pop() ^ 1]
                following[vertex] += 1
                continue
            path.append(edge)
            vertex = targets[edge]
        return path

    def _reaches_sink(self) -> list[bool]:
        reaches = [False] * len(self._edges)
        reaches[self.sink] = True
        pending = [self.sink]
        while pending:
            for edge in self._edges[pending.pop()]:
                start = self._targets[edge]
                if self._room[edge ^ 1] and not reaches[start]:
                    reaches[start] = True
                    pending.append(start)
        return reaches
