"""Operations that call functions of the program: torch.func, cond, checkpoints, ...."""

import collections
import copy
from typing import NamedTuple

import pytest
import torch
from pytree_classes import Fields, Registered, RegisteredDict
from torch._higher_order_ops.associative_scan import associative_scan
from torch.utils._pytree import tree_leaves, tree_structure

import girih
from girih.errors import UnsupportedError

BACKENDS = pytest.mark.parametrize("backend", ["eager", "girih"])
X, W = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
ROWS = torch.linspace(-1, 1, 12).view(4, 3)


def outcome(function, args):
    """Results and gradients, from copies of the arguments."""
    args = copy.deepcopy(args)
    torch.manual_seed(0)
    results = tree_leaves(function(*args))
    needed = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    if needed:
        sum(result.sum() for result in needed).backward()
    leaves = [leaf for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)]
    modules = [m for m in args if isinstance(m, torch.nn.Module)]
    leaves += [parameter for module in modules for parameter in module.parameters()]
    return results, [leaf.grad for leaf in leaves]


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.factor + 0 * x, None


class Both(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, first, second):
        x, y = ctx.saved_tensors
        return first * y + second, first * x + second


class Printing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print("forward")
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def vmap(x):
    return torch.func.vmap(lambda row: row * row.sum())(x)


def vmap_of_columns(x, w):
    scale = w * 2
    return torch.vmap(lambda v, s: v.sum() * scale + s, in_dims=(1, None))(x, 2.0)


def vmap_of_vmap(x):
    """Numbers are tensors in there, and are cast."""
    return torch.vmap(torch.vmap(lambda v: v.sin() + 1 - 2.5 * v))(x)


def vmap_of_none(x, w):
    by_rows = torch.vmap(lambda v, s: (v * s, v > 0), in_dims=(0, None))(x[:0], w)
    return by_rows, torch.vmap(lambda v: v.long(), in_dims=1, out_dims=1)(x[:, 3:])


def scan(x):
    """The levels of an associative scan end with batches of none."""

    def joined(left, right):
        return left[0] * right[0], left[1] * right[0] + right[1]

    return associative_scan(joined, (x, x + 1), dim=0, combine_mode="generic")


def gradient(x):
    return torch.func.grad(lambda y: (y**2).sum())(x)


def gradient_of_dict(parameters, x):
    def loss(p, x):
        return (p["w"] * x + p["b"]).pow(2).sum(), x * 2

    return torch.func.grad(loss, has_aux=True)(parameters, x)


def value_and_gradient(x):
    return torch.func.grad_and_value(lambda y: (y**3).sum())(x)


def per_sample_gradient(w, xs):
    loss = torch.func.grad(lambda w, x: (w * x).sin().sum())
    return torch.vmap(loss, in_dims=(None, 0))(w, xs)


def second_gradient(x):
    first = torch.func.grad(lambda z: (z**3).sum())
    return torch.func.grad(lambda y: first(y).sum())(x)


def forward_derivative(x, tangent):
    return torch.func.jvp(torch.sin, (x,), (tangent,))


def jacobians(x):
    return torch.func.jacrev(torch.sin)(x), torch.func.jacfwd(torch.cos)(x)


def hessian(x):
    return torch.func.hessian(lambda y: (y.sin() * y).sum())(x)


def conditional(x, w):
    y = w * 2
    return torch.cond(
        x.sum() > 0,
        lambda v: (v * y, v.sum()),
        lambda v: (v / y, v.sum() * 2),
        (x,),
    )


def loop(x):
    start = torch.zeros((), dtype=torch.int64)
    body = lambda i, v: (i + 1, v * 2)  # noqa: E731
    return torch.while_loop(lambda i, v: i < 3, body, (start, x))


def checkpoint(x, net):
    y = torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False)
    return y + 1


def custom_function(x):
    return Double.apply(x, 3) + 1


def custom_function_with_setup(x, y):
    return Both.apply(x, y)


def functional_call(x, net):
    parameters = {k: v.detach() for k, v in net.named_parameters()}

    def loss(p):
        return torch.func.functional_call(net, p, (x,)).square().sum()

    return torch.func.grad(loss)(parameters)


def autograd_grad(x):
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return first.detach(), second


NET = torch.nn.Sequential(
    torch.nn.Linear(3, 3), torch.nn.Dropout(0.5), torch.nn.Linear(3, 2)
)


