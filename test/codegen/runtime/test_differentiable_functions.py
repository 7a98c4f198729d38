"""What programs say about derivatives themselves, and backward inside of functions."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from training_scenario import Scenarios, check, leaf, outcome_of

import girih

scenarios = Scenarios()


@pytest.mark.parametrize("name", scenarios.table)
def test_like_eager(name):
    check(scenarios.table[name])


# autograd.Function ------------------------------------------------------------------


class Cube(torch.autograd.Function):
    """x ** 3 with a derivative that tells that it was used."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * x * x * 3.5


class Scale(torch.autograd.Function):
    """Two tensors and a number; keeps the number in the context."""

    @staticmethod
    def forward(ctx, x, y, factor):
        ctx.factor = factor
        ctx.save_for_backward(y)
        ctx.mark_non_differentiable(index := x.argmax())
        return x * factor, x * y, index

    @staticmethod
    def backward(ctx, first, second, _):
        (y,) = ctx.saved_tensors
        wanted = second * 2 if ctx.needs_input_grad[1] else None
        return first * ctx.factor + second * y, wanted, None


class Setup(torch.autograd.Function):
    """The form with setup_context."""

    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[0] * 2


class Once(torch.autograd.Function):
    """Its derivative has none."""

    @staticmethod
    def forward(ctx, x):
        return x.sin()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        return gradient * 2


@scenarios.add(broken=True)
def own_derivative(compile):
    x = leaf(3)
    compile(lambda x: Cube.apply(x * 2).sin().sum())(x).backward()
    return x.grad


@scenarios.add(broken=True)
def own_derivative_twice(compile):
    x = leaf(3)
    loss = compile(lambda x: Cube.apply(x).sum())(x)
    (g,) = torch.autograd.grad(loss, [x], create_graph=True)
    return g, torch.autograd.grad(g.sum(), [x])


@scenarios.add(broken=True)
def own_derivative_with_context(compile):
    function = compile(lambda x, y: Scale.apply(x, y, 2.5))
    observed = []
    for wanted in ((True, True), (True, False)):
        x, y = leaf(3, grad=wanted[0]), leaf(3, seed=1, grad=wanted[1])
        first, second, index = function(x, y)
        (first.sin().sum() + second.exp().sum()).backward()
        observed.append((first, second, index, x.grad, y.grad))
    return observed


@scenarios.add(broken=True)
def own_derivative_with_setup(compile):
    x = leaf(3)
    compile(lambda x: Setup.apply(x).sum() + Setup.apply(x * 2).mean())(x).backward()
    return x.grad


@scenarios.add(broken=True)
def own_derivative_only_once(compile):
    x = leaf(3)
    loss = compile(lambda x: Once.apply(x * x).sum())(x)
    (g,) = torch.autograd.grad(loss, [x], create_graph=True)
    return g, outcome_of(lambda: torch.autograd.grad(g.sum(), [x]))[:30]


@scenarios.add(broken=True)
def reversed_gradients(compile):
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            return -gradient

    model = nn.Linear(3, 2).double()
    nn.init.constant_(model.weight, 0.3)
    nn.init.zeros_(model.bias)
    x = leaf(4, 3)
    compile(lambda x: Reverse.apply(model(x)).square().sum())(x).backward()
    return x.grad, model.weight.grad


# Registered operators ---------------------------------------------------------------


