"""``fuse-closing-reductions``: reductions along two sets of dims in one kernel.

``fuse`` gives reductions along other dims a kernel of their own, which reads what the
first one stores. Where all elements along the reduced dim fit into a block of a GPU,
one program can reduce these, and what it computes of them along other dims, too: it
walks along the *closing* dims. Nothing of the domain's size lies between then.

Requires: fusions as ``fuse`` leaves them.
Establishes: a fusion and the one that sums up its result along other dims are one, with
the attribute ``closing``.

Before::

    %1 = "graph.fusion"(%x) ({ softmax along dim 1 })
        {domain = [64, 31, 1000], reduced = array<i64: 1>}
    %2 = "graph.fusion"(%1) ({ graph.reduce_sum along dim 2 })
        {domain = [64, 31, 1000], reduced = array<i64: 2>}

After::

    %2 = "graph.fusion"(%x) ({ softmax along dim 1, graph.reduce_sum along dim 2 })
        {closing = array<i64: 2>, domain = [64, 31, 1000], reduced = array<i64: 1>}

It leaves fusions alone where programs would be too few or too long: a program has all
elements along the reduced and the closing dims. Where a sum goes along all dims but the
last, ``closing_parts`` shares the rows out, and a second fusion sums what the programs
have.
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has, has_any
from girih.dialects.dims import Size, product
from girih.dialects.traits import ELEMENTWISE, REDUCES
from girih.passes.choices import named_text
from girih.passes.closing_parts import PartsOptions, RowsAndColumns, is_large
from girih.passes.graph_builder import function_bodies, make_fusion
from girih.passes.registry import register_pass
from girih.passes.remarks import remark


@dataclass(frozen=True)
class ClosingOptions(PartsOptions):
    """What a program may have to do."""

    held: int = 1024
    """Most elements along the reduced dim. A block holds them all."""
    elements: int = 1 << 20
    """Most elements along the reduced and the closing dims together."""
    programs: int = 264
    """Fewest instances (Triton calls them programs) of a joined kernel. Where it would
    have fewer, the pass leaves the fusions alone. The default is two for each processor
    of a large GPU."""
    unknown: int = 1 << 16
    """Replaces ``elements`` where a size is symbolic, so that the number of
    instances is not known. If there are few of them, each takes long."""


@register_pass("fuse-closing-reductions", options=ClosingOptions)
def run(op: ir.Operation, options: ClosingOptions) -> None:
    """Joins fusions with the reductions of their results along other dims."""
    for block in function_bodies(op):
        for consumer in [o for o in block.operations if _is_plain_reduction(o)]:
            for producer in _producers(consumer):
                pair = _Pair(producer, consumer)
                place = pair.place() if pair.fits(options) else None
                remark(lambda p=pair, joins=place is not None: p.text(joins))
                if place is not None:
                    pair.join(place)
                    break
        _share_rows_out(block, options)


def _share_rows_out(block: ir.Block, options: PartsOptions) -> None:
    """Joins reductions of rows with sums of columns of the same large operands."""
    pending = [op for op in block.operations if _is_fusion(op)]
    pending = [op for op in pending if is_large(op, options)]
    while pending:
        first = pending.pop(0)
        for number, second in enumerate(pending):
            pair = _rows_and_columns(first, second, options)
            parts = pair.parts() if pair is not None else None
            place = _place(first, second) if parts else None
            if place is not None:
                pair.join(place, parts)
                del pending[number]
                break


def _rows_and_columns(
    first: ir.OpView, second: ir.OpView, options: PartsOptions
) -> RowsAndColumns | None:
    """Which of two fusions sums columns, if one does."""
    for rows, columns in ((first, second), (second, first)):
        if 0 in columns.reduced and _is_plain_reduction(columns):
            return RowsAndColumns(rows, columns, options)
    return None


def _place(first: ir.OpView, second: ir.OpView) -> ir.OpView | None:
    """Before which of two ops both can stand; None where something is between."""
    order = {op.operation: n for n, op in enumerate(first.operation.block.operations)}
    start, end = order[first.operation], order[second.operation]
    made = [v.owner for v in second.operands if isinstance(v, ir.OpResult)]
    if all(order[owner] < start for owner in made):
        return first
    readers = [use.owner for value in first.results for use in value.uses]
    return second if all(order[reader] > end for reader in readers) else None


def _is_fusion(op: ir.OpView) -> bool:
    return op.operation.name == "graph.fusion"


def _is_plain_reduction(op: ir.OpView) -> bool:
    """Whether a fusion reduces once, and yields nothing but what comes of that."""
    if not _is_fusion(op) or not op.reduced or op.closing:
        return False
    *body, last = op.regions[0].blocks[0].operations
    after: set[ir.Value] = set()
    for inner in body:
        is_reduction = has(inner, REDUCES)
        follows = any(value in after for value in inner.operands)
        if is_reduction and follows:
            return False
        if is_reduction or follows:
            after.update(inner.results)
    domain = tuple(op.domain)
    return all(v in after and ty.shape_of(v.type) != domain for v in last.operands)


def _producers(consumer: ir.OpView) -> list[ir.OpView]:
    """The fusions with reductions whose results a fusion reads, the last one first."""
    owners = {v.owner: None for v in consumer.operands if isinstance(v, ir.OpResult)}
    fusions = [o.opview for o in owners if _is_fusion(o.opview) and o.opview.reduced]
    order = {o.operation: n for n, o in enumerate(consumer.operation.block.operations)}
    return sorted(fusions, key=lambda op: -order[op.operation])


@dataclass(frozen=True)
class _Pair:
    """A fusion with reductions, and one that reduces its results along other dims."""

    producer: ir.OpView
    consumer: ir.OpView

    def text(self, is_joined: bool) -> str:
        """What became of the pair, as a remark."""
        names = [named_text(op) for op in (self.consumer, self.producer)]
        return f"{names[0]} {'joins' if is_joined else 'does not join'} {names[1]}"

    # Whether it pays ----------------------------------------------------------------

    def fits(self, options: ClosingOptions) -> bool:
        """Whether one program can do both, and there are enough programs."""
        first, second = self.producer, self.consumer
        domain, held = tuple(first.domain), tuple(first.reduced)
        closing = tuple(second.reduced)
        if domain != tuple(second.domain) or {*held} & {*closing}:
            return False
        if first.closing and tuple(first.closing) != closing:
            return False
        own = _elements(domain, held)
        walked = _elements(domain, closing)
        others = [d for d in range(len(domain)) if d not in (*held, *closing)]
        programs = _elements(domain, others)
        is_known = isinstance(programs, int)
        return (
            len(held) == 1
            and all(isinstance(size, int) and size > 1 for size in (own, walked))
            and own <= options.held
            and own * walked <= (options.elements if is_known else options.unknown)
            and (not is_known or programs >= options.programs)
            and self._reads_in_place()
            and not any(_divides(fusion) for fusion in (first, second))
        )

    def _reads_in_place(self) -> bool:
        """Whether the producer's results, one of them large, are not viewed again."""
        block, is_large = self.consumer.regions[0].blocks[0], False
        pairs = zip(block.arguments, self.consumer.operands, strict=True)
        for argument, value in pairs:
            if value.owner != self.producer.operation:
                continue
            if not all(
                has_any(use.owner, ELEMENTWISE, REDUCES) for use in argument.uses
            ):
                return False
            is_large |= ty.shape_of(value.type) == tuple(self.producer.domain)
        return is_large

    def place(self) -> ir.OpView | None:
        """Before which op the joined fusion can stand; None where it can't."""
        block = self.consumer.operation.block
        order = {op.operation: n for n, op in enumerate(block.operations)}
        first = order[self.producer.operation]
        own = order[self.consumer.operation]
        made = [
            order[value.owner]
            for value in self.consumer.operands
            if isinstance(value, ir.OpResult) and value.owner != self.producer.operation
        ]
        if all(number < first for number in made):
            return self.producer
        readers = [use.owner for value in self.producer.results for use in value.uses]
        if all(order[reader.operation] >= own for reader in readers):
            return self.consumer
        return None

    # Joining ------------------------------------------------------------------------

    def join(self, place: ir.OpView) -> None:
        """Replaces both fusions by one, before an op."""
        location = self.consumer.location
        holder = ir.Operation.create(
            "graph.fusion", regions=1, loc=location, ip=ir.InsertionPoint(place)
        )
        block = holder.regions[0].blocks.append()
        inputs: dict[ir.Value, ir.Value] = {}
        yielded = self._copy(self.producer, block, inputs, {})
        made = dict(zip(self.producer.results, yielded, strict=True))
        sums = self._copy(self.consumer, block, inputs, made)
        kept = [v for v in self.producer.results if self._is_read_elsewhere(v)]
        replaced = [*kept, *self.consumer.results]
        results = [*(made[value] for value in kept), *sums]
        attributes = {
            "domain": self.producer.domain,
            "reduced": self.producer.reduced,
            "closing": self.consumer.reduced,
        }
        fusion = make_fusion(holder, list(inputs), results, attributes, place)
        for value, result in zip(replaced, fusion.results, strict=True):
            value.replace_all_uses_with(result)
        self.consumer.operation.erase()
        self.producer.operation.erase()

    def _is_read_elsewhere(self, value: ir.Value) -> bool:
        return any(use.owner != self.consumer.operation for use in value.uses)

    def _copy(
        self,
        fusion: ir.OpView,
        block: ir.Block,
        inputs: dict[ir.Value, ir.Value],
        made: dict[ir.Value, ir.Value],
    ) -> list[ir.Value]:
        """Copies a body after what is in the block; gives what it yields.

        Args:
            fusion: what is copied.
            block: where to.
            inputs: the block's argument for each value from outside; more are added.
            made: what is computed in the block.
        """
        source, end = fusion.regions[0].blocks[0], ir.InsertionPoint(block)
        known: dict[ir.Value, ir.Value] = {}
        for argument, value in zip(source.arguments, fusion.operands, strict=True):
            if value not in made and value not in inputs:
                inputs[value] = block.add_argument(value.type, value.location)
            known[argument] = made[value] if value in made else inputs[value]
        *body, last = source.operations
        for op in body:
            copy = op.operation.clone(ip=end).operation
            for number, value in enumerate(op.operands):
                copy.operands[number] = known[value]
            known.update(zip(op.results, copy.results, strict=True))
        return [known[value] for value in last.operands]


def _elements(domain: tuple[Size, ...], dims: tuple[int, ...] | list[int]) -> Size:
    return product(domain[dim] for dim in dims)


def _divides(fusion: ir.OpView) -> bool:
    """Whether a view may leave parts of dims: it changes more than dims of size 1."""
    for op in fusion.regions[0].blocks[0].operations:
        if op.operation.name == "graph.reshape":
            sizes = [
                [size for size in ty.shape_of(value.type) if size != 1]
                for value in (op.operands[0], op.results[0])
            ]
            if sizes[0] != sizes[1]:
                return True
    return False
