"""``torch.func``, forward mode and batched gradients, in and around compiled code."""

import pytest
import torch
import torch.autograd.forward_ad as fa
import torch.autograd.functional as af
from torch import func as tf
from torch._C import _autograd as autograd
from torch._C import _functorch as functorch
from torch.utils._pytree import tree_leaves

import girih

X = torch.linspace(0.1, 1, 4, dtype=torch.float64)
ROWS = torch.linspace(-1, 1, 12, dtype=torch.float64).view(3, 4)
WEIGHT = torch.linspace(-2, 1, 16, dtype=torch.float64).view(4, 4)


def by_girih(function):
    return girih.compile(function)


def by_torch(function):
    torch.compiler.reset()
    return torch.compile(function, backend="girih")


@pytest.fixture(params=[by_girih, by_torch], ids=["girih.compile", "torch.compile"])
def door(request):
    yield request.param
    girih.backend.last_reports.graphs.clear()
    assert_nothing_is_left()


def assert_nothing_is_left():
    assert functorch.peek_interpreter_stack() is None
    assert fa._current_level == -1
    assert autograd._saved_tensors_hooks_is_enabled()
    assert torch.is_grad_enabled()
    assert torch._C._is_fwd_grad_enabled()
    with fa.dual_level():  # raises where one was left open
        pass


def number(x):
    return (x.sin() * x).sum()


def vector(x):
    return torch.tanh(WEIGHT @ x) * 2


def with_region(x):
    with torch.no_grad():
        y = x.sin()
    return (y * x).sum()


def writing(x):
    y = x.clone()
    y.mul_(2)
    y[0] = x[1]
    return (y * x).sum()


def dual(x):
    with fa.dual_level():
        found = fa.unpack_dual(vector(fa.make_dual(x, x * 2)))
        return found.primal, found.tangent


INSIDE = {
    "grad": tf.grad(number),
    "grad with no_grad": tf.grad(with_region),
    "grad in no_grad": torch.no_grad()(tf.grad(number)),
    "grad of writes": tf.grad(writing),
    "two arguments": lambda x: tf.grad(lambda a, b: (a * b.sin()).sum(), (0, 1))(x, -x),
    "vjp": lambda x: tf.vjp(vector, x)[1](x),
    "hessian": tf.hessian(number),
    "jvp": lambda x: tf.jvp(vector, (x,), (x + 1,)),
    "vmap of grad": lambda x: tf.vmap(tf.grad(number))(ROWS * x),
    "dual numbers": dual,
}


@pytest.mark.parametrize("name", INSIDE)
def test_what_a_transform_gives(door, name):
    function = INSIDE[name]
    expected = tree_leaves(function(X))
    compiled = door(function)
    for _ in range(2):
        torch.testing.assert_close(tree_leaves(compiled(X)), expected)


def gradient(function):
    x = X.clone().requires_grad_()
    sum(result.sum() for result in tree_leaves(function(x))).backward()
    return x.grad


@pytest.mark.parametrize("name", ["grad of writes", "vjp", "jvp"])
def test_derivatives_of_what_a_transform_gives(door, name):
    function = INSIDE[name]
    torch.testing.assert_close(gradient(door(function)), gradient(function))


def forward_mode(function):
    with fa.dual_level():
        return fa.unpack_dual(function(fa.make_dual(X, X + 1))).tangent


def batched(function):
    x = X.clone().requires_grad_()
    ones = torch.ones(3, dtype=X.dtype)
    return torch.autograd.grad(function(x), x, ones, is_grads_batched=True)[0]


AROUND = {
    "grad": lambda f: tf.grad(f)(X),
    "vmap": lambda f: tf.vmap(f)(ROWS),
    "jvp": lambda f: tf.jvp(f, (X,), (X + 1,))[1],
    "forward mode": forward_mode,
    "batched gradients": batched,
    "hessian, vectorized": lambda f: af.hessian(f, X, vectorize=True),
}


@pytest.mark.parametrize("name", AROUND)
@pytest.mark.filterwarnings("ignore:.*torch.jit.script")
def test_a_compiled_function_in_a_transform(door, name):
    compiled, apply = door(number), AROUND[name]
    expected = apply(number)
    torch.testing.assert_close(compiled(X), number(X))
    torch.testing.assert_close(apply(compiled), expected)
    torch.testing.assert_close(compiled(X), number(X))