def _operator():
    """An operator of this file with a registered derivative, made once."""
    if not hasattr(torch.ops.girih_training, "twice_sine"):

        @torch.library.custom_op("girih_training::twice_sine", mutates_args=())
        def twice_sine(x: torch.Tensor) -> torch.Tensor:
            return 2 * x.sin()

        @twice_sine.register_fake
        def _(x):
            return torch.empty_like(x)

        def save(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        def backward(ctx, gradient):
            return gradient * 2 * ctx.saved_tensors[0].cos()

        twice_sine.register_autograd(backward, setup_context=save)
    return torch.ops.girih_training.twice_sine


@scenarios.add(broken=True)
def registered_derivative(compile):
    operator = _operator()
    x = leaf(3)
    compile(lambda x: operator(x * 2).exp().sum())(x).backward()
    return x.grad


@scenarios.add(broken=True)
def registered_derivative_twice(compile):
    operator = _operator()
    x = leaf(3)
    loss = compile(lambda x: operator(x).sum())(x)
    (g,) = torch.autograd.grad(loss, [x], create_graph=True)
    return g, torch.autograd.grad(g.sum(), [x])


# Hooks inside -----------------------------------------------------------------------


@scenarios.add(broken=True)
def hooks_inside(compile):
    x, seen = leaf(3), []

    def program(x):
        y = x.sin()
        y.register_hook(lambda g: seen.append(g.clone()))
        return (y * 2).sum()

    compile(program)(x).backward()
    return x.grad, seen


@scenarios.add(broken=True)
def hooks_inside_that_change_the_gradient(compile):
    x = leaf(3)

    def program(x):
        y = x.sin()
        y.register_hook(lambda g: g * 10)
        return (y * 2).sum()

    compile(program)(x).backward()
    return x.grad


@scenarios.add(broken=True)
def retain_grad_inside(compile):
    x = leaf(3)

    def program(x):
        y = x.sin()
        y.retain_grad()
        return y, (y * 2).sum()

    y, loss = compile(program)(x)
    loss.backward()
    return y.grad, x.grad


@scenarios.add(broken=True)
def module_hooks(compile):
    model, seen = nn.Sequential(nn.Linear(3, 3), nn.Tanh()).double(), []
    nn.init.constant_(model[0].weight, 0.3)
    nn.init.zeros_(model[0].bias)
    model[0].register_forward_hook(lambda m, args, out: out * 2)
    model[1].register_full_backward_hook(lambda m, gi, go: seen.append(len(go)))
    compile(model)(leaf(2, 3, grad=False)).sum().backward()
    return [p.grad for p in model.parameters()], seen


# Backward inside --------------------------------------------------------------------


@scenarios.add(broken=True)
def backward_inside(compile):
    model = nn.Linear(3, 2).double()
    nn.init.constant_(model.weight, 0.3)
    nn.init.zeros_(model.bias)

    def step(x):
        loss = model(x).square().mean()
        loss.backward()
        return loss.detach()

    function = compile(step)
    losses = [function(leaf(4, 3, seed=n, grad=False)) for n in range(3)]
    return losses, [p.grad for p in model.parameters()]


@scenarios.add(broken=True)
def a_training_step_inside(compile):
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)).double()
    with torch.no_grad():
        for number, parameter in enumerate(model.parameters()):
            parameter.copy_(leaf(*parameter.shape, seed=number, grad=False))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    function = compile(step)
    x, y = leaf(8, 3, grad=False), leaf(8, 1, seed=9, grad=False)
    return [function(x, y) for _ in range(4)], list(model.parameters())


@scenarios.add(broken=True)
def breaks_in_training_functions(compile):
    x, log = leaf(3), []

    def program(x):
        y = x.sin()
        log.append(bool(y.sum() > 100))
        z = y * x
        print("", end="")
        return z.exp().sum()

    compile(program)(x).backward()
    return x.grad, log


@scenarios.add(broken=True)
def decisions_on_values(compile):
    def program(x):
        return x.sin().sum() if x.sum() > 0 else x.cos().sum()

    function = compile(program)
    observed = []
    for sign in (1, -1):
        x = (leaf(3).detach().abs() * sign).requires_grad_()
        function(x).backward()
        observed.append(x.grad)
    return observed


# Control flow and transforms --------------------------------------------------------


@scenarios.add
def loops_and_comprehensions(compile):
    x = leaf(3)

    def program(x):
        y = [x * k for k in range(1, 4)]
        for _ in range(3):
            y = [z.sin() + x for z in y]
        return torch.stack(y).prod(0).sum()

    compile(program)(x).backward()
    return x.grad


