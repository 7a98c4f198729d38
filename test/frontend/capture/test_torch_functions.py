"""``torch.autograd.Function`` in all its forms, beside eager."""

import collections
import warnings

import pytest
import torch
from autograd_functions import LOG, Old, Sine, assert_like_eager
from torch.autograd import Function, grad
from torch.autograd.function import once_differentiable

import girih

X = torch.tensor([0.5, 1.0, 2.0])


class LoggedBackward(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        LOG.append("backward")
        return g * 2


class AppliesLogged(Function):
    """Its backward applies another function to what it saved, a result."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * LoggedBackward.apply(y)


# What ctx has


class Defaults(Function):
    @staticmethod
    def forward(x, k=4):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k * 2, None


class Dirty(Old):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x


class DirtyNotReturned(Old):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x * 3


Pair = collections.namedtuple("Pair", "first second")


class ReturnsNamed(Function):
    @staticmethod
    def forward(ctx, x):
        return Pair(x * 2, x * 3)

    @staticmethod
    def backward(ctx, g, h):
        return g * 5 + h


class TwoBackwards(Old):
    @staticmethod
    def vjp(ctx, g):
        return g * 6


class Boxed(Function):
    boxed_grads_call = True

    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, gradients):
        return gradients[0] * 5 + gradients[1]


class ReadsNodes(Old):
    @staticmethod
    def backward(ctx, g):
        return g * 5 + len(ctx.next_functions)


class ReadsMaterializes(Old):
    @staticmethod
    def forward(ctx, x):
        return x * (2 if hasattr(ctx, "materialize_grads") else 3)


class AsksForAttributes(Old):
    @staticmethod
    def forward(ctx, x):
        ctx.had = hasattr(ctx, "had")
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * (5 if ctx.had else 6) + getattr(ctx, "other", 3)


class MissesAttribute(Old):
    @staticmethod
    def forward(ctx, x):
        return x * ctx.missing


class SavesNumber(Old):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3)
        return x * 2


class Once(Old):
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * 3


class NotDifferentiable(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        y, order = x.sort()
        double = x * 2
        ctx.mark_non_differentiable(order, double)
        ctx.save_for_backward(order)
        return y, order, double

    @staticmethod
    def backward(ctx, g, none, other):
        assert none is None and other is None
        (order,) = ctx.saved_tensors
        return torch.zeros_like(g).scatter(0, order, g)


# What depends on the history of tensors, or on the grad mode


class AsksForArgument(Old):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (2 if x.requires_grad else 3)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (5 if x.requires_grad else 7)


class AsksForGradient(Old):
    @staticmethod
    def backward(ctx, g):
        return g * (5 if g.requires_grad else 7)


class AsksForResult(Old):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (5 if y.requires_grad else 7)


class AsksForProduct(AsksForResult):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        y = x * 2
        return g * (5 if y.requires_grad else 7)


class AsksForLeaf(Old):
    @staticmethod
    def forward(ctx, x):
        return x * (2 if x.is_leaf else 3)


class AsksForMode(Old):
    @staticmethod
    def forward(ctx, x):
        return x * (2 if torch.is_grad_enabled() else 3)

    @staticmethod
    def backward(ctx, g):
        return g * (2 if torch.is_grad_enabled() else 3)


class SwitchesMode(Old):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            y = x * 2
        return y.detach() + 1

    @staticmethod
    def backward(ctx, g):
        with torch.no_grad():
            scaled = g * 2
        with torch.enable_grad():
            return scaled + g * 3


SCALE = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


class ReadsGlobal(Old):
    @staticmethod
    def forward(ctx, x):
        return x * SCALE


class GivesDetached(Old):
    @staticmethod
    def forward(ctx, x):
        return x.detach()


HISTORIES = [
    *(AsksForArgument, AsksForGradient, AsksForResult, AsksForLeaf, AsksForMode),
    *(SwitchesMode, ReadsGlobal, GivesDetached, AsksForProduct),
]


@pytest.mark.filterwarnings("ignore:girih runs")
@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("detached", [True, False])
@pytest.mark.parametrize("function", HISTORIES, ids=lambda cls: cls.__name__)
def test_histories(function, inner, detached):
    def program(x):
        given = x * 2 if inner else x
        return function.apply(given.detach() if detached else given), x * 3

    assert_like_eager(program, X)


FACTOR, WEIGHT = 2.0, torch.tensor([1.0, 2.0, 3.0])


class ReadsNumber(Old):
    @staticmethod
    def backward(ctx, g):
        return g * FACTOR + (FACTOR > 3.5)


class ReadsTensor(Old):
    @staticmethod
    def backward(ctx, g):
        return g * WEIGHT


class TakesNumber(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.factor = FACTOR
        return x * FACTOR

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor * 2


@pytest.mark.parametrize(
    "function", [ReadsNumber, ReadsTensor, TakesNumber], ids=lambda cls: cls.__name__
)
def test_globals_that_change(function, monkeypatch):
    def program(x):
        return function.apply(x)

    compiled = girih.compile(program)
    for number in (2.0, 3.0, 4.0, 5.5, 2.0):
        monkeypatch.setitem(globals(), "FACTOR", number)
        for weight in (WEIGHT.add_(1), WEIGHT * number):
            monkeypatch.setitem(globals(), "WEIGHT", weight)
            x = X.clone().requires_grad_()
            found = grad(compiled(x).sum(), x)
            torch.testing.assert_close(found, grad(program(x).sum(), x))


@torch.compiler.allow_in_graph
def ask_for_gradient(x):
    return AsksForGradient.apply(x)


@pytest.mark.filterwarnings("ignore:girih runs")
def test_an_allowed_function_that_asks():
    assert_like_eager(lambda x: ask_for_gradient(x * 2), X)


class TakesList(Function):
    @staticmethod
    def forward(ctx, tensors, factor):
        return tensors[0] * factor

    @staticmethod
    def backward(ctx, g):
        return None, None


def test_tensors_in_a_list_are_no_arguments():
    assert_like_eager(lambda x: TakesList.apply([x * 2, x], 3), X)


@pytest.mark.filterwarnings("ignore:girih runs")
@pytest.mark.parametrize(
    "function",
    [
        *(Defaults, Dirty, DirtyNotReturned, ReturnsNamed, TwoBackwards, Boxed),
        *(ReadsNodes, ReadsMaterializes, AsksForAttributes, MissesAttribute),
        *(SavesNumber, Once, NotDifferentiable, LoggedBackward, AppliesLogged),
    ],
    ids=lambda cls: cls.__name__,
)
def test_members(function):
    def program(x):
        results = function.apply(x * 1)
        return (type(results).__name__, results)

    assert_like_eager(program, X)


class Chosen(Function):
    """What it does depends on which results get a gradient."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x * 2, y * 3, x + y

    @staticmethod
    def backward(ctx, a, b, c):
        if a is None and b is None:
            return c * 100, c * 200
        if c is None:
            return (None if a is None else a * 7), (None if b is None else b * 8)
        return c, c


@pytest.mark.parametrize("chosen", [[0], [1], [2], [0, 1], [0, 2], [0, 1, 2]])
def test_gradients_that_are_not_materialized(chosen):
    def apply(x, y):
        results = Chosen.apply(x, y)
        return [results[number] for number in chosen]

    def gradients(function):
        x, y = (X.clone().requires_grad_() for _ in range(2))
        total = sum(result.sum() for result in function(x, y))
        return grad(total, (x, y), allow_unused=True)

    torch.testing.assert_close(gradients(girih.compile(apply)), gradients(apply))


# Backwards that apply functions


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        return g * Exp.apply(*ctx.saved_tensors)


class ExpOfResult(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * ExpOfResult.apply(y.log())


class Power(Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        if ctx.n == 0:
            return torch.zeros_like(g), None
        return g * ctx.n * Power.apply(x, ctx.n - 1), None


class Product(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return Product.apply(g, y), Product.apply(g, x)


RECURSIVE = {
    "Exp": Exp.apply,
    "ExpOfResult": ExpOfResult.apply,
    "Sine": Sine.apply,
    "Power": lambda x: Power.apply(x, 9),
    "Product": lambda x: Product.apply(x, x),
}


def derivative(function, x, order):
    """A derivative of the sum, in the program where ``function`` is not compiled."""
    y = function(x)
    for _ in range(order):
        (y,) = grad(y.sum(), x, create_graph=True)
    return y


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", RECURSIVE)
def test_backwards_that_apply_functions(name, order):
    function = RECURSIVE[name]

    def program(x):
        return derivative(function, x, order)

    x = X.clone().requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = girih.compile(program, fullgraph=True)(x)
        torch.testing.assert_close(found.detach(), program(x).detach())


@pytest.mark.parametrize("name", RECURSIVE)
def test_two_derivatives_at_run_time(name):
    function, x = RECURSIVE[name], X.clone().requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = derivative(girih.compile(function), x, 2)
    torch.testing.assert_close(found, derivative(function, x, 2))


@pytest.mark.filterwarnings("ignore:girih runs")
def test_more_derivatives_than_are_traced():
    x = X.clone().requires_grad_()
    found = derivative(girih.compile(lambda x: Exp.apply(x)), x, 5)
    torch.testing.assert_close(found, derivative(Exp.apply, x, 5))


# Views


class View(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -g


class Part(Function):
    @staticmethod
    def forward(ctx, x):
        return x[:1]

    @staticmethod
    def backward(ctx, g):
        return torch.cat([g, g, g])


class ViewAndProduct(Function):
    @staticmethod
    def forward(ctx, x, y):
        return x.view(-1), x * y

    @staticmethod
    def backward(ctx, g, h):
        return g * 3 + h, h


def view_beside(x):
    y = View.apply(x)
    return y, y.sin()


def view_of_inner(x):
    u = x * 2
    return u, View.apply(u), u.sin()


def view_of_view(x):
    y = View.apply(x)
    return y[0], y.cos()


def part(x):
    return Part.apply(x), x * 2


def view_and_product(x):
    y, z = ViewAndProduct.apply(x, x * 2)
    return y, z, y.sum()


def reversed_gradient(x):
    return View.apply(x.sin()).exp()


@pytest.mark.parametrize(
    "program",
    [
        *(view_beside, view_of_inner, view_of_view, part, view_and_product),
        reversed_gradient,
    ],
    ids=lambda program: program.__name__,
)
def test_views(program):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_like_eager(program, X)


def test_a_view_inside_is_in_the_graph():
    x = X.clone().requires_grad_()
    compiled = girih.compile(reversed_gradient, fullgraph=True)
    (found,) = grad(compiled(x).sum(), x)
    torch.testing.assert_close(found, grad(reversed_gradient(x).sum(), x)[0])


@pytest.mark.parametrize("inside", [True, False])
def test_writes_to_a_view_are_refused(inside):
    def program(x):
        y = View.apply(x * 2)
        return y.mul_(3) if inside else y

    x = X.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        girih.compile(program)(x).mul_(3)
