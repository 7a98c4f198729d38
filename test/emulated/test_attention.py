"""Attention that is written out, on an emulated GPU: one kernel, as in eager."""

import math

import pytest
import torch
from torch.nn import functional

import girih


def soft_capped(query, key, value):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = 30.0 * torch.tanh(scores / 30.0)
    return torch.softmax(scores.float(), -1).to(query.dtype) @ value


def causal(query, key, value):
    scores = query @ key.transpose(-2, -1) * 0.2
    rows, columns = scores.shape[-2:]
    visible = torch.arange(columns) <= torch.arange(rows)[:, None]
    return torch.softmax(scores.masked_fill(~visible, -math.inf), -1) @ value


def biased(query, key, value, bias):
    return torch.softmax(query @ key.transpose(-2, -1) * 0.1 + bias, -1) @ value


def grouped(query, key, value):
    """Each head of keys is read by two heads of queries."""
    batch, groups, positions, width = key.shape
    shape = (batch, groups, 2, positions, width)
    key, value = (
        x[:, :, None].expand(shape).reshape(batch, 2 * groups, positions, width)
        for x in (key, value)
    )
    return causal(query, key, value)


def with_heads_inside(query, key, value):
    query, key, value = (x.transpose(1, 2) for x in (query, key, value))
    y = soft_capped(query, key, value)
    return y.transpose(1, 2).reshape(y.shape[0], y.shape[2], -1)


def widened(query, key, value):
    """As eager's attention without a kernel: float32, and each factor scaled."""
    dtype = query.dtype
    query, key, value = (x.float() for x in (query, key, value))
    scores = (query * 0.7) @ (key * 0.7).transpose(-2, -1)
    return (torch.softmax(scores, -1) @ value).to(dtype)


def widened_scores(query, key, value):
    """Scores alone are made in float32."""
    scores = query.float() @ key.float().transpose(-2, -1) * 0.3
    return torch.softmax(scores, -1).to(query.dtype) @ value


def dropped_out(query, key, value):
    """Nothing that a kernel here can do."""
    weights = torch.softmax(query @ key.transpose(-2, -1), -1)
    return (weights * 2).relu() @ value


def check(function, *shapes, dtype=torch.float16, tolerance=4e-3):
    """Compares results and gradients with those of float64; returns the launches."""
    inputs = [torch.randn(shape).to(dtype) for shape in shapes]
    own = [x.clone().requires_grad_() for x in inputs]
    wide = [x.double().requires_grad_() for x in inputs]
    y = girih.compile(function, options={"fallback": False})(*own)
    gradient = torch.randn_like(y)
    found = [y, *torch.autograd.grad(y, own, gradient)]
    expected = function(*wide)
    wanted = [expected, *torch.autograd.grad(expected, wide, gradient.double())]
    for mine, theirs in zip(found, wanted, strict=True):
        bound = tolerance * max(theirs.abs().max().item(), 1.0)
        torch.testing.assert_close(mine.double(), theirs, rtol=0, atol=bound)


HEADS = (1, 2, 20, 16)


@pytest.mark.parametrize("function", [soft_capped, causal, dropped_out])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_functions(function, dtype):
    tolerance = 2e-2 if dtype == torch.bfloat16 else 4e-3
    check(function, HEADS, HEADS, HEADS, dtype=dtype, tolerance=tolerance)


def added(query, key, value):
    """The product of queries and keys adds a tensor of biases."""
    query, key, value = (x.flatten(0, 1) for x in (query, key, value))
    bias = torch.arange(20).to(query.dtype) * 0.1
    keys = key.transpose(1, 2)
    scores = torch.baddbmm(bias, query, keys, beta=0.5, alpha=0.3)
    return scores.softmax(-1) @ value


def in_place(query, key, value):
    scores = query @ key.transpose(-2, -1)
    scores /= 4
    scores.masked_fill_(torch.ones(20, 20, dtype=torch.bool).triu(1), -math.inf)
    return scores.softmax(-1) @ value


@pytest.mark.parametrize(
    "function", [soft_capped, widened, widened_scores, added, in_place]
)
def test_one_kernel_forward_and_two_backward(device, function):
    check(function, HEADS, HEADS, HEADS)
    # The second is that of the sums of gradient times result. Where eager keeps copies
    # in float32, writes to the arguments may not change gradients: they are kept, too,
    # by one launch.
    is_copying = function in (widened, widened_scores)
    assert len(device.launched) == 4 + is_copying


@pytest.mark.parametrize("bias", [(20,), (1, 2, 1, 20), (20, 1)], ids=str)
def test_a_bias_with_a_gradient(bias):
    check(biased, HEADS, HEADS, HEADS, bias)


