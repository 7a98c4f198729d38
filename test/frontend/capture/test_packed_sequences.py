"""Recurrent layers over packed sequences, whose length varies."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import girih

LAYERS = {
    "gru": lambda: torch.nn.GRU(3, 4),
    "lstm": lambda: torch.nn.LSTM(3, 4, bidirectional=True),
    "rnn_tanh": lambda: torch.nn.RNN(3, 4),
    "rnn_relu": lambda: torch.nn.RNN(3, 4, nonlinearity="relu"),
}


def check(name: str) -> None:
    layer = LAYERS[name]()

    def padded(x, lengths):
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        return pad_packed_sequence(layer(packed)[0])[0]

    compiled = girih.compile(padded)
    for steps in (5, 7):
        x, lengths = torch.randn(steps, 2, 3), torch.tensor([steps, steps - 2])
        torch.testing.assert_close(compiled(x, lengths), padded(x, lengths))


@pytest.mark.parametrize("name", LAYERS)
def test_packed_sequences(name):
    check(name)
