"""``girih.bisect`` and ``girih-bisect``: planted faults, each named, with a repro."""

import linecache
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial

import planted_faults
import pytest
import torch
import torch.nn.functional as F
from planted_faults import ops_of, spoil

import girih
from girih.bisection import command
from girih.bisection.recording import Recording
from girih.bisection.search import faults_of
from girih.compiler import cpu_code
from girih.compiler.watching import watched
from girih.frontend import importer
from girih.passes import write_out_rolls


def program(x, w):
    return (torch.softmax(x @ w, -1).exp() * 2 + 1).sum()


def operands():
    return torch.randn(5, 8), torch.randn(8, 6, requires_grad=True)


@pytest.fixture
def plant(monkeypatch):
    """Has a pass spoil what it leaves."""
    return partial(planted_faults.plant, monkeypatch)


JOINT = (
    "choose-convolution-layouts",
    "recognize-attention",
    "autograd",
    "decompose",
    "write-out-complex",
    "eliminate-common-subexpressions",
    "partition",
)
FORWARD = (
    "write-out-convolutions",
    "write-out-vector-products",
    "write-out-reductions",
    "write-out-rolls",
    "sink-permutes",
    "cancel-permutes",
    "separate-reductions",
    "fuse",
    "fuse-contractions",
    "select-products",
    "narrow-intermediates",
    "convert-graph-to-host",
    "share-flat-kernels",
    "group-launches",
    "plan-memory",
    "tile",
    "expand-math",
    "convert-tile-to-cpu",
    "hold-bfloat16-as-bits",
    "canonicalize",
    "cse",
    "convert-scf-to-cf",
    "convert-vector-to-llvm",
    "convert-arith-to-llvm",
    "reconcile-unrealized-casts",
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, "joint") for name in JOINT] + [(name, "forward") for name in FORWARD],
)
def test_a_wrong_pass_is_named(name, kind, plant, tmp_path):
    plant(name)
    found = girih.bisect(program, folder=tmp_path)(*operands())
    assert not found.ok
    culprit = found.culprit
    assert (culprit.stage, culprit.kind) == (name, kind)
    assert [text.partition("{")[0] for text in culprit.passes] == [name]
    assert "result 0" in culprit.differences[0] and "instead of" in str(found)
    assert any("test_bisect.py" in line for line in culprit.lines)
    assert 1 <= culprit.ops <= 10 and ops_of(culprit.files[0]) == culprit.ops
    assert f"girih-bisect {tmp_path}" in culprit.commands
    assert ("girih-run" in str(culprit)) is (kind != "joint")
    tool = "girih-bisect %S --folder %t" if kind == "joint" else "girih-run %s"
    assert f"// RUN: not {tool}" in culprit.files[0].read_text()
    assert command.main([str(tmp_path), "--folder", str(tmp_path / "again")]) == 1


def test_a_wrong_rule_of_a_pass(monkeypatch, tmp_path):
    right = write_out_rolls._replace

    def wrong(op, roll):
        """Reads one element too early."""
        right(op, replace(roll, start=roll.start - 1))

    def rolled(x):
        y = x.exp()
        return torch.cat([y[:, 3:], y[:, :3]], 1) * 2

    monkeypatch.setattr(write_out_rolls, "_replace", wrong)
    found = girih.bisect(rolled, folder=tmp_path)(torch.randn(5, 8))
    assert found.culprit.stage == "write-out-rolls"
    assert found.culprit.ops == ops_of(found.culprit.files[0]) == 3


@pytest.mark.parametrize("name", ["fuse", "tile"])
def test_a_wrong_pass_of_the_backward_program_alone(name, plant, tmp_path):
    def wrong(module):
        is_backward = "graph.gradient" in str(module) or "cotangent" in str(module)
        if is_backward:
            spoil(module)

    place = {"fuse": "backward:after:fuse", "tile": "backward:after:tile"}[name]
    options = {"passes": {place: wrong}}
    found = girih.bisect(program, options=options, folder=tmp_path)(*operands())
    assert found.culprit.program == "graph0.backward"
    assert found.culprit.stage == place
    assert "gradient" in found.culprit.differences[0]
    assert found.culprit.ops <= 10


SPOILING = """def spoil_cell(module):
    from girih.dialects.bindings import ir

    def visit(op):
        if op.name != "graph.mul":
            return ir.WalkResult.ADVANCE
        op.operands[1] = op.operands[0]
        return ir.WalkResult.INTERRUPT

    module.walk(visit)
"""


