"""Comparisons in one element type that become values of another, and rows of bytes.

Both are what LLVM's code generators treated worst: comparisons of bfloat16 whose masks
were widened to 16 bits ended the process, bytes that are read backwards by vectors of
64 lanes were compiled for ever, on some processors and for some numbers of lanes.
"""

from __future__ import annotations

import pytest
import torch
from narrow_elements import ELEMENTS, masks, turned, values
from tensors import ALL
from torch import Tensor

import girih

RESULTS = (*ALL[2:5], torch.int16, torch.uint8, torch.float32, torch.bool)
CASES = [(dtype, 512) for dtype in ELEMENTS]
CASES += [(dtype, bits) for dtype in ALL[2:4] for bits in (128, 256)]


def assert_equal(actual: list[Tensor], expected: list[Tensor]) -> None:
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        assert a.dtype == e.dtype, i
        wide = (a.double(), e.double())
        torch.testing.assert_close(*wide, rtol=0, atol=0, equal_nan=True, msg=str(i))


@pytest.mark.parametrize(("dtype", "bits"), CASES, ids=str)
def test_masks_of_one_type_become_values_of_another(dtype, bits):
    others = [values(40 + i, other) for i, other in enumerate(RESULTS)]
    x = values(64, dtype)
    options = {"vector_bits": bits, "fallback": False}
    compiled = girih.compile(masks, fullgraph=True, options=options)
    assert_equal(compiled(x, others), masks(x, others))


@pytest.mark.parametrize("bits", [128, 512])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16], ids=str)
def test_rows_are_read_backwards_and_with_gaps(dtype, bits):
    lengths = (2, 10, 63, 64, 100)
    images = [torch.randint(100, (3, n)).to(dtype) for n in lengths]
    options = {"vector_bits": bits, "fallback": False}
    compiled = girih.compile(turned, fullgraph=True, options=options)
    assert_equal(compiled(images), turned(images))
