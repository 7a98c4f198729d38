"""Comparisons in one element type that become values of another, and rows of bytes.

Both are what LLVM's code generators treated worst: comparisons of bfloat16 whose masks
were widened to 16 bits ended the process, bytes that are read backwards by vectors of
64 lanes were compiled for ever, on some processors and for some numbers of lanes.
"""

from __future__ import annotations

import pytest
import torch
from tensors import ALL, normal
from torch import Tensor

import girih

NUMBERS = (*ALL[:-1], torch.uint16, torch.uint32)
RESULTS = (*ALL[2:5], torch.int16, torch.uint8, torch.float32, torch.bool)
CASES = [(dtype, 512) for dtype in (*NUMBERS, torch.bool)]
CASES += [(dtype, bits) for dtype in ALL[2:4] for bits in (128, 256)]


def _values(size: int, dtype: torch.dtype) -> Tensor:
    """Numbers around zero, of types that torch can't draw too."""
    if dtype in (torch.uint16, torch.uint32):
        return (torch.arange(size) % 5).to(dtype)
    return normal((size,), dtype, special=True)


def masks(x: Tensor, others: list[Tensor]) -> list[Tensor]:
    """What can become of comparisons of x; each size differs, so each is a kernel."""
    results = []
    for y in others:
        mask = x[: len(y)] != 0
        chosen = torch.where(mask, y, torch.zeros((), dtype=y.dtype))
        results += [mask.to(y.dtype), chosen, (~mask).to(y.dtype)]
    return results


def assert_equal(actual: list[Tensor], expected: list[Tensor]) -> None:
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        assert a.dtype == e.dtype, i
        wide = (a.double(), e.double())
        torch.testing.assert_close(*wide, rtol=0, atol=0, equal_nan=True, msg=str(i))


@pytest.mark.parametrize(("dtype", "bits"), CASES, ids=str)
def test_masks_of_one_type_become_values_of_another(dtype, bits):
    others = [_values(40 + i, other) for i, other in enumerate(RESULTS)]
    x = _values(64, dtype)
    options = {"vector_bits": bits, "fallback": False}
    compiled = girih.compile(masks, fullgraph=True, options=options)
    assert_equal(compiled(x, others), masks(x, others))


def turned(images: list[Tensor]) -> list[Tensor]:
    """Rows read backwards, with gaps, and written so."""
    results = []
    for x in images:
        back = x.flip(-1)
        results += [back + 1, back.float() * 0.5, back.sum(-1), x[..., ::2] + 1]
        results.append(torch.where(back > 50, back, back * 2))
        results.append(torch.cat([back[..., :-1], x], -1) + 1)
    return results


@pytest.mark.parametrize("bits", [128, 512])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16], ids=str)
def test_rows_are_read_backwards_and_with_gaps(dtype, bits):
    lengths = (2, 10, 63, 64, 100)
    images = [torch.randint(100, (3, n)).to(dtype) for n in lengths]
    options = {"vector_bits": bits, "fallback": False}
    compiled = girih.compile(turned, fullgraph=True, options=options)
    assert_equal(compiled(images), turned(images))
