"""Custom operators that write their arguments: compiled, in order with the rest."""

import pytest
import torch

import girih


@torch.library.custom_op("girih_writes::track", mutates_args=("total",))
def track(x: torch.Tensor, total: torch.Tensor) -> None:
    total.add_(x.detach().mean())


@torch.library.custom_op("girih_writes::scale", mutates_args=("outs", "count"))
def scale(
    x: torch.Tensor, outs: list[torch.Tensor], n: int, count: torch.Tensor | None = None
) -> torch.Tensor:
    for place, out in enumerate(outs):
        out.copy_(x * (place + n))
    if count is not None:
        count.mul_(3)
    return x + 1


@scale.register_fake
def _(x, outs, n, count=None):
    return torch.empty_like(x)


_library = torch.library.Library("girih_writes", "FRAGMENT")  # it keeps them defined
_library.define("add_to(Tensor x, Tensor(a!) y) -> ()")
_library.define("grow(Tensor(a!) y, float s) -> Tensor(a!)")


def add_to(x, y):
    y.add_(x)


_library.impl("add_to", add_to, "CPU")
_library.impl("grow", lambda y, s: y.mul_(s), "CPU")
_library.impl("grow", lambda y, s: y, "Meta")
writes = torch.ops.girih_writes


def in_order(x, y):
    before = y * 2
    writes.add_to(x, y)
    between = y * 3
    y.mul_(2)
    writes.add_to(x, y)
    return before, between, y + 1


def through_views(x, y):
    writes.add_to(x[1:3], y[1:3])
    writes.add_to(x[::2], y[::2])
    both = torch.stack([y, y * 2])
    writes.add_to(x, both.t()[:, 1])
    return both.sin(), y * 2


def returned(x, y):
    z = x * 2
    return writes.grow(z, 2.5) + 1, z


def in_lists(x, y):
    first, second = torch.empty_like(x), torch.zeros_like(x)
    made = scale(x, [first, second], 3, y)
    return made * first - second, scale(x, [y], 1)


def unused(x, y):
    track(x, y)
    writes.add_to(x, torch.zeros_like(x))
    return x + 1


def functionalized(x, y):
    call = torch.ops.higher_order.auto_functionalized
    made, (out,), _ = call(
        torch.ops.girih_writes.scale.default, x=x, outs=[y], n=4, count=None
    )
    return made, out


PROGRAMS = (in_order, through_views, returned, in_lists, unused)


def compiled(function, door, dynamic):
    if door == "girih":
        settings = {"options": {"fallback": False}, "dynamic": dynamic}
        return girih.compile(function, **settings)
    torch._dynamo.reset()
    return torch.compile(function, backend="girih", fullgraph=True, dynamic=dynamic)


def check(function, candidate):
    for size in (4, 4, 6):
        x = torch.linspace(0.1, 2, size)
        ours, theirs = torch.ones(size), torch.ones(size)
        for _ in range(2):
            torch.testing.assert_close(candidate(x, ours), function(x, theirs))
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("door", ["girih", "torch"])
@pytest.mark.parametrize("function", PROGRAMS)
def test_what_they_write_is_written(function, door, dynamic):
    check(function, compiled(function, door, dynamic))


def test_functionalized_calls():
    check(functionalized, compiled(functionalized, "torch", None))


class Tracks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        y = self.layer(x).relu()
        track(y, self.total)
        return self.layer(y * 2) + self.total


@pytest.mark.parametrize("door", ["girih", "torch"])
def test_training(door):
    found = []
    for prepare in (lambda model: model, lambda model: compiled(model, door, None)):
        torch.manual_seed(0)
        model = Tracks().double()
        called = prepare(model)
        for rows in (4, 4, 3, 2):
            called(torch.ones(rows, 4).double()).square().mean().backward()
        gradients = [parameter.grad for parameter in model.parameters()]
        found.append([model.total, *gradients])
    torch.testing.assert_close(*found)


def test_a_derivative_of_what_they_make_is_eagers_error():
    x = torch.ones(3, requires_grad=True)
    made = compiled(lambda x: scale(x, [torch.ones(3)], 2), "girih", None)(x)
    assert made.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        made.sum().backward()


@pytest.mark.parametrize("door", ["girih", "torch"])
def test_what_autograd_goes_through_is_called_between_graphs(door):
    """Operators that nobody gave a derivative are derived by what they call."""
    girih.reset()
    x = torch.ones(3, requires_grad=True)
    made, _ = compiled(returned, door, None)(x, torch.ones(3))
    made.sum().backward()
    assert x.grad.tolist() == [5.0] * 3
    assert girih.counters()["graphs"] >= 2 and not girih.counters()["eager_calls"]


def test_what_overlaps_is_written_between_graphs():
    y = torch.ones(3)
    result = compiled(lambda y: writes.add_to(y, y) or y * 2, "girih", None)(y)
    assert y.tolist() == [2.0] * 3 and result.tolist() == [4.0] * 3
