"""Where derivatives go and where they end: grad mode, detach, writes, views."""

import pytest
import torch
from program_gradients import assert_same_gradients, leaf


def without_grad_mode(x, w):
    with torch.no_grad():
        scale = x.exp() * 2
        inner = scale.sum()
    return x * scale + w, inner, scale


def grad_mode_inside_of_no_grad(x, w):
    with torch.no_grad():
        a = x * w
        with torch.enable_grad():
            b = x.sin() * a
        c = b * 2
    return a, b, c


def inference_mode_region(x, w):
    with torch.inference_mode():
        norm = float(2) * w.detach().sum()
    return x * norm.clone()


def detached(x, w):
    return x.detach() * w + x, (x * w).detach()


def detached_in_place(x, w):
    y = x * w
    z = y * 2
    z.detach_()
    return z * x, z


def data(x, w):
    y = x * w
    y.data.mul_(3)
    return y.sin(), y.data


def written_through_detach(x, w):
    y = x * w
    y.detach()[1:].add_(2)
    return y * y


def tracked_write_to_a_detached_view(x, w):
    y = x * 2
    d = y.detach()
    d.mul_(w)
    return d * x, (y * y).sum()


def written_without_grad_mode(x, w):
    y = x * w
    with torch.no_grad():
        y.mul_(2)
        y[0] = 1.5
    return y.sin()


def parameter_update(x, w):
    loss = (x * w).sum()
    with torch.no_grad():
        w.sub_(0.1)
    return loss.detach(), (w * w).sum()


def used_before_and_after_an_update(x, w):
    before = x.exp()
    with torch.no_grad():
        w.mul_(2)
    return before * w


def view_made_without_grad_mode(x, w):
    y = x * w
    with torch.no_grad():
        row = y[0]
        row.zero_()
    return y * 3


def views_and_writes(x, w):
    y = x.clone()
    row, column = y[0], y[:, 1]
    row.mul_(w[0])
    column.add_(row.sum())
    y.t()[2].sin_()
    return y, row * 2


def overwritten(x, w):
    y = x * 2
    y.fill_(3)
    z = x.sin()
    z[0] = 1.0
    return y, z * w, x.pow(0)


def copied_over(x, w):
    y = torch.zeros_like(x)
    y.copy_(w)
    y[1:] = x[1:]
    return y * y


def overwritten_through_a_view(x, w):
    y = x * 2
    y.T.copy_(w.sin().sum())
    return y.T


def results_over_one_storage(x, w):
    y = x * w
    return y.detach(), y[0], y


def detached_result_alone(x, w):
    return (x * w).detach(), x + w


def view_of_an_argument(x, w):
    return x.view(-1), x.detach(), w[0]


def integers_between(x, w):
    index = x.argmax(1)
    return x.gather(1, index[:, None]), index


def functions_without_slope(x, w):
    return x.sign() * w, x.floor(), torch.zeros_like(x), x > 0


def statistics(x, w):
    mean, variance = torch.zeros(4).double(), torch.ones(4).double()
    y = torch.nn.functional.batch_norm(x, mean, variance, w[0], training=True)
    return y, mean * 2


def decorated(x, w):
    @torch.no_grad()
    def scale(a):
        return a.abs().amax()

    return x / scale(x) * w


def unused_input(x, w):
    return x.sin()


PROGRAMS = [
    without_grad_mode,
    grad_mode_inside_of_no_grad,
    inference_mode_region,
    detached,
    detached_in_place,
    data,
    written_through_detach,
    tracked_write_to_a_detached_view,
    written_without_grad_mode,
    parameter_update,
    used_before_and_after_an_update,
    view_made_without_grad_mode,
    views_and_writes,
    overwritten,
    copied_over,
    overwritten_through_a_view,
    results_over_one_storage,
    detached_result_alone,
    view_of_an_argument,
    integers_between,
    functions_without_slope,
    statistics,
    decorated,
    unused_input,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_like_eager(program):
    assert_same_gradients(program, [leaf(3, 4), leaf(3, 4, seed=1)])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_like_eager_where_one_input_needs_none(program):
    assert_same_gradients(program, [leaf(3, 4), leaf(3, 4, seed=1, grad=False)])
