"""girih-opt: its options, errors, output, and how fast it starts."""

import os
import statistics
import subprocess
import sys

import pytest

from girih.tools import girih_opt

GOOD = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""
BAD = """func.func @g(%x: tensor<4xf32>) {
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return
}
"""
MERGE = "eliminate-common-subexpressions"


class Tool:
    """Runs girih-opt in this process."""

    def __init__(self, folder, capsys):
        self.folder = folder
        self._capsys = capsys

    def __call__(self, text, *options):
        """Returns exit code, standard output and standard error."""
        path = self.folder / "input.mlir"
        path.write_text(text)
        try:
            code = girih_opt.main([*options, str(path)])
        except SystemExit as stop:
            code = stop.code
        captured = self._capsys.readouterr()
        return code, captured.out, captured.err.replace(str(path), "input.mlir")


@pytest.fixture
def opt(tmp_path, capsys):
    return Tool(tmp_path, capsys)


def test_without_options_it_prints_what_it_read(opt):
    code, out, err = opt(GOOD)
    assert (code, err) == (0, "")
    assert out.count('"graph.exp"') == 2
    assert opt(out)[1] == out


@pytest.mark.parametrize(
    "options",
    [
        [f"--{MERGE}"],
        [f"--pass-pipeline={MERGE}"],
        [f"--pass-pipeline=builtin.module(func.func({MERGE}))"],
        ["--pass-pipeline", f"canonicalize,{MERGE},func.func(cse)"],
        ["--canonicalize", f"--{MERGE}", "--cse"],
    ],
)
def test_pipelines(opt, options):
    code, out, err = opt(GOOD, *options)
    assert (code, err) == (0, "")
    assert out.count('"graph.exp"') == 1


def test_named_pipelines(opt):
    assert '"graph.fusion"' in opt(GOOD, "--graph")[1]
    assert '"graph.fusion"' in opt(GOOD, "--pass-pipeline=graph,cse")[1]


def test_short_forms_take_options(opt):
    code, _, err = opt(GOOD, "--canonicalize=max-iterations=1 top-down=false")
    assert (code, err) == (0, "")
    code, _, err = opt(GOOD, "--fuse=max-input=1")
    assert code == 1
    assert "error: the pass 'fuse' has no option 'max-input'; it has:" in err


def test_output_goes_to_a_file(opt, tmp_path):
    path = tmp_path / "out.mlir"
    assert opt(GOOD, "-o", str(path)) == (0, "", "")
    assert '"graph.exp"' in path.read_text()


def test_locations_are_printed_on_request(opt):
    assert "loc(" not in opt(GOOD)[1]
    assert "loc(" in opt(GOOD, "--debug-info")[1]


def test_syntax_errors_have_a_place(opt):
    code, out, err = opt("func.func @f() {\n  return %x : i32\n}\n")
    assert (code, out) == (1, "")
    assert err == "input.mlir:2:10: error: use of undeclared SSA value name\n"


def test_verifier_errors_have_a_place(opt):
    code, out, err = opt(BAD)
    assert (code, out) == (1, "")
    assert err.startswith("input.mlir:2:8: error: 'graph.exp' expected y to have type")


def test_parts_of_a_file_are_independent(opt):
    code, out, err = opt(f"{GOOD}// -----\n{BAD}// -----\n{GOOD}", "--split-input-file")
    assert code == 1
    assert out.count("func.func @f") == 2
    assert err.startswith("input.mlir:9:8: error: 'graph.exp'")


VERIFY = ("--split-input-file", "--verify-diagnostics")


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("// expected-error @+1 {{expected y to have type}}", None),
        ("// expected-error @+1 {{something else}}", "was not produced"),
        ("// expected-error @-1 {{expected y}}", "was not produced"),
        ("", "unexpected error: 'graph.exp'"),
    ],
)
def test_expected_errors_are_checked(opt, comment, problem):
    lines = BAD.split("\n")
    text = "\n".join([lines[0], comment, *lines[1:]])
    code, out, err = opt(f"{GOOD}// -----\n{text}", *VERIFY)
    assert code == int(problem is not None)
    assert out == ""
    assert (problem or "") in err


def test_an_expected_error_that_does_not_come_fails(opt):
    code, _, err = opt(f"// expected-error {{{{x}}}}\n{GOOD}", *VERIFY)
    assert (code, err) == (1, "line 1: expected error 'x' was not produced\n")


def test_ir_is_printed_around_passes(opt):
    _, _, err = opt(GOOD, f"--{MERGE}", "--cse", "--print-ir-after-all")
    assert err.index(f"// IR after {MERGE}") < err.index("// IR after cse")
    _, _, err = opt(GOOD, f"--{MERGE}", "--cse", "--print-ir-before=cse")
    assert err.count("// IR") == 1
    assert "// IR before cse" in err
    _, _, err = opt(GOOD, f"--{MERGE}", "--cse", f"--print-ir-after={MERGE}")
    assert err.count("// IR") == 1


def test_a_pass_to_print_at_must_run(opt):
    code, _, err = opt(GOOD, "--cse", "--print-ir-after=fuse")
    assert (code, err) == (1, "error: the pipeline has no pass 'fuse' to print at\n")


def test_verification_between_passes(opt):
    assert opt(GOOD, "--default", "--verify-each")[0] == 0


