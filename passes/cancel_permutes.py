"""``cancel-permutes``: reductions of turned tensors run in the order of the tensors.

A norm over the channels of images that come first in memory is written as a norm over
the last dim of a permuted image, and its result is permuted back. Between the two
permutations nothing but arithmetic and reductions stands, which can do the same to
other dims. Without the permutations, what follows joins the kernel of the reduction,
and all accesses are in the order of the memory.

Requires: functions of primitives and library ops (``decompose`` ran).
Establishes: nothing that a later pass relies on.

Before::

    %0 = "graph.permute"(%x) {permutation = array<i64: 0, 2, 3, 1>}
    %1 = "graph.reduce_sum"(%0) {dims = array<i64: 3>}
    %2 = "graph.sub"(%0, %1)
    %3 = "graph.permute"(%2) {permutation = array<i64: 0, 3, 1, 2>}

After::

    %1 = "graph.reduce_sum"(%x) {dims = array<i64: 1>}
    %2 = "graph.sub"(%x, %1)
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.dims import Size
from girih.dialects.traits import ELEMENTWISE, REDUCES
from girih.passes.graph_builder import GraphBuilder, erase_dead_ops, function_bodies
from girih.passes.registry import register_pass

_PERMUTE = "graph.permute"


@register_pass("cancel-permutes")
def run(op: ir.Operation, options: None) -> None:
    """Replaces permutations there and back by reductions of other dims."""
    for block in function_bodies(op):
        order = {each: place for place, each in enumerate(block.operations)}
        found = False
        for last in list(block.operations):
            if last.operation.name == _PERMUTE and last in order:
                found |= _cancel(last, order)
        if found:
            erase_dead_ops(block)


def _cancel(last: ir.OpView, order: dict[ir.OpView, int]) -> bool:
    """Has what a permutation permutes be computed in its order; says whether it is."""
    region = _Region(last)
    if not region.is_whole(last.x) or not region.reduces:
        return False
    if not region.sources or not region.has_no_other_readers():
        return False
    region.rewrite(sorted(region.members, key=order.__getitem__))
    for member in region.members:
        order.pop(member, None)
    return True


class _Region:
    """Ops between permutations and the one that takes them back.

    Attributes:
        order: the permutation at the end.
        members: ops whose results have its rank.
        sources: permutations at the beginning, which it takes back.
        reduces: whether any of the members reduces.
    """

    def __init__(self, last: ir.OpView):
        self.order = tuple(last.permutation)
        self.members: set[ir.OpView] = set()
        self.sources: set[ir.OpView] = set()
        self.reduces = False
        self._made: dict[ir.Value, ir.Value] = {}

    def is_whole(self, value: ir.Value) -> bool:
        """Whether a value is made in the region; the ops that make it join."""
        pending = [value]
        while pending:
            value = pending.pop()
            if isinstance(value.owner, ir.Block):
                if not self._is_reshaped(value):
                    return False
                continue
            op = value.owner.opview
            if op in self.members or op in self.sources:
                continue
            if self._takes_back(op):
                self.sources.add(op)
                continue
            if not _is_member(op):
                if not self._is_reshaped(value):
                    return False
                continue
            self.members.add(op)
            self.reduces |= has(op, REDUCES)
            pending += [x for x in op.operands if not self._is_small(x)]
        return True

    def _takes_back(self, op: ir.OpView) -> bool:
        if op.operation.name != _PERMUTE or len(op.permutation) != len(self.order):
            return False
        both = [op.permutation[dim] for dim in self.order]
        return both == list(range(len(both)))

    def _is_small(self, value: ir.Value) -> bool:
        """Whether a value is a number, or has one dim: another shape is a view of it.

        What the region itself reduced is no such value, as it has the other order.
        """
        shape = _shape(value)
        if sum(size != 1 for size in shape) > 1:
            return False
        is_made = not isinstance(value.owner, ir.Block)
        return not (is_made and len(shape) == len(self.order) and _reduced(value))

    def _is_reshaped(self, value: ir.Value) -> bool:
        """Whether the other order is another shape: one size moves past ones alone.

        As the means of rows do, that a backward pass gets.
        """
        shape = _shape(value)
        if len(shape) > len(self.order):
            return False
        whole = (*(1,) * (len(self.order) - len(shape)), *shape)
        kept = [dim for dim in self.order if whole[dim] != 1]
        return kept == sorted(kept)

    def has_no_other_readers(self) -> bool:
        """Whether only the region and such permutations read what is large in it."""
        return all(
            user in self.members or self._is_end(user) or self._is_reshaped(result)
            for member in self.members
            for result in member.results
            for user in (use.owner.opview for use in result.uses)
        )

    def _is_end(self, op: ir.OpView) -> bool:
        return op.operation.name == _PERMUTE and tuple(op.permutation) == self.order

    def rewrite(self, members: Sequence[ir.OpView]) -> None:
        """Makes the members in the other order, and drops the permutations."""
        for source in self.sources:
            self._made[source.y] = source.x
        for member in members:
            self._remake(member)
        for member in members:
            for result in member.results:
                self._give(member, result)

    def _give(self, member: ir.OpView, result: ir.Value) -> None:
        """Has what is outside read what the region has made."""
        made = self._made[result]
        outside = [
            (use.owner.opview, use.operand_number)
            for use in result.uses
            if use.owner.opview not in self.members
        ]
        for user, number in outside:
            if self._is_end(user):
                user.results[0].replace_all_uses_with(made)
            else:
                back = GraphBuilder(member).reshape(made, _shape(result))
                user.operation.operands[number] = back

    def _remake(self, op: ir.OpView) -> None:
        b = GraphBuilder(op)
        operands = [self._turned(b, x, _shape(op.results[0])) for x in op.operands]
        copy = op.operation.clone(ip=ir.InsertionPoint(op)).opview
        for place, operand in enumerate(operands):
            copy.operation.operands[place] = operand
        if has(op, REDUCES):
            dims = sorted(self.order.index(dim) for dim in op.dims)
            copy.operation.attributes["dims"] = ir.DenseI64ArrayAttr.get(dims)
        for old, new in zip(op.results, copy.operation.results, strict=True):
            shape = [_shape(old)[dim] for dim in self.order]
            new.set_type(ty.tensor_type(shape, old.type.element_type))
            self._made[old] = new

    def _turned(
        self, b: GraphBuilder, value: ir.Value, result: tuple[Size, ...]
    ) -> ir.Value:
        """An operand in the other order."""
        if value in self._made:
            return self._made[value]
        shape = _shape(value)
        if not shape:
            return value
        whole = (*(1,) * (len(result) - len(shape)), *shape)
        return b.reshape(value, tuple(whole[dim] for dim in self.order))


def _is_member(op: ir.OpView) -> bool:
    """Whether an op computes each element of others at its place, or reduces dims."""
    if has(op, REDUCES):
        return "dims" in op.attributes and len(op.operands) == 1
    return has(op, ELEMENTWISE) and len(op.results) == 1


def _reduced(value: ir.Value) -> bool:
    """Whether a reduction stands before a value, at its own shape."""
    pending, seen = [value], set()
    while pending:
        value = pending.pop()
        if value in seen or isinstance(value.owner, ir.Block):
            continue
        seen.add(value)
        op = value.owner.opview
        if has(op, REDUCES):
            return True
        if has(op, ELEMENTWISE):
            pending += list(op.operands)
    return False


def _shape(value: ir.Value) -> tuple[Size, ...]:
    return ty.shape_of(value.type)