@BACKENDS
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (vmap, (ROWS,)),
        (vmap_of_columns, (ROWS, W)),
        (vmap_of_none, (ROWS, W)),
        (vmap_of_vmap, (ROWS,)),
        (scan, (ROWS,)),
        (gradient, (X,)),
        (gradient_of_dict, ({"w": X, "b": X + 1}, X)),
        (value_and_gradient, (X,)),
        (per_sample_gradient, (X, ROWS)),
        (second_gradient, (X,)),
        (forward_derivative, (X, X + 1)),
        (jacobians, (X,)),
        (hessian, (X,)),
        (conditional, (X, W)),
        (conditional, (-X, W)),
        (loop, (X,)),
        (checkpoint, (ROWS, NET)),
        (custom_function, (W,)),
        (custom_function, (X,)),
        (custom_function_with_setup, (W, X)),
        (custom_function_with_setup, (X, X + 1)),
        (autograd_grad, (W,)),
        (functional_call, (ROWS, torch.nn.Linear(3, 2))),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_one_graph(function, args, backend):
    expected = outcome(function, args)
    is_compiled = backend == "eager" or function not in (conditional, loop)
    compiled = girih.compile(function, backend=backend, fullgraph=is_compiled)
    for _ in range(2):
        torch.testing.assert_close(outcome(compiled, args), expected)


def test_one_entry_serves_both_branches():
    compiled = girih.compile(conditional, backend="eager", fullgraph=True)
    for x in (X, -X):
        torch.testing.assert_close(compiled(x, W), conditional(x, W))
    assert compiled.cache_statistics()["captures"] == 1


def side_effects(x, seen):
    def branch(v):
        seen.append(1)
        return v + 1

    return torch.cond(x.sum() > 0, branch, lambda v: v - 1, (x,))


def branches_that_differ(x):
    return torch.cond(x.sum() > 0, lambda v: v, lambda v: v.sum(), (x,))


@pytest.mark.parametrize(
    ("function", "args", "kind"),
    [
        (side_effects, (X, []), "side effect in a function that an operation calls"),
        (branches_that_differ, (X,), "branches with different results"),
        (lambda x: Printing.apply(x), (W,), ""),
        (lambda x: torch.cond(x.sum(), abs, lambda v: v.item(), (x,)), (X,), ""),
    ],
)
def test_what_is_no_node(function, args, kind):
    with pytest.raises(UnsupportedError, match=kind):
        girih.compile(function, backend="eager", fullgraph=True)(*args)


def test_a_forward_with_effects_runs_once(capsys):
    compiled = girih.compile(lambda x: Printing.apply(x) + 1, backend="eager")
    x = W.detach().requires_grad_()
    compiled(x).sum().backward()
    assert capsys.readouterr().out == "forward\n"
    torch.testing.assert_close(x.grad, torch.full((3,), 2.0))


def test_a_gradient_that_would_leave_the_graph():
    def function(x, y):
        return torch.autograd.grad(y.sum(), x, allow_unused=True)[0]

    x = torch.ones(3, requires_grad=True)
    found = girih.compile(function, backend="eager")(x, x * 2)
    torch.testing.assert_close(found, torch.full((3,), 2.0))


def test_a_transform_survives_a_break():
    def function(x):
        transformed = torch.vmap(lambda row: row * 2, in_dims=1, out_dims=1)
        print(end="")
        return transformed(x)

    torch.testing.assert_close(girih.compile(function, backend="eager")(ROWS), ROWS * 2)


def test_an_object_may_override_torch_functions():
    class Duck:
        def __init__(self, value):
            self.value = value

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            values = [a.value if isinstance(a, cls) else a for a in args]
            return cls(function(*values, **(kwargs or {})))

    def function(x):
        return torch.add(Duck(x), 1).value, torch.nn.functional.relu(Duck(x)).value

    compiled = girih.compile(function, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(X), function(X))


POWERS = {
    "x ** n": lambda x, n: (x**n).sum(),
    "n ** x": lambda x, n: (n**x).sum(),
    "pow": lambda x, n: torch.pow(n, x).sum() * torch.pow(x, n).sum(),
    "in place": lambda x, n: (x + 1).pow_(n).sum(),
    "n ** 2": lambda x, n: (x * n**2).sum(),
}
DERIVATIVES = {
    "grad": lambda f, x: torch.func.grad(f)(x),
    "jvp": lambda f, x: torch.func.jvp(f, (x,), (x,)),
    "hessian": lambda f, x: torch.func.hessian(f)(x),
    "grad of grad": lambda f, x: torch.func.grad(lambda y: torch.func.grad(f)(y).sum())(
        x
    ),
    "vmap of grad": lambda f, x: torch.vmap(torch.func.grad(f))(x.expand(2, 3)),
    "vjp": lambda f, x: torch.func.vjp(f, x)[1](torch.tensor(2.0)),
}


