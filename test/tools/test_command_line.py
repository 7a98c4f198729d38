"""Options of girih-opt: those that mlir-opt has."""

import pytest

from girih.tools import girih_opt

GOOD = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture
def opt(tmp_path, capsys):
    """Runs the tool; returns exit code, standard output and standard error."""

    def run(text, *options):
        path = tmp_path / "input.mlir"
        path.write_text(text)
        try:
            code = girih_opt.main([*options, str(path)])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.mark.parametrize("off", ["=false", "=0"])
def test_switches_take_true_and_false_as_those_of_mlir_opt(opt, off):
    plain = opt(GOOD, "--default")
    for switch in ("--verify-each", "--isolate", "--mlir-print-ir-after-all"):
        assert opt(GOOD, "--default", switch + off) == plain
    assert opt(GOOD, "--default", "--verify-each=true") == plain
    assert "// IR after" in opt(GOOD, "--default", "--print-ir-after-all=true")[2]
    code, _, err = opt(GOOD, "--default", "--verify-each=maybe")
    assert code == 1 and "expected --verify-each to be true or false" in err


def test_options_of_mlir_opt_that_have_no_effect_or_are_refused(opt):
    assert opt(GOOD, "--cse", "--mlir-disable-threading") == opt(GOOD, "--cse")
    code, _, err = opt(GOOD, "--cse", "--allow-unregistered-dialect")
    assert code == 1 and "--load=FILE.py" in err
    assert len(err.splitlines()) == 1


FAILING = """func.func @f(%x: vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = arith.addf %x, %x : vector<2x4xf32>
  return %0 : vector<2x4xf32>
}"""


def test_the_ir_that_a_failing_pass_left(opt):
    name = "convert-arith-to-spirv"
    options = ["--canonicalize", f"--{name}", "--mlir-print-ir-after-failure"]
    code, _, err = opt(FAILING, *options)
    _, heading, text = err.partition(f"// IR after {name}, which failed\n")
    assert code == 1 and heading and "arith.addf" in text
    assert "// IR after" not in opt(GOOD, "--canonicalize", options[-1])[2]


def test_a_reproducer_by_the_name_of_mlir_opt(opt, tmp_path):
    path = tmp_path / "failure.mlir"
    option = f"--mlir-pass-pipeline-crash-reproducer={path}"
    assert opt(FAILING, "--convert-arith-to-spirv", option)[0] == 1
    assert opt(path.read_text(), "--run-reproducer")[0] == 1
