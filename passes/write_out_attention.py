"""``write-out-attention``: attention kernels become matrix products and softmax again.

For targets without these kernels, and for derivatives beyond the first, which are those
of the formula.

Requires: functions of ``graph`` ops, before ``decompose``.
Establishes: no ``graph.flash_attention``. Its backward op stays: a function that has it
was made for a target that takes it.

Before::

    %y, %m, %l = "graph.flash_attention"(%q, %k, %v) ({ ^bb0(%s: tensor<1x2x8x8xf32>):
      "graph.yield"(%s) : (tensor<1x2x8x8xf32>) -> () }) : ...

After::

    %0 = "graph.permute"(%k) {permutation = array<i64: 0, 2, 1>} : ...
    %s = "graph.bmm"(%q, %0) : ...
    %w = "graph.softmax"(%s) {dim = 3 : i64} : ...
    %y = "graph.bmm"(%w, %v) : ...

It does not undo what recognition saw through: heads of keys that several heads of
queries read are repeated by a broadcast.
"""

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size, product
from girih.dialects.graph.flash_attention import FlashAttentionOp
from girih.passes.graph_builder import GraphBuilder, function_bodies
from girih.passes.registry import register_pass


@register_pass("write-out-attention")
def run(op: ir.Operation, options: None) -> None:
    """Replaces each attention kernel by the ops that it computes."""
    for block in function_bodies(op):
        for inner in list(block.operations):
            if FlashAttentionOp.of(inner) is not None:
                _replace(inner)


def _replace(op: FlashAttentionOp) -> None:
    b = GraphBuilder(op)
    operands = [op.query, op.key, op.value, *op.operands_of_score]
    logits = written_logits(b, operands, op.block)
    values = [written_result(b, logits, op.value), *written_statistics(b, logits)]
    for old, new in zip(op.results, values, strict=True):
        old.replace_all_uses_with(new)
    op.operation.erase()


def written_logits(
    b: GraphBuilder, operands: Sequence[ir.Value], block: ir.Block
) -> ir.Value:
    """What softmax is taken of.

    Args:
        b: makes the ops.
        operands: query, key, value, and those of the score function.
        block: the score function, of the forward op.
    """
    query, key, _, *others = operands
    batch, heads, rows, _ = ty.shape_of(query.type)
    columns = ty.shape_of(key.type)[2]
    turned = b.op("permute", _matrices(b, key, heads), permutation=(0, 2, 1))
    scores = b.op("bmm", _matrices(b, query, heads), turned)
    scores = b.reshape(scores, (batch, heads, rows, columns))
    return inlined(b, block, [scores, *others])[0]


def written_result(b: GraphBuilder, logits: ir.Value, value: ir.Value) -> ir.Value:
    """softmax(logits) @ value."""
    batch, heads, rows, columns = ty.shape_of(logits.type)
    weights = b.op("softmax", logits, dim=3)
    weights = b.cast(weights, value.type.element_type)
    matrices = b.reshape(weights, (product((batch, heads)), rows, columns))
    y = b.op("bmm", matrices, _matrices(b, value, heads))
    return b.reshape(y, (batch, heads, rows, ty.shape_of(value.type)[3]))


def written_statistics(b: GraphBuilder, logits: ir.Value) -> list[ir.Value]:
    """The largest logit of each row, and the sum of powers of the others less that."""
    x = b.widened(logits)
    largest = b.op("reduce_max", x, dims=(3,))
    powers = b.op("exp", b.op("sub", x, largest))
    total = b.op("reduce_sum", powers, dims=(3,))
    return [b.reshape(row, ty.shape_of(x.type)[:3]) for row in (largest, total)]


def inlined(
    b: GraphBuilder, block: ir.Block, arguments: Sequence[ir.Value]
) -> list[ir.Value]:
    """Copies a region's ops to where ``b`` stands; returns what it yields."""
    values = dict(zip(block.arguments, arguments, strict=True))
    *body, last = block.operations
    for op in body:
        copy = op.operation.clone(ip=b.ip)
        for index, operand in enumerate(op.operands):
            copy.operation.operands[index] = values[operand]
        values.update(zip(op.results, copy.operation.results, strict=True))
    return [values[value] for value in last.operands]


def _matrices(b: GraphBuilder, x: ir.Value, heads: Size) -> ir.Value:
    """[b, h_kv, n, d] as [b * h, n, d]; each head as often as queries read it."""
    batch, groups, rows, columns = ty.shape_of(x.type)
    if groups != heads:
        each = heads // groups
        x = b.reshape(x, (batch, groups, 1, rows, columns))
        shape = (batch, groups, each, rows, columns)
        x = b.typed("broadcast_to", [x], shape, x.type.element_type)
    return b.reshape(x, (product((batch, heads)), rows, columns))
