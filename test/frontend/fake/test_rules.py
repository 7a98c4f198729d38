"""Shape rules against eager: sizes, strides and dtypes, for all layouts."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from special_functions import FUNCTIONS as SPECIAL
from torch import Tensor
from torch.utils import _pytree as pytree

from girih.frontend.fake import fake_like, make_fake_mode
from girih.frontend.fake import rules as rule_table
from girih.frontend.fake.mode import _plan_for

LAYOUTS = dict(
    contiguous=lambda x: x,
    transposed=lambda x: x.transpose(0, -1).contiguous().transpose(0, -1),
    channels_last=lambda x: x.contiguous(memory_format=torch.channels_last),
    channels_last_sliced=lambda x: torch.cat([x, x], 1).contiguous(
        memory_format=torch.channels_last
    )[:, 1:5],
    sliced=lambda x: torch.stack([x, x], -1)[..., 0],
    expanded=lambda x: x[:, :1].expand(x.shape),
    permuted=lambda x: x.permute(2, 0, 3, 1).contiguous().permute(1, 3, 0, 2),
)

X = torch.linspace(-1, 1, 2 * 4 * 3 * 5).reshape(2, 4, 3, 5)
ROW = torch.linspace(0.1, 1, 5)
COLUMN = torch.linspace(0.1, 1, 3).reshape(3, 1)

_FUNCTIONS = """acos acosh asin asinh atan atanh cos cosh erf erfc exp exp2 expm1 lgamma
log log10 log1p log2 reciprocal rsqrt sigmoid sin sinc sinh sqrt tan tanh neg relu
positive sign sgn conj_physical frac floor ceil trunc round abs logical_not isnan
isinf isposinf isneginf deg2rad rad2deg""".split()
_ACTIVATIONS = (
    "silu mish hardsigmoid hardswish gelu elu celu leaky_relu softplus hardtanh"
)
_BINARY = """add sub mul div rsub maximum minimum fmax fmin pow floor_divide remainder
fmod atan2 eq ne lt le gt ge logical_and logical_or logical_xor copysign hypot
xlogy logaddexp logaddexp2""".split()
_REDUCTIONS = "sum prod mean var std amax amin max min argmax argmin any all".split()
_SCALAR_BINARY = [n for n in _BINARY if n not in ("maximum", "minimum", "fmax", "fmin")]


def _with(function, *others):
    return lambda x: function(x, *others)


CALLS = {}
CALLS |= {name: getattr(torch, name) for name in _FUNCTIONS}
CALLS |= {name: getattr(F, name) for name in _ACTIVATIONS.split()}
CALLS |= {case.name: case for case in SPECIAL}
_OTHERS = dict(row=ROW, column=COLUMN, same=X, double=ROW.double())
CALLS |= {
    f"{name} with {kind}": _with(getattr(torch, name), other)
    for name in _BINARY
    for kind, other in _OTHERS.items()
}
CALLS |= {
    f"{name} with number": _with(getattr(torch, name), 2)
    for name in _SCALAR_BINARY
    if not name.startswith(("atan2", "hypot", "logaddexp", "logical_"))
}
CALLS |= {f"{name} of all": _with(getattr(torch, name)) for name in _REDUCTIONS}
CALLS |= {
    f"{name} along {dim}": _with(getattr(torch, name), dim)
    for name in _REDUCTIONS
    for dim in (0, -1)
}
CALLS |= dict(
    add_alpha=lambda x: torch.add(x, ROW, alpha=2),
    swapped=lambda x: ROW + x,
    power=lambda x: 2**x,
    bits=lambda x: (x.int() & 3, x.int() | 1, x.int() ^ 2, x.int() & (x > 0)),
    shifts=lambda x: ((x.int() << 2) >> x.int(), (x.int() << x.int()) >> 1),
    bits_of_two=lambda x: (x.int() | x.int(), x.int() ^ (x > 0)),
    shift_left=lambda x: [torch.bitwise_left_shift(x.int(), n) for n in (2, x.int())],
    shift_right=lambda x: [
        torch.bitwise_right_shift(x.int(), n) for n in (2, x.int())
    ],
    bounds=lambda x: (x.clamp_min(ROW), x.clamp_max(COLUMN)),
    all_dims=lambda x: torch.all(x, (0, 1)),
    not_bits=lambda x: ~x.int(),
    division=lambda x: torch.div(x, ROW, rounding_mode="floor"),
    clamp=lambda x: x.clamp(0, 1),
    clamp_tensor=lambda x: x.clamp(ROW, ROW + 1),
    clamp_min=lambda x: x.clamp_min(0),
    clamp_max=lambda x: x.clamp_max(0.5),
    where=lambda x: torch.where(x > 0, x, ROW),
    where_int=lambda x: torch.where(x > 0, x, torch.ones(3, 5, dtype=torch.int64)),
    masked_fill=lambda x: x.masked_fill(x > 0, 1),
    masked_fill_row=lambda x: x.masked_fill(ROW > 0.3, 1),
    lerp=lambda x: x.lerp(X, 0.3),
    lerp_tensor=lambda x: x.lerp(X, ROW),
    addcmul=lambda x: torch.addcmul(ROW, x, X),
    addcdiv=lambda x: torch.addcdiv(x, ROW, X + 3),
    glu=lambda x: F.glu(x, 1),
    logsigmoid=lambda x: F.logsigmoid(x),
    keepdim=lambda x: (x.sum(1, keepdim=True), x.mean((0, 2), keepdim=True)),
    sum_dtype=lambda x: x.sum(dtype=torch.float64) + x.int().sum(0),
    var_mean=lambda x: torch.var_mean(x, (1, 2)),
    std_mean=lambda x: torch.std_mean(x),
    max_dim=lambda x: x.max(1),
    min_dim=lambda x: x.min(1, keepdim=True),
    any_byte=lambda x: x.to(torch.uint8).any(),
    any_dims=lambda x: torch.any(x, (0, 1)),
    logsumexp=lambda x: x.logsumexp((1, 2)),
    cumsum=lambda x: x.cumsum(1),
    cumprod=lambda x: x.int().cumprod(1),
    softmax=lambda x: x.softmax(-1),
    log_softmax=lambda x: x.log_softmax(1),
    nll_loss=lambda x: F.cross_entropy(x.sum((2, 3)), torch.tensor([1, 2])),
    nll_loss_each=lambda x: F.nll_loss(
        x[:, :, 0, 0], torch.tensor([1, 2]), reduction="none"
    ),
    mm=lambda x: x[0, 0] @ x[1, 1].t(),
    bmm=lambda x: x[0] @ x[1].mT,
    matmul=lambda x: x @ X.mT,
    mv=lambda x: x[0, 0] @ ROW,
    dot=lambda x: x[0, 0, 0] @ ROW,
    linear=lambda x: F.linear(x, X[0, 0]),
    addmm=lambda x: torch.addmm(ROW[:3], x[0, 0], x[1, 1].t()),
    baddbmm=lambda x: torch.baddbmm(ROW[:3], x[0], x[1].mT),
    attention=lambda x: F.scaled_dot_product_attention(x, x, x),
    attention_packed=lambda x: F.scaled_dot_product_attention(
        *(t.view(2, 3, 5, 4).transpose(1, 2) for t in
          x.reshape(2, 3, 20).repeat(1, 1, 3).split(20, 2))
    ),
    cat=lambda x: torch.cat([x, x], 1),
    cat_other=lambda x: torch.cat([x, X.double()], -1),
    stack=lambda x: torch.stack([x, x], 1),
    embedding=lambda x: F.embedding(torch.tensor([[0, 1], [1, 0]]), x[0, 0]),
    gather=lambda x: x.gather(1, torch.zeros(2, 2, 3, 5, dtype=torch.int64)),
    index_select=lambda x: x.index_select(1, torch.tensor([0, 2])),
    index=lambda x: x[torch.tensor([0, 1, 1])],
    index_middle=lambda x: x[:, torch.tensor([[0], [2]])],
    index_two=lambda x: x[:, torch.tensor([0, 2]), torch.tensor([0, 1])],
    index_apart=lambda x: x[torch.tensor([0, 1]), :, torch.tensor([0, 1])],
    tril=lambda x: (x.tril(), x.triu(1)),
    flip=lambda x: x.flip(0, 3),
    repeat=lambda x: x.repeat(2, 1, 1, 1, 2),
    pad=lambda x: F.pad(x, (1, 2, 0, -1)),
    layer_norm=lambda x: F.layer_norm(x, (5,), ROW),
    group_norm=lambda x: F.group_norm(x, 2),
    batch_norm=lambda x: F.batch_norm(x, ROW[:4], ROW[:4]),
    batch_norm_training=lambda x: (
        F.batch_norm(x, None, None, training=True),
        F.batch_norm(x, torch.zeros(4), torch.ones(4), ROW[:4], ROW[:4], True),
        F.batch_norm(x.flatten(2), None, None, training=True),
        F.batch_norm(x[:, :, 0, 0], None, None, training=True),
        F.batch_norm(x.bfloat16(), None, None, ROW[:4], ROW[:4], True),
    ),
    conv=lambda x: F.conv2d(x, torch.ones(6, 4, 2, 2), ROW.repeat(2)[:6], 1, 1),
    conv_stride=lambda x: F.conv2d(x, torch.ones(6, 2, 2, 3), None, (2, 1), groups=2),
    conv_transposed=lambda x: F.conv_transpose2d(x, torch.ones(4, 3, 2, 2), None, 2, 1),
    max_pool=lambda x: F.max_pool2d(x, 2),
    max_unpool=lambda x: F.max_unpool2d(
        *F.max_pool2d(x, 2, return_indices=True), 2, output_size=x.shape
    ),
    max_pool_ceil=lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    avg_pool=lambda x: F.avg_pool2d(x, 2, 1, 1),
    adaptive=lambda x: F.adaptive_avg_pool2d(x, (2, 3)),
    clone=lambda x: (x.clone(), x.contiguous()),
    to=lambda x: (x.double(), x.to(torch.int32), x.bool()),
    channels_last=lambda x: x.to(memory_format=torch.channels_last),
    reshape=lambda x: x.reshape(2, -1),
    unsafe=lambda x: (
        torch.unsafe_split(x, 1, 1),
        torch.unsafe_split_with_sizes(x, [1, x.shape[1] - 1], 1),
    ),
    views=lambda x: (x[1:, ::2], x.mT, x[..., None], x.unbind(1), x.chunk(2, 1)),
    zeros=lambda x: (torch.zeros(2, 3), torch.ones(2), torch.full((2,), 3)),
    full_float=lambda x: (torch.full((), 2.5), torch.empty(3, 0)),
    like=lambda x: (torch.zeros_like(x), torch.empty_like(x), torch.rand_like(x)),
    like_too=lambda x: (torch.ones_like(x), torch.randn_like(x)),
    full_like=lambda x: torch.full_like(x, 2, dtype=torch.int64),
    new=lambda x: (x.new_zeros(3), x.new_full((2,), 1), x.new_ones(1), x.new_empty(4)),
    arange=lambda x: (torch.arange(5), torch.arange(1, 9, 3), torch.arange(0.5, 3)),
    arange_down=lambda x: (torch.arange(5, 0, -2), torch.arange(3, dtype=torch.int32)),
    scalar_tensor=lambda x: torch.scalar_tensor(2),
    random=lambda x: (torch.rand(3), torch.randn(2, 2), torch.bernoulli(x.abs())),
    dropout=lambda x: F.dropout(x, 0.5),
    native_dropout=lambda x: torch.native_dropout(x, 0.5, True),
    in_place=lambda x: x.clone().add_(ROW).mul_(2).relu_().zero_(),
    fill=lambda x: x.clone().fill_(2).copy_(ROW),
    nan_to_num=lambda x: x.nan_to_num(1.0),
    prelu=lambda x: F.prelu(x, ROW[:1]),
    shrink=lambda x: (F.hardshrink(x), F.softshrink(x), F.threshold(x, 0, 1)),
    losses=lambda x: [
        f(x, X.abs(), reduction=r)
        for f in (
            F.mse_loss,
            F.smooth_l1_loss,
            F.binary_cross_entropy_with_logits,
        )
        for r in ("none", "mean")
    ],
    bits_of_number=lambda x: (3 & x.int(), 3 | x.int(), 3 ^ x.int()),
    shifts_of_number=lambda x: (
        torch.bitwise_left_shift(3, x.int()),
        torch.bitwise_right_shift(3, x.int()),
    ),
    count=lambda x: [torch.count_nonzero(x, dim) for dim in (None, 1, (0, 1))],
    xlogy=lambda x: (torch.xlogy(2, x), torch.xlogy(x, 2)),
    xlog1py=lambda x: [torch.special.xlog1py(*p) for p in ((x, x), (2, x), (x, 2))],
    norm=lambda x: (x.norm(), x.norm(dim=1), torch.linalg.vector_norm(x, 1, (0, 1))),
    sort=lambda x: (x.sort(1), x.sort(stable=True, descending=True)),
    topk=lambda x: x.topk(2, 1),
    scatter=lambda x: (
        x.scatter(1, torch.zeros(1, 1, 3, 5, dtype=torch.int64), 1.0),
        x.scatter(1, torch.zeros(1, 1, 3, 5, dtype=torch.int64), X),
        x.scatter_add(1, torch.zeros(1, 1, 3, 5, dtype=torch.int64), X),
    ),
    index_writes=lambda x: (
        x.index_put((torch.tensor([0, 1]),), X),
        x.index_add(1, torch.tensor([0, 1]), X[:, :2]),
        x.index_copy(1, torch.tensor([0, 1]), X[:, :2]),
        x.index_fill(1, torch.tensor([0, 1]), 2.0),
    ),
    take=lambda x: x.take(torch.tensor([[3], [4]])),
    roll=lambda x: (x.roll(1, 0), x.roll((1, 2), (0, 1)), x.roll(3)),
    lines=lambda x: torch.ops.aten.upsample_nearest1d(x[:, :, 0], [10], None),
    exact_lines=lambda x: torch.ops.aten._upsample_nearest_exact1d(
        x[:, :, 0], [10], None
    ),
    reflect=lambda x: (
        F.pad(x[0, 0], (1, 2), mode="reflect"),
        F.pad(x, (1, 2, 0, 1), mode="reflect"),
        F.pad(x[None], (1, 2, 0, 1, 1, 0), mode="reflect"),
    ),
    replicate=lambda x: (
        F.pad(x[0], (1, 2), mode="replicate"),
        F.pad(x, (1, 2, 0, 1), mode="replicate"),
        F.pad(x[None], (1, 2, 0, 1, 1, 0), mode="replicate"),
    ),
    eye=lambda x: (torch.eye(3), torch.eye(2, 4, dtype=torch.bool)),
    angle=lambda x: (torch.angle(x), torch.angle(torch.complex(x, x))),
    randint=lambda x: (torch.randint(3, (2,)), torch.randint(1, 3, (2,))),
    randint_generator=lambda x: (
        torch.randint(3, (2,), generator=None),
        torch.randint(1, 3, (2,), generator=None, dtype=torch.int8),
    ),
    randint_like=lambda x: (
        torch.randint_like(x, 3),
        torch.randint_like(x, 1, 3),
        torch.randint_like(x, 3, generator=None),
        torch.randint_like(x, 1, 3, generator=None),
    ),
    randperm=lambda x: (torch.randperm(3), torch.randperm(4, generator=None)),
    fills=lambda x: (torch.fill(x, 2), torch.fill(x, X.sum()), torch.ops.aten.zero(x)),
    literal=lambda x: x + torch.tensor([1.0, 2, 3, 4, 5]),
    literal_double=lambda x: x + torch.tensor(2.0, dtype=torch.float64),
)  # fmt: skip


def geometry(result) -> list:
    """Sizes, dtypes, and strides of the dims where they matter."""
    return [
        (
            tuple(t.shape),
            t.dtype,
            [s for s, n in zip(t.stride(), t.shape, strict=True) if n != 1],
        )
        for t in pytree.tree_leaves(result)
        if isinstance(t, Tensor)
    ]


class _Faked(torch.overrides.TorchFunctionMode):
    """Turns the constants of the table into fake tensors."""

    def __init__(self, mode):
        self.mode = mode

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*self.fake(args), **self.fake(kwargs or {}))

    def fake(self, value):
        known = {id(constant) for constant in (X, ROW, COLUMN)}
        return pytree.tree_map(
            lambda v: (
                fake_like(self.mode, v)
                if type(v) is Tensor and (id(v) in known or v.device.type == "cpu")
                else v
            ),
            value,
        )


# Dims of one element, whose strides nothing reads, but programs see.
ONES = dict(
    channel=lambda: torch.ones(2, 1, 4, 5).as_strided((2, 1, 4, 5), (20, 1, 5, 1)),
    image=lambda: torch.ones(1, 3, 4).as_strided((1, 3, 4), (4, 4, 1)),
    number=lambda: torch.tensor(2.0),
    nothing=lambda: torch.ones(3, 4)[:, 2:2],
    pixels=lambda: torch.ones(2, 3, 1, 1).as_strided((2, 3, 1, 1), (3, 1, 3, 3)),
    pixels_row_by_row=lambda: torch.ones(2, 3, 1, 1),
    row=lambda: torch.ones(1, 4),
    turned=lambda: torch.ones(1, 4).t(),
)
CALLS_ON_ONES = dict(
    clone=lambda x: x.clone(),
    double=lambda x: x.double(),
    exp=lambda x: x.exp(),
    expand=lambda x: (x.expand(1, *x.shape), x.expand(1, 1, *x.shape)),
    expand_two=lambda x: (x.expand(1, 2, *x.shape), x.expand(2, 1, *x.shape)),
    flip=lambda x: x.flip(0) if x.dim() else x,
    like=lambda x: (torch.zeros_like(x), torch.empty_like(x)),
    norm=lambda x: F.batch_norm(x, *_statistics(x)) if x.dim() > 3 else x,
    norm_training=lambda x: (
        F.batch_norm(x, None, None, training=True) if x.dim() > 3 else x
    ),
    pad=lambda x: F.pad(x, (1, 1)) if x.dim() > 3 else x,
    pad_by_nothing=lambda x: F.pad(x, (0, 0)) if x.dim() else x,
    roll=lambda x: [x.roll(1, d) for d in range(x.dim())],
    roll_two=lambda x: x.roll((1, 1), (0, -1)) if x.dim() else x,
    replicate=lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate") if x.dim() > 3 else x,
    sort=lambda x: x.sort() if x.dim() else x,
    stack=lambda x: [torch.stack((x, x), d) for d in range(x.dim() + 1)],
    stack_three=lambda x: [torch.stack((x, x, x), d) for d in range(x.dim())],
    sum=lambda x: x + x,
)


def _statistics(images):
    return torch.zeros(images.shape[1]), torch.ones(images.shape[1])


@pytest.mark.parametrize("name", list(CALLS_ON_ONES))
@pytest.mark.parametrize("given", list(ONES))
def test_strides_of_dims_of_one_element(name, given):
    x, call, mode = ONES[given](), CALLS_ON_ONES[name], make_fake_mode()
    with torch.no_grad():
        expected = [t.stride() for t in pytree.tree_leaves(call(x))]
        with mode, _Faked(mode):
            actual = [t.stride() for t in pytree.tree_leaves(call(fake_like(mode, x)))]
    assert actual == expected


CUTS = dict(
    rows=lambda x: x[2:], channels=lambda x: x[:, :0], pixels=lambda x: x[..., 1:1, :]
)
CALLS_ON_NOTHING = [name for name in CALLS if " with " in name or name in _FUNCTIONS]
CALLS_ON_NOTHING += [*_ACTIVATIONS.split(), "native_dropout", "roll", "sort"]
CALLS_ON_NOTHING += [
    "clamp",
    "lerp",
    "nan_to_num",
    "prelu",
    "where",
    "power",
    "swapped",
]


@pytest.mark.parametrize("cut", list(CUTS))
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_strides_of_no_elements(layout, cut):
    x, mode = CUTS[cut](LAYOUTS[layout](X)), make_fake_mode()
    for name in CALLS_ON_NOTHING:
        with torch.no_grad():
            try:
                expected = CALLS[name](x)
            except RuntimeError:  # the other operand is not empty
                continue
            with mode, _Faked(mode):
                actual = CALLS[name](fake_like(mode, x))
        assert _strides(actual) == _strides(expected), name


def _strides(result) -> list:
    return [t.stride() for t in pytree.tree_leaves(result) if isinstance(t, Tensor)]


@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("name", list(CALLS))
def test_like_eager(name, layout):
    x = LAYOUTS[layout](X)
    mode = make_fake_mode()
    with torch.no_grad():
        expected = CALLS[name](x)
        with mode, _Faked(mode):
            actual = CALLS[name](fake_like(mode, x))
    assert geometry(actual) == geometry(expected)


def test_every_rule_is_tried(monkeypatch):
    """The table above reaches every rule (run on contiguous tensors)."""
    tried = set()

    def spied(name, rule):
        def spy(*args, **kwargs):
            tried.add(name)
            return rule(*args, **kwargs)

        return spy

    for name, rule in list(rule_table.RULES.items()):
        monkeypatch.setitem(rule_table.RULES, name, spied(name, rule))
    _plan_for.cache_clear()
    mode = make_fake_mode()
    with torch.no_grad(), mode, _Faked(mode):
        for call in CALLS.values():
            call(fake_like(mode, X))
    _plan_for.cache_clear()
    assert set(rule_table.RULES) - tried <= RARELY_MET


# Overloads that torch functions reach only by other ways than their own name.
RARELY_MET = set(
    """_scaled_dot_product_cudnn_attention _scaled_dot_product_efficient_attention
    _scaled_dot_product_flash_attention _native_batch_norm_legit_no_training
    _reshape_copy _safe_softmax bernoulli.p convolution_backward
    conj_physical diagonal_scatter positive select_scatter slice_scatter add.Scalar
    sub.Scalar mul.Scalar div.Scalar_mode floor_divide.Scalar masked_fill.Tensor
    remainder.Scalar_Tensor bitwise_and.Scalar_Tensor bitwise_or.Scalar_Tensor
    bitwise_xor.Scalar_Tensor""".split()
)


def test_dtype_of_errors():
    """What a rule refuses is decided, and refused, by torch."""
    mode = make_fake_mode()
    x = fake_like(mode, X)
    with mode, pytest.raises(RuntimeError):
        x + torch.ones(7)
    with mode, pytest.raises(RuntimeError):
        x.int().add_(1.5)
    with mode, pytest.raises(RuntimeError):
        x @ torch.ones(3, 3)


def test_known_values_are_forgotten_when_written():
    mode = make_fake_mode()
    with mode:
        assert torch.tensor(3).item() == 3
        constant = torch.tensor(3)
        constant.view(1).fill_(5)
        with pytest.raises(RuntimeError):
            constant.item()