def test_failures_can_be_replayed(opt, tmp_path):
    illegal = """func.func @f(%x: vector<2x4xf32>) -> vector<2x4xf32> {
      %0 = arith.addf %x, %x : vector<2x4xf32>
      return %0 : vector<2x4xf32>
    }"""
    path = tmp_path / "failure.mlir"
    options = ["--canonicalize", "--convert-arith-to-spirv"]
    code, _, first = opt(illegal, *options, f"--write-reproducer={path}")
    assert code == 1
    assert "failed to legalize" in first
    code, _, second = opt(path.read_text(), "--run-reproducer")
    assert code == 1
    assert "failed to legalize" in second


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--fusse", "error: unknown option --fusse; did you mean --fuse?"),
        (
            "--verify-eachh",
            "unknown option --verify-eachh; did you mean --verify-each?",
        ),
        ("--qqq", "error: unknown option --qqq; see --help"),
        ("-x", "error: unknown option -x; see --help"),
        ("--pass-pipeline=qqq", "error: no pass is called 'qqq'"),
        ("--pass-pipeline=fuse{", "error: expected '}' at the end of 'fuse{'"),
        ("--pass-pipeline=func.func(fuse)", "runs on builtin.module"),
        ("--run-reproducer", "error: expected a first line"),
    ],
)
def test_wrong_command_lines_are_explained(opt, option, message):
    code, out, err = opt(GOOD, option)
    assert (code, out) == (1, "")
    assert message in err


def test_one_way_to_name_passes_at_a_time(opt):
    code, _, err = opt(GOOD, "--cse", "--pass-pipeline=cse")
    assert code == 1
    assert "got both" in err


def test_a_missing_file_is_named(capsys):
    assert girih_opt.main(["nowhere.mlir"]) == 1
    assert "error: " in capsys.readouterr().err


EXTENSION = '''
from girih.dialects import definition, graph
from girih.dialects.bindings import ir
from girih.dialects.fields import operand, result
from girih.passes.registry import register_pass


class OutsideOp(definition.Op):
    DIALECT = "outside"


class ThriceOp(OutsideOp, name="thrice"):
    """y = 3 * x."""

    x = operand()
    y = result()

    @staticmethod
    def infer_types(types, attributes):
        return [types[0]]


definition.register("outside")


@register_pass("lower-thrice", op="func.func")
def lower_thrice(op, options):
    """Replaces thrice by sums."""
    for thrice in list(op.regions[0].blocks[0].operations):
        if thrice.operation.name == "outside.thrice":
            ip = ir.InsertionPoint(thrice)
            twice = graph.build("add", [thrice.x, thrice.x], ip=ip)
            total = graph.build("add", [twice.result, thrice.x], ip=ip)
            thrice.y.replace_all_uses_with(total.result)
            thrice.operation.erase()
'''
OUTSIDE = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "outside.thrice"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_passes_and_dialects_may_come_from_elsewhere(tmp_path):
    extension = tmp_path / "extension.py"
    extension.write_text(EXTENSION)
    done = _run("--load", str(extension), "--lower-thrice", input=OUTSIDE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count('"graph.add"') == 2
    assert "outside" not in done.stdout


def test_what_cannot_be_loaded_is_named(opt):
    code, _, err = opt(GOOD, "--load=nowhere.at_all")
    assert code == 1
    assert "error: cannot load nowhere.at_all: No module named 'nowhere'" in err
    assert "error: cannot load nowhere.py" in opt(GOOD, "--load=nowhere.py")[2]


def test_the_list_describes_passes_and_pipelines(opt):
    code, out, _ = opt("", "--list-passes")
    assert code == 0
    for expected in (MERGE, "fuse", "--max-inputs: int = 64", "Pipelines:", "default"):
        assert expected in out
    assert "not available" not in out


def _run(*arguments, **options):
    command = [sys.executable, "-m", "girih.tools.girih_opt", *arguments]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_it_reads_standard_input():
    done = _run(f"--{MERGE}", input=GOOD)
    assert done.returncode == 0
    assert done.stdout.count('"graph.exp"') == 1


def test_help():
    done = _run("--help")
    assert done.returncode == 0
    assert "--pass-pipeline" in done.stdout
    assert "Each pass and each named pipeline" in done.stdout


def test_it_starts_soon_after_the_bindings():
    """Beside what any user of MLIR's bindings waits for: machines differ in speed."""
    bindings = "from girih.dialects.bindings import ir; ir.Context()"
    least, own = [], []
    for _ in range(5):
        least.append(_processor_time([sys.executable, "-c", bindings]))
        own.append(_processor_time([sys.executable, "-m", "girih.tools.girih_opt"]))
    least, own = statistics.median(least), statistics.median(own)
    print(f"medians of 5: {own:.2f} s, the bindings {least:.2f} s")
    assert own < 2.5 * least


def _processor_time(command):
    """Seconds of processor time, as others may use the machine."""
    before = os.times()
    assert subprocess.run(command, input=GOOD.encode(), check=True, capture_output=True)
    after = os.times()
    used = after.children_user - before.children_user
    return used + after.children_system - before.children_system


def test_torch_is_not_imported():
    code = (
        "import sys\n"
        "from girih.tools import girih_opt\n"
        "girih_opt.main(['--default', '-o', sys.argv[1], sys.argv[2]])\n"
        "sys.exit('torch' in sys.modules)\n"
    )
    command = [sys.executable, "-c", code, os.devnull, "-"]
    done = subprocess.run(command, input=GOOD, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
