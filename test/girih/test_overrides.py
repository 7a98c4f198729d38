"""override: edited files of a dump take the place of what is compiled."""

import itertools
import re

import pytest
import torch

import girih
from girih.compiler import runner


@pytest.fixture(autouse=True)
def _numbers_from_zero(monkeypatch):
    """As in a process of its own, of a user who dumps, edits, and runs again."""

    def restart():
        monkeypatch.setattr(runner, "_numbers", itertools.count())

    restart()
    return restart


def program(x):
    return torch.softmax(x, -1).sum(0) * 3.0


def loss(x, weight):
    return ((x * weight).sin() * 3.0).sum()


def dumped(function, inputs, folder):
    options = {"dump_dir": str(folder), "fallback": False}
    result = girih.compile(function, options=options)(*inputs)
    if result.requires_grad:
        result.backward()


def edited(file, number):
    text = file.read_text()
    other = re.sub(r"\b3\.0+(e\+00)?\b", f"{number}.000000e+00", text)
    assert other != text, file
    file.write_text(other)


@pytest.mark.parametrize("level", ["graph", "fused", "host", "tile", "llvm"])
def test_an_edited_file_changes_the_result(level, tmp_path, _numbers_from_zero):
    """It is edited twice, and taken away: no kernel of another content is taken."""
    x = torch.randn(8, 16)
    dumped(program, (x,), tmp_path)
    for file in tmp_path.rglob("*.mlir"):
        if level not in file.name:
            file.unlink()
    (file,) = tmp_path.rglob("*.mlir")
    original = file.read_text()
    options = {"override": str(tmp_path), "fallback": False}
    for number in (5, 7):
        file.write_text(original)
        edited(file, number)
        _numbers_from_zero()
        compiled = girih.compile(program, options=options)
        torch.testing.assert_close(compiled(x), program(x) / 3 * number)
        said = f"replace-module at override:000-graph0/{file.name} (inference)"
        assert said in str(girih.report(compiled))
    _numbers_from_zero()
    torch.testing.assert_close(girih.compile(program)(x), program(x))


def test_each_program_of_training_has_its_own(tmp_path, _numbers_from_zero):
    x, weight = torch.randn(4, 3), torch.randn(3, requires_grad=True)
    dumped(loss, (x, weight), tmp_path)
    expected = weight.grad.clone()
    (backward,) = tmp_path.glob("*-graph0.backward")
    for file in tmp_path.glob("*-graph0/*.mlir"):
        file.unlink()
    edited(backward / "3-host.mlir", 5)
    for file in backward.glob("*.mlir"):
        if file.name != "3-host.mlir":
            file.unlink()
    _numbers_from_zero()
    weight.grad = None
    options = {"override": str(tmp_path), "fallback": False}
    result = girih.compile(loss, options=options)(x, weight)
    torch.testing.assert_close(result, loss(x, weight))
    result.backward()
    torch.testing.assert_close(weight.grad, expected / 3 * 5)


def test_the_joint_functions_derivatives(tmp_path, _numbers_from_zero):
    x, weight = torch.randn(4, 3), torch.randn(3, requires_grad=True)
    dumped(loss, (x, weight), tmp_path)
    for file in tmp_path.rglob("*.mlir"):
        if "derivatives" not in file.name:
            file.unlink()
    (file,) = tmp_path.rglob("*.mlir")
    edited(file, 6)
    _numbers_from_zero()
    expected, weight.grad = weight.grad * 2, None
    options = {"override": str(tmp_path), "fallback": False}
    result = girih.compile(loss, options=options)(x, weight)
    result.backward()
    torch.testing.assert_close(result, 2 * loss(x, weight))
    torch.testing.assert_close(weight.grad, expected)


def test_a_whole_dump_changes_nothing(tmp_path, _numbers_from_zero, monkeypatch):
    x, weight = torch.randn(4, 3), torch.randn(3, requires_grad=True)
    dumped(loss, (x, weight), tmp_path)
    expected, weight.grad = weight.grad, None
    _numbers_from_zero()
    monkeypatch.setenv("GIRIH_OVERRIDE_DIR", str(tmp_path))
    compiled = girih.compile(loss, options={"fallback": False})
    compiled(x, weight).backward()
    torch.testing.assert_close(weight.grad, expected)
    said = str(girih.report(compiled))
    assert said.count("replace-module at") == len(list(tmp_path.rglob("*.mlir")))


def test_another_signature_is_refused(tmp_path, _numbers_from_zero):
    dumped(program, (torch.randn(8, 16),), tmp_path)
    _numbers_from_zero()
    options = {"override": str(tmp_path), "fallback": False}
    with pytest.raises(girih.CompileError, match="to keep the types and attributes"):
        girih.compile(program, options=options)(torch.randn(8, 17))


def test_a_folder_with_a_space_in_its_name(tmp_path, _numbers_from_zero):
    x, folder = torch.randn(8, 16), tmp_path / "my, dump {1}"
    dumped(program, (x,), folder)
    edited(next(folder.rglob("2-fused.mlir")), 4)
    next(folder.rglob("3-host.mlir")).unlink()
    next(folder.rglob("4-tile.mlir")).unlink()
    next(folder.rglob("5-llvm.mlir")).unlink()
    _numbers_from_zero()
    options = {"override": folder, "fallback": False}
    result = girih.compile(program, options=options)(x)
    torch.testing.assert_close(result, program(x) / 3 * 4)


@pytest.mark.parametrize("makes", [True, False])
def test_a_folder_without_files_is_told(tmp_path, makes):
    folder = tmp_path / "none"
    if makes:
        folder.mkdir()
    compiled = girih.compile(program, options={"override": folder, "fallback": False})
    with pytest.warns(
        RuntimeWarning, match="override folder.*girih replaces no IR by a file"
    ):
        compiled(torch.randn(8, 16))
