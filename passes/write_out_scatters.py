"""``write-out-scatters``: on a GPU, kernels add to elements at computed places.

``index_add``, ``scatter_add`` and ``index_put`` with ``accumulate`` are library calls.
What is added would be stored for them first, and the index widened to its shape. An
``accumulate`` is part of the kernel that computes what it adds, and of the places: 8192
messages of 16 elements, each of two gathered rows, added up by node, take 9 us
instead of 16 (H100, 2026-11-28).

Atomic updates come in any order, and so do those of ATen's kernels. With
``deterministic`` the calls stay, since ATen sorts the index then. They also stay where
they write an argument in place, for elements that the device does not update at once,
and for elements of 16 bits where ATen adds in 32 (``index_put``).

Requires: primitives and library ops, as ``decompose`` leaves them.
Establishes: with ``target=gpu``, ``accumulate`` ops stand in the place of these calls.
Otherwise nothing changes.

Before::

    %1 = "graph.scatter_add"(%x, %index, %source) {dim = 0 : i64} : ...

After, where ``%place`` is the index, looked at, times the length of a row, plus the
column::

    %1 = "graph.accumulate"(%x, %place, %source) : ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Number

from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.dialects.rule_table import RuleTable
from girih.dialects.written_parts import is_written_to_argument
from girih.passes.choices import named_text
from girih.passes.graph_builder import GraphBuilder, erase_dead_ops, function_bodies
from girih.passes.registry import register_pass
from girih.passes.remarks import is_heard, remark

_WRITERS: dict[str, Callable[[ir.OpView, GraphBuilder], bool]] = RuleTable(
    "accumulation of ", "@_writes_out({name!r})"
)
_writes_out = _WRITERS.registering

_ELEMENTS = frozenset({"f32", "f64", "i32", "i64"})


@dataclass(frozen=True)
class ScatterOptions:
    """Options of the pass."""

    target: str = ""
    """``gpu``, or nothing for no change."""

    deterministic: bool = False
    """Whether sums have to be the same in each run."""

    updates_bfloat16: bool = False
    """Whether the device has atomic additions of bfloat16."""


@register_pass("write-out-scatters", options=ScatterOptions)
def run(op: ir.Operation, options: ScatterOptions) -> None:
    """Replaces calls that add to elements at an index by ops of kernels."""
    if options.target != "gpu" or options.deterministic:
        why = "sums must be deterministic" if options.deterministic else "no GPU"
        remark(lambda: f"nothing changes: {why}")
        return
    for block in function_bodies(op):
        has_changed = False
        for inner in list(block.operations):
            write = _WRITERS.get(_name_of(inner))
            if write is None:
                continue
            name = named_text(inner) if is_heard() else ""
            is_written = _may_be_kernel(inner, options) and write(
                inner, GraphBuilder(inner)
            )
            remark(lambda n=name, yes=is_written: f"{n}: {_WHO[yes]}")
            has_changed |= is_written
        if has_changed:
            erase_dead_ops(block)


_WHO = {False: "the library", True: "a kernel"}


def _name_of(op: ir.OpView) -> str:
    name = op.operation.name
    return op.op if name == "graph.extern" else name


def _may_be_kernel(op: ir.OpView, options: ScatterOptions) -> bool:
    if len(op.results) != 1 or not ty.shape_of(op.results[0].type):
        return False
    element, narrow = str(op.results[0].type.element_type), {"f16"}
    if options.updates_bfloat16:
        narrow.add("bf16")
    is_updated = element in _ELEMENTS or (
        element in narrow and op.operation.name != "graph.index_put"
    )
    return is_updated and not is_written_to_argument(op.results[0])


@_writes_out("aten.index_add.default")
def _index_add(op: ir.OpView, b: GraphBuilder) -> bool:
    """``aten.index_add``: whole slices of x, one for each element of the index."""
    if any(not isinstance(op.args[place], OperandRef) for place in (0, 2, 3)):
        return False
    x, index, source = (op.operands[op.args[place].index] for place in (0, 2, 3))
    alpha, dim = op.kwargs.get("alpha", 1), op.args[1]
    if not isinstance(alpha, Number) or source.type.element_type != x.type.element_type:
        return False
    shape = ty.shape_of(source.type)
    dim %= len(ty.shape_of(x.type))
    if len(shape) != len(ty.shape_of(x.type)):
        return False
    ones = tuple(shape[d] if d == dim else 1 for d in range(len(shape)))
    if alpha != 1:
        source = b.op("mul", source, b.like(alpha, source))
    _replace(op, b, x, {dim: b.reshape(index, ones)}, source)
    return True


@_writes_out("graph.scatter_add")
def _scatter_add(op: ir.OpView, b: GraphBuilder) -> bool:
    """``graph.scatter_add``: the index has an element for each that is added."""
    shape = ty.shape_of(op.index.type)
    source = op.src
    if ty.shape_of(source.type) != shape:
        none = {"starts": (0,) * len(shape), "steps": (1,) * len(shape)}
        source = b.typed("slice", [source], shape, source.type.element_type, **none)
    _replace(op, b, op.x, {op.dim: op.index}, source)
    return True


@_writes_out("graph.scatter")
def _scatter(op: ir.OpView, b: GraphBuilder) -> bool:
    """``graph.scatter`` of zeros, no two to one place: the gradient of a selection."""
    is_unique = op.unique is not None or ty.shape_of(op.index.type)[op.dim] == 1
    if b.number(op.x) != 0 or not is_unique:
        return False
    return _scatter_add(op, b)


@_writes_out("aten.scatter_reduce.two")
def _scatter_reduce(op: ir.OpView, b: GraphBuilder) -> bool:
    """``aten.scatter_reduce`` that sums, on top of what was there."""
    refs = [op.args[place] for place in (0, 2, 3)]
    rest = op.args[4:]
    is_sum = len(rest) > 0 and rest[0] == "sum" and rest[1:] in ((), (True,))
    if not is_sum or not op.kwargs.get("include_self", True):
        return False
    if not all(isinstance(ref, OperandRef) for ref in refs):
        return False
    x, index, source = (op.operands[ref.index] for ref in refs)
    shape, dim = ty.shape_of(index.type), op.args[1] % len(ty.shape_of(x.type))
    if len(shape) != len(ty.shape_of(x.type)):
        return False
    if ty.shape_of(source.type) != shape:
        none = {"starts": (0,) * len(shape), "steps": (1,) * len(shape)}
        source = b.typed("slice", [source], shape, source.type.element_type, **none)
    _replace(op, b, x, {dim: index}, source)
    return True


@_writes_out("graph.index_put")
def _index_put(op: ir.OpView, b: GraphBuilder) -> bool:
    """``graph.index_put`` that adds: indices for neighbouring dims, which broadcast."""
    dims = list(op.dims)
    if not op.accumulate or dims != list(range(dims[0], dims[0] + len(dims))):
        return False
    shape = ty.shape_of(op.x.type)
    ranks = [len(ty.shape_of(index.type)) for index in op.indices]
    first, after = dims[0], len(shape) - dims[-1] - 1
    own = _broadcast([ty.shape_of(index.type) for index in op.indices])
    domain = (*shape[:first], *own, *shape[dims[-1] + 1 :])
    values = op.values
    if ty.shape_of(values.type) != domain:
        element = values.type.element_type
        values = b.typed("broadcast_to", [values], domain, element)
    indices = {}
    for dim, index, rank in zip(dims, op.indices, ranks, strict=True):
        ones = (1,) * (len(own) - rank)
        aligned = (*(1,) * first, *ones, *ty.shape_of(index.type), *(1,) * after)
        indices[dim] = b.reshape(index, aligned)
    places = [*range(first), *dims, *range(dims[-1] + 1, len(shape))]
    moved = len(own) - len(dims)
    at = {d: d if d < first else d + moved for d in places if d not in dims}
    _replace(op, b, op.x, indices, values, at, from_end=True)
    return True


def _broadcast(shapes: Sequence[tuple[Size, ...]]) -> tuple[Size, ...]:
    rank = max(map(len, shapes))
    result: list[Size] = [1] * rank
    for shape in shapes:
        for dim, size in enumerate(shape, start=rank - len(shape)):
            if size != 1:
                result[dim] = size
    return tuple(result)


def _replace(
    op: ir.OpView,
    b: GraphBuilder,
    x: ir.Value,
    indices: dict[int, ir.Value],
    source: ir.Value,
    at: dict[int, int] | None = None,
    *,
    from_end: bool = False,
) -> None:
    """Puts an ``accumulate`` in the place of an op.

    Args:
        op: what is replaced.
        b: makes ops in front of it.
        x: what is added to.
        indices: by dim of x, where along it an element goes; they broadcast to the
            shape of the source.
        source: what is added.
        at: for the other dims of x, those of the source; None where they are the same.
        from_end: whether negative indices count from the end.
    """
    i64, whole, domain = ty.i64(), ty.shape_of(x.type), ty.shape_of(source.type)
    total, stride = None, 1
    for dim in reversed(range(len(whole))):
        if dim in indices:
            number = b.typed("iota", [], (whole[dim],), i64, start=0, step=1)
            flags = {"from_end": True} if from_end else {}
            # Wide from here on, so that the kernel computes all of it.
            index = b.typed(
                "broadcast_to", [indices[dim]], domain, indices[dim].type.element_type
            )
            along = b.op("take", number, index, dim=0, **flags)
        else:
            own = dim if at is None else at[dim]
            number = b.typed("iota", [], (domain[own],), i64, start=0, step=1)
            ones = tuple(domain[own] if d == own else 1 for d in range(len(domain)))
            along = b.reshape(number, ones)
        if stride != 1:
            along = b.op("mul", along, b.constant(stride, i64))
        total = along if total is None else b.op("add", along, total)
        stride = stride * whole[dim]
    b.replace(op, b.op("accumulate", x, total, source))
