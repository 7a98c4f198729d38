"""Derivatives of special functions against torch's; the functions are ``SAMPLE``'s."""

import math

import pytest
import torch
from derivatives import check_op
from special_functions import CASES

from girih.dialects.graph.formulas import Gradient

SMOOTH = [case for case in CASES if isinstance(case.cls.GRADIENT, Gradient)]

# name: where derivatives of higher order are no larger than float64 compares
NARROWER = {
    "entr": (0.1, 3),
    "erfcx": (-2, 3),
    "erfinv": (-0.9, 0.9),
    "i0": (0.5, 9),
    "i0e": (0.5, 9),
    "i1": (0.5, 9),
    "i1e": (0.5, 9),
    "lgamma": (0.6, 9),
    "digamma": (0.6, 9),
    "polygamma": (0.6, 9),
    "log_ndtr": (-4, 4),
    "ndtri": (0.1, 0.9),
    "sinc": (0.2, 3),
}


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5)], ids=str)
@pytest.mark.parametrize("case", SMOOTH, ids=lambda case: case.name)
def test_function(case, shape):
    name = case.cls.SHORT_NAME
    low, high = NARROWER.get(name, case.cls.SAMPLE[:2])
    x = low + (high - low) * torch.rand(shape, dtype=torch.float64)
    order = case.cls.SAMPLE.order
    check_op(name, [x], case.attributes, order=order, tolerance=1e-7)


# Derivatives of gamma functions are eager's there, which does not know the poles.
_WITH_POLES = {"lgamma", "digamma", "polygamma"}


@pytest.mark.parametrize("case", SMOOTH, ids=lambda case: case.name)
def test_special_values(case):
    values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1e-9, 1e-300, 3.5, -2.5, math.nan]
    if case.cls.SHORT_NAME in _WITH_POLES:
        values = [0.5, -0.5, 1.0, 1e-9, 3.5, -2.5, math.nan]
    x = torch.tensor(values, dtype=torch.float64)
    check_op(case.cls.SHORT_NAME, [x], case.attributes, order=1)