def test_batched_gradients_of_a_graph_that_writes_are_refused(door):
    def add_one(x, y):
        return (x.sin() * y.add_(1)).sum()

    x = X.clone().requires_grad_()
    result = door(add_one)(x, torch.zeros_like(x))
    with pytest.raises(RuntimeError, match="can't run in a transform"):
        torch.autograd.grad(result, x, torch.ones(3).double(), is_grads_batched=True)


NORMS = {
    "layer norm": torch.nn.LayerNorm(4),
    "group norm": torch.nn.GroupNorm(2, 4),
    "batch norm": torch.nn.BatchNorm1d(4, track_running_stats=False),
    "PReLU": torch.nn.PReLU(),
}


@pytest.mark.filterwarnings("error::girih.FallbackWarning")
@pytest.mark.parametrize("name", NORMS)
def test_tangents_of_what_is_constant(name):
    """Formulas make zeros without memory for them, which have kernels of their own.

    TorchDynamo raises for them.
    """
    module = NORMS[name].double()
    for program in (
        lambda x: tf.jvp(module, (x,), (x.cos(),)),
        lambda x: tf.hessian(lambda y: module(y).sin().sum())(x),
    ):
        torch.testing.assert_close(by_girih(program)(ROWS), program(ROWS))
    assert_nothing_is_left()


def test_an_error_in_a_transform_leaves_no_level(door):
    def taken(x, index):
        return tf.vmap(lambda row: tf.grad(lambda y: y[index].sum())(row))(x)

    compiled = door(taken)
    expected = taken(ROWS, torch.tensor([1]))
    torch.testing.assert_close(compiled(ROWS, torch.tensor([1])), expected)
    with pytest.raises(IndexError):
        compiled(ROWS, torch.tensor([4]))
    assert_nothing_is_left()


def test_a_refused_graph_leaves_no_level():
    def on_meta(x):
        return tf.jvp(lambda y: y.to("meta"), (x,), (x,))[1], tf.grad(number)(x)

    found = by_torch(on_meta)(X)
    assert_nothing_is_left()
    torch.testing.assert_close(found[1], tf.grad(number)(X))
    assert girih.report().graphs[-1].fallback


def test_gradients_through_strides_that_are_written():
    def through(x):
        y = x.clone()
        y.as_strided((2,), (2,), 1).copy_(x[:2])
        return (y * x * x).sum()

    torch.testing.assert_close(gradient(by_girih(through)), gradient(through))


@pytest.mark.filterwarnings("error:girih bug")
def test_sizes_without_a_value_are_no_bug_of_girih():
    from torch._dynamo.decorators import mark_unbacked

    x = torch.randn(5, 4)
    mark_unbacked(x, 0)
    torch.testing.assert_close(by_torch(lambda x: x * 2)(x), x * 2)
    assert "girih bug" not in str(girih.report().graphs[-1].fallback)


def draws(t):
    return t + torch.rand(3)


def decides(t):
    return t if t.sum() > 0 else -t


@pytest.mark.parametrize("function", [draws, decides])
@pytest.mark.parametrize("is_inside", [True, False])
@pytest.mark.filterwarnings("error::girih.FallbackWarning")
def test_where_eager_raises_in_a_transform_its_error_is_all(function, is_inside):
    compiled = girih.compile(function)

    def whole(x):
        return torch.func.vmap(function)(x)

    call = girih.compile(whole) if is_inside else torch.func.vmap(compiled)
    with pytest.raises(RuntimeError, match="vmap"):
        call(torch.ones(2, 3))


def test_what_runs_in_a_transform_is_told_once_it_has_run():
    ran = []

    def function(t):
        ran.append(t)
        return t * 2

    with pytest.warns(girih.FallbackWarning, match="transform is active"):
        torch.func.vmap(girih.compile(function))(torch.ones(2, 3))
    strict = girih.compile(function, options={"fallback": False})
    with pytest.raises(girih.UnsupportedError, match="transform is active"):
        torch.func.vmap(strict)(torch.ones(2, 3))
    assert len(ran) == 1
