"""Elementwise ops that are declared on their classes, in kernels, against eager.

A new one is tested as it is, with the operands of its ``SAMPLE``.
"""

import math

import pytest
import torch
from compiled_gradients import check_gradients
from declared_ops import CASES
from tensors import LAYOUTS

import girih

NARROW = [torch.float16, torch.bfloat16]
ROUNDING = {torch.float32: 1e-5, torch.float64: 1e-12, torch.float16: 2e-3}
ROUNDING[torch.bfloat16] = 2e-2
SPECIAL = [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 1e-30, 1e30, math.inf, -math.inf, math.nan]


def _compiled(case, **options):
    """The op between two others, so that it is part of a kernel."""
    function, strict = case.function, {"fallback": False}
    return girih.compile(
        lambda *x: function(*(each * 1 for each in x)),
        options=strict,
        fullgraph=True,
        **options,
    )


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def _named(value):
    return getattr(value, "name", None) or str(value)


@pytest.mark.parametrize("dtype", list(ROUNDING), ids=str)
@pytest.mark.parametrize("case", CASES, ids=_named)
def test_values(case, dtype):
    operands = case.operands(7, 33, dtype=dtype)
    expected, actual = case.function(*operands), _compiled(case)(*operands)
    assert actual.dtype == expected.dtype
    rounding = ROUNDING[dtype]
    torch.testing.assert_close(actual, expected, rtol=rounding, atol=rounding)


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("case", CASES, ids=_named)
def test_layouts(case, layout):
    operands = [LAYOUTS[layout](each) for each in case.operands(4, 5, 6)]
    expected, actual = case.function(*operands), _compiled(case)(*operands)
    torch.testing.assert_close(actual, expected)
    assert actual.stride() == expected.stride()


@pytest.mark.parametrize("case", CASES, ids=_named)
def test_special_values(case):
    x = torch.tensor(SPECIAL, dtype=torch.float64)
    operands = torch.meshgrid(*[x] * len(case.cls.OPERANDS), indexing="ij")
    expected, actual = case.function(*operands), _compiled(case)(*operands)
    torch.testing.assert_close(actual, expected, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize("case", CASES, ids=_named)
def test_integers(case, dtype):
    """What eager refuses is refused with its error."""
    operands = [each.to(dtype) for each in case.operands(3, 5)]
    compiled = girih.compile(case.function)
    try:
        expected = case.function(*operands)
    except (RuntimeError, NotImplementedError) as error:
        with pytest.raises(type(error)):
            compiled(*operands)
        return
    actual = compiled(*operands)
    assert actual.dtype == expected.dtype
    torch.testing.assert_close(actual, expected, equal_nan=True)


@pytest.mark.parametrize("case", CASES, ids=_named)
def test_sizes_that_vary(case):
    compiled = _compiled(case, dynamic=True)
    for shape in [(3, 5), (7, 2), (1, 1), (0, 4)]:
        operands = case.operands(*shape)
        torch.testing.assert_close(compiled(*operands), case.function(*operands))


SMOOTH = [case for case in CASES if case.is_smooth]


@pytest.mark.parametrize("dtype", list(ROUNDING), ids=str)
@pytest.mark.parametrize("case", SMOOTH, ids=_named)
def test_gradients(case, dtype):
    check_gradients(case.function, case.operands(2, 3, dtype=dtype))


@pytest.mark.parametrize("case", SMOOTH, ids=_named)
def test_derivatives_of_higher_order(case):
    operands = case.operands(2, 3)
    actual, expected = (
        _derivatives(function, operands, case.cls.SAMPLE.order)
        for function in (_compiled(case), case.function)
    )
    torch.testing.assert_close(actual, expected)


def _derivatives(function, operands, order):
    leaves = [each.clone().requires_grad_() for each in operands]
    value, found = function(*leaves), []
    for _ in range(order):
        if not value.requires_grad:
            break
        parts = torch.autograd.grad(
            (value * value).sum(), leaves, create_graph=True, materialize_grads=True
        )
        found += [part.detach() for part in parts]
        value = sum(parts)
    return found
