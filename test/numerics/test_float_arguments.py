"""Floats that vary where ATen takes a Python float, against eager.

They are inputs of a graph: a schedule of ``p``, ``momentum`` or ``eps`` compiles no
graph for each value. Values, gradients, errors and the random state are eager's, also
for the numbers by which an operation is another one.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from extent import IS_LONG, extent
from torch import nn

import girih
from girih.frontend.fake.floats import FOLLOWED, KEPT, name_of

pytestmark = pytest.mark.filterwarnings("error::girih.FallbackWarning")

SHARES = (0.13, 0.37, 0.71, 0.05, 0.93)
OTHERS = (0.0, 1.0, -0.5, 1.5, math.nan, 1, 0.29)

X, Y = torch.linspace(-2, 2, 48).view(6, 8), torch.linspace(3, -1, 48).view(6, 8) ** 3
LABELS = torch.tensor([1, 0, 7, 3, -100, 2])
WEIGHT = torch.linspace(0.5, 2, 8)
SIGNS = torch.tensor([1.0, -1, 1, -1, -1, 1])
IMAGE = (2, 4, 3, 2)


def _statistics():
    return torch.linspace(-1, 1, 8), torch.linspace(1, 2, 8)


def _batch_norm(x, training=True, **numbers):
    mean, variance = _statistics()
    y = F.batch_norm(x, mean, variance, WEIGHT, -WEIGHT, training, **numbers)
    return y, mean, variance


def _instance_norm(x, p):
    mean, variance = torch.zeros(4), torch.ones(4)
    y = F.instance_norm(x.view(IMAGE), mean, variance, momentum=p, eps=p)
    return y, mean, variance


def _drawn(name, *numbers):
    return lambda x, p: getattr(x * 1, name)(*(n(p) for n in numbers)) + x


def _same(p):
    return p


def _more(p):
    return p + 0.5


PROGRAMS = {
    "alpha_dropout": lambda x, p: F.alpha_dropout(x, p, True),
    "alpha_dropout_": lambda x, p: F.alpha_dropout(x * 1, p, True, True),
    "batch_norm momentum": lambda x, p: _batch_norm(x, momentum=p),
    "batch_norm eps": lambda x, p: _batch_norm(x, momentum=0.1, eps=p),
    "batch_norm both": lambda x, p: _batch_norm(x, momentum=p, eps=p),
    "batch_norm evaluation": lambda x, p: _batch_norm(x, False, momentum=p, eps=p),
    "batch_norm bare": lambda x, p: F.batch_norm(x, None, None, training=True, eps=p),
    "bernoulli": lambda x, p: torch.bernoulli(x.detach(), p) + x,
    "bernoulli_": _drawn("bernoulli_", _same),
    "bernoulli_ lying": lambda x, p: (x * 1).t().bernoulli_(p) + x.t(),
    "cauchy_": _drawn("cauchy_", _same, _more),
    "cdist": lambda x, p: torch.cdist(x, Y, p),
    "cosine_embedding_loss": lambda x, p: F.cosine_embedding_loss(x, Y, SIGNS, p),
    "cosine_similarity": lambda x, p: F.cosine_similarity(x, Y, eps=p),
    "cross_entropy": lambda x, p: F.cross_entropy(x, LABELS, label_smoothing=p),
    "cross_entropy weights": lambda x, p: F.cross_entropy(
        x, LABELS, WEIGHT, label_smoothing=p
    ),
    "cross_entropy sum": lambda x, p: F.cross_entropy(
        x, LABELS, WEIGHT, reduction="sum", label_smoothing=p
    ),
    "cross_entropy each": lambda x, p: F.cross_entropy(
        x, LABELS, reduction="none", label_smoothing=p
    ),
    "cross_entropy shares": lambda x, p: F.cross_entropy(
        x, Y.softmax(1), WEIGHT, label_smoothing=p
    ),
    "cross_entropy image": lambda x, p: F.cross_entropy(
        x.view(2, 8, 3), LABELS.view(2, 3), WEIGHT, label_smoothing=p
    ),
    "dropout": lambda x, p: F.dropout(x, p),
    "dropout_": lambda x, p: F.dropout(x * 1, p, inplace=True),
    "dropout evaluation": lambda x, p: F.dropout(x, p, False),
    "dropout1d": lambda x, p: F.dropout1d(x.view(2, 8, 3), p),
    "dropout2d": lambda x, p: F.dropout2d(x.view(IMAGE), p),
    "dropout3d": lambda x, p: F.dropout3d(x.view(*IMAGE, 1), p, inplace=False),
    "exponential_": _drawn("exponential_", _same),
    "feature_alpha_dropout": lambda x, p: F.feature_alpha_dropout(x, p, True),
    "geometric_": _drawn("geometric_", _same),
    "group_norm": lambda x, p: F.group_norm(x.view(IMAGE), 2, WEIGHT[:4], None, p),
    "hinge_embedding_loss": lambda x, p: F.hinge_embedding_loss(x, Y.sign(), p),
    "huber_loss": lambda x, p: F.huber_loss(x, Y, delta=p),
    "huber_loss each": lambda x, p: F.huber_loss(x, Y, "none", p),
    "instance_norm": _instance_norm,
    "isclose": lambda x, p: torch.isclose(x, Y, p, p) + x,
    "layer_norm": lambda x, p: F.layer_norm(x, (8,), WEIGHT, -WEIGHT, p),
    "log_normal_": _drawn("log_normal_", _same, _more),
    "logit": lambda x, p: torch.logit(x.sigmoid(), p),
    "logspace": lambda x, p: torch.logspace(0, 1, 8, base=p) + x,
    "matrix_rank": lambda x, p: torch.linalg.matrix_rank(x, atol=p, rtol=p / 2) + x,
    "margin_ranking_loss": lambda x, p: F.margin_ranking_loss(x, Y, Y.sign(), p),
    "nan_to_num": lambda x, p: torch.nan_to_num(x.log(), p, p, p),
    "nan_to_num_": lambda x, p: x.log().nan_to_num_(nan=p),
    "native_dropout": lambda x, p: torch.native_dropout(x, p, True)[0],
    "nanquantile": lambda x, p: torch.nanquantile(x, p, dim=1),
    "normal": lambda x, p: torch.normal(x.detach(), p) + x,
    "normal_": _drawn("normal_", _same, _more),
    "normal_ deviation": lambda x, p: (x * 1).normal_(std=p) + x,
    "pad": lambda x, p: F.pad(x, (1, 2), value=p),
    "pairwise_distance norm": lambda x, p: F.pairwise_distance(x, Y, p) + x[:, 0],
    "pdist": lambda x, p: F.pdist(x, p),
    "pinv": lambda x, p: torch.linalg.pinv(x + Y, rtol=p / 9),
    "pairwise_distance": lambda x, p: F.pairwise_distance(x, Y, eps=p),
    "poisson_nll_loss": lambda x, p: F.poisson_nll_loss(
        x.exp(), Y.abs(), log_input=False, eps=p
    ),
    "quantile": lambda x, p: torch.quantile(x, p),
    "quantile dim": lambda x, p: x.quantile(p, dim=1, keepdim=True),
    "rms_norm": lambda x, p: F.rms_norm(x, (8,), WEIGHT, p),
    "scaled_dot_product_attention": lambda x, p: F.scaled_dot_product_attention(
        x[None, None], x[None, None] * 2, Y[None, None], scale=p
    ),
    "attention of few dims": lambda x, p: F.scaled_dot_product_attention(
        x, x * 2, Y, scale=p
    ),
    "smooth_l1_loss": lambda x, p: F.smooth_l1_loss(x, Y, beta=p),
    "triplet_margin_loss": lambda x, p: F.triplet_margin_loss(x, Y, x * 2, margin=p),
    "triplet_margin_loss eps": lambda x, p: F.triplet_margin_loss(
        x, Y, x * 2, margin=0.4 + p, eps=p
    ),
    "uniform_": _drawn("uniform_", _same, _more),
    "computed": lambda x, p: F.dropout(F.layer_norm(x, (8,), eps=p * p), p / 2 + 0.1),
    "twice": lambda x, p: F.dropout(F.dropout(x, p), p * 0.5),
}


def observed(function, x, number):
    """Values, gradients and the random state, or the type and text of an error."""
    torch.manual_seed(5)
    x = x.clone().requires_grad_()
    try:
        result = function(x, number)
        results = result if isinstance(result, tuple) else (result,)
        first = results[0]
        slope = torch.linspace(1, 2, first.numel()).view(first.shape)
        gradient = torch.autograd.grad((first * slope).sum(), x, allow_unused=True)[0]
    except (RuntimeError, ValueError) as error:
        return type(error), str(error)
    return *(r.detach() for r in results), gradient, torch.get_rng_state()


def assert_alike(function, compiled, number, x=X):
    expected, actual = observed(function, x, number), observed(compiled, x, number)
    if isinstance(expected[0], type):
        assert actual == expected
        return
    assert not isinstance(actual[0], type), (number, actual)
    torch.testing.assert_close(actual, expected, equal_nan=True, rtol=2e-5, atol=5e-5)


DYNAMIC = ("batch_norm both", "cross_entropy weights", "dropout", "layer_norm")


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_in_eager(name, dynamic):
    if dynamic and not IS_LONG and name not in DYNAMIC:
        pytest.skip("with GIRIH_TEST_LONG")
    compiled = girih.compile(PROGRAMS[name], dynamic=dynamic)
    for number in SHARES:
        assert_alike(PROGRAMS[name], compiled, number)
    assert len(girih.report(compiled).graphs) <= 2
    place = [*PROGRAMS].index(name) % 2
    for number in extent(OTHERS[place::2], long=OTHERS):
        assert_alike(PROGRAMS[name], compiled, number)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "name", ["huber_loss", "smooth_l1_loss", "layer_norm", "group_norm", "dropout"]
)
def test_other_dtypes(name, dtype):
    def function(x, p):
        return PROGRAMS[name](x.to(dtype), p)

    global Y, WEIGHT
    before = Y, WEIGHT
    Y, WEIGHT = Y.to(dtype), WEIGHT.to(dtype)
    try:
        compiled = girih.compile(function)
        for number in SHARES:
            expected, actual = (observed(f, X, number) for f in (function, compiled))
            torch.testing.assert_close(actual, expected, rtol=1e-2, atol=4e-2)
    finally:
        Y, WEIGHT = before


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.BatchNorm1d(8, momentum=None),
        lambda: nn.BatchNorm1d(8, momentum=None, affine=False),
        lambda: nn.LazyBatchNorm1d(momentum=None),
        lambda: nn.InstanceNorm1d(6, momentum=None, track_running_stats=True),
    ],
)
def test_cumulative_averages(make, dynamic):
    torch.manual_seed(0)
    expected, actual = make(), make()
    compiled = girih.compile(actual, dynamic=dynamic)
    for step in range(9):
        x = X * (step + 1)
        torch.testing.assert_close(compiled(x), expected(x))
    torch.testing.assert_close(actual.state_dict(), expected.state_dict())
    assert len(girih.report(compiled).graphs) <= 6


def test_a_transform_makes_a_constant_of_it():
    def function(x, p):
        return torch.func.vmap(lambda row: F.huber_loss(row, row * 2, delta=p))(x)

    compiled = girih.compile(function)
    for number in SHARES[:3]:
        torch.testing.assert_close(compiled(X, number), function(X, number))


def test_a_gradient_inside_of_the_graph():
    def function(x, p):
        y = F.dropout(F.layer_norm(x, (8,), eps=p), p).square().sum()
        return torch.autograd.grad(y + F.huber_loss(x, Y, delta=p), x)[0]

    compiled = girih.compile(function)
    for number in SHARES:
        x, results = X.clone().requires_grad_(), []
        for f in (function, compiled):
            torch.manual_seed(3)
            results.append(f(x, number))
        torch.testing.assert_close(*results)


def test_layers_with_numbers_of_their_own():
    class Layer(nn.Module):
        def __init__(self, p):
            super().__init__()
            self.norm, self.drop = nn.LayerNorm(8, eps=p), nn.Dropout(p)

        def forward(self, x):
            return self.drop(self.norm(x))

    layers = [Layer(p) for p in SHARES]
    compiled = girih.compile(Layer.forward)
    for layer in layers:
        torch.manual_seed(1)
        expected = layer(X)
        torch.manual_seed(1)
        torch.testing.assert_close(compiled(layer, X), expected)


def test_every_kept_number_stands_in_a_schema():
    for name, kept in KEPT.items():
        kind = "int" if name == "random_" else "float"
        packet = getattr(torch.ops.aten, name)
        schemas = [getattr(packet, each)._schema for each in packet.overloads()]
        numbers = {
            argument.name
            for schema in schemas
            for argument in schema.arguments
            if kind in str(argument.type)
        }
        assert set(kept.names) <= numbers, name
    assert all(callable(getattr(F, name, None) or torch.cdist) for name in FOLLOWED)


def test_names_of_what_is_called():
    assert name_of("bernoulli_") == "bernoulli_"
    assert name_of(torch.dropout) == name_of(torch.ops.aten.dropout) == "dropout"
    assert name_of(torch.ops.aten.dropout.default) == "dropout"
    assert name_of(F.dropout) is None
