"""From a function to its gradients as a function, which has derivatives again."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from girih.codegen.runtime.kept import OverwrittenError
from girih.compiler.lowering import Lowering
from girih.compiler.modules import functions_of
from girih.dialects import graph, keys
from girih.dialects.bindings import ir
from girih.dialects.graph.differentiation import GradientOp
from girih.passes.autograd import resolve_gradients
from girih.passes.autograd.joint import Signature
from girih.passes.graph_builder import erase_dead_ops

# Marks what an argument was before the program wrote it.
_BEFORE = keys.BEFORE_WRITE

# Marks an argument that is the value of a result.
_VALUE = keys.VALUE


def make_gradient_function(
    module: ir.Module,
    lowering: Lowering,
    results: Sequence[int],
    marked: Sequence[bool] | None,
    copied: Collection[int],
    inner: Sequence[int] = (),
) -> tuple[int, ...]:
    """Makes ``@main`` the function from arguments and cotangents to gradients.

    Between these come the values of inner results, for which there are gradients, too:
    the function goes no further than to them.

    Args:
        module: With the function from arguments to results.
        lowering: Runs the pass.
        results: Numbers of the results that have a cotangent.
        marked: Which of these cotangents require a gradient; None: nothing does.
        copied: Numbers of arguments that are passed as they were before the program
            wrote them.
        inner: Numbers of the inner results, and of those among ``results`` whose value
            is an argument to what the gradients are computed of.

    Returns:
        For each result of the function the number of the argument it belongs to; inner
        results count behind the arguments.
    """
    function = functions_of(module)["main"]
    if inner:  # what the program itself derives goes through them
        resolve_gradients(function.regions[0].blocks[0])
    signature = Signature.of(function)
    for number, attributes in enumerate(signature.results):
        if number not in results:
            attributes[keys.DETACHED] = ir.UnitAttr.get()
    _cut(function, signature, inner, results)
    signature.apply(function)
    _read_after_writes(function, signature, copied)
    lowering.run("gradients", module.operation)
    function = functions_of(module)["main"]
    signature = Signature.of(function)
    _give_values(function, signature, inner, results, marked is not None)
    flags = iter(marked or [False] * len(results))
    for attributes in signature.arguments:
        if marked is None:
            attributes.pop(keys.REQUIRES_GRAD, None)
        if attributes.pop(keys.COTANGENT, None) is not None and next(flags):
            attributes[keys.REQUIRES_GRAD] = ir.UnitAttr.get()
    kept = [
        (value, attributes)
        for value, attributes in zip(signature.values, signature.results, strict=True)
        if keys.GRADIENT in attributes
    ]
    signature.values = [value for value, _ in kept]
    signature.results = [attributes for _, attributes in kept]
    for attributes in signature.results:
        attributes.pop(keys.REACHED_BY, None)
    numbers = tuple(a.pop(keys.GRADIENT).value for a in signature.results)
    signature.apply(function)
    erase_dead_ops(function.regions[0].blocks[0])
    _refuse_overwritten(function)
    return numbers


def _cut(
    function: ir.OpView,
    signature: Signature,
    inner: Sequence[int],
    results: Sequence[int],
) -> None:
    """Has all that is computed of inner results be computed of arguments instead."""
    block = function.regions[0].blocks[0]
    for number in inner:
        value = signature.values[number]
        argument = block.add_argument(value.type, function.location)
        if number in results:
            signature.arguments.append({_VALUE: ir.UnitAttr.get()})
            continue
        value.replace_all_uses_with(argument)
        signature.values = [
            argument if other == value and place != number else other
            for place, other in enumerate(signature.values)
        ]
        signature.arguments.append({keys.REQUIRES_GRAD: ir.UnitAttr.get()})


def _give_values(
    function: ir.OpView,
    signature: Signature,
    inner: Sequence[int],
    results: Sequence[int],
    are_derived: bool,
) -> None:
    """Has gradients be computed of the values of results that are given."""
    block = function.regions[0].blocks[0]
    given = zip(block.arguments, signature.arguments, strict=True)
    arguments = [
        (value, attributes) for value, attributes in given if _VALUE in attributes
    ]
    numbers = [number for number in inner if number in results]
    for number, (argument, attributes) in zip(numbers, arguments, strict=True):
        del attributes[_VALUE]
        if are_derived:
            attributes[keys.REQUIRES_GRAD] = ir.UnitAttr.get()
        signature.values[number].replace_all_uses_with(argument)


def _read_after_writes(
    function: ir.OpView, signature: Signature, copied: Collection[int]
) -> None:
    """Has other arguments that the program writes read as they are after the call.

    That is all there is when a derivative of higher order is computed. What they were
    before is an ``alias`` that nothing may need in the end.
    """
    block = function.regions[0].blocks[0]
    for value, given in zip(signature.values, signature.results, strict=True):
        if keys.WRITES not in given or given[keys.WRITES].value in copied:
            continue
        argument = block.arguments[given[keys.WRITES].value]
        ip = ir.InsertionPoint.at_block_begin(block)
        alias = graph.build("alias", [argument], loc=function.location, ip=ip)
        alias.attributes[_BEFORE] = given[keys.WRITES]
        argument.replace_all_uses_except(alias.result, alias)
        value.replace_all_uses_with(argument)
        _derive_by(argument, alias.result)


def _derive_by(argument: ir.Value, before: ir.Value) -> None:
    """Has gradients that the program asks for be those by the argument itself.

    It is what the value before the write and the one behind it have in common.
    """
    for use in list(before.uses):
        op, place = use.owner, use.operand_number
        if isinstance(op, GradientOp):
            first = len(op.outputs)
            if first <= place < first + len(op.inputs):
                op.operation.operands[place] = argument


def _refuse_overwritten(function: ir.OpView) -> None:
    """Raises where what an argument was before the call would have to be known."""
    for op in function.regions[0].blocks[0].operations:
        if _BEFORE in op.attributes:
            number = op.attributes[_BEFORE].value
            raise OverwrittenError(
                "one of the variables needed for gradient computation has been "
                f"modified by an inplace operation: argument {number} of a compiled "
                "graph, which the graph itself writes"
            )
