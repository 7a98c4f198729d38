"""girih-opt: its options, errors, output, and how fast it starts."""

import os
import re
import statistics
import subprocess
import sys

import pytest

from girih.passes import reproducer
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
    assert out.count(" graph.exp ") == 2
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
    assert out.count(" graph.exp ") == 1


def test_named_pipelines(opt):
    assert " graph.fusion " in opt(GOOD, "--graph")[1]
    assert " graph.fusion " in opt(GOOD, "--pass-pipeline=graph,cse")[1]


def test_short_forms_take_options(opt):
    code, _, err = opt(GOOD, "--canonicalize=max-iterations=1 top-down=false")
    assert (code, err) == (0, "")
    code, _, err = opt(GOOD, "--fuse=max-input=1")
    assert code == 1
    assert "has no option 'max-input'; did you mean 'max-inputs'? It has: " in err


def test_options_may_stand_in_braces(opt):
    assert opt(GOOD, "--fuse{max-inputs=1}") == opt(GOOD, "--fuse=max-inputs=1")


def test_output_goes_to_a_file(opt, tmp_path):
    path = tmp_path / "out.mlir"
    assert opt(GOOD, "-o", str(path)) == (0, "", "")
    assert " graph.exp " in path.read_text()


def test_locations_are_printed_on_request(opt):
    assert "loc(" not in opt(GOOD)[1]
    parts = f"{GOOD}// -----\n{GOOD}"
    out = opt(parts, "--debug-info", "--split-input-file")[1]
    file = opt.folder / "input.mlir"
    for place in ("1:1", "1:14", "2:8", "8:1", "9:8"):
        assert f'loc("{file}":{place})' in out
    assert 'loc("-"' not in out


def test_a_replayed_error_is_of_the_file_that_it_was_in(opt, tmp_path):
    path = tmp_path / "failure.mlir"
    opt(GOOD, "--cse", "--tile", f"--write-reproducer={path}")
    assert f'loc("{tmp_path}/input.mlir":2:8)' in path.read_text()
    done = _run("--run-reproducer", str(path))
    assert f"{tmp_path}/input.mlir:2:8: " in done.stderr


def test_of_many_errors_the_first_are_printed(opt):
    text = "".join(GOOD.replace("@f", f"@f{number}") for number in range(4))
    code, _, err = opt(text, "--tile")
    assert code == 1 and err.count(": error: ") == 5
    assert err.endswith("... and 15 more errors\n")
    assert (
        opt(text, "--tile", "--verify-diagnostics")[2].count("unexpected error") == 20
    )


def test_syntax_errors_have_a_place(opt):
    code, out, err = opt("func.func @f() {\n  return %x : i32\n}\n")
    assert (code, out) == (1, "")
    place = "input.mlir:2:10: error: use of undeclared SSA value name"
    assert err == f"{place}\n  return %x : i32\n         ^\n"


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


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("// expected-error@below {{expected y to have type}}", None),
        ("// expected-error-re @below {{y to have {{t[xyz]pe}} tensor}}", None),
        ("// expected-error-re @below {{y to have {{t[abc]pe}} tensor}}", "t[abc]pe"),
        ("// expected-error@above {{expected y}}", "was not produced"),
        ("// expected-error@unknown {{expected y}}", "was not produced"),
        ("// expected-warning@below {{expected y}}", "expected warning"),
        ("// expected-eror@below {{expected y}}", "unknown directive: expected-eror"),
        ("// expected-error@belo {{expected y}}", "unknown directive: expected-error"),
        ("// expected-error@below expected y", "unknown directive: expected-error"),
    ],
)
def test_all_directives_are_checked(opt, comment, problem):
    lines = BAD.split("\n")
    code, _, err = opt("\n".join([lines[0], comment, *lines[1:]]), *VERIFY)
    assert code == int(problem is not None)
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


