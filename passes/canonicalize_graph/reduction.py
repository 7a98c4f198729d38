"""Reductions: dims of size 1, nested reductions of one kind, sums of one element."""

from girih.dialects import graph
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import rule_name
from girih.dialects.traits import FINDS_PLACE, REDUCES, Role
from girih.passes.canonicalize_graph.rules import Simplifier, canonicalizes
from girih.passes.graph_builder import has_one_use

_VALUES = tuple(
    cls.SHORT_NAME
    for cls in graph.ops_with(REDUCES, role=Role.PRIMITIVE)
    if cls.FOLD.is_plain
)
_PLACES = tuple(cls.SHORT_NAME for cls in graph.ops_with(FINDS_PLACE))


def _name(op: ir.OpView) -> str:
    return rule_name(op)


@canonicalizes(*_VALUES)
def drop_unit_dims(op, b: Simplifier) -> ir.Value | None:
    """Reducing a dim of size 1 changes nothing."""
    shape, dims = ty.shape_of(op.x.type), op.dims
    kept = tuple(dim for dim in dims if shape[dim] != 1)
    if len(kept) == len(dims) > 0:
        return None
    return b.op(_name(op), op.x, dims=kept) if kept else op.x


@canonicalizes(*_PLACES)
def fold_position_in_unit_dim(op, b: Simplifier) -> ir.Value | None:
    """The only element is the extremal one."""
    if ty.shape_of(op.x.type)[op.dim] != 1:
        return None
    return b.filled(0, op.y.type)


@canonicalizes(*_VALUES)
def merge_reductions(op, b: Simplifier) -> ir.Value | None:
    """A reduction of a reduction reduces the dims of both at once.

    Sums and products of small floats stay, since the inner one rounds.
    """
    inner = b.producer(op.x, _name(op))
    if inner is None or not has_one_use(op.x):
        return None
    rounds = not op.FOLD.joins.chooses
    if rounds and str(op.x.type.element_type) in ("bf16", "f16"):
        return None
    return b.op(_name(op), inner.x, dims=tuple(sorted({*op.dims, *inner.dims})))


@canonicalizes("reduce_sum")
def pick_only_summand(op, b: Simplifier) -> ir.Value | None:
    """sum(where(iota == index, x, 0)) is x, where the index is in range.

    The gradient of a cross entropy has such a sum over all classes; with smoothed
    labels it is sum(where(iota == index, x, 0) + c), which is x + n c.
    """
    shape = ty.shape_of(op.x.type)
    if len(op.dims) != 1 or not isinstance(shape[op.dims[0]], int):
        return None
    if not ty.is_float(op.y.type.element_type):
        return None
    (dim,) = op.dims
    total = b.producer(op.x, "add")
    if total is None:
        return _only_summand(op.x, op, b)
    for summand, rest in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
        whole = ty.shape_of(summand.type) == shape
        if whole and _is_constant_along(rest, len(shape), dim):
            picked = _only_summand(summand, op, b)
            if picked is not None:
                times = b.op("mul", rest, b.like(float(shape[dim]), rest))
                return b.broadcast(b.op("add", picked, times), op.y.type)
    return None


def _only_summand(x: ir.Value, op, b: Simplifier) -> ir.Value | None:
    """The sum of x over the dim of ``op``, if x is 0 but at one index of each row."""
    size, rank = ty.shape_of(op.x.type)[op.dims[0]], op.x.type.rank
    cast = b.producer(x, "cast")
    chosen = b.producer(x if cast is None else cast.x, "where")
    if chosen is None or b.number(chosen.b) != 0:
        return None
    if not ty.is_float(chosen.y.type.element_type):
        return None
    index = _position_that_is(chosen.cond, rank, op.dims[0], b)
    if index is None or not _is_constant_along(chosen.a, rank, op.dims[0]):
        return None
    inside = b.op(
        "logical_and",
        b.op("ge", index, b.like(0, index)),
        b.op("lt", index, b.like(size, index)),
    )
    picked = b.op("where", inside, chosen.a, b.like(0.0, chosen.a))
    return b.broadcast(b.cast(picked, op.y.type.element_type), op.y.type)


def _position_that_is(
    condition: ir.Value, rank: int, dim: int, b: Simplifier
) -> ir.Value | None:
    """The index that a counter along a dim is compared with, constant along it."""
    equal = b.producer(condition, "eq")
    if equal is None:
        return None
    for counter, index in ((equal.lhs, equal.rhs), (equal.rhs, equal.lhs)):
        counts = _is_counter_along(counter, rank, dim, b)
        if counts and _is_constant_along(index, rank, dim):
            return index
    return None


def _is_counter_along(x: ir.Value, rank: int, dim: int, b: Simplifier) -> bool:
    shape = ty.shape_of(x.type)
    if len(shape) != rank - dim or any(size != 1 for size in shape[1:]):
        return False
    view = b.producer(x, "reshape")
    source = b.producer(x if view is None else view.x, "iota")
    return source is not None and (source.start, source.step) == (0, 1)


def _is_constant_along(x: ir.Value, rank: int, dim: int) -> bool:
    shape = ty.shape_of(x.type)
    axis = dim - (rank - len(shape))
    return axis < 0 or shape[axis] == 1
