"""Derivatives of ATen calls that select, against torch's."""

import pytest
import torch
from derivatives import check_op

from girih.dialects.attributes import OperandRef


def randn(*shape):
    return torch.randn(shape, dtype=torch.float64)


def check_call(name, x, *arguments):
    namespace, op, overload = name.split(".")
    function = getattr(getattr(getattr(torch.ops, namespace), op), overload)
    results = function(x, *arguments)
    results = results if isinstance(results, (tuple, list)) else [results]
    attributes = {"op": name, "args": [OperandRef(0), *arguments]}
    check_op("extern", [[x]], attributes, result_types=list(results))


ROWS = {
    "aten.median.dim": (),
    "aten.nanmedian.dim": (),
    "aten.mode.default": (),
    "aten.kthvalue.default": (2,),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("keepdim", [True, False])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_one_of_a_row(name, keepdim, dim):
    check_call(name, randn(3, 5, 2).round(), *ROWS[name], dim, keepdim)


@pytest.mark.parametrize("name", ROWS)
def test_no_dims(name):
    given = (1,) if ROWS[name] else ()
    check_call(name, randn(), *given, 0)


@pytest.mark.parametrize("name", ["aten.median.default", "aten.nanmedian.default"])
@pytest.mark.parametrize("shape", [(), (7,), (3, 5)])
def test_median(name, shape):
    check_call(name, randn(*shape).round())


@pytest.mark.parametrize("spatial", [(5, 7), (4, 3, 5)])
@pytest.mark.parametrize("leading", [(2, 3), (3,)])
def test_adaptive_max_pool(spatial, leading):
    name = f"aten.adaptive_max_pool{len(spatial)}d.default"
    check_call(name, randn(*leading, *spatial), [2] * len(spatial))
