"""Derivatives of attention kernels against torch's: the kernel's, and of formulas."""

from __future__ import annotations

import pytest
import torch
from derivatives import check_module, tensor_type

from girih.dialects import graph
from girih.dialects import types as ty
from girih.dialects.bindings import func, ir
from girih.dialects.context import make_context
from girih.passes.graph_builder import GraphBuilder


def operands_of(*, groups: int = 2, bias: tuple[int, ...] = ()) -> list:
    query = torch.randn(2, 2, 4, 3, dtype=torch.float64)
    key = torch.randn(2, groups, 5, 3, dtype=torch.float64)
    value = torch.randn(2, groups, 5, 6, dtype=torch.float64)
    return [query, key, value] + [torch.randn(bias, dtype=torch.float64)] * bool(bias)


def soft_cap(b: GraphBuilder, scores, *others):
    """Tanh of the scores, and a bias where there is one."""
    capped = b.op("tanh", b.op("mul", scores, b.like(0.6, scores)))
    return b.op("add", capped, *others) if others else capped


def squared(b: GraphBuilder, scores, *others):
    """A function whose derivative uses the scores."""
    return b.op("mul", scores, scores)


def without_scores(b: GraphBuilder, scores, *others):
    """A function that the scores have no part in."""
    shape = ty.shape_of(scores.type)
    return b.typed("full", [], shape, scores.type.element_type, value=0.5)


def check(operands: list, score=soft_cap, *, order: int) -> None:
    """Compares derivatives of the first result; the second is for the kernel's use."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([tensor_type(t) for t in operands], []))
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            op = _attention(list(block.arguments), score)
            func.ReturnOp([op.results[0]])
        types = [a.type for a in block.arguments], [op.results[0].type]
        type_ = ir.TypeAttr.get(ir.FunctionType.get(*types))
        function.attributes["function_type"] = type_
        check_module(module, operands, order=order, tolerance=1e-7)


def _attention(values: list, score) -> ir.Operation:
    op = graph.build("flash_attention", [*values[:3], values[3:]])
    query, key, *_ = values
    shape = graph.flash_attention.score_shape(query.type, key.type)
    own = ty.tensor_type(shape, query.type.element_type)
    types = [own, *(value.type for value in values[3:])]
    body = op.regions[0].blocks.append(*types, arg_locs=[op.location] * len(types))
    with ir.InsertionPoint(body):
        end = ir.Operation.create("graph.yield", operands=[body.arguments[0]])
    end.operands[0] = score(GraphBuilder(end.opview), *body.arguments)
    return op


@pytest.mark.parametrize("score", [soft_cap, squared, without_scores])
def test_flash_attention(score):
    """The rules of flash_attention and, in higher orders, flash_attention_backward."""
    check(operands_of(), score, order=3)


@pytest.mark.parametrize("bias", [(5,), (2, 1, 4, 5)], ids=str)
def test_the_gradient_of_a_bias(bias):
    check(operands_of(bias=bias), order=2)


def test_grouped_queries():
    check(operands_of(groups=1), order=2)
