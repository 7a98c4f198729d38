"""Each family of ops: the imported graph gives what eager gives."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from importing import assert_imports

FLOATS = [torch.float32, torch.float64, torch.bfloat16]


def randn(*shape, dtype=torch.float32):
    return torch.randn(shape, dtype=torch.float64).to(dtype)


def cases(**functions):
    return pytest.mark.parametrize(
        "function", list(functions.values()), ids=list(functions)
    )


UNARY = {
    name: getattr(torch, name)
    for name in """abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin
    cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc sigmoid sign floor
    ceil round trunc isnan isinf isfinite logical_not relu frac square positive sgn
    nan_to_num""".split()
}


@cases(**UNARY)
@pytest.mark.parametrize("shape", [(), (0,), (3, 5)])
def test_unary(function, shape):
    assert_imports(function, randn(*shape), native=True)


@cases(
    **{k: v for k, v in UNARY.items() if k not in ("frac", "nan_to_num", "positive")}
)
@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.bool])
def test_unary_of_integers(function, dtype):
    x = torch.tensor([0, 1, 2, 5]).to(dtype)
    try:
        function(x)
    except RuntimeError:
        pytest.skip("eager refuses it")
    assert_imports(function, x)


ACTIVATIONS = {
    name: getattr(F, name)
    for name in """gelu silu mish elu leaky_relu softplus logsigmoid hardsigmoid
    hardswish hardtanh relu6 selu celu softsign tanhshrink hardshrink softshrink
    glu""".split()
}


@cases(**ACTIVATIONS, gelu_tanh=lambda x: F.gelu(x, approximate="tanh"))
@pytest.mark.parametrize("dtype", FLOATS)
def test_activation(function, dtype):
    assert_imports(function, 4 * randn(3, 6, dtype=dtype), native=True)


def test_activations_with_parameters():
    x = 3 * randn(4, 5)
    assert_imports(lambda x, w: F.prelu(x, w), x, torch.tensor([0.25]), native=True)
    assert_imports(lambda x: F.threshold(x, 0.5, -1.0), x, native=True)
    assert_imports(lambda x: F.softplus(x, 2.0, 1.0), x, native=True)
    assert_imports(lambda x: F.hardtanh(x, -0.5, 2), x.long(), native=True)


BINARY = {
    name: getattr(torch, name)
    for name in """add sub mul div true_divide floor_divide remainder fmod atan2 maximum
    minimum eq ne lt le gt ge logical_and logical_or logical_xor rsub copysign
    xlogy""".split()
}

TENSORS_ONLY = "atan2 maximum minimum logical_and logical_or logical_xor".split()


@cases(**BINARY)
def test_binary(function):
    assert_imports(function, randn(3, 1, 4), randn(5, 1), native=True)
    assert_imports(function, randn(2, 3), randn(), native=True)
    if function.__name__ not in TENSORS_ONLY:
        assert_imports(lambda x: function(x, 2.5), randn(4), native=True)


@cases(**BINARY)
def test_binary_of_integers(function):
    x, y = torch.tensor([-7, 7, -3, 5]), torch.tensor([2, -2, 3, 4])
    if function is torch.xlogy:
        y = y.abs()
    assert_imports(function, x, y)
    assert_imports(function, x.int(), y.to(torch.int16))
    if function.__name__ not in TENSORS_ONLY:
        assert_imports(lambda x: function(x, 3), x)


def test_arithmetic_details():
    x, y, z = randn(3, 4), randn(3, 4), randn(4).abs() + 1
    assert_imports(lambda x, y: torch.add(x, y, alpha=2.5), x, y, native=True)
    assert_imports(lambda x, y: torch.sub(x, y, alpha=3), x, y, native=True)
    assert_imports(lambda x, y: torch.rsub(x, y, alpha=3), x, y, native=True)
    assert_imports(lambda x: 3 - x, x, native=True)
    assert_imports(lambda x: 3 / x, x, native=True)
    assert_imports(
        lambda x, y, z: torch.addcmul(x, y, z, value=2), x, y, z, native=True
    )
    assert_imports(
        lambda x, y, z: torch.addcdiv(x, y, z, value=2), x, y, z, native=True
    )
    assert_imports(lambda x, y, z: torch.lerp(x, y, z), x, y, z, native=True)
    assert_imports(lambda x, y: torch.lerp(x, y, 0.25), x, y, native=True)
    assert_imports(lambda x, y: torch.div(x, y, rounding_mode="trunc"), x, y)
    assert_imports(lambda x, y: torch.div(x, y, rounding_mode="floor"), x, y)
    assert_imports(lambda x, y: torch.fmax(x, y), x, y)


@pytest.mark.parametrize("exponent", [-2, -1, -0.5, 0, 0.5, 1, 2, 3, 2.5, 7])
def test_pow(exponent):
    assert_imports(lambda x: x**exponent, randn(5).abs() + 0.1, native=True)
    if isinstance(exponent, int) and exponent >= 0:
        assert_imports(lambda x: x**exponent, torch.arange(5), native=True)
        assert_imports(lambda x: x**exponent, torch.tensor([True, False]))
    assert_imports(lambda x: exponent**x, randn(5), native=True)


@cases(
    bitwise_and=torch.bitwise_and,
    bitwise_or=torch.bitwise_or,
    bitwise_xor=torch.bitwise_xor,
    left=torch.bitwise_left_shift,
    right=torch.bitwise_right_shift,
)
def test_bitwise(function):
    x, y = torch.tensor([5, -7, 12, 0]), torch.tensor([3, 2, 1, 4])
    assert_imports(function, x, y, native=True)
    assert_imports(function, x.int(), y.to(torch.uint8), native=True)
    assert_imports(lambda x: function(x, 3), x, native=True)
    assert_imports(lambda x, y: (x << 2, x >> y, x & y, x | 3), x, y, native=True)
    if "shift" not in function.__name__:
        assert_imports(function, x > 3, y > 1, native=True)
    assert_imports(torch.bitwise_not, x, native=True)
    assert_imports(torch.bitwise_not, x > 3, native=True)


def test_wrap_around():
    x = torch.tensor([0, 1, 250, 255], dtype=torch.uint8)
    assert_imports(lambda x: x + 10, x, native=True, exact=True)
    assert_imports(lambda x: -x, x, native=True, exact=True)
    assert_imports(lambda x: x - 3, x, native=True, exact=True)
    assert_imports(lambda x: x * x, x, native=True, exact=True)


def test_selection():
    x, y = randn(3, 4), randn(4)
    mask = randn(3, 4) > 0
    assert_imports(lambda m, x, y: torch.where(m, x, y), mask, x, y, native=True)
    assert_imports(lambda m, x: torch.where(m, x, 2), mask, x, native=True)
    assert_imports(lambda m, x: torch.where(m, 2.5, x), mask, x.int(), native=True)
    assert_imports(lambda m: torch.where(m, 1.0, 2), mask, native=True)
    assert_imports(lambda m, x: x.masked_fill(m, -1), mask, x, native=True)
    assert_imports(lambda x: x.clamp(-0.5, 0.5), x, native=True)
    assert_imports(lambda x: x.clamp(min=0), x, native=True)
    assert_imports(lambda x: x.clamp(max=0.5), x.int(), native=True)
    assert_imports(lambda x, y: torch.clamp(x, y, y + 1), x, y, native=True)
    assert_imports(lambda x: x.clamp_min(0.1), x, native=True)


REDUCTIONS = dict(
    sum=torch.sum,
    mean=torch.mean,
    amax=torch.amax,
    amin=torch.amin,
    all=torch.all,
    any=torch.any,
    var=torch.var,
    std=torch.std,
    logsumexp=lambda x, dim=(0, 1, 2), keepdim=False: x.logsumexp(dim, keepdim),
    norm=lambda x, dim=None, keepdim=False: torch.linalg.vector_norm(
        x, dim=dim, keepdim=keepdim
    ),
    count=lambda x, dim=None, keepdim=False: torch.count_nonzero(x, dim),
)


@cases(**REDUCTIONS)
@pytest.mark.parametrize("dim", [None, 0, -1, (0, 2), (1,)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reduction(function, dim, keepdim):
    x = randn(3, 4, 5)
    if dim is None:
        return assert_imports(function, x, native=True)
    assert_imports(lambda x: function(x, dim=dim, keepdim=keepdim), x, native=True)


@cases(
    argmax=torch.argmax,
    argmin=torch.argmin,
    max=torch.max,
    min=torch.min,
    prod=torch.prod,
    cumsum=lambda x, dim=0, keepdim=False: x.cumsum(dim),
    cumprod=lambda x, dim=0, keepdim=False: x.cumprod(dim),
    logcumsumexp=lambda x, dim=0, keepdim=False: x.logcumsumexp(dim),
    cummax=lambda x, dim=0, keepdim=False: x.cummax(dim),
    cummin=lambda x, dim=0, keepdim=False: x.cummin(dim),
    softmax=lambda x, dim=0, keepdim=False: x.softmax(dim),
    log_softmax=lambda x, dim=0, keepdim=False: x.log_softmax(dim),
)
@pytest.mark.parametrize("dim", [None, 0, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reduction_of_one_dim(function, dim, keepdim):
    x = torch.randint(0, 4, (3, 4)).float()
    if dim is None:
        return assert_imports(function, x, native=True)
    assert_imports(lambda x: function(x, dim=dim, keepdim=keepdim), x, native=True)


def test_reduction_details():
    x = randn(3, 4)
    assert_imports(lambda x: x.sum(dtype=torch.float64), x, native=True)
    assert_imports(lambda x: x.bool().sum(0), x, native=True)
    assert_imports(lambda x: x.int().sum(), x, native=True)
    assert_imports(lambda x: x.mean(1, dtype=torch.float64), x, native=True)
    assert_imports(lambda x: torch.var_mean(x, dim=1, correction=0), x, native=True)
    assert_imports(lambda x: torch.std_mean(x), x, native=True)
    assert_imports(lambda x: torch.aminmax(x, dim=0), x, native=True)
    assert_imports(lambda x: torch.norm(x, p=1), x, native=True)
    assert_imports(lambda x: F.normalize(x, dim=-1), x, native=True)
    assert_imports(lambda x: x.norm(p=float("inf"), dim=1), x, native=True)
    assert_imports(lambda x: x.sum(), torch.zeros(0, 3), native=True)
    assert_imports(lambda x: x.mean(0), torch.zeros(0, 3), native=True)
    assert_imports(lambda x: x.sum(0), torch.tensor(3.0), native=True)
    assert_imports(lambda x: x.argmax(), torch.tensor(3.0), native=True)
    assert_imports(lambda x: x.softmax(0), torch.tensor(3.0), native=True)
    assert_imports(lambda x: x.any(), torch.tensor([0, 3], dtype=torch.uint8))
    assert_imports(lambda x: torch.sort(x, dim=0), x)
    assert_imports(lambda x: torch.topk(x, 2), x)


VIEWS = dict(
    view=lambda x: x.view(4, -1),
    reshape=lambda x: x.transpose(0, 1).reshape(-1, 2),
    permute=lambda x: x.permute(2, 0, 1),
    transpose=lambda x: x.transpose(0, -1),
    mT=lambda x: x.mT,
    t=lambda x: x[0].t(),
    squeeze=lambda x: x[:, :1].squeeze(1),
    unsqueeze=lambda x: x.unsqueeze(-1).unsqueeze(0),
    expand=lambda x: x[:, :, :1].expand(-1, -1, 7),
    slice=lambda x: x[1:, ::2, -3:-1],
    select=lambda x: x[-1],
    split=lambda x: x.split(2, dim=1),
    split_sizes=lambda x: x.split([1, 3, 0], dim=1),
    chunk=lambda x: x.chunk(3, dim=-1),
    unbind=lambda x: x.unbind(1),
    flatten=lambda x: x.flatten(1),
    unflatten=lambda x: x.unflatten(2, (2, 3)),
    narrow=lambda x: x.narrow(1, 1, 2),
    movedim=lambda x: x.movedim(0, 2),
    diagonal=lambda x: x.diagonal(0, 1, 2),
    unfold=lambda x: x.unfold(2, 3, 2),
    ellipsis=lambda x: x[..., None, 2],
    squeeze_all=lambda x: x[:1, :1].squeeze(),
    view_as=lambda x: x.view_as(x),
    broadcast=lambda x: torch.broadcast_tensors(x, x[0]),
    contiguous=lambda x: x.transpose(0, 1).contiguous(),
)


@cases(**VIEWS)
def test_view(function):
    x = randn(2, 4, 6)
    assert_imports(function, x, exact=True)
    assert_imports(lambda x: function(x + 0), x, exact=True)


REARRANGEMENTS = dict(
    cat=lambda x: torch.cat([x, x[:1], x.int()], 0),
    stack=lambda x: torch.stack([x, x + 1], -1),
    repeat=lambda x: x.repeat(2, 1, 3, 1),
    tile=lambda x: torch.tile(x, (2, 2)),
    flip=lambda x: x.flip(0, -1),
    roll=lambda x: x.roll((1, -2), (0, 2)),
    roll_flat=lambda x: x.roll(3),
    pad=lambda x: F.pad(x, (1, 2, 0, 1), value=3.0),
    pad_negative=lambda x: F.pad(x, (-1, 2, 1, -1)),
    pad_reflect=lambda x: F.pad(x, (2, 1), mode="reflect"),
    pad_replicate=lambda x: F.pad(x, (2, 1), mode="replicate"),
    pad_circular=lambda x: F.pad(x, (2, 1), mode="circular"),
    tril=lambda x: x.tril(1),
    triu=lambda x: x.triu(-1),
    hstack=lambda x: torch.hstack([x, x]),
    meshgrid=lambda x: torch.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"),
    swap=lambda x: torch.swapaxes(x, 0, 1),
    rot90=lambda x: torch.rot90(x, 1, (0, 1)),
    rot180=lambda x: torch.rot90(x, 2, (2, 0)),
    rot270=lambda x: torch.rot90(x, -1, (-1, 0)),
    diag_embed=lambda x: torch.diag_embed(x),
    diag_embed_above=lambda x: torch.diag_embed(x, 2, 0, 2),
    diag_embed_below=lambda x: torch.diag_embed(x, -1, -1, 1),
    diag=lambda x: torch.diag(x[0, 0], 1),
)


@cases(**REARRANGEMENTS)
def test_rearrangement(function):
    assert_imports(function, randn(2, 4, 6), exact=True, native=True)


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (0, 2), (1, 1)])
def test_trace(shape):
    assert_imports(torch.trace, randn(*shape), native=True)
    assert_imports(torch.trace, randn(*shape).int(), exact=True, native=True)


@pytest.mark.parametrize("offset", [-3, -1, 0, 2, 5])
def test_diagonals(offset):
    x, y = randn(2, 5, 3), randn(3, 4)
    assert_imports(lambda x: x.diagonal(offset, 1, 2) + 1, x, exact=True)
    assert_imports(lambda x: x.diagonal(offset, -1, 0) + 1, x, exact=True)
    assert_imports(lambda y: y.diagonal(offset).mul_(2), y, exact=True)
    assert_imports(lambda x: x.diagonal(offset, 2, 0)[1:].fill_(7), x, exact=True)


def test_pixel_shuffle():
    x = randn(2, 8, 4, 6)
    assert_imports(lambda x: F.pixel_shuffle(x, 2), x, exact=True, native=True)
    assert_imports(lambda x: F.pixel_unshuffle(x, 2), x, exact=True, native=True)


def test_contraction():
    x, y, z = randn(3, 4), randn(4, 5), randn(5)
    assert_imports(torch.mm, x, y, native=True)
    assert_imports(torch.matmul, x, y, native=True)
    assert_imports(torch.matmul, x, y[:, 0], native=True)
    assert_imports(torch.dot, z, z, native=True)
    assert_imports(torch.matmul, randn(2, 3, 4), y, native=True)
    assert_imports(torch.matmul, randn(2, 3, 4), randn(2, 4, 5), native=True)
    assert_imports(torch.matmul, randn(6, 1, 3, 4), randn(2, 4, 5), native=True)
    assert_imports(lambda x, y, z: torch.addmm(z, x, y, alpha=2), x, y, z, native=True)
    assert_imports(F.linear, randn(2, 3, 4), randn(5, 4), z, native=True)
    assert_imports(F.linear, randn(4), randn(5, 4), native=True)
    assert_imports(torch.baddbmm, randn(5), randn(2, 3, 4), randn(2, 4, 5), native=True)
    assert_imports(lambda x, y: torch.einsum("ij,jk->ki", x, y), x, y, native=True)
    assert_imports(torch.outer, z, x[0], native=True)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    q, k, v = randn(2, 3, 7, 8), randn(2, 3, 7, 8), randn(2, 3, 7, 8)
    attend = F.scaled_dot_product_attention
    assert_imports(lambda *a: attend(*a, is_causal=causal), q, k, v, native=True)
    mask = randn(7, 7)
    assert_imports(lambda q, k, v, m: attend(q, k, v, m), q, k, v, mask)
    assert_imports(lambda q, k, v, m: attend(q, k, v, m > 0), q, k, v, mask + 2)


def test_convolution():
    x, w, b = randn(2, 4, 9, 9), randn(6, 4, 3, 3), randn(6)
    assert_imports(lambda x, w, b: F.conv2d(x, w, b, padding=1), x, w, b, native=True)
    assert_imports(lambda x, w: F.conv2d(x, w, stride=2), x, w, native=True)
    assert_imports(lambda x, w: F.conv2d(x, w, groups=2), x, randn(6, 2, 3, 3))
    assert_imports(lambda x, w: F.conv1d(x[:, :, 0], w[:, :, 0]), x, w)
    assert_imports(
        lambda x, w: F.conv_transpose2d(x, w, stride=2), x, randn(4, 3, 3, 3)
    )
    channels_last = x.to(memory_format=torch.channels_last)
    assert_imports(lambda x, w: F.conv2d(x, w).relu(), channels_last, w)


def test_pooling():
    x = randn(2, 3, 8, 9)
    assert_imports(lambda x: F.max_pool2d(x, 2), x, native=True)
    assert_imports(lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), x, native=True)
    assert_imports(lambda x: F.max_pool1d(x[0], 2), x)
    assert_imports(lambda x: F.avg_pool2d(x, 2), x, native=True)
    assert_imports(lambda x: F.avg_pool2d(x, 3, 2, 1), x, native=True)
    assert_imports(lambda x: F.adaptive_avg_pool2d(x, (1, 1)), x, native=True)
    assert_imports(lambda x: F.adaptive_avg_pool2d(x, (3, 4)), x, native=True)
    assert_imports(lambda x: F.adaptive_max_pool2d(x, (3, 4)), x)
    assert_imports(lambda x: F.interpolate(x, scale_factor=2), x)
    assert_imports(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), x)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normalization(dtype):
    x = randn(3, 4, 6, dtype=dtype)
    w, b = randn(6, dtype=dtype), randn(6, dtype=dtype)
    assert_imports(lambda x, w, b: F.layer_norm(x, (6,), w, b), x, w, b, native=True)
    assert_imports(lambda x: F.layer_norm(x, (4, 6)), x, native=True)
    assert_imports(lambda x, w: F.rms_norm(x, (6,), w), x, w, native=True)
    w, b = w[:4].clone(), b[:4].clone()
    assert_imports(lambda x, w, b: F.group_norm(x, 2, w, b), x, w, b, native=True)
    assert_imports(lambda x: F.instance_norm(x), x)
    g = randn(3, 1, 1, dtype=dtype)
    assert_imports(lambda x, g: torch._weight_norm(x, g, 0), x, g, native=True)
    g = randn(1, 1, 6, dtype=dtype)
    assert_imports(lambda x, g: torch._weight_norm(x, g, 2), x, g, native=True)


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm(training):
    x, w, b = randn(3, 4, 5, 5), randn(4), randn(4)
    mean, variance = randn(4), randn(4).abs() + 0.5
    assert_imports(
        lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b, training=training),
        x, mean, variance, w, b, native=True,
    )  # fmt: skip
    assert_imports(
        lambda x, m, v: F.batch_norm(x, m, v, training=training), x[..., 0], mean,
        variance, native=True,
    )  # fmt: skip


def test_indexing():
    x, i, j = randn(4, 5, 6), torch.tensor([0, 3, -1]), torch.tensor([[1], [-2]])
    assert_imports(lambda x, i: x[i], x, i, native=True)
    assert_imports(lambda x, i: x[:, i], x, i, native=True)
    assert_imports(lambda x, i, j: x[i, :, j], x, i, j, native=True)
    assert_imports(lambda x, i, j: x[:, i, j], x, i, j, native=True)
    assert_imports(lambda x, i: x[i.int(), 1:], x, i, native=True)
    assert_imports(lambda x: x[[0, 2]], x)
    assert_imports(lambda x, i: x.index_select(1, i + 1), x, i.abs(), native=True)
    assert_imports(lambda x, i: x.take(i), x, i, native=True)
    index = torch.randint(0, 4, (2, 5, 6))
    assert_imports(lambda x, i: x.gather(0, i), x, index, native=True)
    assert_imports(lambda x, i: torch.take_along_dim(x, i, 0), x, index)
    table = randn(10, 3)
    assert_imports(lambda w, i: F.embedding(i, w), table, j.abs(), native=True)
    assert_imports(lambda w, i: F.embedding(i, w, padding_idx=1), table, j.abs())
    assert_imports(lambda i: F.one_hot(i, 5), i.abs())


def test_scattering():
    x, src = randn(4, 5), randn(2, 5)
    index = torch.stack([torch.randperm(4)[:2] for _ in range(5)], 1)
    assert_imports(lambda x, i, s: x.scatter(0, i, s), x, index, src, native=True)
    assert_imports(lambda x, i: x.scatter(0, i, 2.0), x, index)
    assert_imports(lambda x, i, s: x.scatter_add(0, i, s), x, index, src, native=True)
    assert_imports(lambda x, i, s: x.scatter_reduce(0, i, s, "amax"), x, index, src)
    assert_imports(lambda x, s: x.index_add(0, torch.tensor([1, 2]), s), x, src)
    assert_imports(lambda x, s: x.index_copy(0, torch.tensor([1, 2]), s), x, src)
    assert_imports(lambda x: x.index_fill(0, torch.tensor([1, 2]), 3.0), x)
    assert_imports(lambda x, m: x.masked_scatter(m, x * 2), x, x > 0)


def test_losses():
    x, y = randn(6, 5), torch.tensor([0, 1, 4, 2, -100, 3])
    for reduction in ("mean", "sum", "none"):
        assert_imports(
            lambda x, y, r=reduction: F.cross_entropy(x, y, reduction=r), x, y,
            native=True,
        )  # fmt: skip
    assert_imports(lambda x, y, w: F.cross_entropy(x, y, w), x, y, randn(5).abs())
    assert_imports(lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), x, y)
    t = randn(6, 5)
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
        assert_imports(loss, x, t)
    p = t.sigmoid()
    assert_imports(F.binary_cross_entropy_with_logits, x, p, native=True)
    assert_imports(F.binary_cross_entropy, x.sigmoid(), p)
    assert_imports(F.kl_div, x.log_softmax(1), p)


CREATIONS = dict(
    zeros=lambda x: x + torch.zeros(3, 4),
    ones=lambda x: torch.ones(2, dtype=torch.int32),
    full=lambda x: torch.full((2, 3), 7),
    full_bool=lambda x: torch.full((2,), True),
    like=lambda x: torch.full_like(x, 2.5),
    zeros_like=lambda x: torch.zeros_like(x, dtype=torch.bool),
    new=lambda x: x.new_ones(3) + x.new_full((3,), 2),
    arange=lambda x: torch.arange(5),
    arange_step=lambda x: torch.arange(1, 10, 3),
    arange_float=lambda x: torch.arange(0.5, 3, 0.25),
    arange_down=lambda x: torch.arange(5, 0, -2),
    linspace=lambda x: torch.linspace(0, 1, 7),
    eye=lambda x: torch.eye(3),
    eye_m=lambda x: torch.eye(3, 5, dtype=torch.int64),
    tensor=lambda x: x + torch.tensor(2.0) * torch.tensor([1.0, 2, 3, 4]),
    tril=lambda x: torch.tril(torch.ones(4, 4, dtype=torch.bool)),
    scalar=lambda x: x * torch.scalar_tensor(3),
    empty=lambda x: torch.empty(3).fill_(2),
    tril_indices=lambda x: torch.tril_indices(3, 3),
)


@cases(**CREATIONS)
def test_creation(function):
    assert_imports(function, randn(3, 4))


RANDOM = dict(
    rand=lambda x: torch.rand(3, 4) + x,
    randn=lambda x: torch.randn(5, dtype=torch.float64),
    randint=lambda x: torch.randint(0, 10, (7,)),
    rand_like=lambda x: torch.rand_like(x) * torch.randn_like(x),
    dropout=lambda x: F.dropout(x, 0.5),
    dropout_in_place=lambda x: F.dropout(x + 1, 0.5, inplace=True),
    feature_dropout=lambda x: F.dropout1d(x[None], 0.5),
    alpha_dropout=lambda x: F.alpha_dropout(x, 0.5),
    bernoulli=lambda x: torch.bernoulli(x.sigmoid()),
    uniform=lambda x: torch.empty(4).uniform_(1, 2),
    normal=lambda x: torch.empty(4).normal_(1, 2),
    like=lambda x: torch.empty_like(x).uniform_() + torch.empty_like(x).normal_(),
    part=lambda x: x[1:].bernoulli_(0.5),
    randint_like=lambda x: torch.randint_like(x, 10),
    normal_function=lambda x: torch.normal(0.0, 1.0, (3,)),
    exponential=lambda x: torch.empty(3).exponential_(),
    randperm=lambda x: torch.randperm(6),
    multinomial=lambda x: torch.multinomial(x.softmax(-1), 3),
    order=lambda x: (torch.rand(2), torch.randn(2), torch.rand(2)),
)


@cases(**RANDOM)
def test_random(function):
    """Random numbers are eager's own, drawn in the order of the memory."""
    assert_imports(function, randn(3, 4), exact=True)
    assert_imports(function, randn(4, 3).t(), exact=True)
    assert_imports(function, randn(3, 8)[:, ::2], exact=True)


def test_other_ops_are_called():
    x = randn(4, 4)
    assert_imports(lambda x: torch.linalg.inv(x), x)
    assert_imports(lambda x: torch.erfinv(x.tanh()), x)
    assert_imports(lambda x: torch.mode(x, 0).values, x)
    assert_imports(lambda x: torch.fft.rfft(x).abs(), x)
    assert_imports(
        lambda x: torch.view_as_real(torch.view_as_complex(x.view(4, 2, 2)) * 2j), x
    )
    assert_imports(lambda x: torch.searchsorted(x[0].sort().values, x), x)
    assert_imports(lambda x: torch.histc(x), x)
    assert_imports(lambda x: torch.cdist(x, x), x)
