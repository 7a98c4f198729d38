"""Derivatives of attention against torch's: the kernel's, and those of formulas."""

from __future__ import annotations

import math

import pytest
import torch
from derivatives import check_module, tensor_type

from girih.dialects import graph
from girih.dialects.bindings import func, ir
from girih.dialects.context import make_context


def operands_of(*, mask: tuple[int, ...] | None = None, groups: int = 2) -> list:
    query = torch.randn(2, 2, 4, 3, dtype=torch.float64)
    key, value = torch.randn(2, 2, groups, 5, 3, dtype=torch.float64)
    added = None if mask is None else torch.randn(mask, dtype=torch.float64)
    return [query, key, value, added]


def check_attention(operands: list, *, causal: bool = False, order: int) -> None:
    """Compares derivatives of the first result; the second is for the kernel's use."""
    given = [tensor for tensor in operands if tensor is not None]
    with make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([tensor_type(t) for t in given], []))
        block = function.add_entry_block()
        with ir.InsertionPoint(block):
            values = [*block.arguments, None][:4]
            op = graph.build("attention", values, {"scale": 0.6, "causal": causal})
            func.ReturnOp([op.results[0]])
        types = [a.type for a in block.arguments], [op.results[0].type]
        type_ = ir.TypeAttr.get(ir.FunctionType.get(*types))
        function.attributes["function_type"] = type_
        check_module(module, given, order=order, tolerance=1e-7)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    check_attention(operands_of(), causal=causal, order=3)


@pytest.mark.parametrize("mask", [(4, 5), (2, 1, 4, 5), (2, 2, 4, 5)], ids=str)
def test_the_gradient_of_a_mask(mask):
    check_attention(operands_of(mask=mask), order=2)


def test_masks_of_bools():
    operands = operands_of()
    operands[3] = torch.rand(4, 5) < 0.7
    operands[3][:, 0] = True
    check_attention(operands, order=2)


def test_grouped_queries():
    query, key, value, _ = operands_of(groups=1)
    check_attention([query, key, value, None], order=2)


def test_rows_that_are_masked_have_no_gradient():
    operands = operands_of(mask=(4, 5))
    operands[3][1] = -math.inf
    check_attention(operands, order=1)
