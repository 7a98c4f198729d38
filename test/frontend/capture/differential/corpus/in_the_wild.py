"""Small programs like those that people write."""

import collections
import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn

from differential.program import ints, program, rand


class Cache:
    """Keys and values that grow by one step at each call."""

    def __init__(self):
        self.keys = []
        self.values = []

    def update(self, k, v):
        self.keys.append(k)
        self.values.append(v)
        return torch.cat(self.keys, dim=1), torch.cat(self.values, dim=1)

    def __len__(self):
        return len(self.keys)


@program(rand(1, 1, 4), Cache())
def cached_attention(x, cache):
    k, v = cache.update(x * 2, x + 1)
    scores = x @ k.transpose(1, 2) / math.sqrt(x.size(-1))
    return scores.softmax(-1) @ v, len(cache)


@program(rand(3, 4))
def causal_mask(x):
    n = x.size(0)
    mask = torch.tril(torch.ones(n, n, dtype=torch.bool))
    scores = (x @ x.t()).masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ x


@program(rand(2, 6, 4))
def rotary_embedding(x):
    b, n, d = x.shape
    frequencies = 1.0 / (10 ** (torch.arange(0, d, 2).float() / d))
    angles = torch.outer(torch.arange(n).float(), frequencies)
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    loss: torch.Tensor | None = None
    hidden: tuple = ()


@program(rand(4, 5), ints(4, high=5)).then(rand(4, 5), None)
def model_output(x, labels):
    hidden = []
    for i in range(2):
        x = torch.tanh(x * (i + 1))
        hidden.append(x)
    loss = None if labels is None else F.cross_entropy(x, labels)
    return Output(x, loss, tuple(hidden))


@program(rand(4, 3), ints(4, high=3))
def accuracy(x, labels):
    predicted = x.argmax(-1)
    return (predicted == labels).float().mean(), predicted


@program(rand(2, 3), {"scale": 2.0, "layers": ["relu", "tanh", "none"]})
def configured_layers(x, config):
    known = {"relu": F.relu, "tanh": torch.tanh}
    for name in config["layers"]:
        x = known.get(name, lambda v: v)(x) * config["scale"]
    return x


@program({"x": rand(2, 3), "mask": torch.tensor([[1, 1, 0], [1, 0, 0]])})
def batch_in_a_dict(batch):
    mask = batch["mask"].unsqueeze(-1).float()
    x = batch["x"].unsqueeze(-1) * mask
    return {**batch, "mean": x.sum(1) / mask.sum(1).clamp(min=1)}


@program(rand(5, 2), rand(5, 2))
def pairwise_distances(a, b):
    d = ((a[:, None] - b[None]) ** 2).sum(-1).sqrt()
    return d, d.min(1).values, torch.cdist(a, b)


@program([rand(2), rand(4), rand(3)])
def padded_batch(items):
    longest = max(item.shape[0] for item in items)
    padded = [F.pad(item, (0, longest - item.shape[0])) for item in items]
    return torch.stack(padded), torch.tensor([len(item) for item in items])


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Stack(nn.Module):
    def __init__(self, d, n):
        super().__init__()
        torch.manual_seed(0)
        self.blocks = nn.ModuleList(Block(d) for _ in range(n))
        self.config = {"hidden": True}

    def forward(self, x, skip=None):
        states = []
        for i, layer in enumerate(self.blocks):
            if skip is not None and i in skip:
                continue
            x = layer(x)
            if self.config["hidden"]:
                states.append(x)
        return (x, *states)


@program(Stack(4, 3), rand(2, 4)).then(Stack(4, 3), rand(2, 4), skip=[1])
def stack_of_blocks(net, x, skip=None):
    return net(x, skip)


@program(rand(4), 3)
def power_iteration(x, n):
    m = torch.outer(x, x) + torch.eye(4)
    v = torch.ones(4)
    for _ in range(n):
        v = m @ v
        v = v / v.norm()
    return v @ m @ v


@program(rand(6), 0.9)
def moving_average(x, decay):
    average, averages = x[0], []
    for value in x:
        average = decay * average + (1 - decay) * value
        averages.append(average)
    return torch.stack(averages)


