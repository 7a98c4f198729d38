"""batch-launches: launches of one kernel become few, each with many sets of arguments.

Requires:
    Native calls (`group-launches`) whose buffers have no place yet, and unscheduled
    kernels.

Establishes:
    Launches of a pointwise kernel in a native call, of which none touches what
    another one writes, are one launch of a copy of the kernel with `sets`: the programs
    of all are in one grid. There are at most `sets` of them in a launch, fewer where
    their arguments would take more than `parameter-bytes`. An optimizer's step has a
    few launches then, and small parameters do not wait for each other.

Before::

    host.launch @k0 (%x, %y) {symbols = [24]}
    host.launch @k0 (%v, %w) {symbols = [7]}

After::

    tile.kernel @k0_x2 ... {sets = 2}
    host.launch @k0_x2 (%x, %v, %y, %w) {outputs = 2, symbols = [24, 7]}

A launch has the inputs of all its sets, then their outputs, then their symbols. A
launch may move before others that it does not depend on, unless it makes much
(`moved-bytes`), which would be alive for longer. Kernels whose programs share memory
are left alone.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from girih.dialects import host
from girih.dialects.bindings import ir
from girih.dialects.definition import has_any
from girih.dialects.traits import (
    ASSEMBLES,
    CREATES,
    ELEMENTWISE,
    REINDEXES,
    TRANSFERS,
    VIEW,
)
from girih.dialects.types import buffer_parts, element_of
from girih.passes.convert_graph_to_host.layout import Layout, elements
from girih.passes.lifetimes import buffer_bytes, launches_of, storage_roots
from girih.passes.registry import register_pass

_WORD = 8  # bytes of an argument


@dataclass(frozen=True)
class BatchOptions:
    """Options of `batch-launches`."""

    least: int = 2
    """Fewest launches that the pass joins."""
    sets: int = 32
    """Most launches that the pass joins."""
    parameter_bytes: int = 3840
    """Most bytes of arguments that a launch may have. CUDA takes 4096."""
    moved_bytes: int = 65536
    """Most bytes that a launch may write and still move before other launches."""


@register_pass("batch-launches", options=BatchOptions)
def run(op: ir.OpView, options: BatchOptions) -> None:
    """Joins launches of one kernel into launches with many sets of arguments."""
    body = op.regions[0].blocks[0]
    items = list(body.operations)
    kernels = {
        item.sym_name: item
        for item in items
        if item.operation.name == "tile.kernel" and is_pointwise(item)
    }
    made: dict[str, ir.OpView] = {}
    for function in items:
        if function.operation.name == "func.func":
            ops = list(function.regions[0].blocks[0].operations)
            roots = storage_roots(ops)
            for native in ops:
                if native.operation.name == "host.native":
                    _Native(native, kernels, roots, options, made).batch()
    if made:
        _drop_unused(body, kernels)


_POINTWISE = ASSEMBLES, CREATES, ELEMENTWISE, REINDEXES, TRANSFERS, VIEW
"""What an op does that computes each point of a domain by itself."""


def is_pointwise(kernel: ir.OpView) -> bool:
    """Whether a kernel's programs share nothing: there are no sums in it."""
    if kernel.reduced or kernel.closing or kernel.sets is not None:
        return False
    return all(has_any(op, *_POINTWISE) for op in kernel.block.operations)


_Spans = dict[ir.Value, list[range]]
"""Elements by the buffers that own their memory: from the first to the last."""


@dataclass
class _Touched:
    """What launches read and write."""

    read: _Spans = field(default_factory=dict)
    written: _Spans = field(default_factory=dict)

    def add(self, other: _Touched) -> None:
        pairs = (self.read, other.read), (self.written, other.written)
        for mine, theirs in pairs:
            for root, spans in theirs.items():
                mine.setdefault(root, []).extend(spans)

    def depends(self, other: _Touched) -> bool:
        """Whether the order of the two matters."""
        return (
            _overlap(self.written, other.written)
            or _overlap(self.written, other.read)
            or _overlap(self.read, other.written)
        )


def _overlap(some: _Spans, others: _Spans) -> bool:
    if len(others) < len(some):
        some, others = others, some
    return any(
        one.start < other.stop and other.start < one.stop
        for root, spans in some.items()
        for other in others.get(root, ())
        for one in spans
    )


_ALL = range(-(1 << 62), 1 << 62)


def _span(value: ir.Value) -> range:
    """The elements of the owner's memory that a buffer may touch."""
    parts = buffer_parts(value.type)
    count = elements(Layout(parts.shape, parts.strides))
    start = 0
    while isinstance(value, ir.OpResult) and value.owner.name == "host.view":
        view = value.owner.opview
        base = view.operands[0]
        is_same = element_of(base.type) == parts.element_type
        if not isinstance(view.offset, int) or not is_same:
            return _ALL
        start, value = start + view.offset, base
    return range(start, start + count) if isinstance(count, int) else _ALL


