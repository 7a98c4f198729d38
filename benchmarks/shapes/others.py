"""Kinds of programs of recurrent networks, graphs, sound and science."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from benchmarks.shapes.draw import Draw
from benchmarks.shapes.kinds import kind


def _cells(gates: int, states: int):
    def make(d: Draw):
        width = d.choice((64, 128, 256, 512, 1024))
        rows = d.rows_at_most(gates * width, 2048)
        arrays = [d.normal(rows, gates * width) for _ in range(2)]
        return (*arrays, *(d.normal(rows, width) for _ in range(states)))

    return make


@kind(_cells(4, 1))
def lstm_cell(a, b, state):
    """The gates of an LSTM."""
    i, f, g, o = (a + b).chunk(4, dim=-1)
    new = torch.sigmoid(f) * state + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(new), new


@kind(_cells(3, 1))
def gru_cell(a, b, state):
    """The gates of a GRU."""
    (ar, az, an), (br, bz, bn) = a.chunk(3, dim=-1), b.chunk(3, dim=-1)
    z = torch.sigmoid(az + bz)
    new = torch.tanh(an + torch.sigmoid(ar + br) * bn)
    return new + z * (state - new)


def _graph(d: Draw):
    width = d.choice((16, 32, 64, 128))
    nodes = d.rows(width)
    edges = min(4 * nodes, 2**22 // width)
    ends = d.integers(nodes, 2, edges)
    return d.normal(nodes, width, dtype=torch.float32), ends[0], ends[1]


@kind(_graph)
def neighbour_mean(x, source, target):
    """The mean of what neighbours in a graph send."""
    sent = torch.zeros_like(x).index_add(0, target, x[source])
    ones = torch.ones_like(target, dtype=x.dtype)
    degree = torch.zeros_like(x[:, 0]).index_add(0, target, ones)
    return F.relu(sent / degree.clamp(min=1).unsqueeze(-1))


@kind(_graph)
def edge_features(x, source, target):
    """Ends of edges and their difference, side by side."""
    a, b = x[source], x[target]
    return torch.cat((a, b - a), dim=-1)


def _points(d: Draw):
    count = d.choice((64, 128, 500, 1024))
    return tuple(d.normal(count, 3, dtype=torch.float32) for _ in range(2))


@kind(_points)
def radial_kernel(a, b):
    """A Gaussian of the distances of all pairs of points."""
    squares = (a[:, None] - b[None]).square().sum(-1)
    return torch.exp(-0.5 * squares)


@kind(_points)
def chamfer(a, b):
    """The distance of two sets of points."""
    squares = (a[:, None] - b[None]).square().sum(-1)
    return squares.min(1).values.mean() + squares.min(0).values.mean()


def _coordinates(d: Draw):
    return d.normal(d.rows(64), 3, dtype=torch.float32), d.normal(10).float()


@kind(_coordinates)
def fourier_features(x, frequencies):
    """Sines and cosines of coordinates, as in radiance fields."""
    angles = x[..., None] * frequencies
    return torch.cat((angles.sin(), angles.cos()), dim=-1).flatten(-2)


def _rays(d: Draw):
    samples = d.choice((32, 64, 128, 192))
    rays = d.rows(4 * samples)
    return d.uniform(rays, samples, dtype=torch.float32), d.uniform(
        rays, samples, 3, dtype=torch.float32
    )


# Eager's derivative of a running product asks the host, which no CUDA graph can hold.
@kind(_rays, trains=False)
def rendered_rays(density, colour):
    """Colours along rays, weighted by what light passes."""
    alpha = 1 - torch.exp(-density * 0.02)
    passed = torch.cumprod(1 - alpha + 1e-6, dim=-1)
    weights = alpha * F.pad(passed[:, :-1], (1, 0), value=1.0)
    return (weights[..., None] * colour).sum(1), weights.sum(1)


def _series(d: Draw):
    length = d.choice((96, 256, 720, 1000, 4096))
    return (d.normal(d.rows(length), length, dtype=torch.float32),)


@kind(_series)
def series_trend(x):
    """What a moving mean leaves of a series."""
    padded = F.pad(x, (12, 12), mode="replicate")
    trend = F.avg_pool1d(padded.unsqueeze(1), 25, 1).squeeze(1)
    return x - trend, trend


@kind(_series)
def standardised_series(x):
    """A series with mean zero and variance one, and both."""
    deviation, mean = torch.std_mean(x, dim=-1, keepdim=True)
    return (x - mean) / (deviation + 1e-5), mean, deviation


@kind(_series)
def discounted_returns(rewards):
    """Sums of what comes later."""
    return rewards.flip(-1).cumsum(-1).flip(-1)


def _spectra(d: Draw):
    frames = d.rows(80)
    return (d.uniform(frames, 80, dtype=torch.float32),)


@kind(_spectra, trains=False)
def log_spectrum(x):
    """A spectrum in decibels below its largest value, as in Whisper."""
    logs = x.clamp(min=1e-10).log10()
    return (torch.maximum(logs, logs.max() - 8.0) + 4.0) / 4.0


def _policies(d: Draw):
    rows = d.rows(8)
    return tuple(d.normal(rows, dtype=torch.float32) for _ in range(4))


@kind(_policies)
def clipped_policy_loss(new, old, advantage, value):
    """The loss of proximal policy optimisation."""
    ratio = torch.exp(new - old)
    scaled = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    clipped = ratio.clamp(0.8, 1.2)
    loss = -torch.minimum(ratio * scaled, clipped * scaled).mean()
    return loss + 0.5 * F.huber_loss(value, old)


def _pairs(d: Draw):
    width = d.choice((128, 256, 512, 768))
    rows = d.rows_at_most(width, 1024)
    return d.normal(rows, width), d.normal(rows, width)


@kind(_pairs)
def cosine_loss(a, b):
    """One less the cosine of pairs of vectors."""
    return (1 - F.cosine_similarity(a, b, dim=-1)).mean()


@kind(_pairs)
def triplet(a, b):
    """A margin between a pair and the pair of its neighbour."""
    return F.triplet_margin_loss(a, b, b.roll(1, 0))


def _means(d: Draw):
    width = d.choice((16, 64, 128, 512))
    rows = d.rows(width)
    return tuple(d.normal(rows, width) for _ in range(3))


@kind(_means)
def variational(mean, logarithm, noise):
    """A sample of a Gaussian, and its divergence from the unit one."""
    sample = mean + torch.exp(0.5 * logarithm) * noise
    terms = 1 + logarithm - mean.square() - logarithm.exp()
    return sample, -0.5 * terms.float().sum(-1).mean()


@kind(_means, trains=False)
def adam_update(weight, gradient, moment):
    """A weight after a step of an optimizer, with its moment.

    The step is computed in float32: in float16 small squares and 1e-8 are 0, and eager
    divides 0 by 0.
    """
    new = moment.float().lerp(gradient.float(), 0.1)
    step = 1e-3 * new / (new.square().sqrt() + 1e-8)
    return (weight.float() - step).to(weight.dtype), new.to(moment.dtype)
