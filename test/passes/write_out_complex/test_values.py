"""Programs of complex numbers, compiled, against eager: values and gradients."""

from __future__ import annotations

import itertools

import pytest
import torch
from extent import spread

import girih

DTYPES = (torch.complex64, torch.complex128)
SHAPES = ((4, 6), (0, 3), (1, 1), (7, 13), (33, 65))

# name -> a function of two complex tensors and a real one.
FORMULAS = {
    "abs": lambda z, w, r: (z * w).abs() + z.abs(),
    "add": lambda z, w, r: (z + w + r + 2 + 1j) * z,
    "alpha": lambda z, w, r: torch.add(z, w, alpha=2 - 1j) * w,
    "angle": lambda z, w, r: (z * w).angle(),
    "casts": lambda z, w, r: (z.to(torch.complex128) * r).to(torch.complex64) * 2,
    "complex": lambda z, w, r: torch.complex(r, 2 * r) * z,
    "concat": lambda z, w, r: torch.cat([z * w, w], 1),
    "conj": lambda z, w, r: (z * w).conj() * w.conj(),
    "div": lambda z, w, r: z / w + r / z + w / r + z / (1 - 2j) + 3 / w,
    "exp": lambda z, w, r: (z * 1j).exp() * w,
    "fft": lambda z, w, r: torch.fft.fft(z * r, norm="ortho") * w,
    "flip": lambda z, w, r: (z * w).flip(1),
    "imag": lambda z, w, r: (z * w).imag * r,
    "in_place": lambda z, w, r: (z * 1).mul_(w).add_(r),
    "mean": lambda z, w, r: ((z * w).mean(-1), (z - w).mean(), (z * w).mean((0, 1))),
    "modulus": lambda z, w, r: (z * z.conj()).real.sum(),
    "ne": lambda z, w, r: torch.where((z == w) | (z != 2), z * w, w),
    "neg": lambda z, w, r: -(z * r),
    "normalized": lambda z, w, r: (z * w).sgn() * r,
    "polar": lambda z, w, r: torch.polar(r, r) * z,
    "powers": lambda z, w, r: z**2 + w**3 + z.square(),
    "real": lambda z, w, r: (z * w).real.exp(),
    "reciprocal": lambda z, w, r: z.reciprocal() * w,
    "resolved": lambda z, w, r: (z * r).conj().resolve_conj(),
    "rotary": lambda z, w, r: torch.view_as_real(
        torch.view_as_complex(torch.stack([r, 2 * r], -1)) * w
    ),
    "stack": lambda z, w, r: torch.stack([z * w, w], 1),
    "sub": lambda z, w, r: (z - w - r - 1j) * (1 - z),
    "sum": lambda z, w, r: ((z * w).sum(), (z * w).sum(0), (r * z).sum(1, True)),
    "transposed": lambda z, w, r: z.mT * w.mT + r.mT,
    "views": lambda z, w, r: (z * w).mT[1:, None].expand(-1, 3, -1) + 1,
    "where": lambda z, w, r: torch.where(r > 0, z * w, w),
}
BORDERS = {"abs": 2, "imag": 2, "modulus": 1, "real": 2, "rotary": 1}
"""Views of arguments' memory that are the only calls a formula makes."""


def inputs(shape, dtype):
    real = torch.float32 if dtype == torch.complex64 else torch.float64
    z, w = (torch.randn(shape, dtype=dtype) for _ in range(2))
    return z, w, torch.randn(shape, dtype=real)


def listed(results):
    return [results] if isinstance(results, torch.Tensor) else list(results)


def assert_same(actual, expected):
    for got, wanted in zip(listed(actual), listed(expected), strict=True):
        assert got.stride() == wanted.stride()
        assert got.is_conj() == wanted.is_conj()
        double = wanted.dtype in (torch.float64, torch.complex128)
        bounds = {} if double else {"rtol": 1e-4, "atol": 1e-4}
        torch.testing.assert_close(got, wanted, equal_nan=True, **bounds)


def gradients(function, values, seed):
    """First and second derivatives, with random cotangents."""
    leaves = [value.clone().requires_grad_() for value in values]
    results = listed(function(*leaves))
    torch.manual_seed(seed)
    given = [torch.randn_like(result.detach()) for result in results]
    first = torch.autograd.grad(
        results, leaves, given, create_graph=True, allow_unused=True
    )
    used = [g for g in first if g is not None and g.requires_grad]
    if not used:
        return list(first)
    total = sum((g * g.conj()).real.sum() for g in used)
    return [*first, *torch.autograd.grad(total, leaves, allow_unused=True)]


