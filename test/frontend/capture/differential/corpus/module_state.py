"""Modules that change: buffers, attributes, training mode, hooks, parametrisations."""

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

from differential.program import program, rand


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))
        self.register_buffer("average", torch.zeros(3), persistent=False)
        self.calls = 0
        self.seen = []

    def forward(self, x):
        self.steps += 1
        self.calls += 1
        self.average.mul_(0.9).add_(x.detach(), alpha=0.1)
        self.seen.append(self.calls)
        return x * self.steps + self.average


@program(Counting(), rand(3))
def buffers_in_place(net, x):
    return net(x)


@program(Counting(), rand(3))
def called_twice(net, x):
    return net(net(x)), net.calls


class Rebinding(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(3))

    def forward(self, x):
        self.state = self.state * 0.5 + x
        return self.state + 1


@program(Rebinding(), rand(3))
def buffer_is_replaced(net, x):
    return net(x)


@program(nn.BatchNorm1d(3), rand(4, 3))
def batch_norm_in_training(net, x):
    return net(x)


@program(nn.BatchNorm1d(3).eval(), rand(4, 3))
def batch_norm_in_evaluation(net, x):
    return net(x)


@program(nn.BatchNorm2d(2, momentum=None), rand(2, 2, 3, 3))
def batch_norm_cumulative(net, x):
    return net(x)


@program(nn.InstanceNorm1d(2, affine=True, track_running_stats=True), rand(2, 2, 5))
def instance_norm(net, x):
    return net(x)


@program(nn.Sequential(nn.Dropout(0.9), nn.ReLU()), rand(3))
def mode_is_switched_inside(net, x):
    net.eval()
    y = net(x)
    net.train()
    return y, net.training, net[0].training


@program(nn.Dropout(0.5), rand(3), True).then(nn.Dropout(0.5), rand(3), False)
def mode_by_argument(net, x, training):
    net.train(training)
    return net(x)


class Moded(nn.Module):
    def forward(self, x):
        return x * 2 if self.training else x + 1


@program(Moded(), rand(3)).then(Moded().eval(), rand(3))
def mode_is_guarded(net, x):
    return net(x)


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = None

    def forward(self, x):
        if self.cache is None:
            self.cache = torch.arange(x.shape[0]).float()
        return x + self.cache


@program(Lazy(), rand(3))
def lazily_made_state(net, x):
    return net(x)


