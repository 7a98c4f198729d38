"""The forward pass: softmax over blocks of keys that are seen once."""

from collections.abc import Callable

from girih.dialects.bindings import ir
from girih.passes.tile.gpu.attention.blocks import LOWEST, Blocks
from girih.passes.tile.gpu.attention.policy import Sizes, padded
from girih.passes.tile.gpu.attention.score import ScoreNodes
from girih.passes.tile.gpu.attention.space import ScoreSpace
from girih.passes.tile.gpu.attention.visible import without_mask
from girih.passes.tile.gpu.attention.walk import clear_end, grid, keys_of, loop
from girih.passes.tile.nodes import Node

Value = ir.Value


def emit_forward(
    blocks: Blocks, space: ScoreSpace, nodes: ScoreNodes, sizes: Sizes
) -> None:
    """Makes the grid whose programs have a block of queries each."""
    rows, columns = blocks.indices.blocks
    outer = (space.batch, space.group, space.member)
    with grid(blocks, outer, rows, sizes, nodes.visible.grows):
        query = blocks.load("query", space.of_query(), space.rows)
        inits = [
            blocks.zeros((rows.size,), LOWEST),
            blocks.zeros((rows.size,)),
            blocks.zeros((rows.size, padded(blocks.source.widths[1]))),
        ]
        low, high = keys_of(blocks, space, nodes.visible)
        end = clear_end(blocks, space, nodes.visible)
        if end is not None:
            clear = without_mask(nodes.results[0], space)
            step = _step(blocks, space, nodes, query, clear)
            inits = loop(blocks, columns, inits, step, (low, end), is_clear=True)
            low = end
        step = _step(blocks, space, nodes, query, nodes.results[0])
        largest, total, sums = loop(blocks, columns, inits, step, (low, high))
        spread = blocks.spread(total, space.rows, _shape(sums))
        y = blocks.quotient(sums, spread)
        blocks.store("y", y, space.of_query(), space.rows)
        largest = blocks.scaled(largest, 1 / nodes.unit)
        for name, row in (("largest", largest), ("total", total)):
            blocks.store_rows(name, row, space.of_query(), space.rows)


def _step(
    blocks: Blocks, space: ScoreSpace, nodes: ScoreNodes, query: Value, result: Node
) -> Callable[[list[Value]], list[Value]]:
    """Takes in a block of keys: largest score, sum of powers, weighted values.

    ``result`` is what logits are there.
    """

    def step(carried: list[Value]) -> list[Value]:
        old, total, sums = carried
        key = blocks.load("key", space.of_key(), space.columns)
        value = blocks.load("value", space.of_key(), space.columns)
        blocks.give(nodes.given[0], blocks.product(query, blocks.turned(key)))
        logits = blocks.inside(blocks.of(result), (space.columns,), LOWEST)
        largest = blocks.over_columns("maximumf", logits, old)
        base = finite(blocks, largest)
        spread = blocks.spread(base, space.rows)
        less = blocks.same("arith.subf", logits, spread)
        powers = blocks.powers(less, nodes.unit)
        shrink = blocks.powers(blocks.same("arith.subf", old, base), nodes.unit)
        total = blocks.same("arith.mulf", total, shrink)
        total = blocks.over_columns("add", powers, total)
        wide = blocks.spread(shrink, space.rows, _shape(sums))
        sums = blocks.same("arith.mulf", sums, wide)
        sums = blocks.product(blocks.rounded(powers), value, sums)
        return [largest, total, sums]

    return step


def finite(blocks: Blocks, largest: Value) -> Value:
    """0 instead of -inf: what is subtracted where all scores so far are -inf."""
    b = blocks.at(_shape(largest))
    is_lowest = b.compare_floats("oeq", largest, b.constant(LOWEST, "f32"))
    return b.select(is_lowest, b.constant(0.0, "f32"), largest)


def _shape(value: Value) -> tuple[int, ...]:
    return tuple(ir.VectorType(value.type).shape)
