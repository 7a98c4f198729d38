"""Kernels that were hard for LLVM, compiled for processors that are not the host's.

`sweep_processors.py` is the long form.
"""

from __future__ import annotations

import pytest
import torch
from narrow_elements import masks, turned, values
from processors import failures

RESULTS = (torch.int16, torch.float16, torch.uint8, torch.float32)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int8], ids=str)
def test_masks(dtype):
    others = [values(11 + i, other) for i, other in enumerate(RESULTS)]
    assert failures(masks, (values(20, dtype), others), 512) == []


def test_bytes_that_are_turned():
    images = [values(3 * n, torch.uint8).view(3, n) for n in (10, 100)]
    assert failures(turned, (images,), 512) == []
