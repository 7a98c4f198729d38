"""What the schedule choosers look at: one kernel and the target."""

from dataclasses import dataclass

from girih.passes.tile.domain import Formula, reachable
from girih.passes.tile.kernel import KernelSource
from girih.passes.tile.nodes import LoadNode, Node, ReduceNode, ScanNode
from girih.passes.tile.options import TileOptions


@dataclass(frozen=True, slots=True)
class Subject:
    """A kernel to be scheduled.

    Attributes:
        nodes: what the kernel computes, operands first.
    """

    formula: Formula
    source: KernelSource
    options: TileOptions
    nodes: tuple[Node, ...]

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


def subject_of(formula: Formula, source: KernelSource, options: TileOptions) -> Subject:
    """A kernel and the target, with what the kernel computes."""
    return Subject(formula, source, options, tuple(reachable(formula.stores)))
