"""Operators with a backward of their own, autocast, inference mode, modules."""

import pytest
import torch
from program_gradients import assert_same_gradients, leaf
from torch import nn
from torch.nn import functional as F


@torch.library.custom_op("girih_gradients::scaled_sine", mutates_args=())
def scaled_sine(x: torch.Tensor, factor: float) -> torch.Tensor:
    return torch.sin(x) * factor


@scaled_sine.register_fake
def _(x, factor):
    return torch.empty_like(x)


def _keep(ctx, inputs, output):
    x, ctx.factor = inputs
    ctx.save_for_backward(x)


def _derive(ctx, g):
    (x,) = ctx.saved_tensors
    return g * x.cos() * ctx.factor * 3, None  # not the true one: shows it is used


scaled_sine.register_autograd(_derive, setup_context=_keep)


@torch.library.custom_op("girih_gradients::two_results", mutates_args=())
def two_results(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x * y, x + y


@two_results.register_fake
def _(x, y):
    return torch.empty_like(x), torch.empty_like(x)


two_results.register_autograd(
    lambda ctx, g, h: (g * ctx.saved_tensors[1] + h, g * 5),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


@torch.library.custom_op("girih_gradients::opaque", mutates_args=())
def opaque(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@opaque.register_fake
def _(x):
    return torch.empty_like(x)


def own_backward(x, w):
    return scaled_sine(x * w, 2.0) * w


def own_backward_of_two(x, w):
    first, second = two_results(x.sin(), w)
    return first * second


def one_of_two(x, w):
    return two_results(x, w)[1].exp()


def no_grad_around(x, w):
    with torch.no_grad():
        y = scaled_sine(x, 3.0)
    return y * w


def autocast_region(x, w):
    x, w = x.float(), w.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w.t()
        z = F.softmax(y, -1)
    return z.float(), y.float() * 2


def autocast_uses_a_weight_twice(x, w):
    x, w = x.float(), w.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return (x @ w.t()).float() @ (x @ w.t()).float()


def attention(x, w):
    q = x[None, None]
    return F.scaled_dot_product_attention(q, w[None, None], q * 2)


def normalised(x, w):
    return F.layer_norm(x, (4,), w[0], w[1]) * F.normalize(w, dim=1)


def losses(x, w):
    target = torch.tensor([0, 2, 1])
    return F.cross_entropy(x, target) + F.mse_loss(x, w) + F.smooth_l1_loss(x, w)


PROGRAMS = [
    own_backward,
    own_backward_of_two,
    one_of_two,
    no_grad_around,
    autocast_region,
    autocast_uses_a_weight_twice,
    attention,
    normalised,
    losses,
]

# ATen rounds to bfloat16 where compiled code does not.
TOLERANCES = {autocast_region: 3e-2, autocast_uses_a_weight_twice: 3e-2}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_like_eager(program):
    inputs = [leaf(3, 4), leaf(3, 4, seed=1)]
    tolerance = TOLERANCES.get(program, 1e-9)
    # ATen's attention has no second derivative.
    order = 1 if program in TOLERANCES or program is attention else 2
    assert_same_gradients(program, inputs, order=order, tolerance=tolerance)


def test_without_a_backward_it_fails_as_in_eager():
    inputs = [leaf(3), leaf(3, seed=1)]
    program = lambda x, w: opaque(x) * w  # noqa: E731
    with pytest.raises(Exception, match="opaque"):
        assert_same_gradients(program, inputs, order=1)


class Block(nn.Module):
    """A layer with dropout and batch norm, for parameters and buffers."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.linear(x).relu())


@pytest.mark.parametrize("frozen", [False, True])
def test_modules(frozen):
    torch.manual_seed(0)
    block = Block().double()
    block.linear.weight.requires_grad_(not frozen)
    state = {name: value.clone() for name, value in block.state_dict().items()}

    def program(x, w):
        return block(x) * w

    inputs = [leaf(3, 4), leaf(3, 4, seed=1)]
    assert_same_gradients(program, inputs, order=1)
    assert block.norm.num_batches_tracked == 2
    assert not torch.equal(block.norm.running_mean, state["norm.running_mean"])
