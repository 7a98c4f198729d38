"""``girih.bisect`` and ``girih-bisect``: planted faults, each named, with a repro."""

import re
import shutil

import pytest
import torch
import torch.nn.functional as F

import girih
from girih.bisection import command
from girih.bisection.recording import Recording
from girih.bisection.search import faults_of
from girih.compiler import cpu_code
from girih.compiler.watching import watched
from girih.dialects.bindings import ir
from girih.frontend import importer
from girih.passes import registry

OTHERS = {
    "arith.mulf": "arith.subf",
    "graph.add": "graph.sub",
    "graph.mul": "graph.sub",
    "llvm.fmul": "llvm.fsub",
}
"""What a fault makes of the first op of such a name."""


def program(x, w):
    return (torch.softmax(x @ w, -1).exp() * 2 + 1).sum()


def operands():
    return torch.randn(5, 8), torch.randn(8, 6, requires_grad=True)


def spoil(module):
    """Replaces the first op that stands in ``OTHERS``, at any depth."""

    def visit(op):
        if op.name not in OTHERS:
            return ir.WalkResult.ADVANCE
        replace(op, OTHERS[op.name])
        return ir.WalkResult.INTERRUPT

    module.walk(visit)


def replace(op, name):
    made = ir.Operation.create(
        name,
        operands=list(op.operands),
        results=[result.type for result in op.results],
        attributes={each: op.attributes[each] for each in op.attributes},
        loc=op.location,
        ip=ir.InsertionPoint(op),
    )
    op.results[0].replace_all_uses_with(made.results[0])
    op.erase()


@pytest.fixture
def plant(monkeypatch):
    """Has a pass, ours or an upstream one, spoil what it leaves."""

    def plant(name):
        for runs in ("_run_own", "_run_upstream"):
            monkeypatch.setattr(registry, runs, spoiled(getattr(registry, runs), name))

    def spoiled(run, name):
        def wrong(unit, module):
            run(unit, module)
            if unit.steps[-1].name == name:
                spoil(module)

        return wrong

    return plant


def ops_of(path):
    """How many ops the function of a repro has."""
    return len(re.findall(r"^ +%\w+.* = ", path.read_text(), re.M))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("recognize-attention", "joint"),
        ("autograd", "joint"),
        ("decompose", "joint"),
        ("eliminate-common-subexpressions", "joint"),
        ("partition", "joint"),
        ("separate-reductions", "forward"),
        ("fuse", "forward"),
        ("select-products", "forward"),
        ("convert-graph-to-host", "forward"),
        ("plan-memory", "forward"),
        ("tile", "forward"),
        ("expand-math", "forward"),
        ("cse", "forward"),
        ("convert-scf-to-cf", "forward"),
        ("convert-arith-to-llvm", "forward"),
        ("reconcile-unrealized-casts", "forward"),
    ],
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
    assert command.main([str(tmp_path), "--folder", str(tmp_path / "again")]) == 1


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


def test_a_pass_of_the_user_is_named_and_written(tmp_path):
    options = {"passes": {"after:import": spoil}}
    found = girih.bisect(program, options=options, folder=tmp_path)(*operands())
    assert found.culprit.stage == "after:import"
    assert "spoil" in found.culprit.passes[0]


def test_an_inference_program(plant, tmp_path):
    plant("clean-up")
    plant("fuse")
    found = girih.bisect(lambda x: F.gelu(x) * 3, folder=tmp_path)(torch.randn(40))
    assert found.culprit.kind == "inference" and found.culprit.stage == "fuse"


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


def test_errors(tmp_path, capsys):
    with pytest.raises(TypeError, match="expects a callable"):
        girih.bisect(3)
    assert command.main([str(tmp_path)]) == 1
    assert "expected files of IR" in capsys.readouterr().err


def test_what_is_not_compared_is_not_called_equal():
    found = girih.bisection.found.Bisection(notes=["graph0 is not compared: why"])
    assert str(found).startswith("nothing that was compared differs from eager\n")