BREAKING = """
import ctypes
import os

from girih.passes.graph_builder import function_bodies
from girih.passes.registry import register_pass


def ops(module):
    return [op for body in function_bodies(module) for op in body.operations]


@register_pass("erase-used")
def erase_used(module, options):
    for op in ops(module):
        if op.operation.name == "graph.exp":
            op.operation.erase()


@register_pass("keep-erased")
def keep_erased(module, options):
    exp = ops(module)[0]
    value = exp.results[0]
    value.replace_all_uses_with(exp.operands[0])
    exp.operation.erase()
    print(value.type)


@register_pass("mistype")
def mistype(module, options):
    add = ops(module)[2]
    add.results[0].set_type(add.results[0].type.element_type)


@register_pass("crash")
def crash(module, options):
    print("about to crash")
    ctypes.string_at(0)


@register_pass("leave")
def leave(module, options):
    os._exit(3)
"""
NEXT = "func.func @f() { return }\n"


@pytest.fixture
def breaking(tmp_path, opt):
    path = tmp_path / "breaking.py"
    path.write_text(BREAKING)

    def run(*options):
        # Passes are registered once in a process.
        command = [f"--load={path}", *options]
        done = _run(*command, input=GOOD)
        return done.returncode, done.stdout, done.stderr

    return run


@pytest.mark.parametrize(
    ("option", "messages"),
    [
        (
            "--erase-used",
            ["2:8: error: pass 'erase-used' failed", "'graph.exp'", "used by"],
        ),
        ("--keep-erased", ["pass 'keep-erased' crashed: signal SIGSEGV"]),
        ("--mistype", ["4:8: error: 'graph.add'", "(after pass 'mistype')"]),
        ("--crash", ["about to crash", "pass 'crash' crashed: signal SIGSEGV"]),
        ("--leave", ["pass 'leave' crashed: exit code 3"]),
    ],
)
def test_a_broken_pass_is_an_error(breaking, option, messages):
    code, out, err = breaking("--cse", option, "--canonicalize")
    assert code == 1 and "func.func" not in out
    for message in messages:
        assert message in out + err


def test_a_crash_can_be_replayed(breaking, tmp_path):
    path = tmp_path / "crash.mlir"
    _, _, err = breaking(f"--{MERGE}", "--crash", f"--write-reproducer={path}")
    assert f"girih-opt --load={tmp_path}/breaking.py --run-reproducer {path}" in err
    text = path.read_text()
    loads = [f"{tmp_path}/breaking.py"]
    assert text.startswith(reproducer.first_line("builtin.module(crash)", loads))
    assert text.count("graph.exp") == 1  # equal ops were merged
    again = _run(f"--load={tmp_path}/breaking.py", "--run-reproducer", str(path))
    assert again.returncode == 1
    assert "pass 'crash' crashed" in again.stderr


STOPPING = """
import sys
import girih

mine = girih.plugin("stopping")

def look_up(names):
    return names["softmax"]

@mine.compiler_pass("look-up")
def first(module):
    look_up({})

@mine.compiler_pass("stop")
def second(module):
    sys.exit(3)
"""


@pytest.fixture
def stopping(tmp_path):
    path = tmp_path / "stopping.py"
    path.write_text(STOPPING)
    return path


def test_a_pass_that_raises_shows_where(stopping):
    done = _run(f"--load={stopping}", "--look-up", input=GOOD)
    assert done.returncode == 1
    assert "error: pass 'look-up' failed: KeyError: 'softmax'" in done.stderr
    assert f'File "{stopping}", line 8, in look_up' in done.stderr
    assert "registry.py" not in done.stderr


def test_a_pass_that_exits_is_an_error(stopping):
    done = _run(f"--load={stopping}", "--stop", input=GOOD)
    assert done.returncode == 1
    assert "error: pass 'stop' failed: SystemExit: 3" in done.stderr
    assert f'File "{stopping}", line 16, in second' in done.stderr


