"""The layout plan: where each tensor of a graph function lies, decided before emission.

A value either owns a buffer (arguments, results of kernels and of ATen calls) or is a
view of one. The plan holds facts only; `convert.py` applies it without further checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from girih.dialects import attributes as attr
from girih.dialects.bindings import ir
from girih.dialects.definition import has, role_of
from girih.dialects.dims import Size
from girih.dialects.traits import PRODUCT, VIEW, Role
from girih.dialects.types import contiguous_strides, shape_of
from girih.dialects.written_parts import INSERT
from girih.passes.choices import USUAL, Choices, place_text
from girih.passes.fresh_results import has_fresh_results
from girih.passes.select_products import ONEDNN_LINEAR

from . import layout as layouts
from .accumulated import accumulated
from .in_place import is_last_reader, plan_in_place
from .inserted import Inserts, plan_inserts
from .inside import layouts_inside
from .joined import Part, parts_of_concats
from .kernel_ops import runs_in_kernel
from .kernels import iteration_space
from .layout import Layout
from .padding import padded_operands, padded_result
from .reuse import overwritten_by_kernel, reused_operand
from .signature import ResultInfo, argument_strides, result_infos


class Step(Enum):
    """What becomes of an op."""

    VIEW = "view"  # nothing runs: its result is a view
    KERNEL = "kernel"  # becomes generated code
    EXTERN = "extern"  # runs as an ATen op
    INSERT = "insert"  # a part of a tensor is replaced, in its memory or in a copy


@dataclass(frozen=True)
class Place:
    """Where the elements of a value lie: `layout` counts from the start of `root`."""

    root: ir.Value
    layout: Layout


@dataclass(frozen=True)
class LayoutPlan:
    """Facts about a graph function.

    Attributes:
        places: where each tensor value lies.
        steps: the ops of the function, in order, and what becomes of each.
        results: what eager promises about each result.
        parts: the values that lie in the result of a `concat`.
        inserts: which parts of tensors are replaced in their memory.
    """

    places: Mapping[ir.Value, Place]
    steps: tuple[tuple[ir.OpView, Step], ...]
    results: tuple[ResultInfo, ...]
    parts: Mapping[ir.Value, Part]
    inserts: Inserts


def plan_layouts(
    function: ir.OpView,
    *,
    pad_products: bool = False,
    reuse_buffers: bool = False,
    choices: Choices = USUAL,
) -> LayoutPlan:
    """Plans the layouts of a graph function.

    Args:
        function: `func.func` of one block of graph ops, as `prepare` leaves it.
        pad_products: whether matrices that products read and make have padded rows.
        reuse_buffers: whether kernels write over what they are the last to read.
        choices: whether a buffer that may be written over is.
    """
    block = function.regions[0].blocks[0]
    infos = result_infos(function)
    wanted = _wanted_strides(block, infos)
    if pad_products:
        wanted = padded_operands(block) | wanted
    planner = _Planner(wanted, pad_products, reuse_buffers, choices)
    strides_of = argument_strides(function)
    for argument, strides in zip(block.arguments, strides_of, strict=True):
        if strides is not None:
            planner.own(argument, Layout(shape_of(argument.type), strides))
    # A constant stands for each integer result; `graph.size` says what it is.
    ops = [op for op in list(block.operations)[:-1] if op.name != "arith.constant"]
    planner.plan_writes(block, infos, ops)
    planner.plan_parts(block)
    planner.plan_inserts(block, ops)
    planner.order.update({op: position for position, op in enumerate(block.operations)})
    for op in ops:
        planner.visit(op)
    steps = tuple(planner.steps)
    return LayoutPlan(planner.places, steps, infos, planner.parts, planner.inserts)


def _wanted_strides(
    block: ir.Block, infos: tuple[ResultInfo, ...]
) -> dict[ir.Value, tuple[Size, ...]]:
    """Strides that kernels should give their results.

    Those that eager promises for values that are returned in fresh storage; otherwise
    those of the operands that an ATen call has in eager.
    """
    *ops, last = block.operations
    wanted = {}
    for op in ops:
        strides = zip(op.operands, operand_strides(op) or (), strict=False)
        wanted.update((value, own) for value, own in strides if own is not None)
    for value, info in zip(last.operands, infos, strict=True):
        if info.strides is not None and info.is_fresh:
            wanted[value] = info.strides
    for value, own in list(wanted.items()):
        source = _but_for_ones(value)
        if source is not None:
            wanted[source] = _strides_with_ones(value, own, source)
            continue
        source = _permuted(value)
        if source is not None and source not in wanted:
            places = value.owner.opview.permutation
            by_dim = dict(zip(places, own, strict=True))
            wanted[source] = tuple(by_dim[dim] for dim in range(len(own)))
    return wanted


def _permuted(value: ir.Value) -> ir.Value | None:
    """What a value is a permutation of, if a pointwise kernel makes that.

    Its stores can follow any order of the dims. One that reduces rows stores rows.
    """
    op = value.owner
    if isinstance(op, ir.Block) or op.name != "graph.permute":
        return None
    source = op.operands[0]
    if isinstance(source.owner, ir.Block) or not runs_in_kernel(source.owner.opview):
        return None
    return None if iteration_space(source.owner.opview)[1] else source


def _but_for_ones(value: ir.Value) -> ir.Value | None:
    """What a value is but for dims of size 1, if a reshape dropped or added them."""
    op = value.owner
    if isinstance(op, ir.Block) or op.name != "graph.reshape":
        return None
    source = op.operands[0]
    return source if _without_ones(source) == _without_ones(value) else None


def _without_ones(value: ir.Value) -> list[Size]:
    return [size for size in shape_of(value.type) if size != 1]


def _strides_with_ones(
    value: ir.Value, strides: tuple[Size, ...], source: ir.Value
) -> tuple[Size, ...]:
    """The strides of ``value``, for the dims that ``source`` has."""
    pairs = zip(shape_of(value.type), strides, strict=True)
    kept = [stride for size, stride in pairs if size != 1]
    found: list[Size] = []
    inner: Size = 1
    for size in reversed(shape_of(source.type)):
        found.append(inner if size == 1 else kept.pop())
        inner = found[-1] * size
    return tuple(reversed(found))


def operand_strides(op: ir.OpView) -> tuple[tuple[Size, ...] | None, ...] | None:
    """Strides that an ATen call's operands should have, None where they don't matter.

    Those of eager; or those without which oneDNN's product would begin with a copy.
    """
    if has(op, PRODUCT) or role_of(op) is not Role.LIBRARY or op.name == INSERT:
        return None
    if op.name == "graph.extern" and op.op == ONEDNN_LINEAR:
        shape = shape_of(op.operands[0].type)
        return (tuple(contiguous_strides(shape)), *(None,) * (len(op.operands) - 1))
    if "operand_strides" in op.attributes:
        return attr.LAYOUTS.decode(op.attributes["operand_strides"])
    return tuple(contiguous_strides(shape_of(value.type)) for value in op.operands)


class _Planner:
    def __init__(
        self,
        wanted: Mapping[ir.Value, tuple[Size, ...]],
        pad_products: bool,
        reuse_buffers: bool,
        choices: Choices,
    ):
        self._extern_layout = _product_layout if pad_products else _extern_layout
        self.places: dict[ir.Value, Place] = {}
        self.steps: list[tuple[ir.OpView, Step]] = []
        self.order: dict[ir.OpView, int] = {}
        self._made: set[ir.Value] = set()
        self._wanted = wanted
        self._reuse_buffers = reuse_buffers
        self._choices = choices
        self._overwritten: dict[ir.Value, ir.Value] = {}
        self.parts: dict[ir.Value, Part] = {}
        self.inserts = Inserts()

    def plan_inserts(self, block: ir.Block, ops: Sequence[ir.OpView]) -> None:
        """Finds the parts of tensors that are replaced in their memory."""
        layouts = {value: place.layout for value, place in self.places.items()}
        taken = {*self.parts, *self._overwritten, *self._wanted}
        kernels = _kernels(ops)
        self.inserts = plan_inserts(block, layouts, kernels, VIEWS, taken)
        rows = {
            v: tuple(contiguous_strides(shape_of(v.type))) for v in self.inserts.bases
        }
        self._wanted = {**self._wanted, **rows}

    def plan_parts(self, block: ir.Block) -> None:
        """Finds the values that kernels write straight into results of `concat`."""
        self.parts = parts_of_concats(block, self._overwritten, self._wanted)

    def _place_parts(self, op: ir.OpView) -> None:
        """Puts what a kernel makes where a `concat` would copy it."""
        for index, result in enumerate(op.results):
            part = self.parts.get(result)
            if part is None:
                continue
            if part.whole not in self.places:
                self.own(part.whole, self._layout_of_whole(part.whole, op, index))
            whole = self.places[part.whole].layout
            layout = part.layout(whole, shape_of(result.type))
            self.places[result] = Place(part.whole, layout)

    def _layout_of_whole(self, whole: ir.Value, op: ir.OpView, index: int) -> Layout:
        """That which is wanted, else one in which the first part lies as it would."""
        shape, wanted = shape_of(whole.type), self._wanted.get(whole)
        if wanted is not None and not layouts.repeats(shape, wanted):
            return Layout(shape, wanted)
        like = self._kernel_layout(op, index).strides
        return layouts.dense_like(shape, like) or layouts.contiguous(shape)

    def _may_overwrite_later(self, value: ir.Value) -> bool:
        """Whether a value is all that its buffer holds, for all who read it."""
        if value in self.parts or value in self._overwritten:
            return False
        if value in self.inserts.made_there:
            return False
        own = [part for part in self.parts.values() if part.whole == value]
        return not any(part.is_read_alone for part in own)

    def plan_writes(
        self,
        block: ir.Block,
        infos: tuple[ResultInfo, ...],
        ops: Sequence[ir.OpView],
    ) -> None:
        """Finds the results that kernels write straight into arguments."""
        if all(info.writes is None for info in infos):
            return
        layouts = {value: place.layout for value, place in self.places.items()}
        planned = plan_in_place(block, infos, _kernels(ops), layouts)
        self._overwritten = {
            result: argument
            for result, argument in planned.items()
            if self._is_chosen(result.owner.opview, "an argument")
        }

    def _is_chosen(self, op: ir.OpView, what: str) -> bool:
        """Whether an op writes over what it may write over."""
        name = op.operation.name.removeprefix("graph.")
        return self._choices.takes(
            lambda: (
                f"convert-graph-to-host: {name} over {what}{place_text(op.location)}"
            )
        )

    def own(self, value: ir.Value, layout: Layout) -> None:
        self.places[value] = Place(value, layout)

    def _insert(self, op: ir.OpView) -> None:
        """Puts the result where the operand is, or into a buffer of its own."""
        if op in self.inserts.in_place:
            self.places[op.y] = self.places[op.x]
        else:
            self.own(op.y, layouts.contiguous(shape_of(op.y.type)))

    def visit(self, op: ir.OpView) -> None:
        if op.name == INSERT:
            self._insert(op)
            self.steps.append((op, Step.INSERT))
        elif op.name in VIEWS and (place := self._view(op)) is not None:
            self.places[op.results[0]] = place
            self.steps.append((op, Step.VIEW))
        elif runs_in_kernel(op):
            self._place_parts(op)
            for result in op.results:
                if (spot := self.inserts.made_there.get(result)) is not None:
                    self.places[result] = Place(spot.root, spot.layout)
            self._place_accumulated(op)
            made = [r for r in op.results if self._may_overwrite_later(r)]
            if self._reuse_buffers:
                self._reuse_for_kernel(op)
            self._own_results(op, self._kernel_layout)
            self._made.update(made)
            self.steps.append((op, Step.KERNEL))
        else:
            self._reuse_operand(op)
            self._own_results(op, self._extern_layout)
            if has_fresh_results(op):
                self._made.update(r for r in op.results if r not in self._overwritten)
            self.steps.append((op, Step.EXTERN))

    def _place_accumulated(self, op: ir.OpView) -> None:
        """Has a kernel add to what it is the last to need, else to a copy."""
        for result, number in accumulated(op):
            x = op.operands[number]
            is_read_once = list(op.operands).count(x) == 1
            is_own = (
                is_read_once and x in self._made and is_last_reader(op, x, self.order)
            )
            if is_own and self.places[x].layout.is_contiguous:
                self.places[result] = self.places[x]
            else:
                self.own(result, layouts.contiguous(shape_of(result.type)))

    def _reuse_for_kernel(self, op: ir.OpView) -> None:
        """Has a kernel write over what it is the last to read."""
        own = {v: self.places[v].layout for v in op.operands if v in self._made}
        for index, result in enumerate(op.results):
            if result in self._overwritten or result in self.places or not own:
                continue
            layout = self._kernel_layout(op, index)
            value = overwritten_by_kernel(op, result, layout, own, self.order)
            if value is not None and self._is_chosen(op, "what it reads"):
                self._overwritten[result] = value
                self.places[result] = Place(self.places[value].root, layout)
                del own[value]

    def _reuse_operand(self, op: ir.OpView) -> None:
        """Has an ATen call write its operand where that is a buffer nobody needs."""
        if len(op.results) != 1 or op.results[0] in self._overwritten:
            return
        value = reused_operand(op, self._made.__contains__, self.order)
        fits = value is not None and self._is_laid_out_for(op, value)
        if fits and self._is_chosen(op, "its operand"):
            self._overwritten[op.results[0]] = value
            self._made.add(op.results[0])

    def _is_laid_out_for(self, op: ir.OpView, value: ir.Value) -> bool:
        layout, announced = self.places[value].layout, self._extern_layout(op, 0)
        wanted = [announced.strides]
        # A call that wants other strides gets a copy, and would write that.
        for operand, own in zip(op.operands, operand_strides(op) or (), strict=False):
            if operand == value and own is not None:
                wanted.append(own)
        return all(
            layouts.same_strides(layout.shape, layout.strides, strides)
            for strides in wanted
        )

    def _own_results(
        self, op: ir.OpView, layout_of: Callable[[ir.OpView, int], Layout]
    ) -> None:
        for index, result in enumerate(op.results):
            if result in self.places:
                continue
            if result in self._overwritten:
                self.places[result] = self.places[self._overwritten[result]]
            else:
                self.own(result, layout_of(op, index))

    def _view(self, op: ir.OpView) -> Place | None:
        source = self.places[op.operands[0]]
        layout = VIEWS[op.name](op, source.layout)
        return None if layout is None else Place(source.root, layout)

    def _kernel_layout(self, op: ir.OpView, index: int) -> Layout:
        """Eager's strides where they are promised, else those of an input.

        Row-major where that spares a copy: an input is so, or a reader reshapes.
        """
        result = op.results[index]
        shape = shape_of(result.type)
        wanted = self._wanted.get(result)
        if wanted is not None and not layouts.repeats(shape, wanted):
            return Layout(shape, wanted)
        row_major = layouts.contiguous(shape)
        found = self._layouts_of_inputs(op, shape)
        if not found and op.name == "graph.fusion":
            layouts_of = {v: self.places[v].layout for v in op.operands}
            found = layouts_inside(op, index, layouts_of, VIEWS)
        found = found or [row_major]
        if row_major in found or _is_copied_by_reshape(result, found[0]):
            return row_major
        return found[0]

    def _layouts_of_inputs(
        self, op: ir.OpView, shape: tuple[Size, ...]
    ) -> list[Layout]:
        """Dense layouts like those of the inputs of this shape, in order.

        Where none has it, of those with as many elements in the innermost dim: a padded
        image, or what a window leaves of it, has its channels where the image has them.
        """
        places = [self.places[value] for value in op.operands if value in self.places]
        found = [place.layout for place in places]
        same = [layout for layout in found if layout.shape == shape]
        same = same or [layout for layout in found if _has_innermost(layout, shape)]
        like = [layouts.dense_like(shape, layout.strides) for layout in same]
        return [layout for layout in like if layout is not None]


def _kernels(ops: Sequence[ir.OpView]) -> list[ir.OpView]:
    """The ops that become kernels which may write over what they read.

    Those of attention read rows that other programs write.
    """
    return [
        op
        for op in ops
        if not (role_of(op) is Role.KERNEL or has(op, VIEW)) and runs_in_kernel(op)
    ]


def _has_innermost(layout: Layout, shape: tuple[Size, ...]) -> bool:
    """Whether a shape has a layout's rank, and its size in the dim of stride 1."""
    if len(layout.shape) != len(shape):
        return False
    dims = zip(layout.shape, layout.strides, shape, strict=True)
    return any(stride == 1 and size == own and size != 1 for size, stride, own in dims)


