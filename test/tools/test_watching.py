"""What girih-opt prints while passes run, and where errors point."""

import re
import subprocess
import sys

import pytest

from girih.tools import girih_opt

SOFTMAX = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.softmax %x dim 0 : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture
def opt(tmp_path, capsys):
    """Runs girih-opt on a text; gives the exit code and both outputs."""

    def run(text, *options):
        path = tmp_path / "input.mlir"
        path.write_text(text)
        try:
            code = girih_opt.main([*options, str(path)])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err.replace(str(path), "input.mlir")

    return run


PASSES = ("--decompose", "--cse", "--fuse")


@pytest.mark.parametrize("flag", ["--print-ir-after-change", "--print-ir-diff"])
def test_only_changes_are_printed(opt, flag):
    code, _, err = opt(SOFTMAX, *PASSES, flag)
    assert code == 0
    assert "// IR after cse: no change\n" in err
    shown = re.findall(r"// IR (?:after|changed by) ([\w-]+)$", err, re.MULTILINE)
    assert shown == ["decompose", "fuse"]
    removed = re.findall(r"^-    %0 = (\S+)", err, re.MULTILINE)
    expected = ["graph.softmax", "graph.reduce_max"] if "diff" in flag else []
    assert removed == expected


@pytest.mark.parametrize("form", [(), ("--debug-info",)])
@pytest.mark.parametrize("flag", ["--print-ir-after-change", "--print-ir-diff"])
def test_other_locations_are_no_change(opt, flag, form):
    err = opt(SOFTMAX, "--strip-debuginfo", "--decompose", flag, *form)[2]
    assert "// IR after strip-debuginfo: no change\n" in err
    assert len(re.findall(r"^// IR (?:after|changed by) decompose$", err, re.M)) == 1


def test_changes_of_some_passes(opt):
    err = opt(SOFTMAX, *PASSES, "--print-ir-after=fuse", "--print-ir-diff")[2]
    assert err.count("// IR ") == 1 and "// IR changed by fuse" in err


def test_before_all_and_the_generic_form(opt):
    err = opt(SOFTMAX, *PASSES, "--print-ir-before-all", "--print-op-generic")[2]
    assert re.findall(r"// IR before ([\w-]+)$", err, re.MULTILINE) == [
        "decompose",
        "cse",
        "fuse",
    ]
    assert '"graph.softmax"(%arg0)' in err


def test_the_ir_goes_to_a_folder(opt, tmp_path):
    folder = tmp_path / "tree"
    text = f"{SOFTMAX}// -----\n{SOFTMAX}"
    opt(text, *PASSES, f"--print-ir-tree-dir={folder}", "--split-input-file")
    names = ["00-input.mlir", "01-decompose.mlir", "02-cse.mlir", "03-fuse.mlir"]
    assert sorted(path.name for path in folder.glob("*.mlir")) == names
    assert sorted(path.name for path in folder.glob("line-6/*")) == names
    assert "graph.fusion" in (folder / "03-fuse.mlir").read_text()


def test_times_and_statistics(opt):
    err = opt(SOFTMAX, *PASSES, "--timing", "--pass-statistics")[2]
    for name in ("decompose", "cse", "fuse", "total"):
        assert re.search(rf" ms +\d+\.\d% +{name}$", err, re.MULTILINE), err
    assert "graph.softmax -1" in err and "cse: the same ops" in err


def test_the_pipeline_is_printed(opt):
    err = opt(SOFTMAX, "--fuse=max-inputs=8", "--dump-pass-pipeline")[2]
    assert "fuse{max-inputs=8" in err


@pytest.mark.parametrize(("synonym", "flag"), [
    ("--mlir-print-debuginfo", "--debug-info"),
    ("--mlir-print-op-generic", "--print-op-generic"),
    ("--mlir-print-ir-after-all", "--print-ir-after-all"),
    ("--mlir-print-ir-before=fuse", "--print-ir-before=fuse"),
])  # fmt: skip
def test_names_of_mlir_opt_mean_the_same(opt, synonym, flag):
    assert opt(SOFTMAX, *PASSES, synonym) == opt(SOFTMAX, *PASSES, flag)


def test_what_is_listed(opt):
    assert {"graph", "host", "tile", "func"} <= {*opt("", "--show-dialects")[1].split()}
    assert opt("", "--version")[1].startswith("girih ")


CARETS = [
    ("softmax %x dim 0", "softmax %x dimm 0", "%x ^dimm 0"),
    ("softmax %x dim 0", "softmax %x dim 4", "%0 = ^graph.softmax"),
    ("softmax %x dim 0", "softmax %y dim 0", "softmax ^%y dim"),
    ("return %0", "return %7", "return ^%7"),
]


@pytest.mark.parametrize("options", [(), ("--split-input-file",)])
@pytest.mark.parametrize(("old", "new", "place"), CARETS)
def test_errors_point_at_the_word(opt, old, new, place, options):
    wrong = SOFTMAX.replace(old, new)
    text = f"{SOFTMAX}// -----\n{wrong}" if options else wrong
    code, _, err = opt(text, *options)
    _, line, caret, *_ = err.splitlines()
    assert code == 1 and caret.strip() == "^"
    at = caret.index("^")
    assert place in f"{line[:at]}^{line[at:]}"