def test_a_pass_of_the_user_is_named_and_written(tmp_path):
    options = {"passes": {"after:import": spoil}}
    found = girih.bisect(program, options=options, folder=tmp_path)(*operands())
    assert found.culprit.stage == "after:import"
    assert "spoil" in found.culprit.passes[0]


def test_a_pass_that_no_module_holds_has_all_commands(tmp_path):
    scope = {"__name__": "__main__"}
    exec(compile(SPOILING, str(tmp_path / "cell.py"), "exec"), scope)
    name = str(tmp_path / "cell.py")
    linecache.cache[name] = (len(SPOILING), None, SPOILING.splitlines(True), name)
    options = {"passes": {"before:clean-up": scope["spoil_cell"]}}
    program = lambda x: (x.exp() * x).sum(-1)  # noqa: E731
    folder = tmp_path / "found"
    found = girih.bisect(program, options=options, folder=folder)(torch.ones(3, 4))
    tools = [each.split()[0] for each in found.culprit.commands]
    assert tools == ["girih-opt", "girih-run", "girih-bisect"]
    assert not [name for name in sys.modules if name.startswith("girih_pass_")]
    for module, text in (
        ("girih.running.command", found.culprit.commands[1]),
        ("girih.bisection.command", found.culprit.commands[2]),
    ):
        command = [sys.executable, "-m", module, *shlex.split(text)[1:]]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 1, done.stdout + done.stderr


def test_an_inference_program(plant, tmp_path):
    plant("clean-up")
    plant("fuse")
    found = girih.bisect(lambda x: F.gelu(x) * 3, folder=tmp_path)(torch.randn(40))
    assert found.culprit.kind == "inference" and found.culprit.stage == "fuse"


def test_the_repro_tells_its_own_numbers(plant, tmp_path):
    plant("fuse")
    program = lambda x: (x.cos(), x.exp() * x)  # noqa: E731
    found = girih.bisect(program, folder=tmp_path)(torch.randn(40))
    assert found.culprit.differences[0].startswith("result 1: ")
    text = found.culprit.files[0].read_text()
    assert "//   result 0: " in text and "result 1" not in text


