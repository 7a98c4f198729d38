"""``nn.TransformerEncoder`` with a padding mask, as eager computes it.

In evaluation eager packs the sequences without their padding into a nested tensor, and
unpacks the result with zeros at the padded places. torch's own Python skips that where
it is compiled, so those places hold other numbers. The function here computes with
padded tensors and writes the zeros.
Source: ``torch/nn/modules/transformer.py``, ``TransformerEncoder.forward``.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from girih.frontend.capture.models.registry import models
from girih.frontend.capture.values.base import Value


@models(nn.TransformerEncoder.forward)
def _encode(tracer, encoder, src, mask=None, src_key_padding_mask=None, is_causal=None):
    """Followed as it is where eager packs nothing."""
    if src_key_padding_mask is None or not (_is_none(mask) and _is_none(is_causal)):
        return None
    given = [encoder, src, src_key_padding_mask]
    is_packed = tracer.call(tracer.held(_is_packed), given, {})
    if not tracer.known(is_packed).as_python():
        return None
    return tracer.call(tracer.held(_encoded_with_zeros), given, {})


def _is_none(value: Value | None) -> bool:
    return value is None or value.python_type() is type(None)


def _is_packed(encoder, src, padding) -> bool:
    """Whether eager packs the sequences, if the padding stands at their ends."""
    layer = encoder.layers[0]
    if padding is None or src.dim() != 3 or src.is_nested or layer.training:
        return False
    if not getattr(encoder, "mask_check", True):
        return False  # whether the padding is at the ends is not asked
    if not getattr(encoder, "use_nested_tensor", False):
        return False
    if not torch.backends.mha.get_fastpath_enabled() or torch.is_autocast_enabled():
        return False
    if not torch.is_grad_enabled():
        return True
    modules = (layer.self_attn, layer.norm1, layer.norm2, layer.linear1, layer.linear2)
    parameters = [p for module in modules for p in module.parameters()]
    return not any(tensor.requires_grad for tensor in (src, *parameters))


def _encoded_with_zeros(encoder, src, padding):
    mask = F._canonical_mask(padding, "src_key_padding_mask", None, "", src.dtype)
    output = src
    for layer in encoder.layers:
        output = layer(output, src_key_padding_mask=mask)
    # What is padded: a number in the mask that attention adds means that, too.
    is_padded = mask.bool()
    is_at_end = (is_padded[:, 1:] >= is_padded[:, :-1]).all()
    zeroed = (is_padded & is_at_end).unsqueeze(-1)
    output = torch.where(zeroed, output.new_zeros(()), output)
    return output if encoder.norm is None else encoder.norm(output)