def test_what_a_reproducer_loads_is_named_where_it_was_not(stopping, tmp_path):
    path = tmp_path / "failure.mlir"
    _run(f"--load={stopping}", "--look-up", f"--write-reproducer={path}", input=GOOD)
    done = _run("--run-reproducer", str(path))
    assert done.returncode == 1 and "no pass is called 'look-up'" in done.stderr
    assert f"girih-opt --load={stopping} --run-reproducer {path}" in done.stderr


def test_a_reader_that_stops_early_is_no_error_to_tell():
    command = f"{sys.executable} -m girih.tools.girih_opt --list-passes | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout == "Passes:\n" and done.stderr == ""


def test_the_parts_after_a_crash_are_still_run(tmp_path):
    (tmp_path / "breaking.py").write_text(BREAKING)
    options = [f"--load={tmp_path}/breaking.py", "--split-input-file", "--mistype"]
    done = _run(*options, input="// -----\n".join([GOOD, NEXT, GOOD]))
    assert done.returncode == 1
    assert done.stderr.count("(after pass 'mistype')") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\x7fELF\x02\x01\x01\xff\xfe", "is no text"),
        (b"func.func @f() { return }\0", "is no text: it has a zero byte"),
        (b"{" * 100_000, ":1:501: error: brackets are nested deeper than 500"),
        (b'"a.b"() ({\n' * 3000, ":251:6: error: brackets are nested deeper"),
        (b"func.func @f(%x: " + b"tuple<" * 9000, "nested deeper than 500"),
    ],
)
def test_what_no_parser_takes_is_an_error(tmp_path, capsys, text, message):
    path = tmp_path / "input.mlir"
    path.write_bytes(text)
    assert girih_opt.main([str(path)]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "\n\n", "// nothing\n"])
def test_an_empty_file_is_an_empty_module(opt, text):
    code, out, err = opt(text, "--default")
    assert (code, out.split(), err) == (0, ["module", "{", "}"], "")


def test_deep_text_is_no_deep_nesting(opt):
    comment = "// " + "{" * 1000 + "\n"
    assert opt(comment + GOOD)[0] == 0


def test_output_that_cannot_be_written_is_an_error(opt, tmp_path):
    code, _, err = opt(GOOD, "-o", str(tmp_path))
    assert code == 1 and err.startswith("error: ")


def test_verification_between_passes(opt):
    assert opt(GOOD, "--default")[0] == 0
    assert opt(GOOD, "--default", "--no-verify-each", "--no-isolate")[0] == 0


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
        ("--fusions=bogus=1", "error: the pipeline 'fusions' has no options, got 'bog"),
        ("--pass-pipeline=cse,cpu{vector-bits=1}", "the pipeline 'cpu' has no options"),
        ("--fusions{max-inputs=1}", "'fusions' has no options, got 'max-inputs=1'"),
        ("--fuse{max-inputs=1", "error: expected '}' at the end of"),
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


@pytest.mark.parametrize("option", ["--cse", "--pass-pipeline=cse"])
def test_a_reproducer_runs_alone(opt, option):
    text = f"{reproducer.first_line('canonicalize')}\n{GOOD}"
    code, out, err = opt(text, "--run-reproducer", option)
    assert (code, out) == (1, "")
    assert "--run-reproducer runs the passes of the file's first line alone" in err
    assert "leave out 'cse'" in err


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
    assert done.stdout.count(" graph.add ") == 2
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
    assert done.stdout.count(" graph.exp ") == 1


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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def look():\n    raise KeyError(1)\n\nlook()\n", "KeyError: 1"),
        ("import nowhere_at_all\n", "ModuleNotFoundError: No module"),
        ("def f(:\n", "SyntaxError: invalid syntax"),
    ],
    ids=["raises", "imports", "syntax"],
)
def test_what_raises_while_it_is_loaded_shows_its_own_frames(opt, text, says, tmp_path):
    path = tmp_path / "failing.py"
    path.write_text(text)
    code, _, err = opt(GOOD, f"--load={path}")
    assert code == 1
    assert err.startswith(f"error: cannot load {path}: {says}")
    files = re.findall('File "(.*?)"', err)
    assert set(files) == {str(path)}
