"""group-launches: runs of kernel launches become one native call each.

Requires:
    A host function as `convert-graph-to-host` makes it.

Establishes:
    Every `host.launch` stands in a `host.native`; between two native calls there is
    at least one op that generated code cannot run (an ATen call, a copy).

Before::

    %0 = host.alloc        host.launch @k0 (%x, %0)
    %1 = host.alloc        host.launch @k1 (%0, %1)

After::

    %0 = host.alloc        %1 = host.alloc
    host.native { host.launch @k0 (%x, %0)  host.launch @k1 (%0, %1) }

Allocations, views and sizes move in front of a run: they depend on no launch. It does
not reorder launches, and does not move them over ATen calls. The code generator
names the function that a native call runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects import host
from girih.dialects.bindings import ir
from girih.passes.registry import register_pass

MOVABLE = frozenset({"host.alloc", "host.size", "host.view"})
"""Ops that neither read nor write what is in a buffer."""


@dataclass(frozen=True)
class LaunchRun:
    """Launches that become one native call, in order."""

    launches: tuple[ir.OpView, ...]
    movable: tuple[ir.OpView, ...]
    """Ops between the launches, which move in front of them."""


def plan_runs(function: ir.OpView) -> tuple[LaunchRun, ...]:
    """The maximal runs of launches of a host function."""
    runs: list[LaunchRun] = []
    launches: list[ir.OpView] = []
    movable: list[ir.OpView] = []
    for op in function.regions[0].blocks[0].operations:
        if op.name == "host.launch":
            launches.append(op)
        elif op.name not in MOVABLE:
            runs.append(LaunchRun(tuple(launches), tuple(movable)))
            launches, movable = [], []
        elif launches:
            movable.append(op)
    return tuple(run for run in runs if run.launches)


def apply_run(run: LaunchRun) -> None:
    """Puts the launches of a run into one native call."""
    first = run.launches[0]
    for op in run.movable:
        op.operation.move_before(first.operation)
    before = ir.InsertionPoint(first)
    native = host.build("native", loc=first.location, ip=before)
    block = native.regions[0].blocks.append()
    for launch in run.launches:
        block.append(launch)


@register_pass("group-launches")
def run(op: ir.OpView, options: None) -> None:
    """Runs of kernel launches become one native call each."""
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name == "func.func":
            for launch_run in plan_runs(function):
                apply_run(launch_run)
