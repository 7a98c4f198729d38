"""Layers of recurrent networks one after the other, as torch's kernels in C++ do it.

torch's Python kernels never drop anything between them (2.13: ``_rnn_helper`` compares
the numbers of layers the wrong way round). Those kernels call this instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch


@contextmanager
def whole_layers() -> Iterator[None]:
    """Has torch's Python kernels of recurrent layers use ``run_layers``."""
    from torch._decomp import decompositions

    before = decompositions._rnn_helper
    decompositions._rnn_helper = run_layers
    try:
        yield
    finally:
        decompositions._rnn_helper = before


def run_layers(
    input: torch.Tensor,
    hidden: Sequence,
    params: Sequence,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    layer_fn: Callable,
) -> tuple[torch.Tensor, list]:
    """Runs all layers; returns what the last one gives, and the last states.

    The arguments are those of torch's function, which this one stands for.
    """
    from torch._decomp.decompositions import params_hiddens

    x = input.transpose(0, 1) if batch_first else input
    lasts = []
    for layer in range(num_layers):
        found = params_hiddens(params, hidden, layer, bidirectional)
        ways = [(found[0], found[1], False)]
        if bidirectional:
            ways.append((found[2], found[3], True))
        given = [layer_fn(x, h, p, has_biases, reverse=back) for p, h, back in ways]
        lasts += [last for _, last in given]
        pieces = [piece for piece, _ in given]
        x = torch.cat(pieces, pieces[0].dim() - 1) if bidirectional else pieces[0]
        if dropout and train and layer < num_layers - 1:
            x = torch.dropout(x, dropout, train=True)
    return (x.transpose(0, 1) if batch_first else x), lasts
