"""Layers of recurrent networks: those of cuDNN, and torch's own.

What cuDNN computes is no sum of ATen's operations: between layers it drops by random
numbers of its own, which outlive the call in C++. No operation of a graph gives that,
so Python calls it. To ask it about fake tensors would leave one of them there for good.

torch's Python kernels of the others never drop anything between layers (2.13:
``_rnn_helper`` compares the numbers of layers the wrong way round). Those kernels call
``run_layers`` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from girih.frontend.control_flow import linked

_LAYERS = ("gru", "lstm", "rnn_relu", "rnn_tanh")
_AUTOCAST = torch.float16  # of these layers, whatever autocast's dtype is
_PARAMETERS = (
    *("input", "hx", "params", "has_biases", "num_layers", "dropout", "train"),
    *("bidirectional", "batch_first"),
)


def is_recurrent(target: Any) -> bool:
    """Whether a function is a recurrent layer, or several: ``torch.lstm``, ..."""
    name = getattr(target, "__name__", "")
    return isinstance(name, str) and name.partition(".")[0] in _LAYERS


def runs_in_cudnn(target: Any, args: Sequence) -> bool:
    """Whether a call of a function with these tensors goes to cuDNN, as a whole."""
    if not is_recurrent(target) or not args or not isinstance(args[0], torch.Tensor):
        return False
    return _is_acceptable(args[0])


def _is_acceptable(tensor: torch.Tensor) -> bool:
    if tensor.device.type != "cuda":
        return False
    if tensor.dtype is torch.bfloat16:  # which only layers of this kind may be
        return torch.backends.cudnn.enabled and torch.backends.cudnn.is_available()
    return torch.backends.cudnn.is_acceptable(tensor)


def cudnn_layers(args: Sequence, kwargs: dict) -> tuple[torch.Tensor, ...]:
    """What layers give, without data; eager tells of arguments that don't fit.

    The arguments are those of ``torch.lstm`` or ``torch.gru``: a tensor [length, batch,
    features], or [batch, length, features] where the last one says so, one or two
    states [layers * directions, batch, size], the parameters, ...
    """
    named = dict(zip(_PARAMETERS, args, strict=False)) | kwargs
    tensor, hidden = named["input"], named["hx"]
    states = list(hidden) if isinstance(hidden, (tuple, list)) else [hidden]
    dtype = tensor.dtype
    if torch.is_autocast_enabled("cuda") and dtype is not torch.float64:
        dtype = _AUTOCAST
    size = states[0].shape[-1] * (2 if named["bidirectional"] else 1)
    turned = tensor.transpose(0, 1) if named["batch_first"] else tensor
    output = tensor.new_empty((*turned.shape[:2], size), dtype=dtype)
    if named["batch_first"]:
        output = output.transpose(0, 1)
    lasts = [x.new_empty(x.shape, dtype=dtype) for x in states]
    return linked((output, *lasts), (tensor, *states, *named["params"]))


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
    from torch._decomp import decompositions as torchs

    x = input.transpose(0, 1) if batch_first else input
    if x.size(0) == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    if layer_fn is torchs.mkldnn_one_layer_lstm and x.numel() == 0:
        # oneDNN would divide by the size of the batch. Eager does not ask it, either.
        layer_fn = torchs.one_layer_lstm
    lasts = []
    for layer in range(num_layers):
        found = torchs.params_hiddens(params, hidden, layer, bidirectional)
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
