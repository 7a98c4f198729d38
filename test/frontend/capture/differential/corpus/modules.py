"""Calling modules: containers, attributes, hooks, layers."""

import torch
import torch.nn.functional as F
from torch import nn

from differential.program import ints, program, rand


class Affine(nn.Module):
    def __init__(self, width=3, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, width * width).view(width, -1))
        self.bias = nn.Parameter(torch.ones(width)) if bias else None

    def forward(self, x, scale=1.0):
        y = x @ self.weight.t() * scale
        return y if self.bias is None else y + self.bias


class Residual(nn.Module):
    def __init__(self, inner, factor=0.5):
        super().__init__()
        self.inner = inner
        self.factor = factor

    def forward(self, x):
        return x + self.inner(x) * self.factor


def seeded(make):
    torch.manual_seed(0)
    return make()


LINEAR = seeded(lambda: nn.Linear(3, 3))
STACK = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))


@program(Affine(), rand(2, 3))
def called(net, x):
    return net(x)


@program(Affine(), rand(2, 3))
def called_with_keywords(net, x):
    return net(x=x, scale=3.0), net(x, 2.0), net.forward(x)


@program(Affine(bias=False), rand(2, 3))
def parameter_is_none(net, x):
    return net(x), net.bias is None


@program(Residual(Residual(Affine())), rand(2, 3))
def nested(net, x):
    return net(x)


@program(STACK, rand(2, 3))
def sequential(net, x):
    return net(x), len(net), net[0](x), net[:2](x)


@program(LINEAR, rand(2, 3))
def without_grad(net, x):
    with torch.no_grad():
        return net(x)


@program(nn.ModuleList([Affine(), Affine(bias=False)]), rand(2, 3))
def module_list(layers, x):
    for i, layer in enumerate(layers):
        x = layer(x) * (i + 1)
    return x, len(layers), layers[-1](x)


@program(nn.ModuleDict({"a": Affine(), "b": nn.ReLU()}), rand(2, 3))
def module_dict(layers, x):
    for name, layer in layers.items():
        x = layer(x) + len(name)
    return x, "a" in layers, list(layers), layers["b"](x)


@program(nn.ParameterList([rand(3), rand(3)]), rand(3))
def parameter_list(parameters, x):
    for p in parameters:
        x = x * p
    return x, len(parameters)


@program(nn.ParameterDict({"w": rand(3), "b": rand(3)}), rand(3))
def parameter_dict(parameters, x):
    return x * parameters["w"] + parameters["b"], list(parameters.keys())


_SHARED = Affine()


@program(nn.Sequential(_SHARED, nn.ReLU(), _SHARED), rand(2, 3))
def shared_layers(net, x):
    return net(x), net[0] is net[2]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, n):
        return self.head(self.embed(n))


@program(seeded(Tied), ints(4, high=5))
def tied_weights(net, n):
    return net(n), net.head.weight is net.embed.weight


@program(Affine(), rand(2, 3))
def attributes(net, x):
    named = [name for name, _ in net.named_parameters()]
    return x, net.weight.shape, named, len(list(net.parameters())), net.training


@program(nn.Sequential(Affine(), nn.Sequential(nn.ReLU())), rand(2, 3))
def traversals(net, x):
    names = [name for name, _ in net.named_modules()]
    children = [type(c).__name__ for c in net.children()]
    return net(x), names, children, [type(m).__name__ for m in net.modules()]


@program(Affine(), rand(2, 3))
def parameters_in_sums(net, x):
    penalty = sum(p.abs().sum() for p in net.parameters())
    return net(x).sum() + 0.1 * penalty


@program(Affine(), rand(2, 3))
def parameter_is_returned(net, x):
    return net.weight, net(x), net.weight * 2


