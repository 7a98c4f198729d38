"""Models that are packaged for a GPU, and how they are called."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

import girih


class Perceptron(nn.Module):
    """Linear layers with activations."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 16)
        )

    def forward(self, x):
        return torch.softmax(self.layers(x), -1)


class Block(nn.Module):
    """Two convolutions with batch norms, and a path around them."""

    def __init__(self, channels, out, stride):
        super().__init__()
        self.first = nn.Conv2d(channels, out, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.around = nn.Conv2d(channels, out, 1, stride, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(out) for _ in range(3))

    def forward(self, x):
        inner = F.relu(self.norms[0](self.first(x)))
        inner = self.norms[1](self.second(inner))
        return F.relu(inner + self.norms[2](self.around(x)))


class Convolutions(nn.Module):
    """A small ResNet."""

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.blocks = nn.Sequential(Block(width, width, 1), Block(width, 2 * width, 2))
        self.head = nn.Linear(2 * width, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        return self.head(self.blocks(x).mean((2, 3)))


class Attention(nn.Module):
    """A layer of a decoder."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.joint = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.inner = nn.Linear(width, 4 * width)
        self.outer = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        joint = self.joint(self.norms[0](x)).view(batch, length, 3, self.heads, -1)
        q, k, v = joint.permute(2, 0, 3, 1, 4)
        made = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(made.transpose(1, 2).reshape(batch, length, width))
        return x + self.outer(F.gelu(self.inner(self.norms[1](x))))


class Decoder(nn.Module):
    """A small GPT; the embedding is the last layer, too."""

    def __init__(self, words=96, width=64, heads=4, layers=2, length=32):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(length, width)
        self.layers = nn.Sequential(*(Attention(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.layers(self.words(ids) + self.places(places))
        return self.norm(x) @ self.words.weight.T


BATCH = Dim("batch", min=2, max=64)
LENGTH = 16


def perceptron_inputs(count, device):
    """Arguments of ``Perceptron``."""
    return (torch.randn(count, 64, device=device),)


def images(count, device):
    """Arguments of ``Convolutions``."""
    return (torch.randn(4, 3, 32, 32, device=device),)


def texts(count, device):
    """Arguments of ``Decoder``."""
    return (torch.randint(96, (count, LENGTH), device=device),)


def marked(args, shapes):
    """Arguments whose first size ``girih.compile`` takes for symbolic, if it is."""
    if shapes is not None:
        girih.mark_dynamic(args[0], 0, min=BATCH.min, max=BATCH.max)
    return args


MODELS = {
    "perceptron": (Perceptron, perceptron_inputs, {"x": {0: BATCH}}),
    "convolutions": (Convolutions, images, None),
    "decoder": (Decoder, texts, {"ids": {0: BATCH}}),
}
"""From name to the class, its arguments, and which sizes are symbolic."""
