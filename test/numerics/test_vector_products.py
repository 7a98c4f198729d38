"""Products of one row, which kernels of girih compute on the CPU."""

import pytest
import torch
import torch.nn.functional as F

import girih

DEPTH, COLUMNS = 515, 1031
HALVES = [torch.bfloat16, torch.float16]
TOLERANCE = {torch.float32: 1e-6, torch.bfloat16: 8e-3, torch.float16: 1e-3}


def _product(x, weight, bias=None):
    return F.linear(x, weight, bias)


def _of_int8(x, weight, scale, bias):
    return F.gelu(F.linear(x, weight.to(x.dtype) * scale, bias))


def _after_work(x, weight, bias):
    return F.linear(F.silu(x) * x, weight, bias) + bias


def _drawn(dtype):
    torch.manual_seed(0)
    x, bias = torch.randn(1, 1, DEPTH), torch.randn(COLUMNS)
    return x.to(dtype), torch.randn(COLUMNS, DEPTH).to(dtype), bias.to(dtype)


def _check(function, *args):
    """Compares with float64; returns the number of ATen calls."""
    with torch.no_grad():
        compiled = girih.compile(function, options={"fallback": False})
        found = compiled(*args)
        wide = [a.double() if a.is_floating_point() else a for a in args]
        expected = function(*wide)
    error = (found.double() - expected).abs().max() / expected.abs().max()
    assert found.dtype == args[0].dtype and error < TOLERANCE[found.dtype]
    (graph,) = girih.report(compiled).graphs
    return graph.externs


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES], ids=str)
@pytest.mark.parametrize("has_bias", [False, True])
def test_weights(dtype, has_bias):
    x, weight, bias = _drawn(dtype)
    assert _check(_product, x, weight, *([bias] if has_bias else [])) == 0
    assert _check(_product, x[0, 0], weight) <= 1


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("has_bias", [False, True])
def test_columns(dtype, has_bias):
    x, weight, bias = _drawn(dtype)
    if has_bias:
        assert _check(torch.addmm, bias, x[0], weight.T.contiguous()) == 0
    else:
        assert _check(torch.mm, x[0], weight.T.contiguous()) == 0


def test_columns_of_float32():
    """MKL is as fast with many of them."""
    x, weight, _ = _drawn(torch.float32)
    assert _check(torch.mm, x[0], weight[:256].T.contiguous()) == 0
    assert _check(torch.mm, x[0], weight.T.contiguous()) == 0
    wide = weight.repeat(8192 // len(weight) + 1, 1)
    assert _check(torch.mm, x[0], wide.T.contiguous()) == 1


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES], ids=str)
def test_int8_weights_are_not_stored_in_another_dtype(dtype):
    x, weight, bias = _drawn(dtype)
    scale = (weight.abs().amax(1, keepdim=True).float() / 127).to(dtype)
    small = (weight / scale).round().clamp(-127, 127).to(torch.int8)
    assert _check(_of_int8, x, small, scale, bias) == 0


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_what_comes_before_is_computed_once(dtype):
    x, weight, bias = _drawn(dtype)
    assert _check(_after_work, x, weight, bias) == 0


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_gradients(dtype):
    x, weight, bias = _drawn(dtype)
    compiled = girih.compile(_product, options={"fallback": False})
    leaves = [t.clone().requires_grad_() for t in (x, weight, bias)]
    expected = [t.double().requires_grad_() for t in (x, weight, bias)]
    compiled(*leaves).sum().backward()
    _product(*expected).sum().backward()
    for ours, theirs in zip(leaves, expected, strict=True):
        scale = theirs.grad.abs().max()
        error = (ours.grad.double() - theirs.grad).abs().max() / scale
        assert error < TOLERANCE[dtype]


CHAINS = {
    "linear": lambda x, a, b: F.linear(F.linear(x, a), b),
    "turned": lambda x, a, b: (x @ a.t()) @ b.t(),
    "matrices": lambda x, a, b: (x @ a.t().contiguous()) @ b.t().contiguous(),
    "low rank": lambda x, a, b: F.linear(x, b @ a) + F.linear(F.linear(x, a), b),
    "three": lambda x, a, b: F.linear(F.linear(F.linear(x, a), b), b.t()),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("inner", [4, 64, 320])
@pytest.mark.parametrize("freezing", [False, True])
def test_products_of_products(name, inner, freezing):
    """Nothing stands between them, so one pass replaces both."""
    torch.manual_seed(0)
    a, b = torch.randn(inner, 320) / 16, torch.randn(400, inner) / 16
    x, function = torch.randn(1, 320), CHAINS[name]
    module = torch.nn.Module()
    module.a, module.b = torch.nn.Parameter(a), torch.nn.Parameter(b)
    module.forward = lambda x: function(x, module.a, module.b)
    options = {"fallback": False, "freezing": freezing}
    with torch.no_grad():
        found = girih.compile(module, options=options)(x)
        expected = function(x.double(), a.double(), b.double())
    assert (found.double() - expected).abs().max() < 1e-5 * expected.abs().max()