def test_gradients_of_rows_masked_by_a_large_number():
    """All keys of such a row weigh the same; the others see some keys only."""
    mask = torch.zeros(20, 20)
    mask[3], mask[5, 7:] = 1, 1

    def masked(query, key, value):
        scores = query @ key.transpose(-2, -1) * 0.2
        bias = mask.to(scores.dtype) * torch.finfo(torch.bfloat16).min
        return torch.softmax(scores + bias, -1) @ value

    check(masked, HEADS, HEADS, HEADS, dtype=torch.bfloat16, tolerance=2e-2)


def test_grouped_queries():
    check(grouped, (1, 4, 20, 16), HEADS, HEADS)


def test_heads_inside_of_positions():
    check(with_heads_inside, *[(1, 20, 2, 16)] * 3)


@pytest.mark.parametrize("widths", [(40, 40, 24), (16, 16, 1), (72, 72, 72)], ids=str)
def test_widths(widths):
    check(causal, *[(1, 2, 70, width) for width in widths])


@pytest.mark.parametrize("outer", [(), (3,), (2, 3, 2)], ids=str)
def test_other_dims_of_batches(outer):
    check(soft_capped, (*outer, 20, 16), (*outer, 30, 16), (*outer, 30, 8))


def test_symbolic_sizes():
    compiled = girih.compile(causal, dynamic=True, options={"fallback": False})
    for rows, columns in ((17, 30), (40, 70), (64, 64)):
        query = torch.randn(1, 2, rows, 16).half()
        key, value = torch.randn(2, 1, 2, columns, 16).half()
        with torch.no_grad():
            y = compiled(query, key, value)
        expected = causal(query.double(), key.double(), value.double())
        torch.testing.assert_close(y.double(), expected, rtol=4e-3, atol=4e-3)


def with_padded_heads(query, key, value):
    """As PyTorch pads heads for its kernels: up to a multiple of 8."""
    width = query.shape[-1]
    padded = [query, key, value]
    if rest := width % 8:
        padded = [functional.pad(x, (0, 8 - rest)) for x in padded]
    y = functional.scaled_dot_product_attention(
        *padded, is_causal=True, scale=width**-0.5
    )
    return y[..., :width]


def test_padded_heads_of_symbolic_sizes():
    compiled = girih.compile(
        with_padded_heads, dynamic=True, options={"fallback": False}
    )
    for shape in ((2, 4, 4, 5), (10, 8, 33, 2), (3, 2, 64, 17), (2, 2, 20, 16)):
        inputs = [torch.randn(shape).bfloat16() for _ in range(3)]
        with torch.no_grad():
            y = compiled(*inputs)
        expected = with_padded_heads(*(x.double() for x in inputs))
        torch.testing.assert_close(y.double(), expected, rtol=0, atol=3e-2)


def late(query, key, value):
    """Queries are the last positions, and see a window of keys."""
    scores = query @ key.transpose(-2, -1) * 0.2
    rows, columns = scores.shape[-2:]
    ahead = torch.arange(columns) - torch.arange(rows)[:, None] - (columns - rows)
    hidden = (ahead > 0) | (ahead < -40)
    return torch.softmax(scores.masked_fill(hidden, -math.inf), -1) @ value


@pytest.mark.parametrize("dynamic", [False, True])
def test_windows_of_symbolic_sizes(dynamic):
    compiled = girih.compile(late, dynamic=dynamic, options={"fallback": False})
    for rows, columns in ((17, 130), (80, 90), (150, 150)):
        inputs = [torch.randn(1, 2, n, 16).half() for n in (rows, columns, columns)]
        own = [x.clone().requires_grad_() for x in inputs]
        wide = [x.double().requires_grad_() for x in inputs]
        y, expected = compiled(*own), late(*wide)
        gradient = torch.randn_like(y)
        found = [y, *torch.autograd.grad(y, own, gradient)]
        wanted = [expected, *torch.autograd.grad(expected, wide, gradient.double())]
        for mine, theirs in zip(found, wanted, strict=True):
            bound = 4e-3 * max(theirs.abs().max().item(), 1.0)
            torch.testing.assert_close(mine.double(), theirs, rtol=0, atol=bound)


def test_second_order():
    query, key, value = (torch.randn(HEADS).half().requires_grad_() for _ in range(3))
    compiled = girih.compile(soft_capped, options={"fallback": False})

    def penalty(function, *inputs):
        y = function(*inputs).float().square().sum()
        grads = torch.autograd.grad(y, inputs, create_graph=True)
        return torch.autograd.grad(sum(g.float().square().sum() for g in grads), inputs)

    found = penalty(compiled, query, key, value)
    wide = [x.detach().double().requires_grad_() for x in (query, key, value)]
    expected = penalty(lambda q, k, v: soft_capped(q, k, v).double(), *wide)
    for mine, theirs in zip(found, expected, strict=True):
        bound = 3e-2 * theirs.abs().max().item()
        torch.testing.assert_close(mine.double(), theirs, rtol=0, atol=bound)
