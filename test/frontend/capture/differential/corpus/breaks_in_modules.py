"""Breaks inside modules: hooks, containers and calls around go on."""

import torch
from torch import nn

from differential.program import compiles, program, rand


def seeded(make):
    """A module with the same numbers each time."""
    torch.manual_seed(0)
    return make()


class Loud(nn.Module):
    """Breaks in its forward."""

    def __init__(self, name="loud"):
        super().__init__()
        self.name = name
        self.linear = nn.Linear(3, 3)
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x):
        y = self.linear(x)
        self.steps += 1
        print(self.name)
        return y.relu()


class Deep(nn.Module):
    """The deepest of its layers breaks."""

    def __init__(self, depth):
        super().__init__()
        self.before = nn.Linear(3, 3)
        self.inner = Deep(depth - 1) if depth else Loud("deepest")
        self.after = nn.Linear(3, 3)

    def forward(self, x):
        return self.after(self.inner(self.before(x)) + x)


class Looping(nn.Module):
    """Loops over layers that break."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Loud("a"), nn.Linear(3, 3), Loud("b")])
        self.named = nn.ModuleDict({"x": Loud("x"), "y": nn.ReLU()})
        self.count = 0

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) + i
        for name, layer in self.named.items():
            print(name)
            x = layer(x)
            self.count += 1
        return x


class Stateful(nn.Module):
    """Writes attributes on both sides of a break."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.history = []
        self.calls = 0
        self.last = None
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        self.calls += 1
        y = self.linear(x)
        self.mean.mul_(0.5).add_(y.detach().mean(0))
        self.history.append(self.calls)
        print("calls", self.calls)
        self.last = y.detach()
        self.mean.add_(1)
        self.history.append("after")
        return y + self.mean


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        x = self.norm(x)
        print(self.training)
        return self.norm(x) * 2


class Early(nn.Module):
    """Leaves a loop on a value."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(4)])

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x).tanh()
            if x.abs().mean().item() < 0.3:
                return x, i
        return x, -1


class Inherits(Loud):
    def forward(self, x):
        y = super().forward(x) + 1
        print("child")
        return super().forward(y)


@program(seeded(Loud), rand(2, 3)).graphs(2)
def one_layer(net, x):
    return net(x) * 2


@program(seeded(lambda: Deep(3)), rand(2, 3)).graphs(2)
def deepest_layer(net, x):
    return net(x) + 1


@program(seeded(lambda: nn.Sequential(Loud("a"), nn.ReLU(), Loud("b"))), rand(2, 3))
def sequential(net, x):
    return net(x).sum()


@program(seeded(Looping), rand(2, 3))
def loops_over_layers(net, x):
    return net(x), net.count


@program(seeded(Stateful), rand(2, 3))
def state_on_both_sides(net, x):
    return net(x), net(x + 1), net.last is not None


@program(seeded(Norm), rand(4, 3)).then(seeded(lambda: Norm().eval()), rand(4, 3))
def batch_norm(net, x):
    return net(x), net.norm.running_mean


@program(seeded(Early), rand(2, 3)).then(seeded(Early), rand(2, 3) * 0)
def leaves_early(net, x):
    y, where = net(x)
    return y * 2, where


@program(seeded(Inherits), rand(2, 3))
def super_forward(net, x):
    return net(x)


@program(seeded(lambda: nn.Linear(3, 3)), rand(2, 3))
def hooks_that_break(net, x):
    def before(module, args):
        print("before")
        return (args[0] + 1,)

    def after(module, args, result):
        print("after", tuple(result.shape))
        return result * 2

    first = net.register_forward_pre_hook(before)
    second = net.register_forward_hook(after)
    try:
        y = net(x)
    finally:
        first.remove()
        second.remove()
    return y, net(x)


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.linear.register_forward_hook(hook)
        self.register_forward_pre_hook(pre_hook)

    def forward(self, x):
        return self.linear(x) + 1


def hook(module, args, result):
    print("hook")
    return result * 2


def pre_hook(module, args):
    print("pre")


@program(seeded(Hooked), rand(2, 3))
def hooks_are_there_before(net, x):
    return net(x) * 2


@program(seeded(Loud), rand(2, 3))
def parameters_are_walked(net, x):
    total = 0
    for name, parameter in net.named_parameters():
        print(name)
        total = total + parameter.detach().sum()
    return net(x) + total


@program(seeded(Loud), rand(2, 3))
def gradients_through_a_break(net, x):
    loss = net(x).square().sum()
    loss.backward()
    gradients = [p.grad.clone() for p in net.parameters()]
    for p in net.parameters():
        p.grad = None
    return loss.detach(), gradients


@compiles(rand(2, 3))
def training_with_breaks(compile, x):
    net = compile(seeded(lambda: nn.Sequential(Loud(), nn.Linear(3, 1))))
    optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
    losses = []
    for _ in range(3):
        optimiser.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return losses, net[0].steps


@compiles(rand(2, 3))
def compiled_module_with_breaks(compile, x):
    net = seeded(Stateful)
    compiled = compile(net)
    first = compiled(x)
    net.eval()
    return first, compiled(x), net.calls, net.history, compiled.mean


@compiles(rand(2, 3))
def module_is_compiled_in_a_module(compile, x):
    net = seeded(lambda: Deep(1))
    net.inner = compile(net.inner)
    return net(x), compile(net)(x)


@program(seeded(Loud), rand(2, 3))
def called_twice_in_an_expression(net, x):
    return net(x) + net(net(x + 1)), net.steps


@program(seeded(lambda: Deep(0)), rand(2, 3))
def submodule_is_swapped_after_a_break(net, x):
    y = net(x)
    old, net.inner = net.inner, nn.Identity()
    print("swapped")
    z = net(x)
    net.inner = old
    return y, z


@program(seeded(Loud), rand(2, 3, requires_grad=True))
def checkpointed_with_a_break(net, x):
    y = torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False)
    print("after")
    return y * 2


@program(seeded(lambda: nn.LSTM(3, 4)), rand(5, 2, 3))
def recurrent_layer(net, x):
    y, (h, c) = net(x)
    print(tuple(h.shape))
    z, _ = net(x, (h, c))
    return y + z
