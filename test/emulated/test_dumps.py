"""Dumps for a GPU: a file becomes the next, runs as eager does, and can be edited."""

import itertools
import re

import pytest
import torch
import torch.nn.functional as F

import girih
from girih.compiler import runner
from girih.tools import girih_opt

NEXT = {
    "graph": ("fused", "derivatives"),
    "fused": ("host",),
    "host": ("tile",),
    "tile": ("tt",),
}


def inference(x, w):
    return torch.softmax(x @ w, -1).sum(0), F.gelu(x) * 3.0


def training(x, w):
    index = torch.tensor([0, 3, 3, 1, 5, 0, 2, 2])
    y = F.layer_norm(x @ w, (4,))
    return (torch.zeros(6, 4).index_add(0, index, y).sin() * 3.0).sum()


PROGRAMS = {
    "inference": (inference, None, False),
    "dynamic": (inference, True, False),
    "training": (training, None, True),
    "dynamic training": (training, True, True),
}


@pytest.fixture(params=PROGRAMS)
def dump(request, tmp_path):
    """A program, its inputs, its results with gradients, and what it dumped."""
    program, dynamic, trains = PROGRAMS[request.param]
    x, w = torch.randn(8, 16), torch.randn(16, 4, requires_grad=trains)
    options = {"dump_dir": str(tmp_path), "dump_inputs": True, "fallback": False}
    compiled = girih.compile(program, dynamic=dynamic, options=options)
    results = compiled(x, w)
    if trains:
        results.backward()
    return program, (x, w), tmp_path


def replayed(path, capsys):
    code = girih_opt.main(["--no-isolate", "--run-reproducer", str(path)])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out.strip()


def test_each_file_becomes_the_next(dump, capsys):
    replays = 0
    for folder in dump[2].iterdir():
        paths = sorted(folder.glob("*.mlir"))
        for path, following in itertools.pairwise(paths):
            level, other = (p.stem.partition("-")[2] for p in (path, following))
            if (level, other) != ("derivatives", "graph"):  # it goes on as two files
                assert other in NEXT[level]
                expected = re.sub(r"(?m)^// .*\n", "", following.read_text()).strip()
                assert replayed(path, capsys) == expected, path
                replays += 1
    assert replays == (9 if dump[0] is training else 4)


def test_each_file_runs_as_eager_does(dump):
    program, inputs, folder = dump
    w = inputs[1].detach().requires_grad_(inputs[1].requires_grad)
    expected = program(inputs[0], w)
    if w.requires_grad:
        expected.backward()
    for each in folder.iterdir():
        is_backward = each.name.endswith(".backward")
        given = torch.load(each / "inputs.pt")
        for file in sorted(each.glob("*.mlir")):
            if file.stem.endswith("-tt"):
                continue
            found = girih.run(file, *given)
            found = found if isinstance(found, tuple) else (found,)
            wanted = expected if isinstance(expected, tuple) else (expected,)
            for one, other in zip(found, (w.grad,) if is_backward else wanted):  # noqa: B905
                torch.testing.assert_close(one, other.detach())


@pytest.mark.parametrize("level", ["graph", "fused", "host", "tile", "tt"])
def test_an_edited_file_changes_the_result(level, tmp_path, monkeypatch):
    def restart():
        monkeypatch.setattr(runner, "_numbers", itertools.count())

    x, w = torch.randn(8, 16), torch.randn(16, 4)
    restart()
    options = {"dump_dir": str(tmp_path), "fallback": False}
    girih.compile(inference, options=options)(x, w)
    for file in tmp_path.rglob("*.mlir"):
        if not file.stem.endswith(level):
            file.unlink()
    (file,) = tmp_path.rglob("*.mlir")
    text = file.read_text()
    edited = re.sub(r"\b3\.0+(e\+00)?\b", "5.000000e+00", text)
    assert edited != text
    file.write_text(edited)
    restart()
    options = {"override": str(tmp_path), "fallback": False}
    compiled = girih.compile(inference, options=options)
    plain, scaled = inference(x, w)
    found = compiled(x, w)
    torch.testing.assert_close(found[0], plain)
    torch.testing.assert_close(found[1], scaled / 3 * 5)
    assert f"override:000-graph0/{file.name}" in str(girih.report(compiled))
