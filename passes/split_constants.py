"""``split-constants``: what depends on weights alone is a function of its own.

``@constants`` takes parameters and buffers. The run time calls it when one of them has
changed, keeps what it returns, and gives that to ``@main`` at each call.

Requires: nothing. ``fold-batch-norms`` and ``pack-convolutions`` make more constants.
Establishes: no op of ``@main`` computes from arguments with ``graph.static`` alone,
except views of arguments and what shares memory with a result. The last arguments of
``@main`` are the results of ``@constants``, in order. Each argument of ``@constants``
has ``graph.argument``: its number in ``@main``. Without such ops nothing changes.

Before::

    func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32> {graph.static})
        -> tensor<4xf32> {
      %0 = "graph.exp"(%w) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = "graph.mul"(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %1

After::

    func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32> {graph.static},
        %0: tensor<4xf32> {graph.constant}) -> tensor<4xf32> {
      %1 = "graph.mul"(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %1
    func.func @constants(%w: tensor<4xf32> {graph.argument = 1, graph.static})
        -> (tensor<4xf32> {graph.equal = 0}) {
      %0 = "graph.exp"(%w) : (tensor<4xf32>) -> tensor<4xf32>
      return %0

It leaves what takes much more memory than the weights (``constant_values``), and
everything in functions other than ``@main``.
"""

from girih.dialects import attributes as attr
from girih.dialects import keys
from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import VIEW
from girih.passes.autograd.joint import Signature
from girih.passes.constant_values import constant_values
from girih.passes.graph_builder import copy_ops, erase_dead_ops, made_of
from girih.passes.registry import register_pass

NAME = "constants"
"""What the function is called."""


@register_pass("split-constants")
def run(op: ir.Operation, options: None) -> None:
    """Moves what depends on weights alone to a function of its own."""
    for function in list(op.regions[0].blocks[0].operations):
        is_function = function.operation.name == "func.func"
        if is_function and function.attributes["sym_name"].value == "main":
            _split(function)


def _split(function: ir.OpView) -> None:
    block = function.regions[0].blocks[0]
    cuts = _cuts(block, constant_values(function))
    if not cuts:
        return
    signature = Signature.of(function)
    _make_constants(function, signature, cuts)
    for value in cuts:
        taken = block.add_argument(value.type, value.owner.location)
        value.replace_all_uses_with(taken)
        signature.arguments.append({keys.CONSTANT: ir.UnitAttr.get()})
    signature.values = list(block.operations[len(block.operations) - 1].operands)
    signature.apply(function)
    erase_dead_ops(block)


def _cuts(block: ir.Block, constants: set[ir.Value]) -> list[ir.Value]:
    """The constants that ops of the rest need, in order; of views what they show."""
    found: dict[ir.Value, None] = {}
    for op in block.operations:
        if any(result in constants for result in op.results):
            continue
        for value in op.operands:
            while value in constants and not isinstance(value.owner, ir.Block):
                if not has(value.owner, VIEW):
                    found.setdefault(value)
                    break
                value = value.owner.operands[0]
    return list(found)


def _make_constants(
    function: ir.OpView, signature: Signature, cuts: list[ir.Value]
) -> None:
    """The function that computes values, with what they are made of."""
    block = function.regions[0].blocks[0]
    needed = made_of(cuts)
    type_ = ir.TypeAttr.get(ir.FunctionType.get([], []))
    attributes = {"sym_name": ir.StringAttr.get(NAME), "function_type": type_}
    if keys.DEVICE in function.attributes:
        attributes[keys.DEVICE] = function.attributes[keys.DEVICE]
    made = ir.Operation.create(
        "func.func",
        attributes=attributes,
        regions=1,
        loc=function.location,
        ip=ir.InsertionPoint.after(function),
    )
    body = made.regions[0].blocks.append()
    end = ir.InsertionPoint(body)
    values: dict[ir.Value, ir.Value] = {}
    given = []
    for number, argument in enumerate(block.arguments):
        if argument in needed:
            values[argument] = body.add_argument(argument.type, function.location)
            own = {keys.ARGUMENT: attr.INT.encode(number)}
            given.append(signature.arguments[number] | own)
    copy_ops(block, needed, values, end)
    ir.Operation.create("func.return", loc=function.location, ip=end)
    results = [values[value] for value in cuts]
    # Nobody writes a constant, so what turns out to be equal is one tensor.
    equal = [{keys.EQUAL: attr.INT.encode(0)} for _ in cuts]
    Signature(given, equal, results).apply(made.opview)
