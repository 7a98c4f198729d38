"""Which arguments of a host function are written, and by what."""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects.bindings import ir


@dataclass(frozen=True)
class WrittenArguments:
    """Positions of arguments that change.

    Attributes:
        by_kernels: written by generated code, which torch does not see.
        by_copies: written by `Tensor.copy_`.
    """

    by_kernels: frozenset[int]
    by_copies: frozenset[int]

    @property
    def all(self) -> frozenset[int]:
        """Positions of all arguments that change."""
        return self.by_kernels | self.by_copies


def written_arguments(function: ir.OpView) -> WrittenArguments:
    """Finds the arguments that a host function writes, also through views."""
    block = function.regions[0].blocks[0]
    roots = {value: index for index, value in enumerate(block.arguments)}
    by_kernels: set[int] = set()
    by_copies: set[int] = set()
    for op in block.operations:
        if op.name == "host.view" and op.operands[0] in roots:
            roots[op.results[0]] = roots[op.operands[0]]
        elif op.name == "host.copy" and op.operands[1] in roots:
            by_copies.add(roots[op.operands[1]])
        elif op.name == "host.native":
            outputs = [v for launch in op.launches for v in launch_outputs(launch)]
            by_kernels.update(roots[value] for value in outputs if value in roots)
    return WrittenArguments(frozenset(by_kernels), frozenset(by_copies))


def launch_outputs(launch: ir.OpView) -> list[ir.Value]:
    """The buffers that a launch writes."""
    buffers = list(launch.operands)
    return buffers[len(buffers) - launch.outputs :]
