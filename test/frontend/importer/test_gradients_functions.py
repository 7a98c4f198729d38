"""``autograd.Function``, checkpoints, operators with a backward, ``torch.func``."""

import pytest
import torch
from program_gradients import assert_same_gradients, leaf
from torch import func
from torch.autograd import Function, grad
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

import girih
from girih.errors import UnsupportedError


class Cube(Function):
    """Saves its input; the derivative is not the true one, which shows it is used."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * x * 3.5


class Exp(Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * 2


class Scaled(Function):
    """Two tensors and a number, three results; one has no gradient."""

    @staticmethod
    def forward(ctx, x, w, factor):
        ctx.factor = factor
        half = x * 0.5
        ctx.save_for_backward(w, half)
        mask = (x > 0).double()
        ctx.mark_non_differentiable(mask)
        return x * factor, x * w, mask

    @staticmethod
    def backward(ctx, first, second, none):
        w, half = ctx.saved_tensors
        for_w = second * half if ctx.needs_input_grad[1] else None
        return first * ctx.factor + second * w + none, for_w, None


class WithSetup(Function):
    """The form with ``setup_context``."""

    @staticmethod
    def forward(x, w):
        return x.sin(), w.sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, _ = inputs
        ctx.save_for_backward(x, output[0])
        ctx.shape = x.shape

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * x * y, h.expand(ctx.shape) * 2


class StraightThrough(Function):
    """Rounds; the derivative is that of the identity."""

    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


class NoMaterialization(Function):
    """Gets None for the gradient of a result that has none."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        double = x * 2
        ctx.mark_non_differentiable(double)
        return double, x * 3

    @staticmethod
    def backward(ctx, g, h):
        total = 0
        for given, factor in ((g, 2), (h, 3)):
            if given is not None:
                total = total + given * factor
        return total


class Sum(Function):
    """Its gradient has another shape and is summed by autograd."""

    @staticmethod
    def forward(ctx, x, w):
        return x + w

    @staticmethod
    def backward(ctx, g):
        return g * 2, g * 3


class Once(Function):
    """May be derived once."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


class AsVjp(Function):
    """The backward has its other name."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def vjp(ctx, g):
        return g.cos()


def saved_input(x, w):
    return Cube.apply(x * w) * w


def saved_output(x, w):
    return Exp.apply(x) * w


def several_results(x, w):
    a, b, mask = Scaled.apply(x, w, 3.0)
    return a * b, mask


def with_setup(x, w):
    a, b = WithSetup.apply(x, w)
    return a * b


def straight_through(x, w):
    return StraightThrough.apply(x * 3) * w


def without_materialization(x, w):
    return NoMaterialization.apply(x * w)[1].sin()


def broadcast_gradient(x, w):
    return Sum.apply(x, w[0]).sin()


def other_name(x, w):
    return AsVjp.apply(x * w)


def function_of_a_constant(x, w):
    return Cube.apply(x.detach()) * w


def functions_in_a_row(x, w):
    return Exp.apply(Cube.apply(x * 0.1)) + Cube.apply(w)


def function_inside_of_a_gradient(x, w):
    (g,) = grad(Cube.apply(x * w).sum(), x, create_graph=True)
    return g.sum()


def function_and_writes(x, w):
    y = Cube.apply(x)
    y.mul_(w)
    with torch.no_grad():
        y[0] = 0
    return y.sin()


def checkpointed(x, w):
    def body(a, b):
        return (a * b).sin().exp() * a

    return checkpoint(body, x, w, use_reentrant=False).sum(0)


def checkpoint_of_a_function(x, w):
    def body(a):
        with torch.no_grad():
            scale = a.abs().amax()
        return Exp.apply(a / scale) * w

    return checkpoint(body, x, use_reentrant=False)


def nested_checkpoints(x, w):
    def inner(a):
        return (a * w).tanh()

    def outer(a):
        return checkpoint(inner, a.sin(), use_reentrant=False) * a

    return checkpoint(outer, x, use_reentrant=False)


def gradient_through_a_checkpoint(x, w):
    y = checkpoint(lambda a: (a * w).sin(), x, use_reentrant=False)
    (g,) = grad(y.sum(), x, create_graph=True)
    return g


def func_grad(x, w):
    return func.grad(lambda a: (a * w).exp().sum())(x)


def func_second_derivative(x, w):
    f = lambda a: (a.tanh() * w).sum()  # noqa: E731
    return func.grad(lambda a: func.grad(f)(a).square().sum())(x)


def func_grad_and_value(x, w):
    g, value = func.grad_and_value(lambda a, b: (a * b).sigmoid().sum(), (0, 1))(x, w)
    return (*g, value)


def func_vmap(x, w):
    return func.vmap(lambda a, b: (a * b).softmax(0))(x, w)


def func_per_sample_gradients(x, w):
    f = lambda a, b: (a * b).sin().sum()  # noqa: E731
    return func.vmap(func.grad(f))(x, w)


def func_jacobians(x, w):
    f = lambda a: a.sin() * w[0]  # noqa: E731
    return func.jacrev(f)(x[0]), func.jacfwd(f)(x[1])


def func_hessian(x, w):
    return func.hessian(lambda a: (a**3 * w[0]).sum())(x[0])


def func_jvp(x, w):
    return func.jvp(lambda a: a.sin() * w, (x,), (w,))


def func_detached_inside(x, w):
    return func.grad(lambda a: (a * a.detach() * w).sum())(x)


def func_no_grad_inside(x, w):
    def f(a):
        with torch.no_grad():
            scale = a.exp()
        return (a * scale * w).sum()

    return func.grad(f)(x)


slope = func.grad(lambda a, b: (a.sin() * b).sum())
slopes = func.vmap(func.grad_and_value(lambda a, b: (a * b).tanh().sum()))


def func_made_outside(x, w):
    g, value = slopes(x, w)
    return slope(x, w) * g, value


FUNCTIONS = [
    saved_input,
    saved_output,
    several_results,
    with_setup,
    straight_through,
    without_materialization,
    broadcast_gradient,
    other_name,
    function_of_a_constant,
    functions_in_a_row,
    function_inside_of_a_gradient,
    function_and_writes,
    checkpointed,
    checkpoint_of_a_function,
    nested_checkpoints,
    gradient_through_a_checkpoint,
]

TRANSFORMS = [
    func_grad,
    func_second_derivative,
    func_grad_and_value,
    func_vmap,
    func_per_sample_gradients,
    func_jacobians,
    func_hessian,
    func_jvp,
    func_detached_inside,
    func_no_grad_inside,
    func_made_outside,
]

PROGRAMS = FUNCTIONS + TRANSFORMS


@pytest.mark.parametrize("transformed", [slope, slopes], ids=["grad", "vmap"])
def test_compiled_transforms(transformed):
    assert_same_gradients(transformed, [leaf(3, 4), leaf(3, 4, seed=1)])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_like_eager(program):
    assert_same_gradients(program, [leaf(3, 4), leaf(3, 4, seed=1)])


class Several(NoMaterialization):
    """Has two results that may have a gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3


@torch.compiler.allow_in_graph
def apply_several(x):
    return Several.apply(x)[1]


def test_gradients_that_may_be_none():
    kind = "does not materialize gradients"
    with pytest.raises(UnsupportedError, match=kind):
        girih.compile(apply_several, fullgraph=True)(leaf(3))
