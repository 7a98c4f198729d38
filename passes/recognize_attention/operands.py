"""Queries, keys and values of matched products, behind the views that turn them.

What programs do to them (heads before positions, a head of keys repeated for
several heads of queries) is undone: kernels read memory in any strides.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.graph_builder import GraphBuilder
from girih.passes.recognize_attention.attention import Match
from girih.passes.recognize_attention.halves import narrowed

_TURNED = (0, 1, 3, 2)


def inputs_of(b: GraphBuilder, match: Match) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Query [b, h, s, d], key [b, h_kv, t, d] and value [b, h_kv, t, e]."""
    outer = match.shape[:2]
    given = [match.scores.lhs, match.scores.rhs, match.product.rhs]
    lhs, rhs, values = (
        x if str(x.type.element_type) == match.element else narrowed(b, x)
        for x in given
    )
    query, key = _by_heads(b, lhs, outer), _keys(b, rhs, outer)
    value = _by_heads(b, values, outer)
    alone = [_each_head_once(b, x) for x in (key, value)]
    heads = [None if x is None else ty.shape_of(x.type)[1] for x in alone]
    if heads[0] is not None and heads[0] == heads[1]:
        key, value = alone
    return query, key, value


def _made_by(value: ir.Value, name: str) -> ir.OpView | None:
    """The op of this name that makes a value, if it is that."""
    if isinstance(value, ir.BlockArgument):
        return None
    op = value.owner.opview
    return op if op.operation.name == name else None


def _by_heads(b: GraphBuilder, x: ir.Value, outer: Sequence[Size]) -> ir.Value:
    """[b * h, m, n] as [b, h, m, n]: what it was reshaped from where it was that."""
    wanted = (*outer, *ty.shape_of(x.type)[-2:])
    reshape = _made_by(x, "graph.reshape")
    if reshape is not None and ty.shape_of(reshape.x.type) == wanted:
        return reshape.x
    return b.reshape(x, wanted)


def _keys(b: GraphBuilder, x: ir.Value, outer: Sequence[Size]) -> ir.Value:
    """[b * h, d, t] as [b, h, t, d]."""
    permute = _made_by(x, "graph.permute")
    if permute is not None and tuple(permute.permutation) in ((0, 2, 1), (1, 0)):
        return _by_heads(b, permute.x, outer)
    turned = _by_heads(b, x, outer)
    permute = _made_by(turned, "graph.permute")
    if permute is not None and tuple(permute.permutation) == _TURNED:
        return permute.x
    return b.op("permute", turned, permutation=_TURNED)


def _each_head_once(b: GraphBuilder, x: ir.Value) -> ir.Value | None:
    """Heads that were repeated, as they were before; None where they were not."""
    reshape = _made_by(x, "graph.reshape")
    repeated = x if reshape is None else reshape.x
    broadcast = _made_by(repeated, "graph.broadcast_to")
    if broadcast is None:
        return None
    source = ty.shape_of(broadcast.x.type)
    batch, _, rows, columns = ty.shape_of(x.type)
    if reshape is None:
        return broadcast.x if source == (batch, 1, rows, columns) else None
    if len(source) != 5:
        return None
    groups = source[1]
    if source != (batch, groups, 1, rows, columns):
        return None
    return b.reshape(broadcast.x, (batch, groups, rows, columns))