@program(rand(3, 3), torch.zeros(3, 3), 2)
def life_like(x, buffer, steps):
    for _ in range(steps):
        buffer.copy_(x)
        x = (F.pad(buffer, (1, 1, 1, 1))[1:-1, :-2] > 0).float() + x * 0.5
    return x


@program(ints(5, high=4))
def one_hot_by_hand(n):
    table = torch.zeros(len(n), 4)
    table[torch.arange(len(n)), n] = 1
    return table, F.one_hot(n, 4)


@program(rand(2, 3, 4))
def reshaping_helpers(x):
    def split_heads(t, n):
        return t.view(*t.shape[:-1], n, t.shape[-1] // n).transpose(1, 2)

    def merge_heads(t):
        return t.transpose(1, 2).reshape(t.shape[0], t.shape[2], -1)

    return merge_heads(split_heads(x, 2) * 2)


Sample = collections.namedtuple("Sample", "x y weight", defaults=[1.0])


@program([Sample(rand(3), rand(3)), Sample(rand(3), rand(3), 2.0)])
def weighted_loss(samples):
    losses = [F.mse_loss(s.x * 2, s.y) * s.weight for s in samples]
    return sum(losses) / len(losses), Sample._fields


class Registry:
    known = {}

    @classmethod
    def register(cls, name):
        def add(function):
            cls.known[name] = function
            return function

        return add


@Registry.register("double")
def double(x):
    return x * 2


@Registry.register("shift")
def shift(x, n=1):
    return x + n


@program(rand(3), ["double", "shift", "double"])
def registered_functions(x, names):
    for name in names:
        x = Registry.known[name](x)
    return x


@program(rand(3), verbose=False).then(rand(3), verbose=True)
def verbose_flag(x, verbose):
    y = x * 2
    if verbose:
        print(f"shape {tuple(y.shape)}")
    return y + 1


@program(rand(4, 4))
def early_stopping(x):
    best, patience = None, 2
    for step in range(5):
        loss = (x / (step + 1)).abs().mean().item()
        if best is None or loss < best - 1e-3:
            best, patience = loss, 2
        else:
            patience -= 1
        if patience == 0:
            break
    return x * best, step


@program(ints(3, high=5), 4)
def greedy_decoding(tokens, steps):
    table = torch.linspace(0, 1, 25).view(5, 5).flip(0)
    out = tokens.tolist()
    for _ in range(steps):
        logits = table[out[-1]] * 2
        out.append(int(logits.argmax()))
        if out[-1] == 0:
            break
    return torch.tensor(out)


@program(rand(2, 2))
def gradient_by_differences(x):
    def loss(v):
        return (v**2).sum()

    shifted = []
    for i in range(x.numel()):
        step = torch.zeros(x.numel())
        step[i] = 0.5
        shifted.append((loss(x + step.view_as(x)) - loss(x)) / 0.5)
    return torch.stack(shifted).view_as(x)


@program(rand(3), lambda x: x * 2, lambda x: x + 1)
def pipeline_of_functions(x, *stages):
    history = [x]
    for stage in stages:
        history.append(stage(history[-1]))
    return history[-1], len(history)


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value, n=1):
        self.total += value * n
        self.count += n

    @property
    def average(self):
        return self.total / max(self.count, 1)


@program(rand(4, 2), Meter())
def metered(x, meter):
    for row in x.split(2):
        meter.update(row.mean(), n=row.shape[0])
    return meter.average


@program(rand(2, 3), rand(2, 3))
def exponential_average_of_weights(w, average):
    with torch.no_grad():
        average.mul_(0.9).add_(w, alpha=0.1)
    return (w - average).norm()


@program(rand(3, 4), 0.5)
def top_p(x, p):
    probabilities, order = x.softmax(-1).sort(descending=True)
    kept = probabilities.cumsum(-1) - probabilities < p
    filtered = torch.where(kept, probabilities, torch.zeros(()))
    return filtered / filtered.sum(-1, keepdim=True), order
