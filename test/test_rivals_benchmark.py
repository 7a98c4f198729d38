"""The benchmark of runtimes for the CPU, with what is installed everywhere."""

import json

import pytest
import torch
from torch import nn

from benchmarks import agreement, fresh
from benchmarks.rivals import __main__ as command
from benchmarks.rivals import report, worker
from benchmarks.rivals.engines import ENGINES
from benchmarks.rivals.worker import Task


def _small(name, batch, dtype):
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten()
    module = nn.Sequential(*layers).eval().to(dtype).requires_grad_(False)
    return module, torch.randn(batch, 3, 8, 8).to(dtype)


def _task(engine, **others):
    given = {"batch": 2, "dtype": "float32", "threads": 1, "seconds": 0.05}
    return Task("resnet50", engine, **(given | others))


@pytest.fixture(autouse=True)
def _small_networks(monkeypatch):
    threads = torch.get_num_threads()
    monkeypatch.setattr(worker, "make", _small)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("engine", ["eager", "girih", "girih-frozen"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_row(engine, dtype):
    row = worker.run(_task(engine, dtype=dtype))
    assert 0 < row["minimum"] <= row["median"] and row["first"] > 0
    assert row["engine"] == engine and json.dumps(row)


def test_a_wrong_result_is_no_row(monkeypatch):
    monkeypatch.setitem(ENGINES, "girih", lambda module, x: lambda: module(x) + 1)
    with pytest.raises(agreement.Disagreement, match="girih differs from eager by"):
        worker.run(_task("girih"))


def _row(engine, median, network="resnet50"):
    return {
        "network": network,
        "batch": 1,
        "dtype": "float32",
        "threads": 2,
        "engine": engine,
        "median": median,
    }


def test_table():
    rows = [_row("eager", 0.04), _row("openvino", 0.02), _row("openvino", 0.01)]
    rows += [_row("girih", 0.02), _row("girih-frozen", 0.005), _row("girih", 0.03, "x")]
    text = report.text_of(rows, ["x, 1, float32, openvino: no"])
    cells = [cell.strip() for cell in text.splitlines()[2].split("|")]
    assert cells[5:6] == ["40.0 ms"] and cells[-6:-1] == [
        *("", "20.0 ms", "5.00 ms", "0.50", "2.00")
    ]
    assert "- FAILED: x, 1" in text
    assert "girih over the best other: geometric mean 0.50, lowest 0.50, of 1" in text
    assert "girih-frozen over the best other: geometric mean 2.00" in text


def test_command(monkeypatch, tmp_path, capsys):
    def run(module, given, environment):
        task = json.loads(given)
        if task["engine"] == "openvino":
            raise RuntimeError("failed:\nno such module")
        return {**task, "median": 0.5}

    monkeypatch.setattr(fresh, "run", run)
    stem = tmp_path / "rivals"
    flags = "--networks timm:levit_128 --batch 1,8 --rounds 1 --quick"
    assert command.main([*flags.split(), "--output", str(stem)]) == 1
    rows = json.loads(stem.with_suffix(".json").read_text())["rows"]
    assert len(rows) == 2 * (len(ENGINES) - 1) and rows[0]["seconds"] == 1.0
    assert "FAILED: timm:levit_128, 8, float32, openvino: " in capsys.readouterr().out
    for wrong in ("--engines tvm", "--dtype int8", "--batch x", "--rounds 0"):
        with pytest.raises(SystemExit):
            command.main(wrong.split())
