"""What the schedule choosers look at: one kernel and the target."""

from collections.abc import Sequence
from dataclasses import dataclass

from girih.passes.choices import USUAL, Choices, T, place_text
from girih.passes.tile.domain import Formula, reachable
from girih.passes.tile.kernel import KernelSource
from girih.passes.tile.nodes import LoadNode, Node, ReduceNode, ScanNode
from girih.passes.tile.options import TileOptions


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel to be scheduled.

    Attributes:
        nodes: what the kernel computes, operands first.
        choices: decides where several schedules are right.
    """

    formula: Formula
    source: KernelSource
    options: TileOptions
    nodes: tuple[Node, ...]
    choices: Choices = USUAL

    def takes(self, what: str) -> bool:
        """Whether the schedule has what it may have."""
        return self.choices.takes(lambda: self._text(what))

    def pick(
        self, what: str, usual: T, legal: Sequence[T], conservative: T | None = None
    ) -> T:
        """A value of the schedule."""
        return self.choices.pick(lambda: self._text(what), usual, legal, conservative)

    def _text(self, what: str) -> str:
        place = place_text(self.formula.stores[0].location)
        return f"tile: {what} in {self.source.name}{place}"

    @property
    def loads(self) -> list[LoadNode]:
        """The loads among the nodes."""
        return [node for node in self.nodes if isinstance(node, LoadNode)]

    @property
    def reductions(self) -> list[ReduceNode]:
        """The reductions among the nodes."""
        return [node for node in self.nodes if isinstance(node, ReduceNode)]

    @property
    def scans(self) -> list[ScanNode]:
        """The scans among the nodes."""
        return [node for node in self.nodes if isinstance(node, ScanNode)]

    @property
    def buffers(self) -> int:
        """How many buffers the kernel itself has; further ones are numbered on."""
        return len(self.source.buffers)


def subject_of(
    formula: Formula,
    source: KernelSource,
    options: TileOptions,
    choices: Choices = USUAL,
) -> Subject:
    """A kernel and the target, with what the kernel computes."""
    nodes = tuple(reachable(formula.stores))
    return Subject(formula, source, options, nodes, choices)


def with_formula(subject: Subject, formula: Formula) -> Subject:
    """The same kernel, its computation written otherwise."""
    return subject_of(formula, subject.source, subject.options, subject.choices)
