"""Writes to parts of tensors: which change the tensor's own memory.

    %1 = graph.insert %x, %part          the part is copied to where it goes in %x, or
    return %1   (written to %x)          the kernel that makes it writes it there

A write then costs what the part costs. An ``insert`` changes the memory of its operand
where all of this holds:

1. The operand is an argument that gets the result in the end (or views of it, and what
   earlier inserts left of it), the copy that an earlier insert made, or what a kernel
   or a call makes in a buffer of its own.
2. No op behind it, and no result, reads what was there before.
3. Where it is an argument: its elements do not overlap each other, and no kernel behind
   the op can fail a check. Eager would then run from the start, and must find the
   arguments as they were.

The kernel that makes the part writes it straight to its place where nothing reads the
tensor between the two, the kernel itself reads no other elements of it, and no kernel
of the program can fail a check (kernels may run together).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.dims import Size
from girih.dialects.traits import MAY_ALIAS
from girih.dialects.types import shape_of
from girih.dialects.written_parts import INSERT, writes_argument
from girih.passes.fresh_results import has_fresh_results

from . import layout as layouts
from .accumulated import is_accumulated
from .in_place import (
    is_read_in_place,
    is_written_while_read,
    may_fail,
    may_overlap,
)
from .joined import is_kernel
from .layout import Layout
from .reuse import written_operand

_MOST_LATER = 1024
"""Writes that may come between a kernel and the insert of what it has made."""

_View = Callable[[ir.OpView, Layout], Layout | None]


@dataclass(frozen=True)
class Spot:
    """Where elements lie: the layout counts from the start of what ``root`` owns."""

    root: ir.Value
    layout: Layout


@dataclass
class Inserts:
    """How the inserts of a function run.

    Attributes:
        in_place: those that change the memory of their operand.
        made_there: values that kernels write to where an insert would copy them.
        bases: values that the program makes, contiguous, and inserts change.
        has_checks: whether kernels may fail, so that none may write an argument.
    """

    in_place: set[ir.OpView] = field(default_factory=set)
    made_there: dict[ir.Value, Spot] = field(default_factory=dict)
    bases: set[ir.Value] = field(default_factory=set)
    has_checks: bool = False


def region_of(op: ir.OpView, whole: Layout) -> Layout:
    """Where the part goes in a tensor that lies so."""
    return layouts.slice_(whole, op.starts, op.steps, shape_of(op.part.type))


def plan_inserts(
    block: ir.Block,
    arguments: Mapping[ir.Value, Layout],
    kernels: Sequence[ir.OpView],
    views: Mapping[str, _View],
    taken: Container[ir.Value],
) -> Inserts:
    """Plans the inserts of a function.

    Args:
        block: the body of the graph function.
        arguments: the layouts of its arguments.
        kernels: the ops of the block that become kernels.
        views: by the name of a view the rule for its layout.
        taken: values that have a place already.
    """
    inserts = [op for op in block.operations if op.operation.name == INSERT]
    if not inserts:
        return Inserts()
    return _Planner(block, arguments, kernels, views, taken).plan(inserts)


class _Planner:
    def __init__(
        self,
        block: ir.Block,
        arguments: Mapping[ir.Value, Layout],
        kernels: Sequence[ir.OpView],
        views: Mapping[str, _View],
        taken: Container[ir.Value],
    ):
        self._arguments = arguments
        self._kernels = set(kernels)
        self._views = views
        self._taken = taken
        self._order = {op: place for place, op in enumerate(block.operations)}
        self._checks = [self._order[op] for op in kernels if may_fail(op)]
        self._spots: dict[ir.Value, Spot] = {}
        self._last_reads: dict[ir.Value, int] = {}
        self._written: dict[ir.Value, list[tuple[int, Layout]]] = {}
        self._found = Inserts(has_checks=bool(self._checks))

    def plan(self, inserts: Sequence[ir.OpView]) -> Inserts:
        """Plans them in their order."""
        for op in inserts:
            spot = self._spot(op.x)
            last_read = None if spot is None else self._last_read(op, spot.root)
            if last_read is None or not self._may_change(op, spot.root, last_read):
                shape = shape_of(op.y.type)
                self._spots[op.y] = Spot(op.y, layouts.contiguous(shape))
                continue
            self._found.in_place.add(op)
            if self._is_base(spot.root):
                self._found.bases.add(spot.root)
            self._spots[op.y] = spot
            self._last_reads[spot.root] = last_read
            self._place_part(op, spot, last_read)
            written = self._written.setdefault(spot.root, [])
            written.append((self._order[op], region_of(op, spot.layout)))
        return self._found

    def _last_read(self, op: ir.OpView, root: ir.Value) -> int:
        """The position of the last op but this one that reads what it would change.

        That is what the memory held up to now: one version of the tensor after each
        insert. What reads the versions before the last one is known by now.
        """
        version = op.x
        while isinstance(version, ir.OpResult):
            maker = version.owner.opview
            if maker.operation.name not in self._views:
                break
            version = maker.operands[0]
        last, pending = self._last_reads.get(root, -1), [version]
        while pending:
            for use in pending.pop().uses:
                user = use.owner.opview
                if user == op:
                    continue
                if user.operation.name in self._views:
                    pending += user.results
                else:
                    last = max(last, self._order[user])
        return last

    def _spot(self, value: ir.Value) -> Spot | None:
        """Where a value lies that is an argument or made of inserts, seen as views."""
        if value in self._spots:
            return self._spots[value]
        if isinstance(value.owner, ir.Block):
            layout = self._arguments.get(value)
            return None if layout is None else Spot(value, layout)
        op = value.owner.opview
        if self._is_base(value):
            return Spot(value, layouts.contiguous(shape_of(value.type)))
        if op.operation.name not in self._views:
            return None
        inner = self._spot(op.operands[0])
        layout = None if inner is None else self._views[op.name](op, inner.layout)
        return None if layout is None else Spot(inner.root, layout)

    def _is_base(self, value: ir.Value) -> bool:
        """Whether the program makes a value in a contiguous buffer of its own."""
        if isinstance(value.owner, ir.Block) or value in self._taken:
            return False
        op = value.owner.opview
        if op in self._kernels:
            return is_kernel(op) and not is_accumulated(value)
        is_contiguous = "strides" not in op.attributes
        return is_contiguous and has_fresh_results(op) and written_operand(op) is None

    def _may_change(self, op: ir.OpView, root: ir.Value, last_read: int) -> bool:
        if root in self._arguments:
            if not writes_argument(op) or may_overlap(self._arguments[root]):
                return False
            if max(self._checks, default=-1) > self._order[op]:
                return False
        return last_read < self._order[op]

    def _place_part(self, op: ir.OpView, spot: Spot, last_read: int) -> None:
        """Has a kernel make the part where it goes, if it may."""
        if self._is_base(spot.root):
            return  # where that lies is not known yet
        value, layout = op.part, region_of(op, spot.layout)
        while isinstance(value, ir.OpResult) and _has_one_use(value):
            maker = value.owner.opview
            if maker.operation.name != "graph.reshape":
                break
            value = maker.operands[0]
            seen = layouts.reshape(layout, shape_of(value.type))
            if seen is None:
                return
            layout = seen
        if not self._is_free(value):
            return
        made = self._order[value.owner.opview]
        if not self._is_there(spot.root, made):
            return
        if last_read > made or not self._is_unwritten_since(made, spot.root, layout):
            return
        if self._may_write(value, op, spot, layout):
            self._found.made_there[value] = Spot(spot.root, layout)

    def _is_there(self, root: ir.Value, made: int) -> bool:
        """Whether a tensor has its elements before what stands at a position.

        A copy that an insert made has them from there on.
        """
        return root in self._arguments or self._order[root.owner.opview] < made

    def _is_unwritten_since(self, made: int, root: ir.Value, layout: Layout) -> bool:
        """Whether no insert behind a position writes what lies so, as far as known."""
        written = self._written.get(root, [])
        later = [region for place, region in reversed(written) if place > made]
        if not later:
            return True
        whole = self._whole(root)
        return len(later) <= _MOST_LATER and all(
            layouts.are_apart(whole, region, layout) for region in later
        )

    def _whole(self, root: ir.Value) -> Layout:
        given = self._arguments.get(root)
        return self._spot(root).layout if given is None else given

    def _is_free(self, value: ir.Value) -> bool:
        """Whether a kernel makes a value that nothing else needs elsewhere."""
        if isinstance(value.owner, ir.Block) or value in self._taken:
            return False
        if is_accumulated(value):
            return False
        maker = value.owner.opview
        is_made = maker in self._kernels and is_kernel(maker)
        return is_made and _has_one_use(value)

    def _may_write(
        self, value: ir.Value, op: ir.OpView, spot: Spot, layout: Layout
    ) -> bool:
        maker, root = value.owner.opview, spot.root
        if self._checks and root in self._arguments:
            return False
        reads = [v for v in maker.operands if self._is_of(v, root)]
        if not reads:
            return True
        return is_written_while_read(maker, value) and all(
            self._reads_only(maker, own, value, op, spot, layout) for own in reads
        )

    def _is_of(self, value: ir.Value, root: ir.Value) -> bool:
        spot = self._spot(value)
        if spot is not None:
            return spot.root == root
        # A view that nothing here can follow may be one of the tensor.
        is_made = not isinstance(value.owner, ir.Block)
        return is_made and has(value.owner.opview, MAY_ALIAS)

    def _reads_only(
        self,
        maker: ir.OpView,
        own: ir.Value,
        value: ir.Value,
        op: ir.OpView,
        spot: Spot,
        layout: Layout,
    ) -> bool:
        """Whether a kernel reads of the tensor, at each point, what it writes there."""
        seen = self._spot(own)
        if seen is None or maker.operation.name != "graph.fusion":
            return False
        shape = shape_of(value.type)
        pairs = zip(maker.operands, maker.regions[0].blocks[0].arguments, strict=True)
        inner = [argument for given, argument in pairs if given == own]
        as_made = layouts.reshape(seen.layout, shape)
        if as_made == layout:
            return all(is_read_in_place(argument, shape) for argument in inner)
        if seen.layout != spot.layout:
            return False
        return all(_reads_part(argument, op, shape) for argument in inner)


def _reads_part(argument: ir.Value, op: ir.OpView, shape: tuple[Size, ...]) -> bool:
    """Whether a kernel reads the part that an insert replaces, point by point."""
    part = shape_of(op.part.type)
    for use in argument.uses:
        user = use.owner.opview
        if user.operation.name != "graph.slice" or shape_of(user.y.type) != part:
            return False
        if tuple(user.starts) != tuple(op.starts) or user.steps != op.steps:
            return False
        if not is_read_in_place(user.y, shape) or part != shape:
            if not _is_reshaped_to(user.y, shape):
                return False
    return True


def _is_reshaped_to(value: ir.Value, shape: tuple[Size, ...]) -> bool:
    """Whether a value is used in another shape alone, and there point by point."""
    for use in value.uses:
        user = use.owner.opview
        if user.operation.name != "graph.reshape":
            return False
        (result,) = user.results
        if shape_of(result.type) != shape or not is_read_in_place(result, shape):
            return False
    return True


def _has_one_use(value: ir.Value) -> bool:
    return sum(1 for _ in value.uses) == 1
