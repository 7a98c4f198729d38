"""Dumps state what leads to the next one, and girih-opt makes it of them exactly."""

import itertools

import pytest
import torch
from torch import nn

import girih
from girih.compiler import runner
from girih.tools import girih_opt

NEXT = {"graph": ("fused", "derivatives"), "fused": ("host",), "host": ("tile",)}
NEXT["tile"] = ("llvm", "tt")


def network():
    return nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.1))


def convolutions():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())


def several_results():
    return lambda x: (x.softmax(-1), x.bfloat16().exp(), (x > 0).any(), x[:, ::2] + 1)


PROGRAMS = [
    (network, (4, 8), True, None),
    (network, (4, 8), False, True),
    (convolutions, (2, 3, 8, 8), True, None),
    (several_results, (5, 6), False, None),
    (several_results, (5, 6), False, True),
]


def replayed(path, capsys) -> str:
    code = girih_opt.main(["--no-isolate", "--run-reproducer", str(path)])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out


@pytest.mark.parametrize(("make", "shape", "trains", "dynamic"), PROGRAMS)
def test_each_dump_becomes_the_next(make, shape, trains, dynamic, tmp_path, capsys):
    options = {"dump_dir": str(tmp_path), "fallback": False}
    compiled = girih.compile(make(), dynamic=dynamic, options=options)
    with torch.set_grad_enabled(trains):
        result = compiled(torch.randn(shape))
        if trains:
            result.sum().backward()
    replays = 0
    for folder in tmp_path.iterdir():
        paths = sorted(folder.iterdir())
        for path, following in zip(paths, paths[1:], strict=False):
            level, other = (p.stem.partition("-")[2] for p in (path, following))
            if other not in NEXT.get(level, ()):
                assert (level, other) == ("derivatives", "graph")
                continue
            lines = following.read_text().splitlines(keepends=True)
            expected = "".join(line for line in lines if not line.startswith("// "))
            assert replayed(path, capsys).strip() == expected.strip(), path
            replays += 1
    assert replays >= (7 if trains else 4)


def test_a_folder_has_the_files_of_one_process(tmp_path, monkeypatch):
    """Files of an earlier process go, also with its inputs; the user's stay."""
    options = {"dump_dir": str(tmp_path), "cache": False, "dump_inputs": True}
    x = torch.randn(3)
    monkeypatch.setattr(runner, "_numbers", itertools.count())
    girih.compile(torch.sin, options=options)(x)
    folder = tmp_path / "000-graph0"
    first = {path.name for path in folder.iterdir()}
    stale = ("6-tile.mlir", "9-llvm.mlir")
    for name in (*stale, "notes.txt", "my-own.mlir"):
        (folder / name).write_text("of before")
    monkeypatch.setattr(runner, "_numbers", itertools.count())
    girih.compile(torch.cos, options=options | {"dump_inputs": False})(x)
    left = {path.name for path in folder.iterdir()}
    assert left == (first - {"inputs.pt"}) | {"notes.txt", "my-own.mlir"}
    assert "inputs.pt" in first


def test_the_report_names_all_dumps(tmp_path):
    """Also the second graph of a training program, and the second backward program."""
    compiled = girih.compile(
        lambda x: (x.exp(), x.sin()),
        options={"dump_dir": str(tmp_path), "fallback": False},
    )
    for number in range(2):
        x = torch.randn(3, requires_grad=True)
        compiled(x)[number].sum().backward()
    (gradient,) = torch.autograd.grad(compiled(x)[0].sum(), x, create_graph=True)
    gradient.sum().backward()
    paths = girih.report(compiled).ir_paths
    assert sorted(paths.values()) == sorted(tmp_path.rglob("*.mlir"))
    assert paths["graph0/graph"].name == "1-graph.mlir"
    assert paths["graph0/forward-graph"].name == "3-graph.mlir"