@pytest.mark.parametrize("kind", [int, float])
@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_derivatives_of_powers_of_numbers_that_vary(derivative, power, kind):
    def function(x, n):
        return DERIVATIVES[derivative](lambda y: POWERS[power](y, n), x)

    compiled = girih.compile(function, backend="eager", fullgraph=True)
    x = torch.tensor([0.5, 1.5, 2.0])
    for n in (2, 3, 4, 2):
        torch.testing.assert_close(compiled(x, kind(n)), function(x, kind(n)))


class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor


def _with_default(a, b):
    made = collections.defaultdict(list, a=a)
    made["b"] = b
    return made


# How a container is made, and its items.
CONTAINERS = {
    "tuple": (lambda a, b: (a, b), tuple),
    "list": (lambda a, b: [a, b], tuple),
    "dict": (lambda a, b: {"a": a, "b": b}, lambda x: (x["a"], x["b"])),
    "OrderedDict": (
        lambda a, b: collections.OrderedDict(b=b, a=a),
        lambda x: (x["a"], x["b"]),
    ),
    "defaultdict": (_with_default, lambda x: (x["a"], x["b"])),
    "no default": (
        lambda a, b: collections.defaultdict(None, {"a": a, "b": b}),
        lambda x: (x["a"], x["b"]),
    ),
    "NamedTuple": (Pair, tuple),
    "deque": (lambda a, b: collections.deque([a, b], 3), tuple),
    "dataclass": (Fields, lambda x: (x.a, x.b)),
    "registered": (lambda a, b: Registered((a, b), ["b"]), lambda x: x.content),
    "registered dict": (
        lambda a, b: RegisteredDict(b=b, a=a),
        lambda x: (x["a"], x["b"]),
    ),
    "nested": (
        lambda a, b: Registered((Fields(a, None), {"b": b}), (1, None)),
        lambda x: (x.content[0].a, x.content[1]["b"]),
    ),
}
OF_CONTAINERS = {
    "grad": lambda one, many, x: torch.func.grad(one)(x),
    "grad, aux": lambda one, many, x: torch.func.grad(
        lambda y: (one(y), many(y)), has_aux=True
    )(x),
    "vmap": lambda one, many, x: torch.vmap(many)(x),
    "vmap of grad": lambda one, many, x: torch.vmap(torch.func.grad(one))(x),
    "jacrev": lambda one, many, x: torch.func.jacrev(many)(x),
    "jacfwd": lambda one, many, x: torch.func.jacfwd(one)(x),
    "jvp": lambda one, many, x: torch.func.jvp(many, (x,), (x,)),
    "vjp": lambda one, many, x: torch.func.vjp(many, x)[1](x),
}


def _plain(value):
    """What a result is made of, class by class."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, dict):
        made = [(key, _plain(item)) for key, item in value.items()]
        return type(value), getattr(value, "default_factory", None), made
    if isinstance(value, (Fields, Registered)):
        return type(value), _plain(vars(value))
    if isinstance(value, (tuple, list, collections.deque)):
        return type(value), [_plain(item) for item in value]
    return value


@pytest.mark.parametrize("is_given", [False, True])
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("transform", OF_CONTAINERS)
def test_containers_that_transforms_go_through(transform, container, is_given):
    make, items = CONTAINERS[container]

    def one(x):
        a, b = items(x)
        return (a * a * b).sum()

    def many(x):
        a, b = items(x)
        return make(a * b, b.sin())

    def function(x):
        x = x if is_given else make(*x)
        return OF_CONTAINERS[transform](one, many, x)

    x = make(ROWS, ROWS + 1) if is_given else (ROWS, ROWS + 1)
    compiled = girih.compile(function, backend="eager", fullgraph=True)
    found, wanted = _plain(compiled(x)), _plain(function(x))
    assert tree_structure(found) == tree_structure(wanted)
    for mine, eagers in zip(tree_leaves(found), tree_leaves(wanted), strict=True):
        if isinstance(eagers, torch.Tensor):
            torch.testing.assert_close(mine, eagers)
        else:
            assert mine == eagers


def test_a_factory_that_the_program_makes():
    def function(x, n):
        given = collections.defaultdict(lambda: n, a=x)
        return torch.func.grad(lambda y: (y["a"] ** 2).sum())(given)["a"]

    with pytest.raises(UnsupportedError, match="factory of a defaultdict"):
        girih.compile(function, fullgraph=True)(ROWS, 2)
