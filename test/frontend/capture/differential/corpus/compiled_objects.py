"""What compile returns: functions, methods, modules; compiled code in other code."""

import copy
import functools
import inspect
import io
import pickle

import torch
from torch import nn

from differential.program import compiles, program, rand


class Net(nn.Module):
    """A module with all kinds of state."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(3, 3)
        self.register_buffer("steps", torch.zeros(()))
        self.scale = 2.0

    def forward(self, x, *, shift=0.0):
        self.steps += 1
        return self.linear(x) * self.scale + shift

    def helper(self, x):
        return x * self.scale


class Callable:
    def __init__(self, n):
        self.n = n

    def __call__(self, x):
        self.n += 1
        return x * self.n

    def method(self, x):
        return x + self.n


def affine(x, scale=2.0, *, bias=1.0):
    """Docstring."""
    return x * scale + bias


@compiles(rand(2, 3))
def module(compile, x):
    net = Net()
    compiled = compile(net)
    return compiled(x), compiled(x, shift=1.0), net.steps, compiled.steps


@compiles(rand(2, 3))
def module_looks_the_same(compile, x):
    net = compile(Net())
    names = [name for name, _ in net.named_parameters()]
    return names, list(net.state_dict()), net.scale, isinstance(net, Net), repr(net)


@compiles(rand(2, 3))
def module_shares_state(compile, x):
    net = Net()
    compiled = compile(net)
    compiled(x)
    with torch.no_grad():
        net.linear.weight.zero_()
    compiled.scale = 5.0
    return compiled(x), net.scale, compiled.linear.weight is net.linear.weight


@compiles(rand(2, 3))
def module_mode(compile, x):
    net = nn.Dropout(0.5)
    compiled = compile(net)
    compiled.eval()
    first = compiled(x)
    compiled.train()
    return first, net.training, compiled(x)


@compiles(rand(2, 3))
def module_loads_state(compile, x):
    compiled = compile(Net())
    state = {k: torch.ones_like(v) for k, v in compiled.state_dict().items()}
    compiled.load_state_dict(state)
    return compiled(x), compiled.steps


@compiles(rand(2, 3))
def module_is_copied(compile, x):
    compiled = compile(Net())
    compiled(x)
    other = copy.deepcopy(compiled)
    other.scale = 0.0
    return compiled(x), other(x), other.steps, compiled.steps


@compiles(rand(2, 3))
def module_is_pickled(compile, x):
    net = compile(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
    other = pickle.loads(pickle.dumps(net))
    return net(x), other(x), type(other).__name__


@compiles(rand(2, 3))
def module_is_saved(compile, x):
    net = compile(Net())
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    return list(torch.load(file))


@compiles(rand(2, 3))
def module_in_a_module(compile, x):
    outer = nn.Sequential(compile(Net()), nn.ReLU())
    return outer(x), list(outer.state_dict()), compile(outer)(x)


@compiles(rand(2, 3))
def module_method(compile, x):
    net = Net()
    return compile(net.helper)(x), compile(net).helper(x), compile(net.forward)(x)


@compiles(rand(2, 3))
def module_gradients(compile, x):
    net = Net()
    compile(net)(x).sum().backward()
    return net.linear.weight.grad, net.linear.bias.grad


@compiles(rand(2, 3))
def module_is_trained(compile, x):
    net = Net()
    compiled = compile(net)
    optimiser = torch.optim.SGD(compiled.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        optimiser.zero_grad()
        loss = compiled(x).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return losses


@compiles(rand(2, 3))
def module_hooks(compile, x):
    net = Net()
    compiled = compile(net)
    handle = net.register_forward_hook(lambda module, args, out: out * 10)
    first = compiled(x)
    handle.remove()
    return first, compiled(x)


@compiles(rand(2, 3))
def module_is_moved(compile, x):
    compiled = compile(Net())
    compiled(x)
    compiled.double()
    return compiled(x.double()), compiled.linear.weight.dtype


@compiles(rand(3))
def function(compile, x):
    f = compile(affine)
    return f(x), f(x, 3.0), f(x, bias=2.0), f.__name__, f.__doc__


@compiles(rand(3))
def function_signature(compile, x):
    return str(inspect.signature(compile(affine))), callable(compile(affine))


@compiles(rand(3))
def decorator(compile, x):
    @compile
    def f(y):
        return y + 1

    return f(x), f.__name__


@compiles(rand(3))
def wrong_arguments(compile, x):
    found = []
    for args, kwargs in (((), {}), ((1, 2, 3, 4), {}), ((x,), {"nope": 1})):
        try:
            compile(affine)(*args, **kwargs)
        except TypeError as error:
            found.append(str(error))
    return found


@compiles(rand(3))
def callable_object(compile, x):
    c = Callable(1)
    f = compile(c)
    return f(x), f(x), c.n, compile(c.method)(x)


@compiles(rand(3))
def methods_in_a_class(compile, x):
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @compile
        def apply(self, y):
            return y * self.factor

        @staticmethod
        @compile
        def shift(y):
            return y + 1

        @classmethod
        def make(cls, factor):
            return cls(factor)

    return Model(2).apply(x), Model.make(3).apply(x), Model.shift(x), Model(1).shift(x)


@compiles(rand(3))
def partials(compile, x):
    f = compile(functools.partial(affine, bias=5.0))
    return f(x), functools.partial(compile(affine), scale=0.0)(x)


@compiles(rand(3))
def builtins(compile, x):
    return compile(torch.sin)(x), compile(abs)(x), compile(lambda *a: a)(x, 1)


@compiles(rand(3))
def compiled_calls_compiled(compile, x):
    inner = compile(lambda v: v * 2)
    outer = compile(lambda v: inner(v) + inner(v + 1))
    return outer(x), inner(x), compile(outer)(x)


@compiles(rand(3))
def plain_calls_compiled(compile, x):
    inner = compile(affine)
    total = x
    for n in range(4):
        total = inner(total, n)
    return total


@compiles(rand(3))
def recursion(compile, x):
    @compile
    def f(y, n):
        return y if n == 0 else f(y + n, n - 1)

    return f(x, 3)


@compiles(rand(3))
def generator(compile, x):
    @compile
    def f(y):
        for i in range(3):
            yield y * i

    return list(f(x)), next(f(x))


@compiles(rand(3))
def exception_leaves_it_usable(compile, x):
    @compile
    def f(y, fail):
        if fail:
            raise ValueError("asked for")
        return y + 1

    found = [f(x, False)]
    for _ in range(2):
        try:
            f(x, True)
        except ValueError as error:
            found.append(str(error))
    return [*found, f(x, False)]


@compiles(rand(3))
def many_sizes(compile, x):
    f = compile(lambda v: v.sum() * v.shape[0])
    return [f(torch.ones(n)) for n in range(12)]


@compiles(rand(3))
def many_constants(compile, x):
    f = compile(lambda v, n: v * n)
    return [f(x, n) for n in range(12)], [f(x, str(n).isdigit()) for n in range(2)]


@compiles(rand(3))
def map_over_compiled(compile, x):
    f = compile(affine)
    return list(map(f, [x, x + 1])), sorted([2, 1], key=compile(lambda v: -v))


@program(nn.Sequential(nn.Linear(3, 3), nn.ReLU()), rand(2, 3))
def module_forward_of_class(net, x):
    return nn.Linear.forward(net[0], x), type(net).__call__(net, x)