@scenarios.add(broken=True)
def functional_gradients(compile):
    function = compile(lambda x: torch.func.grad(lambda x: (x.sin() * x).sum())(x))
    x = leaf(3)
    result = function(x)
    result.sum().backward()
    return result, x.grad


@scenarios.add(broken=True)
def functional_value_and_grad(compile):
    function = compile(
        lambda x, y: torch.func.grad_and_value(lambda x: (x * y).exp().sum())(x)
    )
    x, y = leaf(3), leaf(3, seed=1)
    g, value = function(x, y)
    (g.sum() + value).backward()
    return g, value, x.grad, y.grad


@scenarios.add(broken=True)
def vectorised_gradients(compile):
    function = compile(
        lambda x: torch.func.vmap(torch.func.grad(lambda x: x.sin().sum()))(x)
    )
    return function(leaf(4, 3, grad=False))


@scenarios.add(eager="which branch is taken depends on data")
def conditional_operator(compile):
    function = compile(
        lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x * 2, (x,))
    )
    observed = []
    for sign in (1, -1):
        x = (leaf(3).detach().abs() * sign).requires_grad_()
        function(x).sum().backward()
        observed.append(x.grad)
    return observed


class _First(torch.autograd.Function):
    """A product by which only the first factor gets a gradient."""

    @staticmethod
    def forward(ctx, x, w):
        return x * w

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2, None


class _Nothing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return None


class _One(torch.autograd.Function):
    """Its gradient is 1 where it is given zeros: as eager has it, for what is None."""

    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, gradient):
        return gradient + 1


WITHOUT_GRADIENTS = {
    "one of two": lambda x, w: _First.apply(x, w),
    "of what is computed": lambda x, w: _First.apply(x, w * 2),
    "by another way": lambda x, w: _First.apply(x, w) + w,
    "none": lambda x, w: _Nothing.apply(x),
    "none, and another": lambda x, w: _Nothing.apply(x) * w,
    "behind one": lambda x, w: _Nothing.apply(_One.apply(x)) + w,
    "behind zeros": lambda x, w: _One.apply(x).floor() + w,
    "two results": lambda x, w: (_First.apply(x, w), _Nothing.apply(w), x.sin()),
}


@scenarios.add
def gradients_that_are_none(compile):
    """They are None for arguments, too: decay of an optimizer moves what has zeros."""
    observed = []
    for program in WITHOUT_GRADIENTS.values():
        function = compile(program)
        for create_graph in (False, True):
            x, w = leaf(3), leaf(3, seed=1)
            results = function(x, w)
            results = results if isinstance(results, tuple) else (results,)
            for result in results:
                observed.append(result.requires_grad)
                given = {"allow_unused": True, "create_graph": create_graph}
                given["retain_graph"] = True
                found = torch.autograd.grad(result.sum(), [x, w], **given)
                observed.append([str(g is None or g.requires_grad) for g in found])
                observed.append(found)
        optimizer = torch.optim.AdamW([x, w], lr=0.1, weight_decay=0.5)
        results[0].sum().backward()
        optimizer.step()
        observed += [x, w, x.grad, w.grad]
    return observed


class Named(torch.autograd.Function):
    """Its node in the history has an attribute that other nodes have as a method."""

    @staticmethod
    def forward(ctx, x, name):
        """Keeps the name under ``name``."""
        ctx.name = name
        return x * len(name)

    @staticmethod
    def backward(ctx, gradient):
        """The derivative by ``x``."""
        return gradient * len(ctx.name), None


def test_a_function_of_which_the_context_has_a_name():
    def gradient(function):
        x = torch.tensor([0.5, 1.5], requires_grad=True)
        function(x, "abc").sum().backward()
        return x.grad

    def function(x, name):
        return Named.apply(x.sin(), name).cos()

    compiled = girih.compile(function, fullgraph=True, options={"fallback": False})
    torch.testing.assert_close(gradient(compiled), gradient(function))