@pytest.mark.parametrize(("name", "dtype"), spread(FORMULAS, DTYPES, every=2), ids=str)
def test_values(name, dtype):
    function = FORMULAS[name]
    for shape in SHAPES:
        if name == "fft" and 0 in shape:
            continue  # eager has no transform of nothing
        values = inputs(shape, dtype)
        compiled = girih.compile(function)
        assert_same(compiled(*values), function(*values))
        if name in BORDERS:
            assert girih.report(compiled).graphs[0].externs == BORDERS[name]


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives(name):
    function, values = FORMULAS[name], inputs((5, 7), torch.complex128)
    actual = gradients(girih.compile(function), values, 3)
    for got, wanted in zip(actual, gradients(function, values, 3), strict=True):
        assert (got is None) == (wanted is None)
        if wanted is not None:
            torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("name", ["add", "fft", "rotary", "sum", "views"])
def test_symbolic_sizes(name):
    compiled = girih.compile(FORMULAS[name], dynamic=True)
    for shape in ((5, 7), (4, 6), (33, 65)):
        values = inputs(shape, torch.complex128)
        assert_same(compiled(*values), FORMULAS[name](*values))
        actual = gradients(compiled, values, 3)
        torch.testing.assert_close(actual, gradients(FORMULAS[name], values, 3))


# Special values -------------------------------------------------------------------

NUMBERS = (0.0, -0.0, 1.0, -2.5, 1.5707964, float("inf"), -float("inf"), float("nan"))
EXTREMES = (1e30, -1e30, 1e-30, 1e-42, 88.9, -88.9, 89.5, 104.0, -104.0, 700.0)
UNARY = {
    "abs": torch.abs,
    "angle": torch.angle,
    "cube": lambda z: z**3,
    "exp": torch.exp,
    "half": lambda z: z / 2,
    "polar": lambda z: torch.polar(z.real, z.imag),
    "reciprocal": torch.reciprocal,
    "sgn": torch.sgn,
    "square": torch.square,
    "turned": lambda z: z * 2j,
}
BINARY = {
    "add": lambda z, w: z + w,
    "alpha": lambda z, w: torch.sub(z, w, alpha=2),
    "div": lambda z, w: z / w,
    "eq": lambda z, w: z == w,
    "mul": lambda z, w: z * w,
    "of_reals": lambda z, w: z * w.real / w.imag + w.real,
}


def special(dtype, *, of=NUMBERS + EXTREMES):
    real = torch.float32 if dtype == torch.complex64 else torch.float64
    pairs = torch.tensor(list(itertools.product(of, of)), dtype=real)
    return torch.view_as_complex(pairs)


def assert_special(function, *values):
    """NaN and infinities where eager has them; other numbers as near as its own."""

    def real(*values):
        result = function(*(value * 1 for value in values))
        return torch.view_as_real(result) if result.is_complex() else result + 0

    actual, expected = girih.compile(real)(*values), real(*values)
    if not expected.is_floating_point():
        assert torch.equal(actual, expected)
        return
    assert torch.equal(actual.isnan(), expected.isnan())
    assert torch.equal(actual.isinf(), expected.isinf())
    finite = torch.isfinite(expected)
    bound = 1e-5 if expected.dtype == torch.float32 else 1e-12
    size = torch.where(finite, expected, 0).abs()
    size = size.amax(-1, True) if values[0].dim() < expected.dim() else size
    apart = torch.where(finite, actual - expected, 0).abs()
    assert (apart <= bound * size).all()


@pytest.mark.parametrize(("name", "dtype"), spread(UNARY, DTYPES, every=2), ids=str)
def test_special_values(name, dtype):
    assert_special(UNARY[name], special(dtype))


@pytest.mark.parametrize(("name", "dtype"), spread(BINARY, DTYPES, every=2), ids=str)
def test_special_values_of_two(name, dtype):
    z = special(dtype, of=NUMBERS + EXTREMES[:4])
    assert_special(BINARY[name], z.repeat(len(z)), z.repeat_interleave(len(z)))


# Memory ---------------------------------------------------------------------------


def test_results_have_memory_of_their_own():
    def function(z, w):
        product = z * w + 1
        return torch.view_as_real(z).clone(), product, product.conj().resolve_conj()

    z, w = torch.randn(2, 5, 7, dtype=torch.complex64)
    before = z.clone()
    results = girih.compile(function)(z, w)
    expected = function(z, w)
    for result in results:
        assert result._base is None and not result._is_view()
        result.zero_()
        assert torch.equal(z, before)
    assert_same(girih.compile(function)(z, w), expected)


def test_an_argument_is_written():
    def function(z, w):
        total = (z * w).abs().sum()
        z.mul_(w).add_(1)
        return total, (z * w).real

    z, w = torch.randn(2, 5, 7, dtype=torch.complex128)
    own = [z.clone(), z.clone()]
    actual = girih.compile(function)(own[0], w)
    assert_same(actual, function(own[1], w))
    assert_same(own[0], own[1])


def test_a_write_before_the_backward_pass_is_an_error():
    def function(z, r):
        return (z * r).real.exp() * r

    for call in (function, girih.compile(function)):
        z = torch.randn(5, dtype=torch.complex64)
        r = torch.randn(5, requires_grad=True)
        result = call(z, r).sum()
        z.zero_()
        with pytest.raises(RuntimeError, match="modified"):
            result.backward()
