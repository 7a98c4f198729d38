"""The backward pass: scores once more, and the products of their gradients.

With p the weights: dv = p^T dy; dp = dy v^T; ds = f'(s) (p (dp - delta)), where f is
the score function and delta the sum of dy * y over a row; dq = ds k; dk = ds^T q.
"""

from collections.abc import Callable

from girih.dialects.bindings import ir
from girih.passes.tile.gpu.attention.blocks import Blocks
from girih.passes.tile.gpu.attention.policy import Sizes, padded
from girih.passes.tile.gpu.attention.score import ScoreNodes
from girih.passes.tile.gpu.attention.space import ScoreSpace
from girih.passes.tile.gpu.attention.walk import grid, keys_of, loop, queries_of
from girih.passes.tile.gpu.plan import Block
from girih.passes.tile.sizes import is_constant

Value = ir.Value


def emit_of_query(
    blocks: Blocks, space: ScoreSpace, nodes: ScoreNodes, sizes: Sizes
) -> None:
    """Makes the grid whose programs have a block of queries each."""
    rows, columns = blocks.indices.blocks
    outer = (space.batch, space.group, space.member)
    with grid(blocks, outer, rows, sizes, nodes.visible.grows):
        query, gradient = _of_rows(blocks, space)

        def step(carried: list[Value]) -> list[Value]:
            key, value = _of_columns(blocks, space)
            scores = blocks.product(query, blocks.turned(key))
            of_weights = blocks.product(gradient, blocks.turned(value))
            _, of_scores = _weights(blocks, space, nodes, scores, of_weights)
            return [blocks.product(blocks.rounded(of_scores), key, *carried)]

        start = blocks.zeros((rows.size, padded(blocks.source.widths[0])))
        bounds = keys_of(blocks, space, nodes.visible)
        (result,) = loop(blocks, columns, [start], step, bounds)
        blocks.store("of_query", result, space.of_query(), space.rows)


def emit_of_keys(
    blocks: Blocks, space: ScoreSpace, nodes: ScoreNodes, sizes: Sizes
) -> None:
    """Makes the grid whose programs have a block of keys and values each.

    Blocks of scores are transposed, so that weights are the first factor as they are.
    """
    columns, rows = blocks.indices.blocks
    with grid(blocks, (space.batch, space.group), columns, sizes):
        key, value = _of_columns(blocks, space)

        def step(carried: list[Value]) -> list[Value]:
            of_key, of_value = carried
            query, gradient = _of_rows(blocks, space)
            scores = blocks.product(key, blocks.turned(query))
            of_weights = blocks.product(value, blocks.turned(gradient))
            weights, of_scores = _weights(blocks, space, nodes, scores, of_weights)
            of_value = blocks.product(blocks.rounded(weights), gradient, of_value)
            of_key = blocks.product(blocks.rounded(of_scores), query, of_key)
            return [of_key, of_value]

        widths = map(padded, blocks.source.widths)
        inits = [blocks.zeros((columns.size, width)) for width in widths]
        results = _over_members(blocks, space, nodes, rows, inits, step)
        for name, result in zip(("of_key", "of_value"), results, strict=True):
            blocks.store(name, result, space.of_key(), space.columns)


def _over_members(
    blocks: Blocks,
    space: ScoreSpace,
    nodes: ScoreNodes,
    rows: Block,
    inits: list[Value],
    step: Callable[[list[Value]], list[Value]],
) -> list[Value]:
    """All blocks of queries, of each head of queries that reads the keys."""
    bounds = queries_of(blocks, space, nodes.visible)

    def walk(carried: list[Value]) -> list[Value]:
        return loop(blocks, rows, carried, step, bounds)

    if is_constant(space.member.size, 1):
        return walk(inits)
    return loop(blocks, space.member, inits, walk)


def _of_rows(blocks: Blocks, space: ScoreSpace) -> list[Value]:
    names = ("query", "gradient")
    return [blocks.load(name, space.of_query(), space.rows) for name in names]


def _of_columns(blocks: Blocks, space: ScoreSpace) -> list[Value]:
    names = ("key", "value")
    return [blocks.load(name, space.of_key(), space.columns) for name in names]


def _weights(
    blocks: Blocks,
    space: ScoreSpace,
    nodes: ScoreNodes,
    scores: Value,
    of_weights: Value,
) -> tuple[Value, Value]:
    """The weights of a block, and the gradient of its scores; 0 outside."""
    given, of_result = nodes.given
    result, of_scores = nodes.results
    everywhere = (space.rows, space.columns)
    blocks.give(given, scores)
    logits = blocks.of(result)
    largest = blocks.row(nodes.rows["largest"], nodes.unit)
    share = blocks.reciprocal_row(nodes.rows["total"])
    delta = blocks.row(nodes.rows["delta"])
    less = blocks.same("arith.subf", logits, largest)
    weights = blocks.same("arith.mulf", blocks.powers(less, nodes.unit), share)
    weights = blocks.inside(weights, everywhere, 0.0)
    difference = blocks.same("arith.subf", of_weights, delta)
    blocks.give(of_result, blocks.same("arith.mulf", weights, difference))
    return weights, blocks.inside(blocks.of(of_scores), everywhere, 0.0)
