"""The benchmark of packages, with a small network."""

import json

import pytest
import torch
from torch import nn

from benchmarks import agreement, packages
from benchmarks.rivals import networks


@pytest.fixture
def folder(tmp_path, monkeypatch):
    def make(name, batch, dtype):
        torch.manual_seed(0)
        layers = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()
        return nn.Sequential(*layers).eval(), torch.randn(batch, 3, 8, 8)

    monkeypatch.setattr(networks, "make", make)
    return tmp_path


@pytest.mark.parametrize("engine", ["girih", "girih, frozen"])
def test_times_of_a_load(folder, engine, capsys):
    assert packages.main(["save", "resnet50", engine, str(folder)]) == 0
    assert packages.main(["load", engine, str(folder)]) == 0
    made, loaded = map(json.loads, capsys.readouterr().out.splitlines())
    assert made["make"] > 0
    assert all(loaded[name] > 0 for name in ("load", "first", "call"))


def test_a_wrong_result_is_an_error(folder):
    packages.save("resnet50", "girih", folder)
    x, expected = torch.load(folder / "input.pt")
    torch.save((x, [each + 1 for each in expected]), folder / "input.pt")
    with pytest.raises(agreement.Disagreement, match="from eager"):
        packages.load("girih", folder)


def test_the_table():
    row = packages.Row("net", "girih", 1.5, 3 << 20, [0.02, 0.03], [0.1], [0.05])
    text = packages.text_table([row])
    assert "3 MiB" in text and "25.0 ms (20.0 ms)" in text