class _Native:
    """The launches of a native call."""

    def __init__(
        self,
        native: ir.OpView,
        kernels: Mapping[str, ir.OpView],
        roots: Mapping[ir.Value, ir.Value],
        options: BatchOptions,
        made: dict[str, ir.OpView],
    ):
        self._native = native
        self._block = native.regions[0].blocks[0]
        self._kernels = kernels
        self._roots = roots
        self._options = options
        self._made = made
        self._known: dict[ir.OpView, _Touched] = {}

    def batch(self) -> None:
        """Makes few launches of many."""
        self._schedule(self._native.launches)

    def _schedule(self, launches: Sequence[ir.OpView]) -> None:
        """Puts launches after those that are scheduled; equal ones stand together."""
        counts = Counter(launch.kernel for launch in launches)
        left = list(launches)
        while left:
            first, *left = left
            group = [first]
            if first.kernel in self._kernels and self._are_many(counts[first.kernel]):
                before, group, left = self._companions(first, left)
                self._schedule(before)
            for launch in group:
                self._block.append(launch)
            if self._are_many(len(group)):
                self._make(group)

    def _are_many(self, count: int) -> bool:
        return count >= self._options.least

    def _companions(
        self, first: ir.OpView, others: Sequence[ir.OpView]
    ) -> tuple[list[ir.OpView], list[ir.OpView], list[ir.OpView]]:
        """Launches before the first one and its companions, these, and the rest.

        What makes little, and has nothing to do with the group, goes before.
        """
        group, left = [first], []
        before: list[ir.OpView] = []
        passed: list[ir.OpView] = []  # before, if a companion follows
        of_group, of_left = _Touched(), _Touched()
        of_group.add(self._touched(first))
        for launch in others:
            own = self._touched(launch)
            may_move = not left or self._is_small(launch)
            if may_move and not own.depends(of_left) and not own.depends(of_group):
                if launch.kernel == first.kernel:
                    group.append(launch)
                    of_group.add(own)
                    before += passed
                    passed = []
                    continue
                if self._is_small(launch):
                    passed.append(launch)
                    continue
            left.append(launch)
            of_left.add(own)
        rest = {*passed, *left}
        return before, group, [launch for launch in others if launch in rest]

    def _touched(self, launch: ir.OpView) -> _Touched:
        if launch not in self._known:
            touched = self._known[launch] = _Touched()
            first = len(launch.operands) - launch.outputs
            for number, value in enumerate(launch.operands):
                spans = touched.read if number < first else touched.written
                root = self._roots.get(value, value)
                spans.setdefault(root, []).append(_span(value))
        return self._known[launch]

    def _is_small(self, launch: ir.OpView) -> bool:
        """Whether what a launch makes may be alive for longer."""
        sizes = [buffer_bytes(x) for x in self._touched(launch).written if _is_made(x)]
        most = self._options.moved_bytes
        return all(isinstance(size, int) for size in sizes) and sum(sizes) <= most

    def _make(self, group: Sequence[ir.OpView]) -> None:
        """Makes a few launches of many, as equal in size as can be."""
        kernel = self._kernels[group[0].kernel]
        arguments = len(kernel.buffers) + len(kernel.symbols)
        most = self._options.parameter_bytes // (_WORD * arguments)
        most = min(self._options.sets, most)
        if most < 2:
            return
        count = -(-len(group) // most)
        ends = [len(group) * number // count for number in range(count + 1)]
        for first, last in itertools.pairwise(ends):
            if last - first > 1:
                _merge(group[first:last], self._with_sets(kernel, last - first))

    def _with_sets(self, kernel: ir.OpView, sets: int) -> str:
        """The name of a copy of the kernel for so many sets."""
        name = f"{kernel.sym_name}_x{sets}"
        if name not in self._made:
            copy = kernel.operation.clone(ip=ir.InsertionPoint(kernel)).opview
            copy.attributes["sym_name"] = ir.StringAttr.get(name)
            i64 = ir.IntegerType.get_signless(64)
            copy.attributes["sets"] = ir.IntegerAttr.get(i64, sets)
            self._made[name] = copy
        return name


def _is_made(value: ir.Value) -> bool:
    return isinstance(value, ir.OpResult) and value.owner.name == "host.alloc"


def _merge(group: Sequence[ir.OpView], kernel: str) -> None:
    """Replaces launches by one."""
    first = group[0]
    inputs: list[ir.Value] = []
    outputs: list[ir.Value] = []
    for launch in group:
        values = list(launch.operands)
        inputs += values[: len(values) - launch.outputs]
        outputs += values[len(values) - launch.outputs :]
    attributes = {
        "kernel": kernel,
        "outputs": len(outputs),
        "symbols": [size for launch in group for size in launch.symbols],
    }
    operands = [[*inputs, *outputs]]
    location = ir.Location.fused([launch.location for launch in group])
    ip = ir.InsertionPoint(first)
    host.build("launch", operands, attributes, loc=location, ip=ip)
    for launch in group:
        launch.operation.erase()


def _drop_unused(body: ir.Block, kernels: Mapping[str, ir.OpView]) -> None:
    """Erases kernels that nothing launches any more."""
    functions = [op for op in body.operations if op.operation.name == "func.func"]
    launched = {op.kernel for function in functions for op in launches_of(function)}
    for name, kernel in kernels.items():
        if name not in launched:
            kernel.operation.erase()
