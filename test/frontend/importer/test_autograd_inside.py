"""Operations that ask autograd, or apply a function of their own, while imported."""

import pytest
import torch
from torch.autograd import Function

import girih


class Sine(Function):
    """Its derivative is not the true one, which shows that it is used."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] ** 2


class Reverse(Function):
    """Returns its argument."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return -g


class Round(Function):
    """Passes the gradient of what has none."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g * 5


def asks_requires_grad(x):
    y = x * 1.5
    return y * 2 if y.requires_grad else y * 3


def asks_of_integers(x):
    return x * 2 if (x > 0).requires_grad else x * 3


def asks_without_grad_mode(x):
    with torch.no_grad():
        y = x * 2
    return x * (2 if y.requires_grad else 3)


def asks_is_leaf(x):
    return x * 2 if (x * 3).is_leaf else x * 3


def asks_input_is_leaf(x):
    return x * 2 if x.is_leaf else x * 3


def asks_grad_fn(x):
    return x * 2 if (x * 3).grad_fn is None else x * 3


def detaches(x):
    y = x * 2
    y.detach_()
    return y * x


def applies_reverse(x):
    return Reverse.apply(x * 3) + x


def applies_sine(x):
    return Sine.apply(x * 3) + x


OPERATIONS = [
    girih.allow_in_graph(operation)
    for operation in (
        asks_requires_grad,
        asks_of_integers,
        asks_without_grad_mode,
        asks_is_leaf,
        asks_input_is_leaf,
        asks_grad_fn,
        detaches,
        applies_reverse,
        applies_sine,
    )
]


def result_and_gradient(program, requires_grad):
    x = torch.tensor([0.3, 1.2], requires_grad=requires_grad)
    y = program(x)
    if requires_grad:
        (gradient,) = torch.autograd.grad(y.sum(), x)
        return torch.stack([y.detach(), gradient])
    return y


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_is_answered_as_in_eager(operation, requires_grad):
    expected = result_and_gradient(operation, requires_grad)
    compiled = girih.compile(lambda x: operation(x))
    torch.testing.assert_close(result_and_gradient(compiled, requires_grad), expected)


@pytest.mark.filterwarnings("ignore::girih.FallbackWarning")
@pytest.mark.parametrize("function", [Sine, Reverse, Round])
def test_a_function_keeps_its_gradient_where_others_go_along(function):
    def program(x):
        return function.apply(x * 3) + x**3

    compiled = torch.compile(program, backend="girih")
    expected = result_and_gradient(program, True)
    torch.testing.assert_close(result_and_gradient(compiled, True), expected)


def test_a_second_gradient_of_what_dynamo_traced_is_refused():
    """TorchDynamo traces the backward without grad mode, so its derivative is lost."""

    def program(x):
        return Sine.apply(x * 3) + x**3

    x = torch.tensor([0.3, 1.2], requires_grad=True)
    results = torch.compile(program, backend="girih")(x)
    (first,) = torch.autograd.grad(results.sum(), x, create_graph=True)
    (expected,) = torch.autograd.grad(program(x).sum(), x)
    torch.testing.assert_close(first, expected)
    with pytest.raises(RuntimeError, match="can't be differentiated again"):
        torch.autograd.grad(first.sum(), x)


def test_functions_are_applied_by_torch_again():
    apply = Function.__dict__["apply"]
    x = torch.ones(2, requires_grad=True)
    girih.compile(lambda x: applies_reverse(x))(x)
    assert Function.__dict__["apply"] is apply
