"""Graphs that are no single program are compiled in pieces, at both doors."""

import warnings

import pytest
import torch
from torch._higher_order_ops.map import map as map_rows
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch._subclasses.fake_tensor import UnsupportedOperatorException

import girih
from girih.frontend.fake import make_fake_mode, recurrent

WEIGHT = torch.linspace(0.5, 1.5, 3, dtype=torch.float64).requires_grad_()


def chooses(x):
    y = x * 2
    z, total = torch.cond(
        y.sum() > 0,
        lambda a, b: (a.sin(), (b + WEIGHT).sum()),
        lambda a, b: (a.detach().cos(), b.sum() * 3),
        (y, x),
    )
    return z * total + y, total


def chooses_twice(x):
    def positive(x):
        return torch.cond(x[0] > 1, lambda x: x * WEIGHT, lambda x: x - 1, (x,))

    return torch.cond(x.sum() > 0, positive, lambda x: x.exp(), (x,)).sin()


def chooses_in_checkpoint(x):
    def block(x):
        return torch.cond(x.sum() > 0, lambda x: x * WEIGHT, lambda x: x.cos(), (x,))

    again = torch.utils.checkpoint.checkpoint(block, x * 2, use_reentrant=False)
    return again.exp() + 1


def chooses_without_grad(x):
    with torch.no_grad():
        y = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
    return y * x


def chooses_under_autocast(x):
    with torch.autocast("cpu"):
        m = torch.outer(x, x).float()
        y = torch.cond(x.sum() > 0, lambda m: m @ m, lambda m: m @ m * 2, (m,))
        z = y @ m
    return z + 1


def repeats(x):
    i, y = while_loop(
        lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x + 1)
    )
    return y * i


def repeats_never(x):
    (y,) = while_loop(lambda y: y.sum() < -99, lambda y: (y * 2,), (x.detach(),))
    return y * x


def seeds(x):
    y = x.sin()
    torch.manual_seed(3)
    first = torch.rand(3)
    state = torch.get_rng_state()
    second = torch.rand(3)
    torch.set_rng_state(state)
    return y + first - second * torch.rand(3)


PROGRAMS = (
    *(chooses, chooses_twice, chooses_in_checkpoint, chooses_without_grad),
    *(chooses_under_autocast, repeats, repeats_never),
)


def compiled(function, door, **settings):
    if door == "girih":
        return girih.compile(function, fullgraph=True, **settings)
    torch._dynamo.reset()
    return torch.compile(function, backend="girih", fullgraph=True, **settings)


def outcome(function, sign, size=3):
    torch.manual_seed(0)
    x = torch.linspace(0.1, 2, size, dtype=torch.float64) * sign
    x.requires_grad_()
    WEIGHT.grad = None
    results = function(x)
    results = results if isinstance(results, tuple) else (results,)
    sum(result.sum() for result in results).backward()
    needs = [result.requires_grad for result in results]
    return results, needs, x.grad, WEIGHT.grad, torch.get_rng_state()


def check(function, candidate, **size):
    for sign in (1, -1, 1):
        expected = outcome(function, sign, **size)
        torch.testing.assert_close(outcome(candidate, sign, **size), expected)


@pytest.fixture(autouse=True)
def anew():
    girih.reset()


@pytest.mark.parametrize(
    ("function", "door"),
    [
        *((function, "girih") for function in PROGRAMS),
        *((function, "torch") for function in (chooses, chooses_in_checkpoint)),
    ],
)
def test_python_decides_and_the_rest_is_compiled(function, door):
    with warnings.catch_warnings():
        warnings.simplefilter("error", girih.FallbackWarning)
        candidate = compiled(function, door)
        check(function, candidate)
    assert girih.counters()["graphs"] >= 2
    assert not girih.counters()["eager_calls"]
    report = girih.report(candidate if door == "girih" else None)
    assert "graphs, which Python calls" in str(report)


def test_generators_are_seeded_in_order():
    check(seeds, compiled(seeds, "girih"))
    assert not girih.counters()["eager_calls"]


def maps(x):
    mapped = map_rows(lambda y: {"it": y.sin() * WEIGHT.sum(), "twice": y * 2}, x)
    return mapped["it"].cos() + mapped["twice"]


def scans(x):
    def combine(total, y):
        return total + y * WEIGHT.sum(), (total * y).sin()

    return scan(combine, x.new_zeros(()), x, reverse=True)


