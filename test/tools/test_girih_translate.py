"""girih-translate: Triton IR and assembly of kernels, and its errors."""

import pytest

from girih.tools import girih_translate

KERNEL = """
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [100], [1]>, %y: !tile.buffer<f32, [100], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [100], [1]>) -> tensor<100xf32>
  %1 = "graph.tanh"(%0) : (tensor<100xf32>) -> tensor<100xf32>
  "tile.write"(%1, %y) : (tensor<100xf32>, !tile.buffer<f32, [100], [1]>) -> ()
}) {sym_name = "NAME", symbols = [], outputs = 1 : i64, domain = [100],
    reduced = array<i64>} : () -> ()
"""
TWO = KERNEL.replace("NAME", "first") + KERNEL.replace("NAME", "second")


@pytest.fixture
def translate(tmp_path, capsys):
    """Runs the tool; returns exit code, standard output and standard error."""

    def run(text, *options):
        path = tmp_path / "input.mlir"
        path.write_text(text)
        try:
            code = girih_translate.main([*options, str(path)])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err.replace(str(path), "input.mlir")

    return run


def test_triton_ir_of_all_kernels(translate):
    code, out, err = translate(TWO, "--to-ttir")
    assert (code, err) == (0, "")
    assert out.count('"tt.func"') == 2
    assert "tile." not in out.replace("!tile.buffer", "")
    assert "__nv_tanhf" in out


def test_triton_ir_of_one_kernel_for_another_gpu(translate):
    code, out, _ = translate(TWO, "--to-ttir", "--kernel=second_0", "--target=gfx942")
    assert code == 0
    assert out.count('"tt.func"') == 1
    assert 'sym_name = "second_0"' in out
    assert "__ocml_tanh_f32" in out


@pytest.mark.parametrize(
    ("target", "line"), [("sm_80", ".target sm_80"), ("gfx942", ".amdgcn_target")]
)
def test_assembly(translate, target, line):
    pytest.importorskip("triton", reason="Triton makes the assembly")
    code, out, err = translate(TWO, "--to-ptx", f"--target={target}")
    assert (code, err) == (0, "")
    assert out.count(line) == 2
    assert out.startswith(f"// first_0 for {target}\n")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--to-ttir", "--kernel=third_0"], "no function 'third_0', only first_0, sec"),
        (["--to-ptx", "--target=x86"], "expected a GPU's architecture"),
    ],
)
def test_wrong_options(translate, options, expected):
    code, out, err = translate(TWO, *options)
    assert (code, out) == (1, "")
    assert expected in err


def test_one_output_is_asked_for(translate):
    for options in ([], ["--to-ttir", "--to-ptx"]):
        code, _, err = translate(TWO, *options)
        assert code == 2
        assert "--to-ptx" in err


def test_what_is_no_kernel(translate):
    code, _, err = translate('"tile.kernel"() : () -> ()', "--to-ttir")
    assert code == 1
    assert err.startswith("input.mlir:1:")


def test_no_file(capsys):
    assert girih_translate.main(["--to-ttir", "/nowhere.mlir"]) == 1
    assert "No such file" in capsys.readouterr().err