def test_no_earlier_bisection_is_overwritten(plant, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    plant("fuse")
    for name in ("girih-bisect", "girih-bisect-2"):
        found = girih.bisect(lambda x: x.exp() * x)(torch.randn(40))
        assert {path.parent.name for path in found.culprit.files} == {name}
    before = (tmp_path / "girih-bisect" / "repro.mlir").read_text()
    assert command.main(["girih-bisect"]) == 1
    assert "written: girih-bisect-3" in capsys.readouterr().out
    assert (tmp_path / "girih-bisect" / "repro.mlir").read_text() == before
    # A folder that is named is the one.
    again = girih.bisect(lambda x: x.exp() * x, folder="girih-bisect")
    assert again(torch.randn(40)).culprit.files[0].parent.name == "girih-bisect"


def test_code_that_is_wrong_is_named(monkeypatch, tmp_path):
    target = cpu_code.CpuTarget
    right = target.compile

    def wrong(self, kernels, options):
        spoil(kernels.operation)
        return right(self, kernels, options)

    monkeypatch.setattr(target, "compile", wrong)
    found = girih.bisect(program, folder=tmp_path)(*operands())
    assert (found.culprit.stage, found.culprit.passes) == ("llvm", [])
    assert 1 <= found.culprit.ops <= 10


def test_the_importer_is_named(monkeypatch, tmp_path):
    right = importer.import_graph

    def wrong(*args, **kwargs):
        imported = right(*args, **kwargs)
        spoil(imported.module.operation)
        return imported

    monkeypatch.setattr(girih.compiler, "import_graph", wrong)
    monkeypatch.setattr("girih.bisection.api.import_graph", wrong)
    found = girih.bisect(program, folder=tmp_path)(*operands())
    assert found.culprit.stage == "import"


def softmax_of(x):
    return x.softmax(-1).bfloat16().float().cumsum(0)


def writes(x, y):
    x.mul_(y)
    return x[:, 1:].sum(), torch.rand(3) * y[0, 0]


RIGHT = {
    "training": (program, operands),
    "inference": (softmax_of, lambda: [torch.randn(33, 17)]),
    "writes": (writes, lambda: [torch.randn(4, 4), torch.randn(4, 4)]),
    "indices": (
        lambda x, i: x[i].amax(1),
        lambda: [torch.randn(9, 4), torch.tensor([3, 8])],
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program(name, tmp_path):
    function, made = RIGHT[name]
    folder = tmp_path / "nothing"
    found = girih.bisect(function, folder=folder)(*made())
    assert found.ok and "nothing differs" in str(found)
    assert not folder.exists()


@pytest.mark.parametrize("name", RIGHT)
def test_each_level_of_a_right_program_is_evaluated(name):
    function, made = RIGHT[name]
    recording = Recording()
    with watched(recording):
        result = girih.compile(function)(*made())
        if isinstance(result, torch.Tensor) and result.requires_grad:
            result.backward()
    programs = recording.in_order()
    assert programs and all(not faults_of(each) for each in programs)


def test_a_dump_folder(tmp_path, capsys):
    options = {"dump_dir": tmp_path / "dump", "dump_inputs": True}
    result = girih.compile(program, options=options)(*operands())
    result.backward()
    assert command.main([str(tmp_path / "dump"), "--folder", str(tmp_path)]) == 0
    assert "nothing differs from the first file" in capsys.readouterr().out
    (folder,) = (tmp_path / "dump").glob("*graph0")
    edited = tmp_path / "edited"
    shutil.copytree(folder, edited)
    (path,) = edited.glob("*-host.mlir")
    path.write_text(path.read_text().replace("graph.exp", "graph.sin"))
    assert command.main([str(edited), "--folder", str(tmp_path)]) == 1
    assert path.name in capsys.readouterr().out


@pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="no oneDNN")
@pytest.mark.parametrize("place", ["after:split-constants", "before:split-constants"])
def test_passes_from_the_split_of_constants_on_are_compared(place, tmp_path):
    """Before it, ``@main`` takes other arguments; that names no other pass."""
    layers = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)
    net = torch.nn.Sequential(*layers).eval().requires_grad_(False)

    def f(x):
        return net(x) * x.sum()

    options = {"freezing": True, "passes": {place: spoil}}
    found = girih.bisect(f, options=options, folder=tmp_path)(torch.rand(1, 3, 8, 8))
    assert found.differences
    stage = found.culprit.stage if found.culprit else None
    assert stage == (place if place.startswith("after") else None), found


LOADED = """
import girih
from dataclasses import dataclass
from girih.plugins import functions_of, rewriter

mine = girih.plugin("bisected")


@dataclass(frozen=True)
class Options:
    other: str = "sub"


@mine.compiler_pass("bisected-products")
def replace_products(module, options: Options):
    for body in functions_of(module):
        for op in list(body.operations):
            if op.operation.name == "graph.mul":
                b = rewriter(op)
                b.replace(op, b.op(options.other, op.lhs, op.rhs))
"""

DUMPED = """// RUN pipeline: girih-opt --load={} --pass-pipeline='{}' %s
func.func @main(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {{
  %0 = graph.exp %x : tensor<3x4xf32>
  %1 = graph.mul %0, %x : tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}}
"""


def test_a_pass_that_is_loaded_stands_in_the_files_and_commands(tmp_path, capsys):
    file, dump, found = (tmp_path / name for name in ("mine.py", "dump", "found"))
    dump.mkdir()
    file.write_text(LOADED)
    (dump / "1-graph.mlir").write_text(
        DUMPED.format(file, "bisected-products{other=add}")
    )
    assert command.main([str(dump), "--folder", str(found)]) == 1
    note = f"loads {file}: girih-bisect --load={file} --folder={found} {dump}"
    assert note in capsys.readouterr().err

    again = ["girih-bisect", f"--load={file}", str(dump), "--folder", str(found)]
    for _ in range(2):  # the second time of what the first one wrote
        module = [sys.executable, "-m", "girih.bisection.command"]
        done = subprocess.run([*module, *again[1:]], capture_output=True, text=True)
        assert done.returncode == 1, done.stderr
        assert "pass: bisected-products{other=add}" in done.stdout
        commands = re.findall(r"run: (.*)", done.stdout)
        assert len(commands) == 3
        assert all(f"--load={file}" in each for each in commands)
        first = (found / "repro.mlir").read_text().partition("\n")[0]
        assert f"--load={file} " in first and "{other=add}" in first
        again = [*shlex.split(commands[-1]), "--folder", str(found)]


def test_errors(tmp_path, capsys):
    with pytest.raises(TypeError, match="expects a callable"):
        girih.bisect(3)
    assert command.main([str(tmp_path)]) == 1
    assert "expected files of IR" in capsys.readouterr().err


def test_what_is_not_compared_is_not_called_equal():
    found = girih.bisection.found.Bisection(notes=["graph0 is not compared: why"])
    assert str(found).startswith("nothing that was compared differs from eager\n")
