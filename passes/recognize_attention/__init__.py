"""``recognize-attention``: attention that is written out becomes one op.

That is: a product of queries and keys, an elementwise function of the scores (a scale,
a soft-cap, masks, biases), softmax along the last dim, and a product with values.

Requires: functions of ``graph`` ops, before ``autograd``: then derivatives are by rule.
Establishes: where the target has kernels of that kind, such products are a
``graph.flash_attention``; its score function takes no tensor of the scores' size that
could be computed from smaller ones.

Before::

    %0 = "graph.bmm"(%q, %k_transposed) : ...
    %1 = "graph.mul"(%0, %scale) : ...
    %2 = "graph.softmax"(%1) {dim = 2 : i64} : ...
    %3 = "graph.bmm"(%2, %v) : ...

After::

    %y, %m, %l = "graph.flash_attention"(%q, %k, %v) ({ ^bb0(%s: tensor<...>):
      %1 = "graph.mul"(%s, %scale) : ...
      "graph.yield"(%1) : ... }) : ...

It does not match where anything else reads scores or weights, where weights are dropped
out, where a head is wider than 256, and where few queries see very many keys. Calls of
scaled dot product attention are ops already.

Read in this order: ``attention`` (what it consists of), ``match`` (the shape of the
program), ``operands`` (queries, keys and values behind views), ``halves`` (those that
were widened), ``score`` (the score function), ``sums`` (what products add to scores).
Source: https://arxiv.org/abs/2205.14135, https://arxiv.org/abs/2307.08691.
"""

from collections.abc import Set
from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.graph.flash_attention import FlashAttentionOp
from girih.passes.choices import named_text
from girih.passes.graph_builder import GraphBuilder, erase_dead_ops, function_bodies
from girih.passes.recognize_attention.attention import Match
from girih.passes.recognize_attention.halves import HALVES
from girih.passes.recognize_attention.match import is_plain_product, match_product
from girih.passes.recognize_attention.operands import inputs_of
from girih.passes.recognize_attention.score import fill_score
from girih.passes.recognize_attention.sums import separate_sums
from girih.passes.registry import register_pass
from girih.passes.remarks import remark

__all__ = ["RecognizeAttentionOptions", "run"]


@dataclass(frozen=True)
class RecognizeAttentionOptions:
    """Whether attention is recognized."""

    target: str = "cpu"
    """``cpu`` or ``gpu``. Only ``gpu`` has kernels for attention."""
    allow_tf32: bool = False
    """Whether products of float32 may be rounded to tf32, which tensor cores multiply.
    If not, the pass leaves attention in float32 to the library, which is faster."""


@register_pass("recognize-attention", options=RecognizeAttentionOptions)
def run(op: ir.Operation, options: RecognizeAttentionOptions) -> None:
    """Replaces attention that the program writes out by one op."""
    if options.target not in ("cpu", "gpu"):
        raise ValueError(f"target must be cpu or gpu, got {options.target!r}")
    if options.target == "cpu":
        remark(lambda: "nothing is recognized: there is no kernel on the CPU")
    else:
        elements = HALVES | {"f32"} if options.allow_tf32 else HALVES
        for block in function_bodies(op):
            _recognize(block, elements)


def _recognize(block: ir.Block, elements: Set[str]) -> None:
    # Writes through views leave ops behind whose results nobody uses.
    erase_dead_ops(block)
    separate_sums(block)
    matches = []
    for op in filter(is_plain_product, block.operations):
        match = match_product(op, elements)
        what = "attention" if match else "a product that ends no attention"
        remark(lambda op=op, what=what: f"{named_text(op)}: {what}")
        if match is not None:
            matches.append(match)
    for match in matches:
        _replace(match)
    if matches:
        erase_dead_ops(block)


def _replace(match: Match) -> None:
    """Puts the op before the last product, in its place."""
    b = GraphBuilder(match.product)
    inputs = inputs_of(b, match)
    made = FlashAttentionOp.build(
        [*inputs, list(match.score.operands)], loc=b.loc, ip=b.ip
    )
    fill_score(made.opview, match)
    b.mark(made)
    product = match.product.results[0]
    y = b.cast(made.results[0], product.type.element_type)
    product.replace_all_uses_with(b.reshape(y, ty.shape_of(product.type)))
    match.product.operation.erase()
