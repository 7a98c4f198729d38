"""Numbers that vary as parameters of operations, compiled by girih, against eager."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import girih

X, Y = torch.linspace(-2, 2, 48).view(6, 8).cos() * 3, torch.linspace(-1, 1, 48)
IMAGE = torch.linspace(-1, 1, 2 * 4 * 12 * 12).sin().view(2, 4, 12, 12)
WEIGHT = torch.linspace(-1, 1, 144).view(4, 4, 3, 3)
WHOLE = torch.arange(48).view(6, 8) % 5

INTS = (2, 3, 4, 2, 5)
OF_INTS = {
    "convolution": lambda n: F.conv2d(IMAGE, WEIGHT, stride=n, padding=n, dilation=n),
    "max pooling": lambda n: F.max_pool2d(IMAGE, n),
    "adaptive pooling": lambda n: F.adaptive_avg_pool2d(IMAGE, n),
    "padding": lambda n: F.pad(X, (n, n - 1)),
    "negative padding": lambda n: F.pad(X, (-n, n)),
    "roll": lambda n: torch.roll(X, -n, 0),
    "repeat": lambda n: X.repeat(n, 2) + 1,
    "expand": lambda n: X[:1].expand(n, 8) * 2,
    "narrow": lambda n: X.narrow(0, 1, n) * 2,
    "narrow from the end": lambda n: X.narrow(0, -n, 2),
    "unfold": lambda n: X.unfold(1, n, 2) * 2,
    "top k": lambda n: X.topk(n)[0],
    "chunks": lambda n: X.chunk(n, 1)[0] + 1,
    "triangles": lambda n: torch.tril(X, n) + X.triu(-n),
    "diagonal": lambda n: torch.diagonal(X, 1 - n) * 2,
    "one hot": lambda n: F.one_hot(WHOLE, n + 5),
    "ranges": lambda n: torch.arange(n, 20, n),
    "falling ranges": lambda n: torch.arange(n, -n, -1),
    "range of floats": lambda n: torch.arange(1.5, n),
    "interpolation": lambda n: F.interpolate(IMAGE, size=(n, n)),
    "variance": lambda n: X.var(0, correction=n),
    "norm": lambda n: X.norm(n, 1),
    "clamp": lambda n: WHOLE.clamp(-n, n - 3),
    "bits": lambda n: (WHOLE << n) + (WHOLE >> n) + (WHOLE & n),
    "identity": lambda n: torch.eye(n, n + 1),
    "interleaved": lambda n: X.repeat_interleave(n, 0),
    "selected": lambda n: X[n] + X[:, n][:1] + X.select(1, -n)[:1],
    "written": lambda n: X.clone().index_fill(1, torch.tensor([0]), n),
    "steps": lambda n: X[::n] + 1,
    "from the end": lambda n: (X[-n:] * 2)[:2] + X[:-n][:1],
    "beyond the end": lambda n: X[-4 * n :] * 2 + X[: n * 4],
    "reversed part": lambda n: X[-n:].flip(0),
    "slice scatter": lambda n: torch.slice_scatter(X, torch.ones(n, 8), 0, -n),
    "select scatter": lambda n: torch.select_scatter(X, torch.ones(8), 0, -n),
    "remainders": lambda n: WHOLE % n + WHOLE // n - X.to(torch.int64) % -n,
    "powers": lambda n: WHOLE**n + n**WHOLE + X**n,
    "product": lambda n: torch.ones(n, 3) @ torch.ones(3, n),
    "transposed": lambda n: torch.ones(n * 4).view(4, n).t().contiguous(),
    "unflattened": lambda n: Y[:40].unflatten(0, (-1, n)) if n != 3 else Y,
    "stacked": lambda n: torch.stack([X[:n], X[1 : n + 1]]),
    "where": lambda n: torch.where(WHOLE > n, WHOLE, n) + torch.where(X > 0, X, n),
    "scaled product": lambda n: torch.addmm(X[:, :6], X, X.t(), alpha=n, beta=n),
    "scaled row": lambda n: torch.addmv(X[0, :6], X, X[1], alpha=n),
    "activations": lambda n: F.celu(X, n) + F.elu(X, n) + F.hardtanh(X, -n, n),
    "thresholds": lambda n: F.threshold(X, n - 3, n) + F.hardshrink(X, n - 1),
    "signs": lambda n: torch.copysign(X, n) + torch.xlogy(X.abs(), n),
    "constant padding": lambda n: F.pad(X, (1, 1), value=n),
    "distances": lambda n: torch.cdist(X, X + 1, p=n) + F.normalize(X, p=n)[:, :6],
    "written steps": lambda n: torch.slice_scatter(X, X[::n] * 2, 0, 0, None, n),
    "range of halves": lambda n: torch.arange(0, n, 0.5),
    "whole steps": lambda n: X[1::n].sin() + X[:, 1::n].cos().sum(),
    "grid": lambda n: torch.outer(torch.arange(n), torch.arange(n + 1)),
    "strided": lambda n: X.as_strided((n, 2), (1, n)) * 2,
}

FLOATS = (0.3, 0.21, 0.5, 0.35)
OF_FLOATS = {
    "layer norm": lambda p: F.layer_norm(X, (8,), eps=p),
    "activations": lambda p: F.elu(X, p) + F.celu(X, p) + F.leaky_relu(X, p),
    "softplus": lambda p: F.softplus(X, p, p * 10),
    "thresholds": lambda p: F.hardtanh(X, -p, p) + F.threshold(X, p, -p),
    "shrinks": lambda p: F.hardshrink(X, p) + F.softshrink(X, p),
    "losses": lambda p: F.huber_loss(X, X * 2, delta=p) + F.smooth_l1_loss(X, X * 2),
    "label smoothing": lambda p: F.cross_entropy(X, WHOLE[:, 0], label_smoothing=p),
    "attention": lambda p: F.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, scale=p),
    "scaled product": lambda p: torch.addmm(X[:, :6], X, X.t(), alpha=p, beta=p),
    "lerp": lambda p: torch.lerp(X, X + 1, p),
    "addcdiv": lambda p: torch.addcdiv(X, X, X.abs() + 1, value=p),
    "not a number": lambda p: torch.nan_to_num(X / 0, p, p, p),
    "range": lambda p: torch.arange(0, 3, p),
    "whole numbers": lambda p: torch.full((3,), p, dtype=torch.int64),
    "half": lambda p: torch.zeros(3, dtype=torch.half).fill_(p),
    "whole tensors": lambda p: WHOLE.clamp(p) + WHOLE * p + (WHOLE > p),
    "masked": lambda p: X.masked_fill(X > 0, p) + WHOLE.masked_fill(WHOLE > 2, p),
    "in place": lambda p: X.clone().mul_(p).sub_(p).div_(p).add_(X, alpha=p),
    "scatter": lambda p: X.scatter(1, WHOLE, p),
    "powers": lambda p: X.abs().pow(p) + p**X,
    "remainders": lambda p: X % p + torch.fmod(X, p),
    "written": lambda p: X.index_fill(1, torch.tensor([0]), p),
    "sign": lambda p: torch.copysign(X, -p),
    "complex": lambda p: torch.view_as_real(X.to(torch.complex64) * p),
    "tensor": lambda p: X + torch.tensor(p),
    "tensor like": lambda p: X + torch.as_tensor(p) + torch.asarray(p, dtype=X.dtype),
    "list": lambda p: X[:, :3] * torch.tensor([p, 1, -p * 2]),
    "lists": lambda p: torch.tensor([(p, 1), (2**60 + 1, p + 0.1)]),
    "list of a dtype": lambda p: torch.as_tensor(
        [p * 10, 2**60 + 1], dtype=torch.int64
    ),
    "list of doubles": lambda p: torch.tensor([p, p / 3], dtype=torch.float64),
}


def check(program, values):
    compiled = girih.compile(program, fullgraph=True)
    for value in values:
        torch.testing.assert_close(compiled(value), program(value))


@pytest.mark.filterwarnings("error::girih.FallbackWarning")
@pytest.mark.parametrize("name", ["variance", "steps", "norm", "range of floats"])
def test_ints_behind_torch_compile(name):
    torch._dynamo.reset()
    compiled = torch.compile(OF_INTS[name], backend="girih", fullgraph=True)
    for value in INTS:
        torch.testing.assert_close(compiled(value), OF_INTS[name](value))


@pytest.mark.parametrize("name", OF_INTS)
def test_ints(name):
    check(OF_INTS[name], INTS)


@pytest.mark.parametrize("name", OF_FLOATS)
def test_floats(name):
    check(OF_FLOATS[name], FLOATS)


@pytest.mark.parametrize("dynamic", [None, True])
def test_tensors_of_floats_are_compiled_for_all_values(dynamic):
    def program(p, q):
        rows = torch.tensor([[p, q], [q, 1.0]])
        return X[:, :1] + torch.as_tensor(p), rows @ torch.tensor((p, 2))

    compiled = girih.compile(program, dynamic=dynamic, fullgraph=True)
    girih.reset()
    for i in range(12):
        p, q = 0.3 + i / 7, -2.5 - i
        torch.testing.assert_close(compiled(p, q), program(p, q))
    assert girih.counters()["recompilations"] <= 1


@pytest.mark.parametrize("name", ["ragged", "a bool", "a tensor", "requires_grad"])
def test_lists_that_are_more_than_floats(name):
    program = {
        "ragged": lambda p: torch.tensor([[p], [p, 1.0]]),
        "a bool": lambda p: torch.tensor([p, True]),
        "a tensor": lambda p: torch.tensor([p, X.new_tensor(2.0)]),
        "requires_grad": lambda p: torch.tensor([p, 2.0], requires_grad=True),
    }[name]
    compiled = girih.compile(program, dynamic=True)
    for p in FLOATS:
        if name == "ragged":
            with pytest.raises(ValueError, match="expected sequence of length 1"):
                compiled(p)
        else:
            found, expected = compiled(p), program(p)
            torch.testing.assert_close(found, expected)
            assert found.requires_grad == expected.requires_grad


@pytest.mark.parametrize("values", [(1.0, -0.0), (1.0, 2.0, -0.0), (2.0, 0.0, -0.0)])
@pytest.mark.parametrize("dynamic", [None, True])
def test_negative_zeros(values, dynamic):
    """An operation that needs the number knows its sign."""

    def f(x, k):
        return x / k, x.new_tensor(k), torch.arange(k, 3)

    compiled = girih.compile(f, dynamic=dynamic)
    x = torch.tensor([1.0, -1.0])
    for k in values:
        assert repr(compiled(x, k)) == repr(f(x, k))
