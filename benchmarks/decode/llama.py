"""Llama in plain PyTorch: what a machine without transformers can decode with.

RMS norm, rotary embedding, grouped-query attention with a static cache, SwiGLU.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Cache = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer: [batch, kv heads, length, head size]."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a model; the heads' size is ``hidden // heads``."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    base: float = 500_000.0
    epsilon: float = 1e-5

    @property
    def head_size(self) -> int:
        """Elements of one head."""
        return self.hidden // self.heads


class Int8Linear(nn.Module):
    """A product with int8 weights and one scale a row: ``x @ (weight * scale).T``."""

    def __init__(self, linear: nn.Linear):
        super().__init__()
        wide = linear.weight.detach()
        scale = wide.abs().amax(dim=1, keepdim=True).float() / 127
        whole = (wide / scale.to(wide.dtype)).round().clamp(-127, 127)
        self.register_buffer("weight", whole.to(torch.int8))
        self.register_buffer("scale", scale.to(wide.dtype))

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] to [..., out], in the dtype of ``x``."""
        return F.linear(x, self.weight.to(x.dtype) * self.scale)


class Attention(nn.Module):
    """Grouped-query attention over a static cache."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        kv_size = shape.kv_heads * shape.head_size
        self.q = nn.Linear(shape.hidden, shape.hidden, bias=False)
        self.k = nn.Linear(shape.hidden, kv_size, bias=False)
        self.v = nn.Linear(shape.hidden, kv_size, bias=False)
        self.o = nn.Linear(shape.hidden, shape.hidden, bias=False)

    def forward(
        self, x: Tensor, cache: tuple[Tensor, Tensor], places: Tensor, turn, mask
    ) -> Tensor:
        """[batch, tokens, hidden] to the same; writes the tokens into the cache."""
        queries = turned(self._heads(self.q(x)), *turn)
        keys, values = cache
        keys.index_copy_(2, places, turned(self._heads(self.k(x)), *turn))
        values.index_copy_(2, places, self._heads(self.v(x)))
        found = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, enable_gqa=True
        )
        return self.o(found.transpose(1, 2).flatten(2))

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (-1, self.shape.head_size)).transpose(1, 2)


def turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """The rotary embedding of [batch, heads, tokens, head size]."""
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


class Layer(nn.Module):
    """Attention and SwiGLU, each on a norm, each added to what came in."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.attention = Attention(shape)
        self.before = nn.RMSNorm(shape.hidden, eps=shape.epsilon)
        self.between = nn.RMSNorm(shape.hidden, eps=shape.epsilon)
        self.gate = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.up = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.down = nn.Linear(shape.intermediate, shape.hidden, bias=False)

    def forward(self, x: Tensor, *where) -> Tensor:
        """[batch, tokens, hidden] to the same."""
        x = x + self.attention(self.before(x), *where)
        y = self.between(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """The model with its head, which has weights of its own."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.hidden, eps=shape.epsilon)
        self.head = nn.Linear(shape.hidden, shape.vocabulary, bias=False)
        steps = torch.arange(0, shape.head_size, 2).float() / shape.head_size
        self.register_buffer("frequencies", shape.base**-steps, persistent=False)

    def make_cache(self, batch: int, length: int) -> Cache:
        """Zeros, on the device and in the dtype of the weights."""
        like, shape = self.norm.weight, self.shape
        sizes = (batch, shape.kv_heads, length, shape.head_size)
        return [(like.new_zeros(sizes), like.new_zeros(sizes)) for _ in self.layers]

    def forward(self, ids: Tensor, places: Tensor, cache: Cache) -> Tensor:
        """The logits of the last token: [batch, vocabulary].

        Args:
            ids: Tokens, [batch, tokens], int64.
            places: Their places in the sequence, [tokens], int64.
            cache: Is written there, and read up to there.
        """
        angles = places[:, None].float() * self.frequencies.float()
        angles = torch.cat((angles, angles), dim=-1)
        x = self.embedding(ids)
        turn = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        length = cache[0][0].shape[2]
        mask = torch.arange(length, device=ids.device) <= places[:, None]
        for layer, part in zip(self.layers, cache, strict=True):
            x = layer(x, part, places, turn, mask)
        return self.head(self.norm(x[:, -1]))

    def generate(self, prompt: Tensor, max_new_tokens: int) -> Tensor:
        """The likeliest tokens after a prompt, [batch, prompt + max_new_tokens].

        The host looks at each token, as a program does that waits for an end.
        """
        batch, length = prompt.shape
        cache = self.make_cache(batch, length + max_new_tokens)
        places = torch.arange(length, device=prompt.device)
        ids, found = prompt, [prompt]
        for _ in range(max_new_tokens):
            ids = self(ids, places, cache).argmax(dim=-1, keepdim=True)
            found.append(ids)
            if bool((ids < 0).all()):
                break
            places = places[-1:] + 1
        return torch.cat(found, dim=1)


def with_int8_weights(model: Llama) -> Llama:
    """Puts an ``Int8Linear`` in the place of each linear layer; returns the model."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, Int8Linear(child))
    return model
