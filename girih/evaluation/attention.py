"""Evaluation of attention kernels: written out with torch, and derived by autograd."""

from __future__ import annotations

import torch

from girih.evaluation.state import evaluates


def _function(state, op, arguments):
    """What the score function gives."""
    block = op.regions[0].blocks[0]
    for argument, value in zip(block.arguments, arguments, strict=True):
        state.values[argument] = value
    return state.run(block)


def _repeated(x, heads):
    return x.repeat_interleave(heads // x.shape[1], 1)


def _scores(query, key):
    return query @ _repeated(key, query.shape[1]).transpose(-2, -1)


@evaluates("flash_attention")
def _flash_attention(state, op, query, key, value, *operands):
    (logits,) = _function(state, op, [_scores(query, key), *operands])
    wide = logits.to(state.dtype(op.total.type))
    weights = wide.softmax(-1).to(query.dtype)
    y = weights @ _repeated(value, query.shape[1])
    largest = wide.amax(-1)
    return y, largest, (wide - largest[..., None]).exp().sum(-1)


@evaluates("flash_attention_backward")
def _flash_attention_backward(
    state, op, gradient, query, key, value, largest, total, delta, *operands
):
    """The formulas of the kernel, with what the forward pass saved."""
    heads, groups = query.shape[1], key.shape[1]
    keys, values = _repeated(key, heads), _repeated(value, heads)
    scores = _scores(query, key)
    blank = torch.zeros((), dtype=state.dtype(op.block.arguments[1].type))
    blank = blank.expand(scores.shape)
    logits, _ = _function(state, op, [scores, blank, *operands])
    wide = logits.to(total.dtype)
    weights = (wide - largest[..., None]).exp() / total[..., None]
    of_weights = (gradient @ values.transpose(-2, -1)).to(wide.dtype)
    of_logits = (weights * (of_weights - delta[..., None])).to(blank.dtype)
    _, of_scores = _function(state, op, [scores, of_logits, *operands])
    of_key = of_scores.transpose(-2, -1) @ query
    of_value = weights.to(query.dtype).transpose(-2, -1) @ gradient
    return of_scores @ keys, _summed(of_key, groups), _summed(of_value, groups)


def _summed(x, groups):
    """The gradient of heads that were repeated."""
    batch, heads, *rest = x.shape
    return x.reshape(batch, groups, heads // groups, *rest).sum(2)
