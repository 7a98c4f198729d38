"""``nn.TransformerEncoder`` with a padding mask: zeros where eager has them."""

import warnings

import pytest
import torch
from torch import nn

import girih

LENGTHS = {"at the end": (5, 3), "none": (5, 5), "all of one": (0, 5)}


def _encoder(**options):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, **options)


def _padding(lengths):
    return torch.arange(5) >= torch.tensor(lengths).unsqueeze(1)


def _agree(encoder, padding):
    x = torch.randn(2, 5, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = encoder(x, src_key_padding_mask=padding)
    for function in (encoder, lambda x, m: encoder(x, src_key_padding_mask=m)):
        compiled = girih.compile(function, fullgraph=True)
        given = (x, None, padding) if function is encoder else (x, padding)
        torch.testing.assert_close(compiled(*given), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("norm", [None, nn.LayerNorm(8)])
def test_padding(lengths, norm):
    with torch.no_grad():
        _agree(_encoder(norm=norm).eval(), _padding(lengths))


def test_padding_elsewhere():
    padding = _padding((5, 3))
    padding[0, 2] = True
    with torch.no_grad():
        _agree(_encoder().eval(), padding)


def test_padding_as_numbers():
    padding = torch.zeros(2, 5).masked_fill(_padding((5, 3)), -torch.inf)
    with torch.no_grad():
        _agree(_encoder().eval(), padding)


@pytest.mark.parametrize("case", ["gradients", "training", "no nested tensor"])
def test_where_eager_packs_nothing(case):
    encoder = _encoder(enable_nested_tensor=case != "no nested tensor")
    for layer in encoder.layers:
        layer.dropout = layer.dropout1 = layer.dropout2 = nn.Identity()
        layer.self_attn.dropout = 0.0
    encoder.train(case == "training")
    with torch.set_grad_enabled(case != "no nested tensor"):
        _agree(encoder, _padding((5, 3)))