class Configured(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.layers = [1, 2, 3]
        self.table = {"scale": 2.0}

    def forward(self, x):
        if self.kind == "double":
            x = x * 2
        for n in self.layers:
            x = x + n
        return x * self.table["scale"]


@program(Configured("double"), rand(3)).then(Configured("none"), rand(3))
def configured(net, x):
    return net(x)


class WithMethods(nn.Module):
    scale = 2

    def __init__(self):
        super().__init__()
        self.linear = Affine()

    @property
    def width(self):
        return self.linear.weight.shape[0]

    @staticmethod
    def shift(x):
        return x + 1

    @classmethod
    def scaled(cls, x):
        return x * cls.scale

    def helper(self, x):
        return self.shift(self.scaled(x)) / self.width

    def forward(self, x):
        return self.helper(self.linear(x))


@program(WithMethods(), rand(2, 3))
def methods(net, x):
    return net(x), net.helper(x), net.width


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Affine()

    def forward(self, xs):
        h = torch.zeros_like(xs[0])
        outputs = []
        for x in xs:
            h = torch.tanh(self.cell(x) + h)
            outputs.append(h)
        return torch.stack(outputs), h


@program(Recurrent(), rand(4, 2, 3))
def loop_over_time(net, xs):
    return net(xs)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x, mask=None):
        b, n, d = x.shape
        q, k, v = (
            f(x).view(b, n, 2, -1).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        scores = q @ k.transpose(-1, -2) / (d // 2) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)


@program(seeded(Attention), rand(2, 3, 4)).then(
    seeded(Attention), rand(2, 3, 4), torch.ones(3, 3).triu(1).bool()
)
def attention(net, x, mask=None):
    return net(x, mask)


@program(seeded(lambda: nn.MultiheadAttention(4, 2, batch_first=True)), rand(2, 3, 4))
def multihead_attention(net, x):
    return net(x, x, x)


@program(
    seeded(lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)), rand(3, 2, 4)
)
def transformer_layer(net, x):
    return net(x)


@program(seeded(lambda: nn.Conv2d(2, 3, 3, padding=1)), rand(1, 2, 4, 4))
def convolution(net, x):
    return F.max_pool2d(net(x).relu(), 2)


@program(seeded(lambda: nn.LSTM(3, 4)), rand(2, 1, 3))
def lstm(net, x):
    return net(x)


@program(seeded(lambda: nn.GRUCell(3, 4)), rand(2, 3))
def gru_cell(net, x):
    return net(x)


@program(seeded(lambda: nn.Embedding(6, 3, padding_idx=0)), ints(2, 2, high=6))
def embedding(net, n):
    return net(n).sum(1)


@program(nn.LayerNorm(4), nn.GroupNorm(2, 4), rand(3, 4))
def normalisations(layer, group, x):
    return layer(x), group(x), F.layer_norm(x, (4,)), F.normalize(x, dim=1)


@program(nn.Dropout(0.5).eval(), rand(3, 4))
def dropout_in_evaluation(net, x):
    return net(x)


@program(nn.Dropout(0.5), rand(3, 4))
def dropout_in_training(net, x):
    return net(x)


@program(rand(4, 5), ints(4, high=5))
def losses(x, target):
    smooth = F.cross_entropy(x, target, label_smoothing=0.1)
    return F.cross_entropy(x, target), nn.CrossEntropyLoss()(x, target), smooth


@program(rand(4), rand(4))
def regression_losses(x, y):
    return (
        F.mse_loss(x, y),
        F.l1_loss(x, y),
        nn.SmoothL1Loss()(x, y),
        F.huber_loss(x, y),
    )


@program(rand(3, 4))
def activations(x):
    a = F.gelu(x), F.silu(x), F.elu(x), F.leaky_relu(x, 0.1), F.softplus(x), F.mish(x)
    return a, nn.GELU("tanh")(x), F.hardswish(x), F.glu(x), F.relu6(x), F.logsigmoid(x)


@program(rand(3))
def module_made_inside(x):
    relu = nn.ReLU()
    return relu(x), nn.Identity()(x) + 1, nn.Flatten(0)(x)


@program(rand(2, 3))
def layer_made_inside(x):
    torch.manual_seed(3)
    return nn.Linear(3, 2)(x)


@program(Affine(), rand(2, 4))
def wrong_input(net, x):
    return net(x)


@program(Affine(), rand(2, 3))
def missing_attribute(net, x):
    return net.nope(x)


@program(nn.Module(), rand(3))
def forward_is_missing(net, x):
    return net(x)


class Kwargs(nn.Module):
    def forward(self, *args, **kwargs):
        return sum(args) + sum(kwargs.values())


@program(Kwargs(), rand(3))
def star_arguments(net, x):
    return net(x, x, a=x, b=1)


class ReturnsStructures(nn.Module):
    def forward(self, x):
        return {"x": x * 2, "pair": (x, [x + 1])}


@program(ReturnsStructures(), rand(3))
def structures(net, x):
    out = net(x)
    return out, out["pair"][1][0]


@program([Affine(), Affine()], rand(2, 3))
def modules_in_a_list(nets, x):
    return [net(x) for net in nets]


@program(Residual(Affine()), rand(2, 3))
def module_comparison(net, x):
    return net(x), isinstance(net.inner, Affine), net.inner is net.inner, net == net


@program(Residual(Affine()), rand(2, 3))
def state_dict(net, x):
    return net(x), list(net.state_dict())


@program(Affine(), rand(2, 3))
def text_of_a_module(net, x):
    return net(x), repr(net), str(nn.Linear(2, 3))


@program(Affine(), rand(2, 3))
def functional_call(net, x):
    weights = {name: p * 2 for name, p in net.named_parameters()}
    return torch.func.functional_call(net, weights, (x,))


@program(Residual(Affine()), rand(2, 3))
def get_submodule(net, x):
    return net.get_submodule("inner")(x), net.get_parameter("inner.weight").shape
