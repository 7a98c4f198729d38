"""Checks derivatives of ``graph``: what ``autograd`` makes against torch's own.

``check_op("mul", [x, y])`` evaluates the op with torch (``girih.evaluation``), once
with torch's autograd watching and once as the joint function that the pass makes, and
compares gradients; with ``order=2`` also the derivatives of the gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from girih.dialects import graph, verifier
from girih.dialects import types as ty
from girih.dialects.bindings import func, ir
from girih.dialects.context import make_context
from girih.evaluation.reference import function_of
from girih.evaluation.state import DTYPES, State
from girih.passes.registry import run_pipeline

NAMES = {dtype: name for name, dtype in DTYPES.items()}


def tensor_type(tensor: Tensor) -> ir.Type:
    """The type of a tensor."""
    return ty.tensor_type(tuple(tensor.shape), ty.element_type(NAMES[tensor.dtype]))


def check_op(
    name: str,
    operands: Sequence[Any],
    attributes: dict | None = None,
    *,
    order: int = 2,
    result_types: Sequence[Tensor] | None = None,
    tolerance: float = 1e-9,
) -> None:
    """Compares all derivatives of one op up to an order.

    Args:
        name: The op ``graph.name``.
        operands: Tensors (float64 for accuracy), None where one is left out, a list
            for a variadic operand. Gradients of those of float type are compared.
        attributes: The op's attributes.
        order: 1 or more.
        result_types: Tensors like the results, where the op can't infer its types.
        tolerance: Absolute and relative.
    """
    tensors = [t for item in operands for t in _listed(item)]
    with make_context(), ir.Location.unknown():
        module = _module(name, operands, tensors, attributes or {}, result_types)
        check_module(module, tensors, order=order, tolerance=tolerance)


def check_module(
    module: ir.Module,
    inputs: Sequence[Tensor],
    *,
    order: int = 2,
    tolerance: float = 1e-9,
) -> None:
    """Compares all derivatives of ``@main`` by its float arguments up to an order."""
    torch.manual_seed(0)
    tensors = [t.detach().clone() for t in inputs]
    for tensor in tensors:
        tensor.requires_grad_(_is_differentiable(tensor))
    with module.context, ir.Location.unknown():
        function = function_of(module)
        reference = _results(module, tensors)
        _check_orders(module, function, tensors, reference, order, tolerance)


def _check_orders(module, function, tensors, reference, order, tolerance) -> None:
    for level in range(1, order + 1):
        _mark(function, tensors)
        run_pipeline(module, "autograd")
        verifier.verify(module.operation)
        function = function_of(module)
        cotangents = _cotangents(function, reference, level)
        wanted, actual = _gradients(module, function, [*tensors, *cotangents])
        sources = [reference[number] for number in _marks(function, "graph.cotangent")]
        expected = torch.autograd.grad(
            sources,
            [tensors[number] for number in wanted],
            cotangents,
            create_graph=True,
            allow_unused=True,
        )
        for number, one, other in zip(wanted, actual, expected, strict=True):
            other = torch.zeros_like(one) if other is None else other
            torch.testing.assert_close(
                one.detach(),
                other.detach(),
                rtol=tolerance,
                atol=tolerance,
                equal_nan=True,
                msg=lambda text, n=number, i=level: f"order {i}, argument {n}: {text}",
            )
        if level == order or not any(_needs(value) for value in expected):
            return
        tensors = [*tensors, *cotangents]
        reference = list(expected)
        _keep_gradients(function, reference)


def _needs(value: Tensor | None) -> bool:
    return value is not None and value.requires_grad


def _listed(item: Any) -> list[Tensor]:
    if item is None:
        return []
    return list(item) if isinstance(item, (list, tuple)) else [item]


def _is_differentiable(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _module(name, operands, tensors, attributes, result_types) -> ir.Module:
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("main", ([tensor_type(t) for t in tensors], []))
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        arguments = iter(block.arguments)
        values = [_values(item, arguments) for item in operands]
        types = None if result_types is None else [tensor_type(t) for t in result_types]
        op = graph.build(name, values, attributes, results=types)
        func.ReturnOp(list(op.results))
    _set_type(function, block)
    return module


def _values(item: Any, arguments) -> Any:
    if item is None:
        return None
    if isinstance(item, (list, tuple)):
        return [next(arguments) for _ in item]
    return next(arguments)


def _set_type(function: Any, block: ir.Block) -> None:
    *_, last = block.operations
    types = [a.type for a in block.arguments], [v.type for v in last.operands]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))


def _mark(function: Any, tensors: Sequence[Tensor]) -> None:
    """Asks for the gradient of each float argument; others have no attributes."""
    unit = ir.UnitAttr.get()
    marked = [{"graph.requires_grad": unit} if t.requires_grad else {} for t in tensors]
    given = [ir.DictAttr.get(attributes) for attributes in marked]
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(given)


def _results(module: ir.Module, inputs: Sequence[Tensor]) -> list:
    """The results of ``@main``, watched by torch's autograd; equal random numbers."""
    torch.manual_seed(0)
    function = function_of(module)
    block = function.regions[0].blocks[0]
    state = State(precise=False)
    for argument, value in zip(block.arguments, inputs, strict=True):
        state.bind(argument, value, None)
    return list(state.run(block))


def _marks(function: Any, name: str) -> list[int]:
    table = "arg_attrs" if name == "graph.cotangent" else "res_attrs"
    return [a[name].value for a in function.attributes[table] if name in a]


def _cotangents(function: Any, reference: Sequence[Tensor], seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    sources = [reference[number] for number in _marks(function, "graph.cotangent")]
    return [
        torch.randn(s.shape, dtype=s.dtype, generator=generator).requires_grad_()
        for s in sources
    ]


def _gradients(module, function, inputs) -> tuple[list[int], list[Tensor]]:
    wanted = _marks(function, "graph.gradient")
    results = _results(module, [t.detach() for t in inputs])
    return wanted, results[len(results) - len(wanted) :]


def _keep_gradients(function: Any, reference: list) -> None:
    """The joint function returns its gradients only: those are derived next."""
    count = len(_marks(function, "graph.gradient"))
    block = function.regions[0].blocks[0]
    *_, last = block.operations
    values = list(last.operands)[-count:]
    func.ReturnOp(values, ip=ir.InsertionPoint(last))
    last.operation.erase()
    _set_type(function, block)
    detached = {"graph.detached": ir.UnitAttr.get()}
    function.attributes["res_attrs"] = ir.ArrayAttr.get(
        [ir.DictAttr.get({} if _needs(value) else detached) for value in reference]
    )
