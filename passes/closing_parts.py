"""Sums of columns beside reductions of rows: one kernel that reads both operands once.

A norm's backward pass reduces the rows of two operands for the gradient of its input,
and sums their columns for those of its weights. Neither kernel reads what the other one
makes, so each reads both operands. Where these fit into no cache, a program takes some
rows one after the other, and adds their columns up as it goes::

    %dx = "graph.fusion"(%g, %x) {domain = [16384, 2048], reduced = array<i64: 1>}
    %dw = "graph.fusion"(%g, %x) {domain = [16384, 2048], reduced = array<i64: 0>}

    %dx, %parts = "graph.fusion"(%g', %x')
        {domain = [256, 64, 2048], reduced = array<i64: 2>, closing = array<i64: 1>}
    %dw = "graph.fusion"(%parts) {domain = [256, 2048], reduced = array<i64: 0>}

Backward passes of RMS norms in bf16 on an H200 (2026-11-28): 16384 x 2048 in 58 us in
place of 93, 32768 x 1024 in 59 in place of 91. Both passes of 16384 x 4096 in 175 us in
place of 234, of 16384 x 8192 in 337 in place of 460, of 16384 x 5120 in 236 in place of
299: a step takes one row of these, as two leave too few registers. 4096 x 4096, of
which a half stays in the cache: no difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from girih.dialects import graph
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has, has_any
from girih.dialects.traits import ELEMENTWISE, REDUCES
from girih.passes.graph_builder import make_fusion

Shape = tuple[int, ...]
Values = dict[ir.Value, ir.Value]

_SUM = "graph.reduce_sum"
_CONSTANT = "graph.constant"


@dataclass(frozen=True)
class PartsOptions:
    """Which sums of columns become parts."""

    shared_elements: int = 1 << 25
    """Fewest elements of an operand that a reduction of rows and a sum of columns read,
    for both to be one kernel. Fewer may stay in the cache."""
    least_row: int = 512
    """Fewest elements of a row of such a kernel."""
    row: int = 8192
    """Most elements of a row of such a kernel."""
    short_row: int = 1024
    """Rows of at most so many elements leave registers for twice as many instances of
    such a kernel."""
    row_programs: int = 264
    """Most instances of such a kernel, for rows that are not short."""


_IDLE = 16
"""Of so many places for programs one may be empty."""
_POINT_BYTES = 8
"""Most bytes that a point of the domain reads. Three steps of two rows of 2048 are
under way, so two programs share the 227 KiB of a processor; or of one row of 8192, for
one program."""


def is_large(fusion: ir.OpView, options: PartsOptions) -> bool:
    """Whether operands of a fusion with reductions may leave the cache."""
    domain = tuple(fusion.domain)
    return (
        bool(fusion.reduced)
        and all(isinstance(size, int) for size in domain)
        and math.prod(domain) >= options.shared_elements
    )


@dataclass(frozen=True)
class RowsAndColumns:
    """A fusion that reduces rows, and one that sums columns of the same operands."""

    rows: ir.OpView
    columns: ir.OpView
    options: PartsOptions

    def parts(self) -> int | None:
        """How many programs share the rows; None where the fusions stay two."""
        domain = tuple(self.rows.domain)
        last = len(domain) - 1
        if domain != tuple(self.columns.domain) or last < 1:
            return None
        if self.rows.closing or tuple(self.rows.reduced) != (last,):
            return None
        if tuple(self.columns.reduced) != tuple(range(last)):
            return None
        is_worth = self._pays(domain) and not self._are_dependent()
        if not is_worth or not self._is_plain():
            return None
        return self._programs(math.prod(domain[:-1]), domain[-1])

    def _pays(self, domain: Shape) -> bool:
        options, row = self.options, domain[-1]
        rows, columns = {*self.rows.operands}, {*self.columns.operands}
        large = {v for v in rows | columns if ty.shape_of(v.type) == domain}
        count = sum(ty.byte_width(value.type.element_type) for value in large)
        is_row = options.least_row <= row <= options.row
        return is_row and bool(large & rows & columns) and count <= _POINT_BYTES

    def _programs(self, count: int, row: int) -> int | None:
        """The most equal parts of the rows that leave few processors idle."""
        options = self.options
        most = options.row_programs * (2 if row <= options.short_row else 1)
        least = most - most // _IDLE - 1
        parts = range(most, least, -1)
        return next((n for n in parts if count % n == 0 and count > n), None)

    def _are_dependent(self) -> bool:
        pairs = (self.rows, self.columns), (self.columns, self.rows)
        return any(
            value.owner == made.operation
            for made, reader in pairs
            for value in reader.operands
            if isinstance(value, ir.OpResult)
        )

    def _is_plain(self) -> bool:
        """Whether shapes alone say at which points each value stands."""
        for fusion in (self.rows, self.columns):
            *body, _ = fusion.regions[0].blocks[0].operations
            values = [*fusion.operands, *(v for op in body for v in op.results)]
            if not all(self._is_placed(ty.shape_of(value.type)) for value in values):
                return False
            if not all(
                op.operation.name == _CONSTANT or has_any(op, ELEMENTWISE, REDUCES)
                for op in body
            ):
                return False
        return self._ends_with_sums()

    def _is_placed(self, shape: Shape) -> bool:
        """Whether a value stands at each row, or at none."""
        leading = tuple(self.rows.domain)[:-1]
        return len(shape) <= 1 or shape[:-1] in (leading, (1,) * len(leading))

    def _ends_with_sums(self) -> bool:
        """Whether columns are summed in float32, and what follows needs little else."""
        body, after = self._split_columns()
        sums = [op for op in body if has(op, REDUCES)]
        given = {op.results[0] for op in sums}
        given.update(v for op in body if _is_constant(op) for v in op.results)
        given.update(v for op in after for v in op.results)
        end = self.columns.regions[0].blocks[0].operations[-1]
        f32 = ir.F32Type.get()
        return (
            all(
                op.operation.name == _SUM and op.results[0].type.element_type == f32
                for op in sums
            )
            and all(value in given for op in (*after, end) for value in op.operands)
            and not any(has(op, REDUCES) for op in after)
        )

    def _split_columns(self) -> tuple[list[ir.OpView], list[ir.OpView]]:
        """The ops up to the sums of columns, and those that need these."""
        body: list[ir.OpView] = []
        after: list[ir.OpView] = []
        summed: set[ir.Value] = set()
        for op in list(self.columns.regions[0].blocks[0].operations)[:-1]:
            follows = any(value in summed for value in op.operands)
            (after if follows else body).append(op)
            if follows or has(op, REDUCES):
                summed.update(op.results)
        return body, after

    # Joining ------------------------------------------------------------------------

    def join(self, place: ir.OpView, parts: int) -> None:
        """Replaces both fusions by one, before an op, and a sum of its parts."""
        domain = tuple(self.rows.domain)
        new = (parts, math.prod(domain[:-1]) // parts, domain[-1])

        def moved(shape: Shape) -> Shape:
            if len(shape) > 1 and shape[:-1] == domain[:-1]:
                return (*new[:2], shape[-1])
            return shape[-1:]

        location = ir.Location.fused([self.rows.location, self.columns.location])
        before, after = self._split_columns()
        sums = [op.results[0] for op in before if has(op, REDUCES)]
        *rows, end = self.rows.regions[0].blocks[0].operations
        with location, ir.InsertionPoint(place):
            joint = _Body(moved)
            joint.bind(self.rows)
            joint.copy(rows, 2)
            joint.bind(self.columns)
            joint.copy(before, 1)
            attributes = {"domain": new, "reduced": [2], "closing": [1]}
            made = joint.finish([*end.operands, *sums], attributes, place)
            count = len(self.rows.results)
            partial = dict(zip(sums, made[count:], strict=True))
            constants = [op for op in before if _is_constant(op)]
            final = self._final(partial, [*constants, *after], (parts, new[2]), place)
            replaced = [*self.rows.results, *self.columns.results]
            for value, by in zip(replaced, [*made[:count], *final], strict=True):
                value.replace_all_uses_with(_viewed(by, ty.shape_of(value.type)))
        self.columns.operation.erase()
        self.rows.operation.erase()

    def _final(
        self,
        partial: Values,
        after: Sequence[ir.OpView],
        domain: Shape,
        place: ir.OpView,
    ) -> list[ir.Value]:
        """The sums of the parts, and what follows them."""
        body = _Body(lambda shape: (1, *shape[-1:]) if shape else shape)
        for value, parts in partial.items():
            summed = body.take(_viewed(parts, domain))
            attributes = {"dims": [0]}
            with ir.InsertionPoint(body.block):
                sums = graph.build("reduce_sum", [summed], attributes)
            body.known[value] = sums.results[0]
        body.copy(after, 0)
        end = self.columns.regions[0].blocks[0].operations[-1]
        attributes = {"domain": domain, "reduced": [0]}
        return body.finish(end.operands, attributes, place)


class _Body:
    """The body of a fusion while it is made of those of others.

    Attributes:
        block: its ops.
        known: what values of the others are in it.
    """

    def __init__(self, moved: Callable[[Shape], Shape]):
        self._moved = moved
        self._inputs: Values = {}
        self._holder = ir.Operation.create("graph.fusion", regions=1)
        self.block = self._holder.regions[0].blocks.append()
        self.known: Values = {}
        self._views: dict[tuple[ir.Value, Shape], ir.Value] = {}

    def take(self, value: ir.Value) -> ir.Value:
        """The argument that stands for a value of the function."""
        if value not in self._inputs:
            argument = self.block.add_argument(value.type, value.location)
            self._inputs[value] = argument
        return self._inputs[value]

    def bind(self, fusion: ir.OpView) -> None:
        """Gives the arguments of a fusion their values, viewed as they are here."""
        block = fusion.regions[0].blocks[0]
        for argument, value in zip(block.arguments, fusion.operands, strict=True):
            shape = self._moved(ty.shape_of(value.type))
            key = (value, shape)
            if key not in self._views:
                self._views[key] = _viewed(value, shape)
            self.known[argument] = self.take(self._views[key])

    def copy(self, ops: Sequence[ir.OpView], dim: int) -> None:
        """Copies ops, of which reductions go along a dim."""
        for op in ops:
            copy = op.operation.clone(ip=ir.InsertionPoint(self.block)).operation
            for number, value in enumerate(op.operands):
                copy.operands[number] = self.known[value]
            for old, new in zip(op.results, copy.results, strict=True):
                shape = self._moved(ty.shape_of(old.type))
                if has(op, REDUCES):
                    operand = list(ty.shape_of(copy.operands[0].type))
                    shape = (*operand[:dim], 1, *operand[dim + 1 :])
                new.set_type(ty.tensor_type(shape, old.type.element_type))
                self.known[old] = new
            if has(op, REDUCES):
                copy.attributes["dims"] = ir.DenseI64ArrayAttr.get([dim])

    def finish(
        self, values: Sequence[ir.Value], attributes: dict, place: ir.OpView
    ) -> list[ir.Value]:
        """Makes the fusion, which yields what is known of values."""
        yielded = [self.known[value] for value in values]
        holder, inputs = self._holder, list(self._inputs)
        return list(make_fusion(holder, inputs, yielded, attributes, place).results)


def _is_constant(op: ir.OpView) -> bool:
    return op.operation.name == _CONSTANT


def _viewed(value: ir.Value, shape: Shape) -> ir.Value:
    """The value with another shape of as many elements."""
    if ty.shape_of(value.type) == shape:
        return value
    type_ = ty.tensor_type(shape, value.type.element_type)
    return graph.build("reshape", [value], results=[type_]).results[0]
