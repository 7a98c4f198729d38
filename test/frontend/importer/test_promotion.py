"""Type promotion: the dtypes and values of eager, for all combinations of operands."""

from __future__ import annotations

import operator

import hypothesis.strategies as st
import torch
from hypothesis import given, settings
from importing import assert_imports

from girih.frontend.fake import promote

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]

OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.eq,
    operator.lt,
    operator.ge,
    operator.and_,
    operator.xor,
    torch.maximum,
    torch.fmod,
    torch.atan2,
    torch.logical_or,
    lambda x, y: torch.where(x > y, x, y),
    lambda x, y: torch.clamp(x, min=y),
    lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    lambda x, y: torch.add(x, y, alpha=2),
    lambda x, y: torch.cat([x.reshape(-1), y.reshape(-1)]),
]

NUMBERS = st.sampled_from([True, 0, 1, 3, -2, 0.5, -1.75, 2.0])


@st.composite
def tensors(draw):
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.sampled_from([(), (1,), (3,), (2, 3), (2, 1)]))
    values = torch.tensor([1, 2, 3, 5, 7, 4], dtype=torch.int64)
    if dtype.is_signed:
        values = values * torch.tensor([1, -1, 1, 1, -1, 1])
    if dtype.is_floating_point:
        values = values / 2
    count = 1
    for size in shape:
        count *= size
    return values[:count].to(dtype).reshape(shape)


def _eager_accepts(function, *inputs) -> bool:
    try:
        function(*inputs)
    except (ArithmeticError, AttributeError, RuntimeError, TypeError):
        return False
    return True


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(OPERATORS), tensors(), st.one_of(tensors(), NUMBERS))
def test_two_operands(function, x, y):
    if isinstance(y, torch.Tensor):
        if _eager_accepts(function, x, y):
            assert_imports(function, x, y)
    elif _eager_accepts(lambda x: function(x, y), x):
        assert_imports(lambda x: function(x, y), x)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(OPERATORS[:7]), tensors(), tensors())
def test_in_place(function, x, y):
    in_place = getattr(operator, "i" + function.__name__)
    target = torch.zeros(2, 3, dtype=x.dtype) + x

    def write(target, y):
        in_place(target, y)

    if _eager_accepts(write, target.clone(), y):
        assert_imports(write, target, y)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_casts(source, target):
    x = torch.tensor([0.0, 1.0, 2.75, 100.0]).to(source)
    assert_imports(lambda x: x.to(target), x)
    assert_imports(lambda x: x.type(target).sum(), x)


REDUCTIONS = [torch.sum, torch.prod, torch.amax, torch.any, torch.argmin, torch.cumsum]


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(REDUCTIONS), tensors(), st.sampled_from([None, *DTYPES]))
def test_reductions(function, x, dtype):
    options = {"dtype": dtype} if dtype is not None else {}
    if not x.dim():
        x = x.reshape(1)
    if _eager_accepts(lambda x: function(x, -1, **options), x):
        assert_imports(lambda x: function(x, -1, **options), x)


@given(st.lists(st.one_of(tensors(), NUMBERS), min_size=2, max_size=2))
def test_promote_is_result_type(values):
    assert promote(*values) == torch.result_type(*values)