@pytest.mark.parametrize(
    ("function", "door"), [(maps, "girih"), (scans, "girih"), (maps, "torch")]
)
def test_bodies_of_loops_over_rows_are_compiled(function, door):
    check(function, compiled(function, door))
    assert not girih.counters()["eager_calls"]


def test_sizes_vary():
    def function(x):
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos() * 2, (x,))

    candidate = compiled(function, "girih", dynamic=True)
    for size in (3, 7):
        check(function, candidate, size=size)
    assert not girih.counters()["eager_calls"]


def test_sizes_without_a_value():
    x = torch.randn(5, 4)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    candidate = compiled(lambda x: x * 2, "torch")
    torch.testing.assert_close(candidate(x), x * 2)
    assert girih.counters()["graphs"] == 1 and not girih.counters()["eager_calls"]


def test_sizes_that_depend_on_data():
    def function(x):
        found = (x * 2)[x > 0]
        return found.sin() + found.shape[0]

    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        candidate = torch.compile(function, backend="girih", fullgraph=True)
        for x in (torch.arange(9.0) - 3, torch.ones(9)):
            torch.testing.assert_close(candidate(x), function(x))
    assert girih.counters()["graphs"] >= 2 and not girih.counters()["eager_calls"]


def writes_windows(x):
    def branch(x):
        y = x + 1
        y.unfold(0, 3, 1).mul_(2)
        return y * 2

    return torch.cond(x.sum() > 0, branch, lambda x: x * 3, (x,))


def test_a_piece_that_runs_eager_is_told_at_the_users_line():
    candidate = girih.compile(writes_windows)
    with pytest.warns(girih.FallbackWarning, match="write through a view") as caught:
        candidate(torch.ones(4))
    (warning,) = [w for w in caught if w.category is girih.FallbackWarning]
    line = writes_windows.__code__.co_firstlineno + 3
    assert (warning.filename, warning.lineno) == (__file__, line)
    (fallback,) = girih.report(candidate).fallbacks
    assert fallback.kind == "import"
    with pytest.raises(girih.UnsupportedError, match="write through a view"):
        girih.compile(writes_windows, options={"fallback": False})(torch.ones(4))


class Tagger(torch.nn.Module):
    """Layers of a recurrent network between operations that are compiled."""

    def __init__(self, layers, device="cpu", **options):
        super().__init__()
        self.first = torch.nn.Linear(3, 5, device=device)
        self.layers = layers(5, 4, 2, dropout=0.5, device=device, **options)

    def forward(self, x):
        y, last = self.layers(self.first(x).sin())
        state = last if isinstance(last, torch.Tensor) else last[1]
        return y.exp().sum(-1), state.cos()


@pytest.mark.parametrize("sideways", [False, True])
@pytest.mark.parametrize(
    ("layers", "options"),
    [
        (torch.nn.LSTM, {}),
        (torch.nn.LSTM, {"proj_size": 2}),
        (torch.nn.GRU, {}),
        (torch.nn.RNN, {}),
    ],
)
def test_layers_of_cudnn(layers, options, sideways, monkeypatch):
    """As if the CPU had cuDNN, where nobody may ask what is inside."""
    monkeypatch.setattr(recurrent, "_is_acceptable", lambda tensor: True)
    torch.manual_seed(0)
    model = Tagger(layers, batch_first=sideways, bidirectional=sideways, **options)
    candidate = girih.compile(model, fullgraph=True)
    for size in (6, 7):
        x = torch.randn(size, 2, 3, requires_grad=True)
        check_step(model, candidate, x)
        with torch.no_grad():
            assert_same(run_seeded(candidate, x), run_seeded(model, x))
    assert not girih.counters()["eager_calls"]


def check_step(model, candidate, x):
    leaves = [x, *model.parameters()]
    found, expected = ([], [])
    for run, kept in ((candidate, found), (model, expected)):
        results = run_seeded(run, x)
        loss = sum(result.sum() for result in results)
        kept += [*results, *torch.autograd.grad(loss, leaves)]
    assert_same(found, expected)


def run_seeded(run, x):
    torch.manual_seed(1)
    return run(x)


def assert_same(found, expected):
    torch.testing.assert_close(found, expected)
    assert [x.stride() for x in found] == [x.stride() for x in expected]


def test_what_cudnn_keeps_is_never_a_fake():
    """Whoever gets there in another way is left to eager, told."""
    with make_fake_mode(), pytest.raises(UnsupportedOperatorException):
        torch.ops.aten._cudnn_init_dropout_state(0.5, True, 1, dtype=torch.uint8)
