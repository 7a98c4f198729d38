"""Convolutions that are kernels keep their sums in registers, however they come."""

import pytest
import torch
from torch import nn

import girih


def convolution(channels, results, groups, **options):
    return nn.Conv2d(channels, results, 3, padding=1, groups=groups, **options)


CASES = {
    "of_channels": (convolution(48, 48, 48), 48, {}),
    "without_bias": (convolution(48, 48, 48, bias=False), 48, {}),
    "frozen": (convolution(48, 48, 48), 48, {"freezing": True}),
    "of_few": (nn.Sequential(convolution(3, 16, 1), nn.Conv2d(16, 8, 1)), 3, {}),
    "frozen_of_few": (
        nn.Sequential(convolution(3, 16, 1), nn.Conv2d(16, 8, 1)),
        3,
        {"freezing": True},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_schedule(case, capsys, monkeypatch):
    monkeypatch.setenv("GIRIH_NO_CACHE", "1")
    model, channels, options = CASES[case]
    model = model.eval().to(memory_format=torch.channels_last)
    x = torch.randn(2, channels, 14, 15).to(memory_format=torch.channels_last)
    compiled = girih.compile(model, options=options)
    girih.set_logs(schedule=True)
    try:
        with torch.no_grad():
            compiled(x)
            compiled(x)
    finally:
        girih.set_logs()
    printed = capsys.readouterr().err
    assert 'schedule "windows: ' in printed and " windows of " in printed
