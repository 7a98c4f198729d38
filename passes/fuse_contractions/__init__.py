"""``fuse-contractions``: products of matrices that become kernels with their epilogue.

Requires: fusions as ``fuse`` leaves them; products are library ops.
Establishes: a product that was chosen, with the pointwise fusion that reads it, is one
``graph.fusion`` in normal form whose reduction sums ``a * b``; ``tile`` computes that
on tensor cores, or in the vector registers of a CPU. All others stay calls of the
library.

Before::

    %1 = "graph.mm"(%x, %w) : (tensor<64x256xbf16>, tensor<256x512xbf16>) -> ...
    %2 = "graph.fusion"(%1, %r) ({ ... graph.tanh, graph.add, graph.yield })

After::

    %1 = "graph.fusion"(%x, %w, %r) ({
      permute, reshape, cast (of both), mul, reduce_sum, cast
      tanh, add, yield }) {domain = [256, 64, 512], reduced = array<i64: 0>}
    %2 = "graph.reshape"(%1) : (tensor<1x64x512xbf16>) -> tensor<64x512xbf16>

Which products: those with the attribute ``girih.tuning`` (what a measurement chose; it
goes over to the fusion), none of those with ``girih.library``, and of the others those
that option ``products`` names. Several products of the same sizes that one fusion reads
share its loop. A product that others read too is stored by the fusion as well. So do
products of one left operand that nothing reads together (option ``most_alike``).

A fusion that makes the right operand of a product of few rows is computed in the
kernel, too. It leaves alone products that a fusion reads in part (slices) or that a
reduction follows.

Read in this order: ``products`` (library ops as products), ``prologue`` (what can come
before one), ``epilogue`` (what can follow), ``choice`` (the rule), ``alike`` (products
side by side), ``region`` (the new body), ``rewrite``.
"""

from dataclasses import replace

from girih.dialects.bindings import ir
from girih.passes.choices import named_text
from girih.passes.fuse_contractions.alike import with_alike
from girih.passes.fuse_contractions.choice import (
    LIBRARY,
    TUNING,
    ContractionOptions,
    is_chosen,
)
from girih.passes.fuse_contractions.epilogue import Group, group_of
from girih.passes.fuse_contractions.products import product_of
from girih.passes.fuse_contractions.rewrite import replace_group
from girih.passes.graph_builder import function_bodies
from girih.passes.registry import register_pass
from girih.passes.remarks import remark


@register_pass("fuse-contractions", options=ContractionOptions)
def run(op: ir.Operation, options: ContractionOptions) -> None:
    """Puts chosen matrix products into fusions, which become kernels."""
    for block in function_bodies(op):
        pending = [o for o in block.operations if product_of(o) is not None]
        while pending:
            group = group_of(product_of(pending.pop(0)))
            group = replace(group, computes_left=options.computes_left)
            chosen = is_chosen(group, options)
            remark(lambda g=group, yes=chosen: _choice_text(g, yes, options))
            if chosen:
                group = with_alike(group, pending, options)
                # They are erased, and must not be touched then.
                own = [each.op for each in group.products]
                pending = [o for o in pending if o not in own]
                replace_group(group)


def _choice_text(group: Group, is_kernel: bool, options: ContractionOptions) -> str:
    """Who computes products, and what decided it."""
    ops = [each.op for each in group.products]
    marks = [mark for mark in (TUNING, LIBRARY) if mark in ops[0].attributes]
    why = marks[0] if marks else f"products={options.products}"
    names = ", ".join(map(named_text, ops))
    return f"{names}: {'a kernel' if is_kernel else 'the library'} ({why})"
