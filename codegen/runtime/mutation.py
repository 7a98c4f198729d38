"""Which arguments of a host function are written, and by what."""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects import keys
from girih.dialects.bindings import ir


@dataclass(frozen=True)
class WrittenArguments:
    """Positions of arguments that change.

    Attributes:
        by_kernels: written by generated code, or by ATen through a view that the
            program makes: autograd does not see these writes.
        by_aten: written by `Tensor.copy_` or in-place ops.
        uncounted: those among them that keep their versions, as in eager.
    """

    by_kernels: frozenset[int]
    by_aten: frozenset[int]
    uncounted: frozenset[int]

    @property
    def all(self) -> frozenset[int]:
        """Positions of all arguments that change."""
        return self.by_kernels | self.by_aten


def written_arguments(function: ir.OpView) -> WrittenArguments:
    """Finds the arguments that a host function writes, also through views."""
    block = function.regions[0].blocks[0]
    roots = {value: index for index, value in enumerate(block.arguments)}
    by_kernels: set[int] = set()
    by_aten: set[int] = set()
    for op in block.operations:
        if op.name == "host.view" and op.operands[0] in roots:
            roots[op.results[0]] = roots[op.operands[0]]
        elif op.name in ("host.copy", "host.extern"):
            for value in _written_by_aten(op):
                if value in roots:
                    is_argument = isinstance(value, ir.BlockArgument)
                    (by_aten if is_argument else by_kernels).add(roots[value])
        elif op.name == "host.native":
            outputs = [v for launch in op.launches for v in launch_outputs(launch)]
            by_kernels.update(roots[value] for value in outputs if value in roots)
    return WrittenArguments(
        frozenset(by_kernels), frozenset(by_aten), _uncounted(function)
    )


def _uncounted(function: ir.OpView) -> frozenset[int]:
    attributes = function.attributes
    given = attributes["arg_attrs"] if "arg_attrs" in attributes else ()
    return frozenset(n for n, own in enumerate(given) if keys.UNCOUNTED in own)


def _written_by_aten(op: ir.OpView) -> list[ir.Value]:
    """The buffers that a copy or an ATen call writes.

    In-place ops of ATen have names as `index_put_` and write their first argument.
    """
    if op.name == "host.copy":
        return [op.operands[1]]
    name = op.op.split(".")[1]
    if name.endswith("_") and not name.endswith("__"):
        return [op.operands[op.args[0].index]]
    return []


def launch_outputs(launch: ir.OpView) -> list[ir.Value]:
    """The buffers that a launch writes."""
    buffers = list(launch.operands)
    return buffers[len(buffers) - launch.outputs :]
