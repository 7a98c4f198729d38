"""``write-out-batch-norms``: batch norms are products and sums with constants.

In evaluation a batch norm multiplies each channel by a number and adds another one.
Written out before ``decompose`` would do it, the two numbers are seen to depend on
weights alone, so ``split-constants`` takes them away. A kernel would compute a root and
a division for each element.

Requires: ``fold-batch-norms`` and ``merge-convolutions`` ran: they know batch norms.
Establishes: no batch norm in evaluation has weights that are all ``graph.static``.

Before::

    %0 = "graph.batch_norm"(%x, %gamma, %beta, %mean, %var) {eps = 1.0e-05 : f64}

After::

    %scale = ... : tensor<8xf32>, of %gamma and %var
    %shift = ... : tensor<8xf32>, of all four
    %1 = "graph.mul"(%x, %scale as 8x1x1)
    %0 = "graph.add"(%1, %shift as 8x1x1)

The numbers are those that ``decompose`` would have computed, bit for bit.
"""

from girih.dialects.bindings import ir
from girih.passes.constant_values import constant_values
from girih.passes.decompose.normalization import decompose_batch_norm
from girih.passes.graph_builder import GraphBuilder
from girih.passes.registry import register_pass


@register_pass("write-out-batch-norms")
def run(op: ir.Operation, options: None) -> None:
    """Writes out batch norms of static weights."""
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name != "func.func":
            continue
        if not len(function.regions[0].blocks):
            continue
        constants = constant_values(function)
        for norm in list(function.regions[0].blocks[0].operations):
            if norm.operation.name != "graph.batch_norm":
                continue
            if all(value in constants for value in list(norm.operands)[1:]):
                b = GraphBuilder(norm)
                b.replace(norm, *decompose_batch_norm(norm, b))
