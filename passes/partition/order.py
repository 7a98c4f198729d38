"""The orders in which the two functions run their ops."""

from collections.abc import Iterable, Iterator

from girih.passes.partition.program import Program
from girih.passes.partition.usage import Usage


def backward_order(
    program: Program, usage: Usage, saved: frozenset[int]
) -> tuple[list[int], set[int]]:
    """The ops of the backward pass, and the saved values that they read.

    What is computed again stands right before its first reader.
    """
    order = _BackwardOrder(program, saved)
    for position in sorted(usage.backward):
        order.add(position)
    for value in program.gradients:
        order.provide(value)
    return order.positions, order.used


class _BackwardOrder:
    """Ops placed so far, and the saved values that are read."""

    def __init__(self, program: Program, saved: frozenset[int]):
        self.positions: list[int] = []
        self.used: set[int] = set()
        self._program = program
        self._saved = saved
        self._there = {*program.cotangents, *saved}

    def add(self, position: int) -> None:
        """Places an op after those that make its operands."""
        for value in self._program.nodes[position].operands:
            self.provide(value)
        self._place(position)

    def provide(self, value: int) -> None:
        """Places the ops that a value needs, operands first."""
        pending = [value]
        while pending:
            value = pending[-1]
            if value in self._there:
                self._use(pending.pop())
                continue
            node = self._program.values[value].node
            assert node is not None, f"girih bug: argument {value} is not saved"
            operands = self._program.nodes[node].operands
            lacking = [v for v in operands if v not in self._there]
            if lacking:
                pending += lacking
            else:
                pending.pop()
                self._place(node)

    def _place(self, position: int) -> None:
        node = self._program.nodes[position]
        for value in node.operands:
            self._use(value)
        self.positions.append(position)
        self._there.update(node.results)

    def _use(self, value: int) -> None:
        if value in self._saved:
            self.used.add(value)


def forward_order(
    program: Program, usage: Usage, saved: Iterable[int]
) -> tuple[int, ...]:
    """The ops that the results and the saved values need.

    Those that only the backward pass asked for come as soon as they can, so that what
    they read need not be held.
    """
    needed = set(usage.forward)
    pending = [program.values[value].node for value in saved]
    while pending:
        position = pending.pop()
        if position is not None and position not in needed:
            needed.add(position)
            pending += _makers(program, position)
    places: dict[int | None, int] = {None: -1}
    for position in sorted(needed):
        places[position] = position
        if position in usage.late:
            makers = _makers(program, position)
            places[position] = max((places[maker] for maker in makers), default=-1)
    return tuple(sorted(needed, key=lambda position: (places[position], position)))


def _makers(program: Program, position: int) -> Iterator[int | None]:
    """The ops that make an op's operands; None for arguments."""
    operands = program.nodes[position].operands
    return (program.values[value].node for value in operands)
