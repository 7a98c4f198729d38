"""What ``make breadth`` calls wrong, and what it does not."""

import pytest
import torch
import torch.nn.functional as F
from breadth import measure as measured
from breadth.comparison import joint_distance
from breadth.measure import Settings, measure
from breadth.model import Model, images
from breadth.reference import right_derivatives
from torch import nn
from torch.autograd import gradcheck


class Tokens(nn.Module):
    """A norm of one image that is read as tokens: eager's derivative is wrong."""

    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8)

    def forward(self, x):
        return self.norm(self.convolution(x)).flatten(2).permute(0, 2, 1)


class NotANumber(nn.Module):
    """Eager gives NaN in float64, though not in float32."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.scale + 0.0 * torch.tensor(torch.finfo(x.dtype).max).float()


def of_images(module):
    return Model(module, **images(8, 2, 2, batches=(1,)))


def compiled_as(monkeypatch, change):
    """Has girih compile to something that is wrong."""
    monkeypatch.setattr(
        measured.girih, "compile", lambda module, **_: lambda x: change(module, x)
    )
    monkeypatch.setattr(measured, "fallbacks", lambda _: [])


def in_bfloat16(module, x):
    names = dict(module.named_parameters())
    rounded = {name: p.bfloat16().float() for name, p in names.items()}
    return torch.func.functional_call(module, rounded, (x,))


def test_batch_norms_of_one_image_are_right_in_the_reference():
    convolved = torch.randn(1, 8, 2, 2, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(8, 8, 1, 1, dtype=torch.float64, requires_grad=True)

    def normed(y, w):
        z = F.batch_norm(F.conv2d(y, w), None, None, None, None, True)
        return torch.cat((z.flatten(2).permute(0, 2, 1),) * 2, 1)

    with right_derivatives():
        assert gradcheck(normed, (convolved, weight), check_undefined_grad=False)


@pytest.mark.parametrize("inplace", [False, True])
def test_hardsigmoids_are_right_in_the_reference(inplace):
    x = torch.linspace(-4, 4, 9, dtype=torch.float64, requires_grad=True)
    eager = F.hardsigmoid(x)
    (of_eager,) = torch.autograd.grad(eager.sum(), x)
    with right_derivatives():
        right = F.hardsigmoid(x * 1, inplace)
    (gradient,) = torch.autograd.grad(right.sum(), x)
    torch.testing.assert_close(right, eager, rtol=0, atol=1e-16)
    inside = (x.abs() < 3).double()
    torch.testing.assert_close(gradient, inside / 6, rtol=0, atol=1e-16)
    # Eager's is a float32: should that change, the reference needs no change.
    assert (of_eager - inside / 6).abs().max() > 1e-9


@pytest.mark.parametrize("inplace", [False, True])
def test_hardswish_is_right_in_the_reference(inplace):
    x = torch.linspace(-4, 4, 9, dtype=torch.float64, requires_grad=True)
    with right_derivatives():
        right = F.hardswish(x * 1, inplace)
    torch.testing.assert_close(right, x * (x + 3).clamp(0, 6) / 6, rtol=1e-15, atol=0)
    (gradient,) = torch.autograd.grad(right.sum(), x)
    inside = (2 * x + 3) / 6 * (x.abs() < 3) + (x >= 3)
    torch.testing.assert_close(gradient, inside, rtol=1e-15, atol=0)


class Gates(nn.Conv2d):
    """A gate as in MobileNet: eager's gradients are 3e-8 from right ones."""

    def forward(self, x):
        return x * F.hardsigmoid(super().forward(x))


@pytest.mark.parametrize("module", [Tokens(), Gates(8, 8, 1)])
def test_eager_is_not_taken_for_right_where_it_is_not(module):
    record = measure(of_images(module), "training", Settings())
    assert (record["verdict"], record["bound"]) == ("right", measured.TRAINING_BOUND)


class RoundedPositions(nn.Conv2d):
    """It computes in float32 what it adds."""

    def forward(self, x):
        return super().forward(x) + torch.arange(2.0).exp()


class Steep(nn.Linear):
    """A float32 that it computes is made 3,000 times as large, and is an angle."""

    def forward(self, x):
        phases = (torch.arange(1.0, 4.0) / 3).exp() * 3000
        return super().forward(x) * phases.sin()


def steep(monkeypatch, shift):
    model = Model(Steep(3, 3), lambda *_: ((torch.ones(2, 3),), {}))
    if shift:
        changed = lambda module, x: module(x) * (1 + shift)  # noqa: E731
        compiled_as(monkeypatch, changed)
    return measure(model, "training", Settings())


def test_what_moves_with_a_last_place_of_float32_may_differ_by_that(monkeypatch):
    record = steep(monkeypatch, 2e-4)
    assert record["verdict"] == "right"
    assert measured.ROUNDED_BOUND < record["bound"] <= measured.FLOAT32_BOUND


def test_what_moves_by_more_is_wrong(monkeypatch):
    assert steep(monkeypatch, 2e-2)["verdict"] == "wrong"


class Counts(nn.Linear):
    """It takes sizes from floats, which must not move."""

    def forward(self, x):
        count = torch.ones(3).sum().long()
        return super().forward(x).split([int(count)], 1)[0]


def test_noise_that_changes_sizes_says_nothing():
    model = Model(Counts(3, 3), lambda *_: ((torch.ones(2, 3),), {}))
    record = measure(model, "training", Settings())
    assert (record["verdict"], record["bound"]) == ("right", measured.ROUNDED_BOUND)


def test_models_that_compute_in_float32_have_a_bound_of_their_own():
    record = measure(of_images(RoundedPositions(8, 8, 1)), "training", Settings())
    assert record["bound"] == measured.ROUNDED_BOUND


@pytest.mark.parametrize(
    ("error", "is_found"), [(1e-17, False), (1e-3, True), (float("inf"), True)]
)
def test_buffers_are_compared_with_the_largest(error, is_found):
    expected = {"mean": torch.full((3,), 1e-17), "variance": torch.ones(3)}
    actual = expected | {"mean": expected["mean"] + error}
    try:
        found = joint_distance(actual, expected)
    except measured.Mismatch:
        found = float("inf")
    assert (found > measured.TRAINING_BOUND) == is_found


def test_a_lost_precision_is_wrong_for_all_weights(monkeypatch):
    compiled_as(monkeypatch, in_bfloat16)
    module = nn.Sequential(nn.Conv2d(8, 8, 1), nn.Tanh(), nn.Conv2d(8, 8, 1))
    record = measure(of_images(module), "training32", Settings())
    assert (record["verdict"], record["draws"]) == ("wrong", measured.DRAWS)


def test_a_jump_of_a_gradient_is_no_lost_precision(monkeypatch):
    calls = []

    def jumping(module, x):
        calls.append(module)
        return (in_bfloat16 if len(calls) == 1 else nn.Module.__call__)(module, x)

    compiled_as(monkeypatch, jumping)
    record = measure(of_images(nn.Conv2d(8, 8, 1)), "training32", Settings())
    assert (record["verdict"], record["draws"]) == ("right", 2)


def test_eager_says_nothing_where_it_is_not_a_number():
    record = measure(of_images(NotANumber()), "training", Settings())
    assert record["verdict"] == "skipped"