def test_a_long_line_is_cut(opt):
    text = SOFTMAX.replace("%0 =", f"{' ' * 300}%0 =").replace("dim 0", "dim 4")
    _, line, caret, *_ = opt(text)[2].splitlines()
    assert len(line) <= 120 and line[caret.index("^") :].startswith("graph.softmax")


def test_errors_behind_a_statement_on_several_lines_have_a_place(opt):
    text = """func.func @g(%x: tensor<4xf32>) {
  %0 = graph.softmax %x
      dim 0 : tensor<4xf32>
  %1 = graph.exp %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}
"""
    code, out, err = opt(text)
    assert (code, out) == (1, "")
    assert err.startswith("input.mlir:4:8: error: 'graph.exp' expected y to have type")


DECIDED = """func.func @main(%x: tensor<64x1000xf32>, %w: tensor<1000x64xf32>)
    -> (tensor<64x1xf32>, tensor<1x1000xf32>, tensor<64x64xf32>) {
  %0 = graph.softmax %x dim 1 : tensor<64x1000xf32>
  %1 = graph.reduce_max %0 dims [1] : (tensor<64x1000xf32>) -> tensor<64x1xf32>
  %2 = graph.reduce_sum %0 dims [0] : (tensor<64x1000xf32>) -> tensor<1x1000xf32>
  %3 = graph.mm %x, %w : (tensor<64x1000xf32>, tensor<1000x64xf32>)
    -> tensor<64x64xf32>
  return %1, %2, %3 : tensor<64x1xf32>, tensor<1x1000xf32>, tensor<64x64xf32>
}
"""
# A pipeline, and what a pass of it says of DECIDED.
REMARKS = {
    "fuse": ("graph,host", "fusion 1 does not join fusion 0, whose div it reads: they"),
    "convert-graph-to-host": ("graph,host", "%2 = graph.mm: extern, shape [64, 64]"),
    "decompose": ("graph", "no remarks; graph.div +1, graph.exp +1"),
    "fuse-contractions": ("default", "tensor<64x64xf32> at input.mlir:6: the library"),
    "plan-memory": ("default", "256000 bytes in a workspace at input.mlir:3: yes"),
    "recognize-attention": ("default", "nothing is recognized: there is no kernel on"),
    "select-products": ("default", "no product changes: the option library is aten"),
    "tile": ("default", "k1_sum: columns: 1000 results of 64 elements, 1 passes"),
    "write-out-scatters": ("default", "nothing changes: no GPU"),
    "cse": ("default", "no remarks; arith.addi -"),
    "fuse-closing-reductions": (
        "graph,fuse-closing-reductions{programs=1}",
        "joins graph.fusion to tensor<64x1000xf32> at input.mlir:3",
    ),
}


@pytest.mark.parametrize("name", REMARKS)
def test_passes_say_what_they_decide(name, opt):
    """On the standard error, and the result is the one without the option."""
    pipeline, remark = REMARKS[name]
    options = [f"--pass-pipeline={pipeline}"]
    plain = opt(DECIDED, *options)
    code, out, err = opt(DECIDED, *options, f"--debug-only={name}")
    assert (code, out) == (0, plain[1]) and plain[2] == ""
    assert remark in err
    assert all(line.startswith(f"[{name}] ") for line in err.splitlines())


def test_several_passes_say_what_they_decide(opt):
    for options in (
        ["--debug-only=fuse,tile"],
        ["--debug-only=fuse", "--debug-only=tile"],
    ):
        _, _, err = opt(DECIDED, "--default", *options)
        assert {line.partition("]")[0] for line in err.splitlines()} == {
            "[fuse",
            "[tile",
        }
    code, out, err = opt(DECIDED, "--default", "--debug-only=fuse,tiles")
    assert (code, out) == (1, "")
    assert err == "error: the pipeline has no pass 'tiles' to print at\n"


def test_a_decision_has_the_number_at_which_fuel_ends(opt):
    _, _, err = opt(DECIDED, "--graph", "--debug-only=fuse")
    (number,) = re.findall(r"decision (\d+) fuse: .* into .* reduce_max .*: yes", err)
    for fuel, answer in ((int(number), "no"), (int(number) + 1, "yes")):
        pipeline = f"--pass-pipeline=decompose,fuse{{fuel={fuel}}}"
        _, _, err = opt(DECIDED, pipeline, "--debug-only=fuse")
        assert re.search(rf"decision {number} .* reduce_max .*: {answer}\n", err)
        assert "does not join" not in err  # fuel is the reason, not the pass


TALKING = """
import girih
from girih.passes.remarks import remark

@girih.plugin("talking").compiler_pass("talk")
def talk(module):
    remark(lambda: "two\\nlines")
    raise ValueError("and no more")
"""


def test_what_a_pass_said_before_it_failed_is_printed(tmp_path):
    path = tmp_path / "talking.py"
    path.write_text(TALKING)
    parts = f"{SOFTMAX}// -----\n{SOFTMAX}"
    options = [f"--load={path}", "--talk", "--no-isolate", "--split-input-file"]
    done = _run([*options, "--debug-only=talk"], parts)
    assert done.returncode == 1
    assert done.stderr.count("[talk] two\n[talk] lines\n") == 2
    assert done.stderr.count("pass 'talk' failed: ValueError: and no more") == 2
    assert "[talk]" not in _run(options, parts).stderr


def _run(options, text):
    command = [sys.executable, "-m", "girih.tools.girih_opt", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True)
