"""Programs whose calls of ATen meet an autocast that was not there when captured."""

import pytest
import torch
import torch.nn.functional as F

import girih


def without(function):
    """A function in a region that switches the CPU's autocast off."""

    def program(*arguments):
        with torch.autocast("cpu", enabled=False):
            return function(*arguments)

    return program


FUNCTIONS = {
    "product": lambda x, w: (x @ w).sin(),
    "linear": lambda x, w: F.linear(x, w).relu() @ w,
    "batches": lambda x, w: torch.bmm(x[None], w[None]).sin(),
    "attention": lambda x, w: F.scaled_dot_product_attention(x[None], w[None], w[None]),
    "convolution": lambda x, w: F.conv1d(x[None], w[:, :, None]).sin(),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_regions_without_autocast(name):
    x, w = torch.randn(8, 8), torch.randn(8, 8)
    compiled = girih.compile(without(FUNCTIONS[name]), options={"fallback": False})
    expected = FUNCTIONS[name](x, w)
    with torch.autocast("cpu", torch.bfloat16):
        actual = compiled(x, w)
        assert (x @ w).dtype == torch.bfloat16  # it is on again
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_backward_passes_under_autocast(name):
    """In float32, as the forward pass; eager's products are bfloat16 there."""
    x, w = (torch.randn(8, 8, requires_grad=True) for _ in range(2))
    compiled = girih.compile(FUNCTIONS[name], options={"fallback": False})
    expected = torch.autograd.grad(FUNCTIONS[name](x, w).sum(), [x, w])
    loss = compiled(x, w).sum()
    with torch.autocast("cpu", torch.bfloat16):
        actual = torch.autograd.grad(loss, [x, w])
        assert (x @ w).dtype == torch.bfloat16
    for mine, theirs in zip(actual, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)