def _is_copied_by_reshape(value: ir.Value, layout: Layout) -> bool:
    """Whether a reader reshapes the value, and could not do so without a copy."""
    reshapes = [use.owner for use in value.uses if use.owner.name == "graph.reshape"]
    return any(
        layouts.reshape(layout, shape_of(reshape.results[0].type)) is None
        for reshape in reshapes
    )


def _extern_layout(op: ir.OpView, index: int) -> Layout:
    """ATen ops say their strides where these are not contiguous."""
    shape = shape_of(op.results[index].type)
    if "strides" not in op.attributes:
        return layouts.contiguous(shape)
    strides = attr.LAYOUTS.decode(op.attributes["strides"])[index]
    return Layout(shape, strides)


def _product_layout(op: ir.OpView, index: int) -> Layout:
    """The same, but products have padded rows where that pays."""
    strides = padded_result(op)
    if strides is None:
        return _extern_layout(op, index)
    return Layout(shape_of(op.results[index].type), strides)


# Views ------------------------------------------------------------------------------


def _reshape(op: ir.OpView, layout: Layout) -> Layout | None:
    return layouts.reshape(layout, shape_of(op.results[0].type))


def _permute(op: ir.OpView, layout: Layout) -> Layout:
    return layouts.permute(layout, op.permutation)


def _broadcast_to(op: ir.OpView, layout: Layout) -> Layout:
    return layouts.broadcast_to(layout, shape_of(op.results[0].type))


def _slice(op: ir.OpView, layout: Layout) -> Layout:
    return layouts.slice_(layout, op.starts, op.steps, shape_of(op.results[0].type))


def _window(op: ir.OpView, layout: Layout) -> Layout:
    return layouts.window(layout, op.dim, op.step, shape_of(op.results[0].type))


def _seed(op: ir.OpView, layout: Layout) -> Layout:
    return layouts.element(layout, op.index)


VIEWS: dict[str, Callable[[ir.OpView, Layout], Layout | None]] = {
    "graph.broadcast_to": _broadcast_to,
    "graph.permute": _permute,
    "graph.reshape": _reshape,
    "graph.seed": _seed,
    "graph.slice": _slice,
    "graph.window": _window,
}
