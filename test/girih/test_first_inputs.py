"""dump_inputs: what each program was called with first lies beside its IR."""

import os

import pytest
import torch
from torch import nn

import girih
from girih.running import command


def options(folder, **others):
    return {"dump_dir": str(folder), "dump_inputs": True, "fallback": False} | others


def saved(folder):
    return torch.load(folder / "inputs.pt", weights_only=True)


def test_every_file_runs_with_the_inputs_of_its_folder(tmp_path, capsys):
    """Those of backward programs, which are given away, too."""
    model = nn.Sequential(nn.Linear(16, 8), nn.GELU(), nn.Linear(8, 2))
    compiled = girih.compile(model, options=options(tmp_path))
    x = torch.randn(5, 16)
    expected = compiled(x).square().sum()
    expected.backward()
    forward, backward = sorted(tmp_path.iterdir())
    for folder in (forward, backward):
        files = sorted(folder.glob("*.mlir"))
        inputs = saved(folder)
        results = girih.run(files[0], *inputs)
        if folder == backward:
            gradients = [parameter.grad for parameter in model.parameters()]
            torch.testing.assert_close(list(results), gradients)
        else:
            torch.testing.assert_close(results, model(x).detach())
            files, results = files[1:], girih.run(files[1], *inputs)
        torch.save(list(results), folder / "results.pt")
        for file in files:
            given = [str(file), "--inputs", str(folder / "inputs.pt")]
            code = command.main([*given, "--compare", str(folder / "results.pt")])
            assert code == 0, capsys.readouterr()


def test_inputs_are_those_before_the_first_call(tmp_path):
    def program(x, factor):
        x.mul_(factor)
        return x + 1

    compiled = girih.compile(program, dynamic=True, options=options(tmp_path))
    base = torch.randn(1000, 4)
    x, first = base[:3], base[:3].clone()
    for _ in range(2):
        compiled(x, 2.5)
    (file,) = tmp_path.rglob("inputs.pt")
    values = torch.load(file, weights_only=True)
    (tensor,) = [value for value in values if isinstance(value, torch.Tensor)]
    (number,) = [value for value in values if isinstance(value, float)]
    assert tensor.equal(first) and number == 2.5
    assert file.stat().st_size < 4000  # not the memory that it is a view of


def test_nothing_is_written_without_a_folder_or_the_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    girih.compile(torch.sin, options={"dump_inputs": True})(torch.randn(3))
    girih.compile(torch.sin, options={"dump_dir": "dump"})(torch.randn(3))
    assert not list(tmp_path.rglob("inputs.pt")) and list(tmp_path.rglob("*.mlir"))


def test_recorded_programs_and_constants_too(tmp_path):
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval()
    given = options(tmp_path, freezing=True, cudagraphs=True)
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        with pytest.warns(RuntimeWarning, match="can't save inputs: .*Opaque"):
            result = girih.compile(model, options=given)(x)
        torch.testing.assert_close(result, model(x))
    constants = next(tmp_path.glob("*-graph0.constants"))
    assert len(saved(constants)) > 1


@pytest.mark.skipif(os.getuid() == 0, reason="root writes everywhere")
def test_a_folder_that_nobody_can_write(tmp_path):
    compiled = girih.compile(torch.sin, options=options(tmp_path / "dump"))
    (tmp_path / "dump").mkdir(mode=0o500)
    with pytest.warns(RuntimeWarning, match="can't write"):
        assert compiled(torch.zeros(3)).equal(torch.zeros(3))


def test_a_file_in_the_way_of_the_folder(tmp_path):
    compiled = girih.compile(torch.sin, options=options(tmp_path / "dump"))
    (tmp_path / "dump").write_text("")
    with pytest.warns(RuntimeWarning, match="can't write inputs to"):
        assert compiled(torch.zeros(3)).equal(torch.zeros(3))
