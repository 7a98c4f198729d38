"""Edited IR goes on from a file, at the place of its level."""

import re

import pytest
import torch

import girih

PLACES = {
    "graph": "after:import",
    "fused": "before:select-products",
    "host": "before:tile",
    "tile": "before:expand-math",
    "llvm": "before:llvm",
}


def program(x):
    return torch.softmax(x, -1).sum(0) * 3.0


def dumped(folder, level):
    girih.compile(program, options={"dump_dir": str(folder)})(torch.randn(8, 16))
    (file,) = folder.rglob(f"*-{level}.mlir")
    return file


def compiled_from(file, place, **options):
    passes = {place: f"replace-module{{file={file}}}"}
    return girih.compile(
        program, options={"passes": passes, "fallback": False} | options
    )


@pytest.mark.parametrize("level", PLACES)
def test_dumped_ir_goes_on(tmp_path, level):
    file = dumped(tmp_path, level)
    x = torch.randn(8, 16)
    for _ in range(2):  # the second one finds the kernels in the cache
        compiled = compiled_from(file, PLACES[level])
        torch.testing.assert_close(compiled(x), program(x))
        assert f"replace-module at {PLACES[level]}" in str(girih.report(compiled))


@pytest.mark.parametrize("level", ["graph", "fused", "host", "tile"])
def test_edited_ir_is_what_runs(tmp_path, level):
    """The file is edited twice: no kernel of its first content is taken."""
    file = dumped(tmp_path, level)
    text, x = file.read_text(), torch.randn(8, 16)
    for factor in ("5", "7"):
        edited = re.sub(r"\b3\.0+(e\+00)?\b", f"{factor}.000000e+00", text)
        assert edited != text
        file.write_text(edited)
        result = compiled_from(file, PLACES[level])(x)
        torch.testing.assert_close(result, program(x) / 3 * float(factor))


def test_another_signature_is_refused(tmp_path):
    file = dumped(tmp_path, "graph")
    wider = re.sub(r"\b(8|1)x16x", r"\1x32x", file.read_text()).replace("<16x", "<32x")
    file.write_text(wider)
    with pytest.raises(girih.CompileError, match="to keep the types and attributes"):
        compiled_from(file, "after:import")(torch.randn(8, 16))


@pytest.mark.parametrize(
    ("content", "message"), [(None, "nothing.mlir"), ("func.func @", "nothing.mlir")]
)
def test_files_that_are_no_module(tmp_path, content, message):
    file = tmp_path / "nothing.mlir"
    if content is not None:
        file.write_text(content)
    with pytest.raises(girih.CompileError, match=message):
        compiled_from(file, "after:import")(torch.randn(8, 16))


def test_the_file_is_named():
    passes = {"before:fuse": "replace-module"}
    with pytest.raises(girih.CompileError, match="needs a file"):
        girih.compile(program, options={"passes": passes, "fallback": False})(
            torch.randn(8, 16)
        )


def test_passes_on_kernels_run_where_kernels_are_cached():
    ran = []

    def peek(module):
        ran.append(module)

    for _ in range(2):
        compiled = girih.compile(program, options={"passes": {"after:tile": peek}})
        compiled(torch.randn(8, 16))
        assert "no program has reached" not in str(girih.report(compiled))
    assert len(ran) == 2
