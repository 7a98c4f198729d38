"""Modules without elements, where sizes are symbolic: eager's error, or its result.

``GIRIH_TEST_LONG=1`` compares all modules, with and without grad mode.
"""

import os

import pytest
import torch
from torch import nn

import girih

IS_LONG = os.environ.get("GIRIH_TEST_LONG") == "1"
SIZES = [(2, 3, 6), (0, 3, 6), (2, 0, 6), (2, 3, 0), (2, 3, 1), (0, 6)]


def recurrent():
    for make in (nn.LSTM, nn.GRU, nn.RNN):
        for batch_first in (False, True):
            for bidirectional in (False, True):
                chosen = f"{'_batch_first' * batch_first}{'_both' * bidirectional}"
                yield (
                    make.__name__ + chosen,
                    make(6, 4, batch_first=batch_first, bidirectional=bidirectional),
                )


MODULES = dict(recurrent()) | {
    "convolution": nn.Conv1d(3, 4, 2),
    "transposed_convolution": nn.ConvTranspose1d(3, 4, 2),
    "maximum": nn.MaxPool1d(2),
    "mean": nn.AvgPool1d(2),
    "adaptive_mean": nn.AdaptiveAvgPool1d(2),
    "adaptive_maximum": nn.AdaptiveMaxPool1d(2),
    "batch_norm": nn.BatchNorm1d(3),
    "instance_norm": nn.InstanceNorm1d(3),
    "group_norm": nn.GroupNorm(3, 3),
    "reflection": nn.ReflectionPad1d(2),
    "encoder": nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0),
}


SHORT = ("LSTM", "LSTM_batch_first_both", "GRU_batch_first", "maximum", "group_norm")
SHORT = (*SHORT, "convolution", "reflection")


def outcome(function, shape):
    torch.manual_seed(0)
    try:
        return function(torch.rand(shape))
    except (AssertionError, RuntimeError, ValueError) as error:
        return type(error), str(error).partition("\n")[0]


@pytest.mark.parametrize("is_watched", (False, True) if IS_LONG else (False,))
@pytest.mark.parametrize("name", MODULES if IS_LONG else SHORT)
def test_like_eager(name, is_watched):
    module = MODULES[name]
    compiled = girih.compile(module, dynamic=True)
    with torch.set_grad_enabled(is_watched):
        for shape in SIZES:
            found, expected = outcome(compiled, shape), outcome(module, shape)
            if isinstance(expected, tuple) and isinstance(expected[0], type):
                assert found == expected
            else:
                torch.testing.assert_close(found, expected)
