"""plan-memory: lifetimes of buffers, and one workspace for each native call.

Requires:
    A host function whose launches stand in native calls (`group-launches`).

Establishes:
    An allocation that only one native call touches has a `workspace_offset`, and a
    `host.workspace` with enough bytes stands before that call; buffers whose launches
    are not alive at the same time share bytes. Every other buffer that is not
    returned, and every argument that is `graph.donated`, is freed right after the last
    op that needs it, so that no more memory is alive than in eager.
    `host.workspace {bytes = 0}` gives a workspace up.

Before::

    %0 = host.alloc        %1 = host.alloc
    host.native { host.launch @k0 (%x, %0)  host.launch @k1 (%0, %1) }
    %2 = host.extern (%1)  host.return (%2)

After::

    %1 = host.alloc        host.workspace {bytes = 4096}
    %0 = host.alloc {workspace_offset = 0}
    host.native { host.launch @k0 (%x, %0)  host.launch @k1 (%0, %1) }
    host.workspace {bytes = 0}
    %2 = host.extern (%1)  host.free (%1)  host.return (%2)

It does not reuse an input's bytes for an output of the same launch: kernels may read
an input again after they wrote an output.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from girih.dialects import host
from girih.dialects.attributes import encode_size
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size
from girih.passes.choices import USUAL, ChoiceOptions, Choices, place_text
from girih.passes.lifetimes import (
    buffer_bytes,
    donated_arguments,
    storage_roots,
    storage_users,
)
from girih.passes.registry import register_pass


@dataclass(frozen=True)
class PlanMemoryOptions(ChoiceOptions):
    """What limits the workspace."""

    alignment: int = 64
    """Alignment of buffers in a workspace, in bytes. The default is a cache line."""

    workspace_bytes: int = 67108864
    """Size of the largest buffer in a workspace, in bytes. Larger buffers are allocated
    one by one, which costs little beside the work on them."""


@dataclass(frozen=True)
class Lifetime:
    """A buffer in a workspace: first and last launch that touch it, and its bytes."""

    buffer: ir.Value
    first: int
    last: int
    size: Size


@dataclass(frozen=True)
class WorkspacePlan:
    """The workspace of one native call."""

    native: ir.OpView
    offsets: Mapping[ir.Value, Size]
    size: Size


@dataclass(frozen=True)
class MemoryPlan:
    """What `plan-memory` is going to do to a host function.

    Attributes:
        workspaces: for each native call that has intermediates.
        frees: for each op, the buffers that nothing needs after it.
    """

    workspaces: tuple[WorkspacePlan, ...]
    frees: Mapping[ir.OpView, tuple[ir.Value, ...]]


def plan_memory(
    function: ir.OpView, options: PlanMemoryOptions, choices: Choices = USUAL
) -> MemoryPlan:
    """Plans the memory of a host function."""
    ops = list(function.regions[0].blocks[0].operations)
    donated = donated_arguments(function)
    roots = {value: value for value in donated} | storage_roots(ops)
    users = storage_users(ops, roots)
    workspaces, placed = [], set()
    for op in ops:
        if op.name == "host.native":
            lifetimes = [
                lifetime
                for lifetime in _private_lifetimes(op, roots, users, options)
                if choices.takes(partial(_decision, "in a workspace", lifetime))
            ]
            if lifetimes:
                workspaces.append(_place(op, lifetimes, choices))
                placed.update(lifetime.buffer for lifetime in lifetimes)
    kept = placed | {v for v in roots.values() if not _is_owned(v, donated)}
    return MemoryPlan(tuple(workspaces), _frees(roots, users, kept))


# Analysis ---------------------------------------------------------------------------


def _private_lifetimes(
    native: ir.OpView,
    roots: Mapping[ir.Value, ir.Value],
    users: Mapping[ir.Value, list[ir.OpView]],
    options: PlanMemoryOptions,
) -> Iterator[Lifetime]:
    """Allocations that this native call alone touches."""
    spans: dict[ir.Value, tuple[int, int]] = {}
    for position, launch in enumerate(native.launches):
        for value in launch.operands:
            root = roots.get(value, value)
            first, _ = spans.get(root, (position, position))
            spans[root] = (first, position)
    for root, (first, last) in spans.items():
        if _is_alloc(root) and len(users[root]) == 1:
            size = _aligned(buffer_bytes(root), options.alignment)
            if isinstance(size, Dim) or size <= options.workspace_bytes:
                yield Lifetime(root, first, last, size)


def _is_alloc(value: ir.Value) -> bool:
    return isinstance(value, ir.OpResult) and value.owner.name == "host.alloc"


def _aligned(size: Size, alignment: int) -> Size:
    # Empty buffers have a place too: a workspace of 0 bytes would be none at all.
    if isinstance(size, int):
        size = max(size, 1)
    return (size + (alignment - 1)) // alignment * alignment


def _frees(
    roots: Mapping[ir.Value, ir.Value],
    users: Mapping[ir.Value, list[ir.OpView]],
    kept: set[ir.Value],
) -> dict[ir.OpView, tuple[ir.Value, ...]]:
    """Buffers and views by the last op that touches their storage."""
    frees: dict[ir.OpView, list[ir.Value]] = {}
    for value, root in roots.items():
        if root in kept or isinstance(value.type, ir.IndexType):
            continue
        if root in users:
            last = users[root][-1]
        elif isinstance(root, ir.OpResult):
            last = root.owner.opview
        else:
            continue
        if last.name != "host.return":
            frees.setdefault(last, []).append(value)
    return {op: tuple(values) for op, values in frees.items()}


def _is_owned(value: ir.Value, donated: Sequence[ir.Value]) -> bool:
    return isinstance(value, ir.OpResult) or value in donated


# Placement --------------------------------------------------------------------------


def _decision(what: str, lifetime: Lifetime) -> str:
    """The name of a decision on a buffer."""
    op, size = lifetime.buffer.owner, lifetime.size
    return f"plan-memory: {size} bytes {what}{place_text(op.location)}"


def _place(
    native: ir.OpView, lifetimes: Sequence[Lifetime], choices: Choices
) -> WorkspacePlan:
    """Offsets such that buffers that are alive together do not overlap."""
    static = [lifetime for lifetime in lifetimes if isinstance(lifetime.size, int)]
    symbolic = [lifetime for lifetime in lifetimes if isinstance(lifetime.size, Dim)]
    offsets, size = place_static(static, choices)
    more, size = place_symbolic(symbolic, size, choices)
    return WorkspacePlan(native, {**offsets, **more}, size)


def place_static(
    lifetimes: Sequence[Lifetime], choices: Choices = USUAL
) -> tuple[dict[ir.Value, Size], int]:
    """Largest first, each at the lowest offset that is free while it lives.

    Source: Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net
    Inference, 2020, section 5.2 (greedy by size)
    """
    placed: list[tuple[int, Lifetime]] = []
    for lifetime in sorted(lifetimes, key=lambda item: -item.size):
        alive = [
            (start, other)
            for start, other in placed
            if lifetime.first <= other.last and other.first <= lifetime.last
        ]
        offset = _lowest(lifetime.size, alive)
        end = max((start + other.size for start, other in placed), default=0)
        text = partial(_decision, "share memory", lifetime)
        if offset < end and not choices.takes(text):
            offset = end
        placed.append((offset, lifetime))
    offsets = {lifetime.buffer: offset for offset, lifetime in placed}
    return offsets, max((o + item.size for o, item in placed), default=0)


def _lowest(size: int, taken: Sequence[tuple[int, Lifetime]]) -> int:
    """The lowest offset at which so many bytes are free."""
    offset = 0
    for start, other in sorted(taken, key=lambda item: item[0]):
        if start - offset >= size:
            break
        offset = max(offset, start + other.size)
    return offset


def place_symbolic(
    lifetimes: Sequence[Lifetime], start: Size, choices: Choices = USUAL
) -> tuple[dict[ir.Value, Size], Size]:
    """One after the other from `start`; buffers of one size take turns in a place."""
    free_from: dict[Size, list[tuple[int, Size]]] = {}
    offsets: dict[ir.Value, Size] = {}
    end = start
    for lifetime in sorted(lifetimes, key=lambda item: item.first):
        places = free_from.setdefault(lifetime.size, [])
        reusable = [place for place in places if place[0] < lifetime.first]
        text = partial(_decision, "share memory", lifetime)
        if reusable and choices.takes(text):
            places.remove(reusable[0])
            offset = reusable[0][1]
        else:
            offset, end = end, end + lifetime.size
        places.append((lifetime.last, offset))
        offsets[lifetime.buffer] = offset
    return offsets, end


# Application ------------------------------------------------------------------------


def apply_plan(plan: MemoryPlan) -> None:
    """Writes a memory plan into its host function."""
    for workspace in plan.workspaces:
        _apply_workspace(workspace)
    for op, buffers in plan.frees.items():
        after = _insertion_after(op)
        for buffer in buffers:
            host.build("free", [buffer], loc=op.location, ip=after)


def _apply_workspace(workspace: WorkspacePlan) -> None:
    native = workspace.native
    before, after = ir.InsertionPoint(native), _insertion_after(native)
    location = native.location
    host.build("workspace", [], {"bytes": workspace.size}, loc=location, ip=before)
    for buffer, offset in workspace.offsets.items():
        alloc = buffer.owner
        alloc.attributes["workspace_offset"] = encode_size(offset)
        for op in [alloc, *_views_of(buffer)]:
            op.operation.move_before(native.operation)
    host.build("workspace", [], {"bytes": 0}, loc=location, ip=after)


def _views_of(buffer: ir.Value) -> list[ir.Operation]:
    """Views of a buffer, and views of these."""
    views = []
    for use in buffer.uses:
        if use.owner.name == "host.view":
            views.append(use.owner)
            views.extend(_views_of(use.owner.results[0]))
    return views


def _insertion_after(op: ir.OpView) -> ir.InsertionPoint:
    return ir.InsertionPoint.after(op)


@register_pass("plan-memory", options=PlanMemoryOptions)
def run(op: ir.OpView, options: PlanMemoryOptions) -> None:
    """Puts buffers of native calls into workspaces, and frees all other buffers."""
    choices = Choices(options)
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name == "func.func":
            apply_plan(plan_memory(function, options, choices))
