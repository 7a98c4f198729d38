"""Tensor code and control flow, captured in one graph, against plain Python."""

import pytest
import torch
import torch.nn.functional as F
from capture_differential import Cases, check, rand

case = Cases()


# Straight lines


@case(rand(3, 4), rand(3, 4))
def arithmetic(x, y):
    z = x + y * 2 - 1 / (y.abs() + 1)
    return -(z**2) // 3 % 2


@case(rand(3, 4), rand(4, 5))
def matrix_product(x, y):
    return (x @ y).relu()


@case(rand(3, 4))
def methods(x):
    return x.sum(dim=1, keepdim=True).expand(3, 4).transpose(0, 1).contiguous()


@case(rand(3, 4))
def reflected(x):
    return 2 - x, 2 / x, 2 * x, 2**x, 1 + x


@case(rand(3, 4), rand(3, 4))
def comparisons(x, y):
    return x < y, x == y, (x > 0) & (y > 0), ~(x != y)


@case(rand(4, 5, 6))
def indexing(x):
    return x[0], x[1:3], x[..., -1], x[:, None, 2], x[::2, 1:4], x[(0, 1)]


@case(rand(4, 5), torch.tensor([0, 2]))
def tensor_index(x, i):
    return x[i], x[:, i], x[x > 0].sum() if False else x.index_select(0, i)


@case(rand(3, 4))
def in_place(x):
    y = x.clone()
    y += 1
    y *= 2
    y.add_(x)
    y[0] = 0
    y[:, 1:] = x[:, 1:]
    return y


@case(rand(3, 4))
def mutates_argument(x):
    x.add_(1)
    return x


@case(rand(3, 4))
def mutates_argument_and_returns_none(x):
    x[0] = 7


@case(rand(3, 4))
def returns_input(x):
    return x


@case(rand(3, 4))
def returns_view(x):
    return x.t(), x.view(-1), x


@case(rand(3, 4))
def returns_same_twice(x):
    y = x + 1
    return y, [y, y], {"k": y}


@case(rand(2, 8))
def split_and_unpack(x):
    a, b = x.chunk(2, dim=1)
    c, *rest, d = x.unbind(1)
    values, indices = x.max(dim=1)
    top = torch.topk(x, 2)
    return a + b, c + d, len(rest), values, indices, top.values, top[1]


@case(rand(3, 4))
def shapes(x):
    n, m = x.shape
    return x.reshape(m, n), x.size(0), x.size(), x.numel(), x.dim(), x.ndim, len(x)


@case(rand(3, 4))
def metadata(x):
    out = x * (2 if x.dtype == torch.float32 else 3)
    if x.is_floating_point() and x.device.type == "cpu" and not x.is_cuda:
        out = out + 1
    return out, x.dtype, x.device, x.is_contiguous(), x.stride(), x.element_size()


@case()
def creation():
    a = torch.zeros(2, 3)
    b = torch.ones(2, 3, dtype=torch.float64)
    c = torch.arange(6).reshape(2, 3)
    d = torch.full((2, 3), 7.0) + torch.tensor([1.0, 2.0, 3.0])
    return a + c, b, d, torch.eye(2), torch.linspace(0, 1, 3)


@case(rand(3, 4))
def random_numbers(x):
    return F.dropout(x, 0.5) + torch.rand(3, 4) + torch.randn_like(x)


@case(rand(3, 4))
def casts(x):
    return x.to(torch.float64), x.int(), x.half().float(), x.type(torch.int32), x.to(x)


@case(rand(2, 3, 8, 8), rand(4, 3, 3, 3))
def functional(x, w):
    y = F.conv2d(x, w, padding=1)
    y = F.max_pool2d(F.gelu(y), 2)
    y = F.layer_norm(y, y.shape[1:])
    return F.softmax(y.flatten(1), dim=-1)


@case(rand(1, 2, 5, 4))
def attention(q):
    out = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    return out.transpose(1, 2).reshape(1, 5, 8)


@case(rand(3, 4))
def no_grad_region(x):
    y = x * 2
    with torch.no_grad():
        z = y * 3
    return y + z


@case(rand(3, 4).requires_grad_())
def gradient_modes(x):
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 3
    with torch.set_grad_enabled(False):
        c = x * 4
    return a, b, c, x * 5


@case(rand(3, 4), rand(4, 3))
def autocast_region(x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ y
        with torch.autocast("cpu", enabled=False):
            b = x @ y
    return a, b, x @ y, torch.compiler.is_compiling() or True


# Control flow on Python values


@case(rand(3, 4), 3)
def branches(x, n):
    if n > 2:
        x = x + 1
    elif n < 0:
        x = x - 1
    else:
        x = x * 2
    return x if n % 2 else -x


@case(rand(3, 4), 3)
def loops(x, n):
    for i in range(n):
        if i == 1:
            continue
        x = x + i
    while n > 0:
        n -= 1
        x = x * 2
        if n == 1:
            break
    else:
        x = x + 100
    return x


@case(rand(3, 4), None)
def none_checks(x, y=None):
    if y is None:
        y = torch.ones(3, 4)
    return x + y if x is not None else y


@case(rand(3, 4))
def logic(x):
    flag = x.ndim == 2 and x.size(0) == 3 or x.size(1) > 10
    return (x if not flag else x + 1), (None or 5), ("" and 1), 1 < x.ndim <= 2


@case(rand(3, 4), "gelu")
def match_statement(x, name):
    match name:
        case "relu":
            return F.relu(x)
        case "gelu" | "silu":
            return F.gelu(x)
        case _:
            return x


@case(rand(3, 4), (1, [2, 3], {"k": 4}))
def match_structure(x, value):
    match value:
        case (a, [b, c], {"k": d}):
            return x + a + b + c + d
    return x


@case(rand(3, 4))
def walrus_and_assert(x):
    assert (n := x.shape[0]) == 3, "wrong"
    assert isinstance(x, torch.Tensor)
    return x + n


@case(rand(3, 4), 3)
def chained_comparison(x, n):
    return x if 0 < n < 5 else x + 1


@pytest.mark.parametrize("function, args, kwargs", case.parameters)
def test_same_as_plain(function, args, kwargs):
    check(function, *args, **kwargs)
