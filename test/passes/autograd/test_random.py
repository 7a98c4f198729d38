"""Derivatives of random ops: what was drawn is a constant."""

from __future__ import annotations

import pytest
import torch
from derivatives import check_op


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout(p):
    check_op("dropout", [torch.randn(50, dtype=torch.float64)], {"p": p})