class LazyTable(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = {}

    def forward(self, x):
        n = x.shape[0]
        if n not in self.table:
            self.table[n] = torch.full((n,), float(len(self.table) + 1))
        return x * self.table[n]


@program(LazyTable(), rand(3)).then(LazyTable(), rand(4))
def table_of_state(net, x):
    return net(x)


@program(nn.LazyLinear(2), rand(2, 3))
def lazy_layer(net, x):
    return net(x).shape


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ReLU()
        self.scale = 1.0

    def forward(self, x):
        return self.layer(x) * self.scale


@program(Holder(), rand(3))
def submodule_is_swapped(net, x):
    y = net(x)
    net.layer = nn.Tanh()
    return y, net(x)


@program(Holder(), rand(3))
def attribute_is_changed_between_calls(net, x):
    y = net(x)
    net.scale = net.scale + 1
    return y, net(x)


@program(Holder(), rand(3))
def attributes_come_and_go(net, x):
    net.extra = 5
    y = net(x) + net.extra
    del net.extra
    return y, hasattr(net, "extra")


@program(nn.Linear(3, 3, bias=False), rand(2, 3))
def parameter_is_edited(net, x):
    with torch.no_grad():
        net.weight.fill_(0.5)
    return net(x)


@program(nn.Linear(3, 3, bias=False), rand(2, 3))
def parameter_data_is_edited(net, x):
    net.weight.data.fill_(0.5)
    return net(x)


@program(nn.Linear(3, 3, bias=False), rand(2, 3))
def parameter_is_replaced(net, x):
    net.weight = nn.Parameter(torch.ones(3, 3))
    return net(x)


@program(Holder(), rand(3))
def buffer_is_registered_inside(net, x):
    net.register_buffer("late", x * 2)
    return net(x) + net.late


def with_hooks():
    net = nn.Sequential(nn.ReLU(), nn.Tanh())
    net[0].register_forward_hook(lambda module, args, out: out + 1)
    net[1].register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    return net


@program(rand(3))
def hooks_made_inside(x):
    net = with_hooks()
    return net(x)


def add_one(module, args, out):
    return out + 1


def double_input(module, args):
    return (args[0] * 2,)


def with_keywords(module, args, kwargs):
    return args, {**kwargs, "scale": 3}


class Scaled(nn.Module):
    def forward(self, x, scale=1):
        return x * scale


def hooked(hook, method="register_forward_hook", net=None, **options):
    net = net or nn.ReLU()
    getattr(net, method)(hook, **options)
    return net


@program(hooked(add_one), rand(3))
def forward_hook(net, x):
    return net(x)


@program(hooked(double_input, "register_forward_pre_hook"), rand(3))
def forward_pre_hook(net, x):
    return net(x)


@program(
    hooked(with_keywords, "register_forward_pre_hook", Scaled(), with_kwargs=True),
    rand(3),
)
def pre_hook_with_keywords(net, x):
    return net(x, scale=2)


def count_calls(module, args, out):
    module.calls = getattr(module, "calls", 0) + 1


@program(hooked(count_calls), rand(3))
def hook_with_state(net, x):
    return net(x)


@program(nn.ReLU(), rand(3))
def hook_is_added_and_removed(net, x):
    handle = net.register_forward_hook(add_one)
    try:
        y = net(x)
    finally:
        handle.remove()
    return y, net(x)


@program(nn.ReLU(), rand(3))
def global_hook(net, x):
    handle = nn.modules.module.register_module_forward_hook(add_one)
    try:
        return net(x)
    finally:
        handle.remove()


class Symmetric(nn.Module):
    def forward(self, w):
        return w.triu() + w.triu(1).t()


def parametrised():
    torch.manual_seed(0)
    net = nn.Linear(3, 3)
    parametrize.register_parametrization(net, "weight", Symmetric())
    return net


@program(rand(2, 3))
def parametrisation(x):
    net = parametrised()
    return net(x), net.weight


def weight_normed():
    torch.manual_seed(0)
    return parametrizations.weight_norm(nn.Linear(3, 2))


@program(rand(2, 3))
def weight_norm(x):
    return weight_normed()(x)


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = None
        self.history = {}

    def forward(self, x):
        self.hidden = x if self.hidden is None else self.hidden + x
        self.history[len(self.history)] = x.shape
        return self.hidden * 2


@program(Stateful(), rand(3))
def hidden_state(net, x):
    return net(x)


class Outputs(nn.Module):
    def forward(self, x):
        self.last = x * 2
        self.last.add_(1)
        return self.last


@program(Outputs(), rand(3))
def result_is_kept(net, x):
    return net(x)


@program(nn.Linear(3, 1), rand(2, 3))
def requires_grad_is_switched(net, x):
    for p in net.parameters():
        p.requires_grad_(False)
    return net(x)


class Counter:
    def __init__(self):
        self.n = 0


class WithObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.counter = Counter()

    def forward(self, x):
        self.counter.n += 1
        return x + self.counter.n


@program(WithObject(), rand(3))
def object_of_a_module(net, x):
    return net(x)


class Cached(nn.Module):
    """Like a key-value cache."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(4, 3))
        self.length = 0

    def forward(self, x):
        self.keys[self.length] = x
        self.length += 1
        return self.keys[: self.length].sum(0)


@program(Cached(), rand(3))
def growing_cache(net, x):
    return net(x)


@program(nn.Linear(3, 3), rand(2, 3))
def half_precision(net, x):
    return net.to(torch.float64)(x.double()), net.weight.dtype


@program(Counting(), rand(3))
def raises_after_changes(net, x):
    net(x)
    raise ValueError(net.calls)
