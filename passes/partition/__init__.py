"""``partition``: a joint function becomes a forward and a backward function.

Requires: joint functions of primitives and library ops (``decompose`` ran), whose
cotangents and gradients come last.
Establishes: no op of ``@main`` depends on a cotangent. ``@backward`` (``@f_backward``
for another function ``@f``) takes what it needs of the arguments, results and saved
values of ``@main``, then the cotangents; the sum of what is saved, read and computed
again is the least there is (see ``costs``).

Before::

    func.func @main(%x: tensor<4xf32> {graph.requires_grad},
        %g: tensor<4xf32> {graph.cotangent = 0})
        -> (tensor<4xf32>, tensor<4xf32> {graph.gradient = 0}) {
      %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = "graph.mul"(%g, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %0, %1

After::

    func.func @main(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
      %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0
    func.func @backward(%y: tensor<4xf32> {graph.saved = "out0"},
        %g: tensor<4xf32> {graph.cotangent = 0})
        -> (tensor<4xf32> {graph.gradient = 0}) {
      %0 = "graph.mul"(%g, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %0

It never runs an op with effects twice, and a library op only where
``torch.utils.checkpoint`` or the memory budget asks for it.

``print-partition`` prints what ``partition`` would save and changes nothing.

Read in this order: ``program`` (the records), ``reader``, ``usage`` (who needs what),
``costs``, ``plan``, ``cut`` and ``max_flow`` (the choice), ``order``, ``split`` and
``strides`` (the result), ``report``.
Source: Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016 (computing
again); He and Yu, Transcending Runtime-Memory Tradeoffs in Checkpointing by being
Fusion Aware, MLSys 2023 (as a minimum cut).
"""

from collections.abc import Iterator

from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.passes.choices import Choices, place_text
from girih.passes.partition.plan import PartitionOptions, make_plan
from girih.passes.partition.reader import JointReader
from girih.passes.partition.report import plan_text
from girih.passes.partition.split import split
from girih.passes.registry import register_pass
from girih.passes.remarks import remark

__all__ = ["PartitionOptions", "print_partition", "run"]


@register_pass("partition", options=PartitionOptions)
def run(op: ir.Operation, options: PartitionOptions) -> None:
    """Splits joint functions into forward and backward functions."""
    choices = Choices(options)
    for function in list(_joint_functions(op)):
        reader = JointReader(function, options.symbol_hint)
        plan = make_plan(
            reader.program,
            options,
            choices,
            lambda position, ops=reader.operations: place_text(ops[position].location),
        )
        remark(lambda r=reader, plan=plan: plan_text(r.program, plan))
        split(function, reader, plan)


@register_pass("print-partition", options=PartitionOptions)
def print_partition(op: ir.Operation, options: PartitionOptions) -> None:
    """Prints what partition would save and compute again."""
    for function in _joint_functions(op):
        reader = JointReader(function, options.symbol_hint)
        print(plan_text(reader.program, make_plan(reader.program, options)))


def _joint_functions(module: ir.Operation) -> Iterator[ir.OpView]:
    for op in module.regions[0].blocks[0].operations:
        is_function = op.operation.name == "func.func"
        if is_function and len(op.regions[0].blocks) and _is_joint(op):
            yield op


def _is_joint(function: ir.OpView) -> bool:
    """Whether some result is a gradient, and what is saved is not decided yet."""
    has = {
        given[index].name
        for name in ("arg_attrs", "res_attrs")
        if name in function.attributes
        for given in function.attributes[name]
        for index in range(len(given))
    }
    return keys.GRADIENT in has and keys.SAVED not in has
