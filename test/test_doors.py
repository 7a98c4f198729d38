"""Both ways in: ``girih.compile`` and ``torch.compile(..., backend="girih")``."""

import pytest
import torch
import torch.nn.functional as F
from processes import run_python
from torch import nn

import girih


def by_girih(function, **options):
    return girih.compile(function, **options)


def by_torch(function, **options):
    torch.compiler.reset()
    return torch.compile(function, backend="girih", **options)


@pytest.fixture(params=[by_girih, by_torch], ids=["girih.compile", "torch.compile"])
def door(request):
    with torch.no_grad():
        yield request.param


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(24)
        self.first = nn.Linear(24, 48)
        self.second = nn.Linear(48, 24)
        self.register_buffer("scale", torch.rand(24))

    def forward(self, x, *, shift=0.0):
        hidden = self.second(F.gelu(self.first(self.norm(x))))
        return {"out": x + hidden * self.scale + shift, "hidden": hidden}


def test_function(door):
    def softmax_of_sum(x, bias):
        return torch.softmax(x + bias, -1)

    x, bias = torch.randn(5, 1000), torch.randn(1000)
    compiled = door(softmax_of_sum)
    torch.testing.assert_close(compiled(x, bias), softmax_of_sum(x, bias))
    torch.testing.assert_close(compiled(-x, bias), softmax_of_sum(-x, bias))


def test_module_with_keyword_arguments_and_a_dictionary(door):
    net = Net()
    compiled = door(net)
    x = torch.randn(7, 24)
    for shift in (0.0, 0.5):
        actual, expected = compiled(x, shift=shift), net(x, shift=shift)
        assert list(actual) == list(expected)
        torch.testing.assert_close(actual, expected)


def test_parameters_that_change_in_place(door):
    net = Net()
    compiled = door(net)
    x = torch.randn(7, 24)
    compiled(x)
    for parameter in net.parameters():
        parameter.mul_(1.5)
    torch.testing.assert_close(compiled(x), net(x))


def test_parameters_that_are_replaced(door):
    net = Net()
    compiled = door(net)
    x = torch.randn(7, 24)
    compiled(x)
    net.first.weight = nn.Parameter(torch.randn(48, 24))
    net.second.weight.data = torch.randn(24, 48)
    torch.testing.assert_close(compiled(x), net(x))


def test_argument_mutated_in_place(door):
    def accumulate(total, x):
        total.add_(x * 2)
        total[0] = 1.0
        return total.sum()

    compiled = door(accumulate)
    x = torch.randn(6, 4)
    expected_total, total = torch.ones(6, 4), torch.ones(6, 4)
    expected = accumulate(expected_total, x)
    torch.testing.assert_close(compiled(total, x), expected)
    torch.testing.assert_close(total, expected_total)


def test_result_that_is_a_view_of_an_argument(door):
    def half(x):
        return x[1:].t(), x * 2

    x = torch.randn(4, 6)
    view, _ = door(half)(x)
    x.zero_()
    assert view.shape == (6, 3)
    assert not view.any()


def test_result_that_is_an_argument(door):
    def both(x):
        return x, x + 1

    x = torch.randn(5)
    same, _ = door(both)(x)
    assert same is x


@torch.enable_grad()
def test_result_that_is_an_argument_written_later(door):
    """Dropout outside of training gives its argument itself."""

    def program(x, y):
        given = F.dropout(x, 0.5, training=False)
        inner = F.dropout(y * 2, 0.5, training=False)
        x[0] = y.mean()
        return given, inner

    x, y = torch.randn(3, 4), torch.randn(5, requires_grad=True)
    given, inner = door(program)(x, y)
    assert given is x and x.requires_grad and inner.requires_grad
    (gradient,) = torch.autograd.grad(given.sum(), y)
    torch.testing.assert_close(gradient, torch.full((5,), 4 / 5))


@torch.enable_grad()
def test_result_that_is_a_view_older_than_a_write(door):
    """Autograd makes such a view again to say what its history is."""

    def program(x):
        both = torch.stack((x, x), -2)
        window = both.as_strided((7, 2), (1, 1))
        both[::2].sigmoid_()
        return window, both.narrow(0, 0, 3)

    x = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    found = []
    for function in (program, door(program)):
        results = function(x)
        loss = sum((result * result.exp()).sum() for result in results)
        found.append([*results, *torch.autograd.grad(loss, x)])
    torch.testing.assert_close(found[1], found[0])


