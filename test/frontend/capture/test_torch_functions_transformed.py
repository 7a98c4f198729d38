"""``torch.autograd.Function`` under the transforms of ``torch.func``, beside eager."""

import pytest
import torch
from autograd_functions import LOG, Old, Sine, assert_like_eager
from torch import func
from torch.autograd import Function, forward_ad

import girih
from girih.errors import UnsupportedError

X, M = torch.tensor([0.5, 1.0, 2.0]), torch.arange(1.0, 7).view(2, 3)


class Generated(Function):
    """Three rules that are not each other's derivative."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, k):
        return x**3 * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.k = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x * 7 * ctx.k, None

    @staticmethod
    def jvp(ctx, tangent, none):
        assert none is None
        (x,) = ctx.saved_tensors
        return tangent * x * 11 * ctx.k


class Plain(Function):
    @staticmethod
    def forward(x):
        return x * 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        return g * 5


class WithJvp(Plain):
    @staticmethod
    def jvp(ctx, tangent):
        (output,) = ctx.saved_tensors
        return tangent * 17 + output


class WithLoggedJvp(Plain):
    @staticmethod
    def jvp(ctx, tangent):
        LOG.append("jvp")
        return tangent * 17


class WithVmap(Plain):
    @staticmethod
    def vmap(info, in_dims, x):
        LOG.append((info.batch_size, info.randomness, in_dims))
        return WithVmap.apply(x) + info.batch_size, in_dims[0]


class WithBothVmaps(WithVmap):
    generate_vmap_rule = True


def dual(function, x):
    with forward_ad.dual_level():
        made = function(forward_ad.make_dual(x, torch.ones_like(x)))
        return tuple(forward_ad.unpack_dual(made))


def without_grad(function, x):
    with torch.no_grad():
        return function(x)


def generated(x):
    return Generated.apply(x, 2)


TRANSFORMED = {
    "vmap": lambda x: func.vmap(generated)(x),
    "vmap of grad": lambda x: func.vmap(func.grad(lambda v: generated(v).sum()))(x),
    "grad of vmap": lambda x: func.grad(lambda v: func.vmap(generated)(v).sum())(x),
    "jvp": lambda x: func.jvp(generated, (x,), (x + 1,)),
    "jvp of detach": lambda x: func.jvp(lambda v: generated(v.detach()), (x,), (x,)),
    "jvp without grad": lambda x: func.jvp(
        lambda v: without_grad(generated, v), (x,), (x,)
    ),
    "jvp, saved result": lambda x: func.jvp(WithJvp.apply, (x,), (x,)),
    "jvp with effects": lambda x: func.jvp(WithLoggedJvp.apply, (x,), (x,)),
    "no jvp": lambda x: func.jvp(Plain.apply, (x,), (x,)),
    "no jvp, constant": lambda x: func.jvp(lambda v: Plain.apply(X) * v, (x,), (x,)),
    "jacfwd": lambda x: func.jacfwd(generated)(x),
    "jacfwd, no vmap": lambda x: func.jacfwd(WithJvp.apply)(x),
    "jacrev": lambda x: func.jacrev(generated)(x),
    "jacrev, own vmap": lambda x: func.jacrev(WithVmap.apply)(x),
    "jacrev, old": lambda x: func.jacrev(Old.apply)(x),
    "jacrev of jacrev": lambda x: func.jacrev(func.jacrev(Sine.apply))(x[0]),
    "grad of grad": lambda x: func.grad(
        lambda v: func.grad(lambda u: Sine.apply(u).sum())(v).sum()
    )(x),
    "hessian": lambda x: func.hessian(lambda v: generated(v).sum())(x),
    "grad, without grad inside": lambda x: func.grad(
        lambda v: without_grad(generated, v).sum() * v.sum()
    )(x),
    "linearize": lambda x: func.linearize(generated, x)[1](x),
    "functionalize": lambda x: func.functionalize(generated)(x),
    "functionalize, old": lambda x: func.functionalize(Old.apply)(x),
    "vjp": lambda x: func.vjp(generated, x)[1](x),
    "vmap of vjp": lambda x: func.vmap(lambda r: func.vjp(Sine.apply, r)[1](r))(x),
    "own vmap": lambda x: func.vmap(WithVmap.apply, 1)(x),
    "own vmap of vmap": lambda x: func.vmap(func.vmap(WithVmap.apply))(x),
    "own vmap, randomness": lambda x: torch.vmap(WithVmap.apply, randomness="same")(x),
    "own vmap, not batched": lambda x: func.vmap(lambda v: v * WithVmap.apply(X))(x),
    "no vmap": lambda x: func.vmap(Plain.apply)(x),
    "two vmaps": lambda x: func.vmap(WithBothVmaps.apply)(x),
    "vmap, old": lambda x: func.vmap(Old.apply)(x),
    "grad, old": lambda x: func.grad(lambda v: Old.apply(v).sum())(x),
    "grad, old, constant": lambda x: func.grad(lambda v: (v * Old.apply(X)).sum())(x),
    "dual": lambda x: dual(generated, x),
    "dual, old": lambda x: dual(Old.apply, x),
}


@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.filterwarnings("ignore:girih runs")
def test_transforms(name):
    assert_like_eager(TRANSFORMED[name], M if "vmap" in name else X)


@pytest.mark.parametrize(
    "name",
    [
        *("vmap", "vmap of grad", "grad of vmap", "jvp", "jvp of detach", "jacfwd"),
        *("jvp without grad", "jacrev", "hessian", "vjp", "vmap of vjp"),
        *("grad of grad", "jacrev of jacrev", "jvp, saved result"),
    ],
)
def test_transforms_in_one_graph(name):
    compiled = girih.compile(TRANSFORMED[name], fullgraph=True)
    x = M if "vmap" in name else X
    torch.testing.assert_close(compiled(x), TRANSFORMED[name](x))


@pytest.mark.parametrize("member", ["vmap", "jvp", "setup_context"])
def test_what_no_graph_has_under_a_transform(member):
    function, transform = {
        "vmap": (Plain, func.vmap),
        "jvp": (Plain, lambda f: lambda x: func.jvp(f, (x,), (x,))),
        "setup_context": (Old, func.vmap),
    }[member]
    compiled = girih.compile(lambda x: transform(function.apply)(x), fullgraph=True)
    with pytest.raises(UnsupportedError, match=f"under a transform: .*{member}"):
        compiled(X)
