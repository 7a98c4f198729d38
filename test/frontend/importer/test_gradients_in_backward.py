"""``torch.autograd.grad`` inside the backward of an ``autograd.Function``."""

import warnings

import pytest
import torch
from program_gradients import assert_same_gradients, leaf
from torch.autograd import Function, grad
from torch.autograd.function import once_differentiable

import girih
from girih.errors import UnsupportedError


def leaves(ctx):
    return [x.detach().requires_grad_() for x in ctx.saved_tensors]


def one_output(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        h = torch.tanh(a * b)
    return grad(h, (a, b), g)


def list_of_inputs(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        h = a * b
    return tuple(grad([h], [a, b], grad_outputs=[g.clone()]))


def two_outputs(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        h, k = (a * b).sin(), (a + b).exp()
    return grad((h, k), (a, b), (g, g * 2))


def sum_without_cotangent(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        h = torch.tanh(a * b).sum()
    return tuple(x * g for x in grad(h, (a, b)))


def one_after_the_other(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        h = torch.tanh(a * b)
    (for_a,) = grad(h, a, g, retain_graph=True)
    return for_a, grad(h, b, g)[0]


def inside_of_grad_mode(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        return grad(torch.tanh(a * b), (a, b), g)


def unused_input(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        h = a.sin()
    return grad(h, (a, b), g, allow_unused=True)


def zeros_for_an_unused_input(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        h = a.sin()
    return grad(h, (a, b), g, materialize_grads=True)


def view_and_write(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        h = a * 2
        h[0].mul_(b[1])
    return grad(h, (a, b), g)


def gradient_of_a_gradient(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        (slope,) = grad((a.sin() * b).sum(), a, create_graph=True)
        h = slope * a
    return grad(h, (a, b), g)


def steps_backwards(ctx, g):
    """As a reversible network: each step is computed again from its result."""
    x, w = ctx.saved_tensors
    total = torch.zeros_like(w)
    for _ in range(3):
        with torch.enable_grad():
            a, b = x.detach().requires_grad_(), w.detach().requires_grad_()
            h = a + torch.tanh(a * b)
        g, part = grad(h, (a, b), g)
        total = total + part
        x = x - h.detach() * 0.1
    return g, total


class Scaled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.cos()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            a = x.detach().requires_grad_()
            h = a.cos() * 3
        return grad(h, a, g)[0]


def applies_another_one(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        h = Scaled.apply(a * b)
    return grad(h, (a, b), g)


BACKWARDS = [
    one_output,
    list_of_inputs,
    two_outputs,
    sum_without_cotangent,
    one_after_the_other,
    inside_of_grad_mode,
    unused_input,
    zeros_for_an_unused_input,
    view_and_write,
    gradient_of_a_gradient,
    steps_backwards,
    applies_another_one,
]


def function_of(backward):
    class Made(Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return torch.tanh(x * w)

    Made.backward = staticmethod(backward)
    return Made


@pytest.mark.parametrize("wrap", [lambda f: f, once_differentiable], ids=["", "once"])
@pytest.mark.parametrize("backward", BACKWARDS, ids=lambda f: f.__name__)
def test_like_eager(backward, wrap):
    made = function_of(wrap(backward))
    inputs = [leaf(3, 4), leaf(3, 4, seed=1)]
    assert_same_gradients(lambda x, w: made.apply(x, w * 2) * x, inputs, order=1)


@pytest.mark.parametrize("backward", BACKWARDS, ids=lambda f: f.__name__)
def test_one_argument_without_a_gradient(backward):
    made = function_of(backward)
    inputs = [leaf(3, 4, grad=False), leaf(3, 4, seed=1)]
    assert_same_gradients(lambda x, w: made.apply(x, w) * 2, inputs, order=1)


@pytest.mark.parametrize("backward", BACKWARDS, ids=lambda f: f.__name__)
def test_derived_again(backward):
    """What ``grad`` gives without ``create_graph`` is a constant."""
    made = function_of(backward)
    inputs = [leaf(3, 4), leaf(3, 4, seed=1)]
    assert_same_gradients(lambda x, w: made.apply(x, w).sin() * x, inputs)


def create_graph(ctx, g):
    x, w = ctx.saved_tensors
    with torch.enable_grad():
        a, b = x.detach().requires_grad_(), w.detach().requires_grad_()
        return grad(torch.tanh(a * b), (a, b), g, create_graph=True)


def test_a_derivative_by_the_cotangent():
    made = function_of(create_graph)
    seconds = []
    for program in (made.apply, girih.compile(lambda x, w: made.apply(x, w) * 1)):
        inputs = [leaf(3, 4), leaf(3, 4, seed=1)]
        total = program(*inputs).sin().sum()
        firsts = grad(total, inputs, create_graph=True)
        seconds.append(grad(sum(x.sum() for x in firsts), inputs))
    torch.testing.assert_close(*seconds)


def without_grad_mode(ctx, g):
    a, b = leaves(ctx)
    return grad(torch.tanh(a * b), (a, b), g)


def unused_without_leave(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        h = a.sin()
    return grad(h, (a, b), g)


@pytest.mark.parametrize(
    ("backward", "text"),
    [(without_grad_mode, "does not require grad"), (unused_without_leave, "not have")],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_errors_are_those_of_eager(backward, text):
    made = function_of(backward)
    for program in (made.apply, girih.compile(lambda x, w: made.apply(x, w) * 1)):
        result = program(leaf(3), leaf(3, seed=1))
        with pytest.raises(RuntimeError, match=text):
            result.sum().backward()


def input_in_between(ctx, g):
    with torch.enable_grad():
        a, b = leaves(ctx)
        middle = a.view_as(a)
        h = middle.sin() * a
    return grad(h, middle, g)[0], g


def test_an_input_with_a_history_is_refused():
    """Its value may be that of another tensor, by which the derivative is another."""
    made = function_of(input_in_between)
    program = lambda x, w: made.apply(x, w) * 1  # noqa: E731
    inputs = [leaf(3), leaf(3, seed=1)]
    with pytest.raises(
        UnsupportedError, match="gradient asked for inside of an operation"
    ):
        girih.compile(program, fullgraph=True, options={"fallback": False})(*inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", girih.FallbackWarning)
        assert_same_gradients(
            program, inputs, order=1, is_native=False, options={"fallback": True}
        )


@girih.allow_in_graph
def slope(x):
    with torch.enable_grad():
        a = x.detach().requires_grad_()
        h = (a * 3).sin()
    return x * grad(h, a, torch.ones_like(h))[0]


def test_an_operation_of_the_program():
    assert_same_gradients(lambda x: slope(x) * 2, [leaf(3, 4)])


class KeepsGraph(torch.autograd.Function):
    """Its backward asks about a graph that its forward recorded."""

    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            ctx.leaf = x.detach().requires_grad_()
            ctx.inner = ctx.leaf.tanh()
        return ctx.inner.detach() * 1

    @staticmethod
    def backward(ctx, g):
        return torch.autograd.grad(ctx.inner, ctx.leaf, g)[0]


def test_graph_kept_by_the_forward():
    def function(x):
        return KeepsGraph.apply(x) + x

    compiled = girih.compile(function, options={"fallback": False})
    for _ in range(2):
        x = torch.randn(3, requires_grad=True)
        (wanted,) = torch.autograd.grad(function(x).sum(), x)
        (found,) = torch.autograd.grad(compiled(x).sum(), x)
        torch.testing.assert_close(found, wanted)
