"""Strides of what two tensors give, for all pairs of layouts and all such functions.

The functions are those of PyTorch's own table of operators: where girih has no shape
rule, a decomposition of PyTorch's may have given other strides than its kernel.
"""

from __future__ import annotations

import pytest
import torch
from extent import spread
from operator_table import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo

import girih

FUNCTIONS = {
    op.name: op.op
    for op in op_db
    if isinstance(op, BinaryUfuncInfo) and "jiterator" not in op.name
}
WHOLE = torch.linspace(0.5, 3, 60).reshape(3, 4, 5)
TURNED = WHOLE.permute(2, 1, 0).contiguous().permute(2, 1, 0)
LAYOUTS = {
    "contiguous": WHOLE,
    "turned": TURNED,
    "gaps": torch.cat((WHOLE, WHOLE), -1)[..., ::2],
    "expanded": WHOLE[:, :1, :1].expand(3, 4, 5),
    "column": WHOLE[..., :1],
    "row": WHOLE[0, 0],
    "number": WHOLE[0, 0, 0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_strides(name):
    function, calls = FUNCTIONS[name], {}
    dtypes = (torch.float32, torch.int64)
    for left, right, dtype in spread(LAYOUTS, LAYOUTS, dtypes, every=4):
        pair = [LAYOUTS[layout].to(dtype) for layout in (left, right)]
        try:
            calls[left, right, dtype] = pair, function(*pair)
        except (RuntimeError, NotImplementedError):  # eager takes no such dtypes
            continue

    def program(pairs):
        return [function(*pair) for pair in pairs]

    results = girih.compile(program, dynamic=False)(
        [pair for pair, _ in calls.values()]
    )
    for (call, (_, expected)), actual in zip(calls.items(), results, strict=True):
        assert actual.stride() == expected.stride(), call
        assert actual.dtype == expected.dtype, call


@pytest.mark.parametrize("strides", [((1, 1, 9), (1, 1, 1)), ((1, 3, 3), (4, 1, 4))])
def test_strides_where_dims_of_one_element_broadcast(strides):
    sizes = (3, 1, 1), (1, 4, 1)
    x, y = map(torch.empty_strided, sizes, strides)
    assert x.is_contiguous() and y.is_contiguous()
    expected = torch.mul(x, y).stride()
    assert girih.compile(torch.mul, dynamic=False)(x, y).stride() == expected


def test_strides_of_einsum_without_sums():
    x, y = torch.ones(1, 30), torch.ones(7, 1)

    def outer(x, y):
        return torch.einsum("ki,jk->ij", x, y)

    assert girih.compile(outer)(x, y).stride() == outer(x, y).stride()
