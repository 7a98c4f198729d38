"""Ops on vectors of rank 2, which upstream lowers to one instruction for each element.

A vector of rank 2 is a list of rows. Reductions work on whole rows, a square is
transposed by exchanges between pairs of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.dialects.bindings import ir
from girih.passes.convert_tile_to_cpu import builder as b
from girih.passes.convert_tile_to_cpu.lowering import Lowering, lowers
from girih.passes.upstream import COMBINE

Value = ir.Value


def rows_of(vector: Value) -> list[Value]:
    """The rows of a vector of rank 2."""
    return [b.lane(vector, row) for row in range(vector.type.shape[0])]


def from_rows(rows: Sequence[Value], type: ir.VectorType) -> Value:
    """The vector of rank 2 that has these rows."""
    result = b.poison(type)
    for position, row in enumerate(rows):
        result = b.with_lane(result, row, position)
    return result


@lowers("vector.multi_reduction")
def lower_multi_reduction(lowering: Lowering, op: ir.OpView) -> None:
    """Rows against each other, or within each row, or both; rank 1 is left over."""
    source, accumulator = op.operands
    dims = list(op.attributes["reduction_dims"])
    kind = op.attributes["kind"]
    combine = _combiner(kind, source.type)
    if source.type.rank == 1 and dims == [0]:
        result = combine(accumulator, _reduce_row(source, kind))
    elif source.type.rank != 2 or not dims:
        return
    elif dims == [0]:
        result = combine(accumulator, _tree(rows_of(source), combine))
    elif dims == [1]:
        result = b.poison(accumulator.type)
        for position, row in enumerate(rows_of(source)):
            result = b.with_lane(result, _reduce_row(row, kind), position)
        result = combine(accumulator, result)
    else:
        total = _reduce_row(_tree(rows_of(source), combine), kind)
        result = combine(accumulator, total)
    op.results[0].replace_all_uses_with(result)
    op.operation.erase()


def _combiner(kind: ir.Attribute, type: ir.Type) -> Callable[[Value, Value], Value]:
    name = str(kind).removeprefix("#vector.kind<").removesuffix(">")
    is_float = isinstance(b.element_of(type), ir.FloatType)
    operation = COMBINE[name][is_float]
    return lambda lhs, rhs: b.same(operation, lhs, rhs)


def _tree(rows: list[Value], combine: Callable[[Value, Value], Value]) -> Value:
    """All rows combined pairwise: short chains, small rounding errors."""
    while len(rows) > 1:
        pairs = zip(rows[::2], rows[1::2], strict=False)
        rest = rows[-1:] if len(rows) % 2 else []
        rows = [combine(lhs, rhs) for lhs, rhs in pairs] + rest
    return rows[0]


def _reduce_row(row: Value, kind: ir.Attribute) -> Value:
    return b.value("vector.reduction", b.element_of(row.type), [row], {"kind": kind})


@lowers("vector.transpose")
def lower_transpose(lowering: Lowering, op: ir.OpView) -> None:
    """A square with 2**n rows takes n rounds; others are left to upstream."""
    (source,) = op.operands
    type = source.type
    size = type.shape[0]
    is_square = type.rank == 2 and type.shape[1] == size
    if (
        not is_square
        or size & (size - 1)
        or list(op.attributes["permutation"]) != [1, 0]
    ):
        return
    rows = rows_of(source)
    distance = 1
    while distance < size:
        rows = _exchange(rows, distance)
        distance *= 2
    op.results[0].replace_all_uses_with(from_rows(rows, type))
    op.operation.erase()


def _exchange(rows: list[Value], distance: int) -> list[Value]:
    """Swap the off-diagonal blocks of each 2 x 2 arrangement of blocks."""
    size = len(rows)
    result = list(rows)
    low = [c if not c & distance else size + c - distance for c in range(size)]
    high = [c + distance if not c & distance else size + c for c in range(size)]
    for row in range(size):
        if not row & distance:
            pair = rows[row], rows[row + distance]
            result[row] = _shuffle(pair, low)
            result[row + distance] = _shuffle(pair, high)
    return result


def _shuffle(pair: tuple[Value, Value], lanes: list[int]) -> Value:
    mask = {"mask": ir.DenseI64ArrayAttr.get(lanes)}
    return b.value("vector.shuffle", pair[0].type, list(pair), mask)
