"""Kinds of programs of language models."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from benchmarks.shapes.draw import HEADS, VOCABULARIES, Draw
from benchmarks.shapes.kinds import kind

_FLOAT8 = torch.float8_e4m3fn
_LARGEST = 448.0


def _rows_and_vectors(vectors: int, operands: int = 1):
    def make(d: Draw):
        width = d.hidden()
        rows = d.rows(width)
        arrays = [d.normal(rows, width) for _ in range(operands)]
        return (*arrays, *(d.normal(width) for _ in range(vectors)))

    return make


def _heads(count: int, tables: int = 0):
    """Operands of [batch, heads, length, head], tables of [length, head]."""

    def make(d: Draw):
        head = d.choice(HEADS)
        heads = d.choice((1, 4, 8, 12, 16, 32))
        length = d.rows(head * heads)
        arrays = [d.normal(1, heads, length, head) for _ in range(count)]
        return (*arrays, *(d.normal(length, head) for _ in range(tables)))

    return make


def _scores(d: Draw):
    heads = d.choice((1, 8, 12, 16, 32))
    keys = d.choice((64, 77, 197, 256, 512, 577, 1024, 1500, 2048, 4096))
    return (d.normal(1, heads, d.rows_at_most(heads * keys, keys), keys),)


def _scores_and_bias(d: Draw):
    (scores,) = _scores(d)
    return scores, d.normal(*scores.shape[2:])


def _logits(d: Draw):
    width = d.choice(VOCABULARIES)
    return (d.normal(d.rows_at_most(width, 4096), width),)


def _logits_and_labels(d: Draw):
    (logits,) = _logits(d)
    return logits, d.integers(logits.shape[1], logits.shape[0])


def _two_logits(d: Draw):
    (logits,) = _logits(d)
    return logits, d.normal(*logits.shape)


@kind(_rows_and_vectors(2))
def layer_norm(x, weight, bias):
    """Layer norm over rows."""
    return F.layer_norm(x, x.shape[-1:], weight, bias)


@kind(_rows_and_vectors(2, operands=2))
def add_layer_norm(x, residual, weight, bias):
    """A residual sum that is kept, and its layer norm."""
    total = x + residual
    return total, F.layer_norm(total, x.shape[-1:], weight, bias)


@kind(_rows_and_vectors(1))
def rms_norm(x, weight):
    """RMS norm as Llama writes it."""
    wide = x.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return weight * (wide * scale).to(x.dtype)


@kind(_rows_and_vectors(1, operands=2))
def add_rms_norm(x, residual, weight):
    """A residual sum that is kept, and its RMS norm."""
    total = x + residual
    return total, F.rms_norm(total, x.shape[-1:], weight)


@kind(_rows_and_vectors(1))
def gemma_norm(x, weight):
    """RMS norm with one plus the weight, in float32."""
    wide = x.float()
    scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return (wide * scale * (1.0 + weight.float())).to(x.dtype)


@kind(_rows_and_vectors(2))
def modulated_norm(x, scale, shift):
    """Layer norm without weights, scaled and shifted, as in diffusion transformers."""
    return F.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift


@kind(_rows_and_vectors(1))
def bias_gelu(x, bias):
    """GELU of a sum with a bias."""
    return F.gelu(x + bias)


@kind(_rows_and_vectors(1, operands=2))
def bias_residual_scale(x, residual, bias):
    """A bias, a scale and a residual."""
    return residual + 0.5 * (x + bias)


@kind(_rows_and_vectors(0, operands=2))
def swiglu(gate, up):
    """SiLU of one times the other."""
    return F.silu(gate) * up


@kind(_rows_and_vectors(0))
def geglu_halves(x):
    """GELU by tanh of one half times the other."""
    gate, up = x.chunk(2, dim=-1)
    return F.gelu(gate, approximate="tanh") * up


@kind(_rows_and_vectors(0))
def squared_relu(x):
    """The square of a ReLU."""
    return F.relu(x).square()


@kind(_rows_and_vectors(1, operands=2))
def token_shift(x, previous, mix):
    """A mix of a token and the one before, as in RWKV."""
    return x * mix + previous * (1 - mix)


@kind(_heads(2, tables=2))
def rotary_halves(query, key, cos, sin):
    """Rotary embedding of queries and keys, halves rotated."""

    def turned(x):
        low, high = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-high, low), dim=-1) * sin

    return turned(query), turned(key)


@kind(_heads(1, tables=2))
def rotary_pairs(x, cos, sin):
    """Rotary embedding of neighbours."""
    even, odd = x[..., ::2], x[..., 1::2]
    c, s = cos[..., ::2], sin[..., ::2]
    return torch.stack((even * c - odd * s, even * s + odd * c), dim=-1).flatten(-2)


@kind(_heads(1))
def head_norm(x):
    """L2 norm of queries."""
    return F.normalize(x, dim=-1) * x.shape[-1] ** 0.5


@kind(_heads(1))
def split_heads(x):
    """Heads next to each other again, scaled."""
    return (x * 0.125).transpose(1, 2).flatten(2)


@kind(_heads(2))
def append_keys(cached, new):
    """Old and new keys in one tensor."""
    return torch.cat((cached, new * 0.5), dim=2)


@kind(_scores)
def causal_softmax(scores):
    """Softmax of scaled scores under a causal mask."""
    rows, columns = scores.shape[-2:]
    mask = torch.ones(rows, columns, dtype=torch.bool, device=scores.device).tril()
    return (scores * 0.125).masked_fill(~mask, float("-inf")).softmax(-1)


@kind(_scores_and_bias)
def bias_softmax(scores, bias):
    """Softmax of scores with a position bias, in float32."""
    return (scores + bias).float().softmax(-1).to(scores.dtype)


@kind(_scores)
def capped_softmax(scores):
    """Softmax of scores that a tanh caps."""
    return (30.0 * torch.tanh(scores / 30.0)).softmax(-1)


@kind(_logits_and_labels)
def cross_entropy(logits, labels):
    """Mean cross-entropy in float32."""
    return F.cross_entropy(logits.float(), labels)


@kind(_logits_and_labels)
def smoothed_cross_entropy(logits, labels):
    """Cross-entropy with label smoothing."""
    return F.cross_entropy(logits.float(), labels, label_smoothing=0.1)


@kind(_two_logits)
def distillation(student, teacher):
    """Divergence of two distributions at a temperature."""
    soft = (teacher.float() / 2).softmax(-1)
    return F.kl_div((student.float() / 2).log_softmax(-1), soft, reduction="batchmean")


@kind(_logits, trains=False)
def greedy(logits):
    """The most likely token and its probability."""
    best, tokens = logits.float().softmax(-1).max(-1)
    return best, tokens


@kind(_logits, trains=False)
def token_log_probabilities(logits):
    """Entropy of the distribution."""
    logs = logits.float().log_softmax(-1)
    return -(logs.exp() * logs).sum(-1)


def _router(d: Draw):
    experts = d.choice((8, 16, 60, 64, 128))
    return (d.normal(d.rows(experts), experts),)


@kind(_router)
def router(scores):
    """Weights of the two best experts."""
    values, experts = scores.float().softmax(-1).topk(2, dim=-1)
    return values / values.sum(-1, keepdim=True), experts


def _embedding(d: Draw):
    width = d.choice((384, 512, 768, 1024, 2048))
    table = d.normal(min(30522, 2**22 // width), width)
    tokens = d.rows(width)
    places = d.normal(tokens, width)
    return (
        d.integers(table.shape[0], tokens),
        table,
        places,
        d.normal(width),
        d.normal(width),
    )


@kind(_embedding, trains=False, looked_up=(1,))
def embedding_norm(tokens, table, places, weight, bias):
    """A row of a table and one for its place, normed, as in BERT."""
    x = F.embedding(tokens, table) + places
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def _pooled(d: Draw):
    width = d.choice((384, 768, 1024, 4096))
    length = d.choice((16, 77, 128, 197, 512))
    batch = d.rows_at_most(width * length, 256)
    return d.normal(batch, length, width), d.integers(2, batch, length)


@kind(_pooled)
def masked_mean(x, mask):
    """The mean of the tokens that count, with unit length."""
    weights = mask.unsqueeze(-1).to(x.dtype)
    mean = (x * weights).sum(1) / weights.sum(1).clamp(min=1)
    return F.normalize(mean, dim=-1)


@kind(_rows_and_vectors(0), trains=False)
def int8_rows(x):
    """Rows as int8, each with a scale."""
    wide = x.float()
    scale = wide.abs().amax(-1, keepdim=True).clamp(min=1e-5) / 127.0
    return (wide / scale).round().clamp(-128, 127).to(torch.int8), scale


def _quantised(d: Draw):
    width = d.choice((1024, 2048, 4096, 8192))
    rows = d.rows(width)
    values = d.integers(255, rows, width, dtype=torch.uint8)
    return values.view(torch.int8), d.uniform(rows, width // 128, 1)


@kind(_quantised, trains=False)
def int8_groups_to_float(values, scales):
    """Groups of int8 with a scale each, as floating point."""
    return (values.unflatten(-1, (-1, 128)).to(scales.dtype) * scales).flatten(-2)


@kind(_rows_and_vectors(0), trains=False)
def float8_rows(x):
    """Rows as float8, each with a scale."""
    wide = x.float()
    scale = wide.abs().amax(-1, keepdim=True).clamp(min=1e-5) / _LARGEST
    return (wide / scale).clamp(-_LARGEST, _LARGEST).to(_FLOAT8), scale


def _sequences(d: Draw):
    channels = d.choice((384, 1536, 2560, 5120))
    length = d.rows(channels)
    return d.normal(1, channels, length), d.normal(channels, 1, 4), d.normal(channels)


@kind(_sequences)
def short_convolution(x, weight, bias):
    """A causal convolution along a sequence and SiLU, as in Mamba."""
    y = F.conv1d(x, weight, bias, padding=3, groups=x.shape[1])
    return F.silu(y[..., : x.shape[-1]])


@kind(_rows_and_vectors(0))
def feature_map(x):
    """ELU plus one, with rows that sum to one, as in linear attention."""
    y = F.elu(x.float()) + 1
    return (y / y.sum(-1, keepdim=True)).to(x.dtype)
