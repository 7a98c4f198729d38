"""``autograd``: functions get the gradients of their arguments, in reverse mode.

It resolves ``graph.gradient`` ops, in order; then each function with arguments that
``graph.requires_grad`` marks becomes a joint function, which also takes cotangents of
its results and returns gradients (docs/inside/derivatives.md).

Requires: functions of ``graph`` ops, before ``decompose``.
Establishes: no ``graph.gradient``; what was added is ``graph`` code of differentiable
ops, so the pass applies to its result: mark cotangents, drop results, run it again.

Before::

    func.func @main(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
      %0 = "graph.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0

After::

    func.func @main(%x: tensor<4xf32> {graph.requires_grad},
        %g: tensor<4xf32> {graph.cotangent = 0})
        -> (tensor<4xf32>, tensor<4xf32> {graph.gradient = 0}) {
      %0 = "graph.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = "graph.cos"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %2 = "graph.mul"(%g, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %0, %2

It does not decide what is kept for the gradients: ``partition`` does.

Read ``reverse`` first (the sweep), then ``joint`` (the signature), ``rules`` (the
tables), then a family of rules, named as the op family in ``dialects/graph``.
Source: Griewank and Walther, Evaluating Derivatives, 2nd edition, chapter 3.
"""

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.dialects.graph.differentiation import GradientOp
from girih.passes.autograd import (  # noqa: F401  (they register their rules)
    activation,
    attention,
    calls,
    complex_calls,
    contraction,
    convolution,
    creation,
    device_attention,
    differentiation,
    distances,
    elementwise,
    extern,
    flash_attention,
    functions,
    indexing,
    losses,
    normalization,
    pooling,
    random,
    random_calls,
    reduction,
    scan,
    scatter_calls,
    selection,
    shape,
    signal_calls,
)
from girih.passes.autograd.joint import make_joint
from girih.passes.autograd.reverse import gradients_of
from girih.passes.autograd.rules import (
    INACTIVE,
    NOT_DIFFERENTIABLE,
    RULES,
    VjpBuilder,
)
from girih.passes.registry import register_pass

__all__ = ["INACTIVE", "NOT_DIFFERENTIABLE", "RULES", "run"]


@dataclass(frozen=True)
class AutogradOptions:
    """What becomes of the gradients."""

    derived_again: bool = False
    """Whether the pass makes a function of the gradients of a joint function, so that
    it can be derived again."""


@register_pass("autograd", options=AutogradOptions)
def run(op: ir.Operation, options: AutogradOptions) -> None:
    """Computes the gradients that functions ask for, and makes joint functions."""
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name == "func.func" and len(function.regions[0].blocks):
            resolve_gradients(function.regions[0].blocks[0])
            make_joint(function, is_derived=options.derived_again)
            # Regions of custom derivatives, which now are in the function, may ask too.
            resolve_gradients(function.regions[0].blocks[0])


def resolve_gradients(block: ir.Block) -> None:
    """Replaces each ``graph.gradient`` by the ops that compute it."""
    while True:
        ops = list(block.operations)
        names = [op.operation.name for op in ops]
        if GradientOp.OPERATION_NAME not in names:
            return
        position = names.index(GradientOp.OPERATION_NAME)
        _resolve(ops[position], ops[:position])


def _resolve(op: GradientOp, before: list[ir.OpView]) -> None:
    seeds = zip(op.outputs, op.cotangents, strict=True)
    ip = ir.InsertionPoint(op)
    is_derived = op.create_graph is not None
    gradients = gradients_of(before, seeds, op.inputs, ip, is_derived=is_derived)
    b = VjpBuilder(ip, frozenset())
    b.loc = op.location
    found = [
        b.zeros(result.type) if gradient is None else gradient
        for result, gradient in zip(op.gradients, gradients, strict=True)
    ]
    if not is_derived:
        found = [b.op("detach", gradient) for gradient in found]
    for result, gradient in zip(op.gradients, found, strict=True):
        result.replace_all_uses_with(gradient)
    op.operation.erase()