def test_random_numbers_are_those_of_eager(door):
    def noisy(x):
        return F.dropout(x, 0.5, training=True) + torch.rand_like(x)

    x = torch.randn(64, 8)
    compiled = door(noisy)
    torch.manual_seed(7)
    expected = [noisy(x), noisy(x)]
    torch.manual_seed(7)
    torch.testing.assert_close([compiled(x), compiled(x)], expected)


@pytest.mark.parametrize("mode", [None, "reduce-overhead", "max-autotune"])
def test_modes(mode):
    with torch.no_grad():
        compiled = girih.compile(torch.relu, mode=mode)
        x = torch.randn(9)
        torch.testing.assert_close(compiled(x), torch.relu(x))


def test_decorators():
    @girih.compile
    def plain(x):
        return x * 2

    @girih.compile(dynamic=True)
    def with_arguments(x):
        """Doubles."""
        return x * 2

    class Doubler:
        factor = 2

        @girih.compile
        def method(self, x):
            return x * self.factor

    x = torch.randn(5)
    with torch.no_grad():
        for function in (plain, with_arguments, Doubler().method):
            torch.testing.assert_close(function(x), x * 2)
    assert with_arguments.__doc__ == "Doubles."
    assert with_arguments.__name__ == "with_arguments"


def test_disable_returns_the_model_itself():
    net = Net()
    assert girih.compile(net, disable=True) is net


def test_compiled_module_keeps_its_names():
    net = Net()
    compiled = girih.compile(net)
    assert list(compiled.state_dict()) == list(net.state_dict())
    assert isinstance(compiled, nn.Module)
    assert compiled.scale is net.scale


def test_callable_backend_gets_the_captured_graph():
    seen = []

    def backend(gm, example_inputs):
        seen.append((gm, len(example_inputs)))
        return gm.forward

    x = torch.randn(3)
    with torch.no_grad():
        compiled = girih.compile(lambda x: x.sin() + 1, backend=backend)
        torch.testing.assert_close(compiled(x), x.sin() + 1)
        compiled(x)
    ((gm, count),) = seen
    assert isinstance(gm, torch.fx.GraphModule) and count == 1


def test_gradients_flow_where_they_are_needed():
    net = Net()
    compiled = girih.compile(net)
    x = torch.randn(7, 24, requires_grad=True)
    actual = torch.autograd.grad(compiled(x)["out"].sum(), [x, *net.parameters()])
    expected = torch.autograd.grad(net(x)["out"].sum(), [x, *net.parameters()])
    torch.testing.assert_close(actual, expected)


def test_importing_girih_before_torch():
    run_python(
        """
        import girih
        import torch

        with torch.no_grad():
            compiled = girih.compile(torch.relu)
            assert compiled(torch.ones(2)).tolist() == [1, 1]
        assert girih.report(compiled).graphs
        """
    )


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        with torch.no_grad():
            factor = x.sign() * 2
        return gradient * x.abs() * factor


@pytest.mark.parametrize("compiling", [by_girih, by_torch])
def test_a_function_is_derived_twice_as_in_eager_or_not_at_all(compiling):
    """TorchDynamo does not keep what its backward does to the grad mode."""

    def program(x):
        return Squared.apply(x).sum() + x.sum()

    def derivatives(function):
        x = torch.linspace(-1, 2, 4, dtype=torch.float64).requires_grad_()
        (first,) = torch.autograd.grad(function(x), x, create_graph=True)
        return first, lambda: torch.autograd.grad(first.pow(2).sum(), x)[0]

    expected, expected_again = derivatives(program)
    actual, actual_again = derivatives(compiling(program))
    torch.testing.assert_close(actual, expected)
    if compiling is by_girih:
        torch.testing.assert_close(actual_again(), expected_again())
    else:
        with pytest.raises(RuntimeError, match="without grad mode"):
            actual_again()


@pytest.mark.filterwarnings("ignore:girih runs")
def test_zeros_without_memory(door):
    function = lambda x: x * x + 1  # noqa: E731
    zeros = torch._efficientzerotensor((70,))
    assert torch.equal(door(function)(zeros), torch.ones(70))


def test_second_derivative_of_a_norm_with_a_number(door):
    def function(x, order):
        return x * torch.linalg.vector_norm(x, order, 0, True)

    def second(function):
        x = torch.linspace(-1, 2, 70, dtype=torch.float64).requires_grad_()
        with torch.enable_grad():
            [first] = torch.autograd.grad(function(x, 1.0).sum(), x, create_graph=True)
            return torch.autograd.grad(first.square().sum(), x)[0]

    torch.testing.assert_close(second(door(function, dynamic=True)), second(function))
