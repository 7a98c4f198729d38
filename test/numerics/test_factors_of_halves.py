"""Numbers and tensors without dims beside 16-bit floats: eager's bits on a CPU.

ATen rounds what it adds, and keeps a factor or divisor as it is.
"""

from __future__ import annotations

import pytest
import torch

import girih

_VALUES = (0.7123456789, 0.31234567, 1.2345678)
_OF_BOTH = {
    "add": lambda x, s: x + s,
    "add_on_the_right": lambda x, s: s + x,
    "sub": lambda x, s: x - s,
    "rsub": lambda x, s: s - x,
    "mul": lambda x, s: x * s,
    "mul_on_the_right": lambda x, s: s * x,
    "div": lambda x, s: x / s,
    "floor_divide": lambda x, s: x // s,
    "mul_": lambda x, s: x.clone().mul_(s),
    "div_": lambda x, s: x.clone().div_(s),
    "foreach": lambda x, s: torch._foreach_mul([x, x], s)[0],
    "pow": lambda x, s: x.abs() ** s,
    "lerp": lambda x, s: torch.lerp(x, x * 2, s),
    "clamp": lambda x, s: torch.clamp(x, max=s),
    "greater": lambda x, s: x > s,
}
_OF_NUMBERS = {
    "addcmul": lambda x, s: torch.addcmul(x, x, x, value=s),
    "addcdiv": lambda x, s: torch.addcdiv(x, x, x, value=s),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", _OF_BOTH)
def test_tensor_without_dims(name, dtype):
    """Of more bits, and of other ones."""
    function, x = _OF_BOTH[name], torch.linspace(-3, 3, 1001).to(dtype)
    compiled = girih.compile(function)
    for kind in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        for value in _VALUES[:2]:
            scalar = torch.tensor(value, dtype=kind)
            assert torch.equal(compiled(x, scalar), function(x, scalar)), kind


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", _OF_BOTH | _OF_NUMBERS)
def test_number(name, dtype):
    """A constant at the first call, an input from the second on."""
    function = {**_OF_BOTH, **_OF_NUMBERS}[name]
    x = torch.linspace(-3, 3, 1001).to(dtype)
    compiled = girih.compile(function)
    for value in _VALUES:
        result, expected = compiled(x, value), function(x, value)
        if name in _OF_NUMBERS:
            # ATen rounds in vectors, and not in what is left of them.
            torch.testing.assert_close(result, expected, equal_nan=True)
        else:
            assert torch.equal(result, expected), value


@pytest.mark.parametrize("name", ["mul", "div"])
def test_gradients(name):
    """Of both, by a factor of float32."""
    function = _OF_BOTH[name]
    x, scale = torch.linspace(-2, 2, 64).bfloat16(), torch.tensor(0.7123456789)
    leaves = [
        (x.clone().requires_grad_(), scale.clone().requires_grad_()) for _ in "ab"
    ]
    calls = (function, girih.compile(function))
    for call, (x, scale) in zip(calls, leaves, strict=True):
        call(x, scale).sum().backward()
    (x, scale), (mine, my_scale) = leaves
    assert torch.equal(mine.grad, x.grad)
    torch.testing.assert_close(my_scale.grad, scale.grad, rtol=2**-7, atol=0.1)
