"""Levels of IR: what each pass takes, and that what is of another level is refused."""

import functools

import pytest

from girih.dialects import tile, tt  # noqa: F401  (they register themselves)
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.dialects.definition import OPS
from girih.passes import PASS_MODULES, levels, pipelines
from girih.passes.registry import PassError, expand_pipeline, run_pipeline
from girih.tools import girih_opt

GRAPH = """
func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = "graph.softmax"(%x) {dim = 1 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "graph.mm"(%0, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}
"""
SCALARS = "func.func @f(%x: f32) -> f32 { %0 = math.exp %x : f32 return %0 : f32 }"
TO_LEVEL = {
    "graph": "",
    "fused": "graph",
    "host": "graph,host",
    "tile": "graph,host,tile",
    "cpu": "graph,host,tile,expand-math,convert-tile-to-cpu",
    "llvm": "default",
    "tt": "graph,device,gpu",
}
OWN = sorted(levels.CONTRACTS)


@functools.cache
def text_of(level: str) -> str:
    """A program on a level."""
    if level == "scalars":
        return SCALARS
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(GRAPH)
        run_pipeline(module, TO_LEVEL[level])
        assert level in levels.held_by(module.operation)
        return module.operation.get_asm(enable_debug_info=True)


def test_every_pass_and_pipeline_of_girih_has_a_contract():
    keep_any_level = {"replace-module"}
    named = {*PASS_MODULES, *pipelines.PIPELINES}
    assert set(levels.CONTRACTS) == named - keep_any_level


@pytest.mark.parametrize("name", pipelines.PIPELINES)
def test_a_pipelines_contract_is_that_of_its_ends(name):
    """What its first pass takes may be more, what its last one leaves too."""
    first, *_ = steps = expand_pipeline(name)
    own = levels.CONTRACTS[name]
    if (contract := levels.CONTRACTS.get(first.name)) is not None:
        assert own.takes == contract.takes or own.takes == ("fused",)
    if (contract := levels.CONTRACTS.get(steps[-1].name)) is not None:
        assert own.leaves == contract.leaves or own.leaves == ("fused",)


def test_which_regions_need_no_terminator():
    open_ended = {n for n, c in OPS.items() if any(not r.ends_in for r in c.REGIONS)}
    own = {name for name in open_ended if name.partition(".")[0] in levels.OWN}
    assert own == {"host.native", "tile.grid", "tile.kernel"}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("level", levels.LEVELS)
def test_ir_of_another_level_is_refused(name, level, tmp_path, capsys):
    path = tmp_path / "input.mlir"
    path.write_text(text_of(level))
    with make_context():
        held = levels.held_by(ir.Module.parse(path.read_text()).operation)
    takes = levels.CONTRACTS[name].takes
    code = girih_opt.main([f"--{name}", "--no-isolate", str(path)])
    printed = capsys.readouterr()
    if set(held) & set(takes):
        assert code == 0, printed.err
        return
    assert code == 1 and not printed.out
    first = expand_pipeline(name)[0].name
    assert f"expected IR of level '{takes[0]}'" in printed.err
    assert f"(before pass '{first}')" in printed.err


MIXED = [
    ("graph,tile", "'graph.mm' expected IR of level 'host'", "before pass 'tile'"),
    ("decompose,host,fuse", "'host.alloc' expected IR of level 'graph'", "'fuse'"),
    ("graph,host,convert-tile-to-cpu", "level 'tile'", "'convert-tile-to-cpu'"),
    ("host", "'graph.softmax' expected IR of level 'fused'", "'fuse-contractions'"),
    (
        "canonicalize,llvm",
        "'graph.mm' expected IR of level 'cpu'",
        "'convert-scf",
    ),
    ("graph,host,cpu,cse,plan-memory", "level 'host'", "before pass 'plan-memory'"),
]


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(("pipeline", "says", "where"), MIXED)
def test_levels_that_do_not_meet(pipeline, says, where, verify):
    """The line is that of the op; unverified runs are verified once they failed."""
    with make_context(), ir.Location.unknown():
        module = ir.Module.parse(GRAPH)
        with pytest.raises(PassError) as caught:
            run_pipeline(module, pipeline, verify=verify, replayable=True)
    found = f"{caught.value} {caught.value.when()}"
    assert says in found and where in found
    assert caught.value.location is not None


@pytest.mark.parametrize("level", ["fused", "host", "tile"])
def test_a_block_without_its_terminator(level):
    lines = text_of(level).splitlines()
    ends = ('"graph.yield"', '"host.return"', '"tile.yield"')
    end = ends[("fused", "host", "tile").index(level)]
    place = next(number for number, line in enumerate(lines) if end in line)
    problems = problems_in("\n".join(lines[:place] + lines[place + 1 :]), level)
    assert any(f"to end in {end[1:-1]}, got" in text for text in problems)


def test_a_kernel_that_is_not_there():
    text = text_of("host").replace("kernel = @k0", "kernel = @nowhere")
    (problem, *_) = problems_in(text, "host")
    rule = "'host.launch' expected kernel to name a tile.kernel of the module"
    assert f"{rule}, got @nowhere" in problem


def test_a_function_that_is_not_there():
    text = text_of("llvm").replace("function = @run0", "function = @nowhere")
    (problem, *_) = problems_in(text, "llvm")
    assert "got @nowhere" in problem and "'host.native'" in problem


def problems_in(text: str, level: str) -> list[str]:
    with make_context():
        module = ir.Module.parse(text)
        return [str(p) for p in levels.problems_of(module.operation, [level])]
