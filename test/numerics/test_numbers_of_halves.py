"""Numbers that become elements of 16 bits are rounded at once, as in eager mode.

Kernels have 32 bits for them, so that a number that nobody rounds differs from what a
tensor of eager's holds wherever it meets an exact operation: a comparison, a difference
of neighbours, a quotient whose divisor eager rounds to 0.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import girih

pytestmark = pytest.mark.filterwarnings("error::girih.FallbackWarning")

_VALUES = (1e-12, 0.1, 3.3, 1 / 3)
_TENSORS = {
    "full_like": torch.full_like,
    "full": lambda x, s: torch.full((24,), s, dtype=x.dtype),
    "new_full": lambda x, s: x.new_full((24,), s),
    "fill_": lambda x, s: x.clone().fill_(s),
    "fill_of_empty": lambda x, s: torch.empty_like(x).fill_(s),
    "scalar_tensor": lambda x, s: torch.scalar_tensor(s, dtype=x.dtype),
    "tensor": lambda x, s: torch.tensor(s, dtype=x.dtype),
    "masked_fill": lambda x, s: x.masked_fill(x > 0.2, s),
    "where_other": lambda x, s: torch.where(x > 0.2, x, s),
    "where_self": lambda x, s: torch.where(x > 0.2, s, x),
    "clamp": lambda x, s: x.clamp(s, s),
    "clamp_min": lambda x, s: x.clamp_min(s),
    "clamp_max": lambda x, s: x.clamp_max(s),
    "hardtanh": lambda x, s: F.hardtanh(x, -s, s),
    "threshold": lambda x, s: F.threshold(x, 0.2, s),
    "pad": lambda x, s: F.pad(x[2:-2], (2, 2), value=s),
    "nan_to_num": lambda x, s: x.nan_to_num(s, s, -s),
    "index_fill": lambda x, s: x.index_fill(0, torch.arange(3), s),
    "setitem": lambda x, s: _with_written(x, s),
}
_EXACT = {
    "equal": lambda x, y: x == y,
    "difference": lambda x, y: x - y,
    "as_divisor": lambda x, y: x / y,
    "widened": lambda x, y: y.double(),
}


def _with_written(x, s):
    y = x.clone()
    y[1:5] = s
    return y


def _elements(dtype):
    values = [0, -0.0, 1e-7, 1e-4, 0.1, 0.5, 1, -1, 3.3, -3.3, 100, 6e4, -6e4, 2]
    values += [float("inf"), float("nan"), 1 / 3, -1 / 3, 0.3, 0.2, 0, 0, 0, 0]
    return torch.tensor(values, dtype=dtype)


@pytest.mark.parametrize("exact", _EXACT)
@pytest.mark.parametrize("made", _TENSORS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_number_in_memory(dtype, made, exact):
    def function(x):
        return tuple(_EXACT[exact](x, _TENSORS[made](x, s)) for s in _VALUES)

    x = _elements(dtype)
    for found, expected in zip(girih.compile(function)(x), function(x), strict=True):
        assert found.dtype == expected.dtype
        assert torch.equal(found.nan_to_num(7.0), expected.nan_to_num(7.0))
        assert torch.equal(found.isnan(), expected.isnan())


@pytest.mark.parametrize("made", ["full_like", "clamp", "where_other", "masked_fill"])
def test_a_number_that_varies(made):
    def function(x, s):
        return x - _TENSORS[made](x, s)

    compiled, x = girih.compile(function), _elements(torch.float16)
    for s in (0.1, 0.7, 3.3, 1e-12, 1 / 3):
        expected = function(x, s)
        torch.testing.assert_close(
            compiled(x, s), expected, rtol=0, atol=0, equal_nan=True
        )


def test_eps_of_a_norm():
    zeros = torch.zeros(4, 6, dtype=torch.float16)
    found = girih.compile(F.normalize)(zeros)
    assert torch.equal(found.isnan(), F.normalize(zeros).isnan())


@pytest.mark.parametrize("eps", [1e-12, 1e-3, 0.2])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_eps_of_logit(dtype, eps):
    x = torch.tensor([0, 1, 0.5, 1e-4, 0.9995, 0.2, 0.8, -1, 2], dtype=dtype)
    found = girih.compile(torch.logit)(x, eps)
    torch.testing.assert_close(found, torch.logit(x, eps))


_RANGES = [
    (0, 5, 0.1),
    (0, 20, 0.3),
    (0.5, 90, 1),
    (1, 3000, 3),
    (0, 3000, 1),
    (-7, 250, 1),
    (3, -2, -0.7),
]


@pytest.mark.parametrize("arguments", _RANGES, ids=str)
@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64]
)
def test_ranges(dtype, arguments):
    def function():
        numbers = torch.arange(*arguments, dtype=dtype)
        return numbers, numbers.double() * 2

    found = girih.compile(function, fullgraph=True)()
    for one, expected in zip(found, function(), strict=True):
        assert torch.equal(one, expected)
