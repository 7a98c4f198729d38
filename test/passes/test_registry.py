"""The registry: options, running, failures, observers, reproducers."""

from dataclasses import dataclass

import pytest

from girih.dialects.assembly.modules import parse_module
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.passes import PASS_MODULES, observers, pipelines, registry, reproducer
from girih.passes.options import options_text, parse_options
from girih.passes.pipeline_syntax import parse_pipeline
from girih.passes.registry import PassError, UnknownPass, register_pass, run_pipeline

TEXT = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("model.py":7:3)
  return %0 : tensor<4xf32>
}
func.func @g() { return }
"""


@dataclass(frozen=True)
class Options:
    """Options of the passes below."""

    max_inputs: int = 64
    """How many inputs."""
    share: float = 0.5
    name: str = "cpu"
    fast: bool = False
    sizes: tuple[int, ...] = ()


calls = []


@register_pass("test-record", options=Options)
def record(op, options):
    """Records its options."""
    calls.append((op.operation.name, options))


@register_pass("test-count-functions", op="func.func")
def count(op, options):
    calls.append(op.attributes["sym_name"].value)


@register_pass("test-fail")
def fail(op, options):
    for function in op.regions[0].blocks[0].operations:
        for inner in function.body.blocks[0].operations:
            reject(inner)


def reject(op):
    raise KeyError("no rule")


@register_pass("test-break")
def leave_broken(op, options):
    exp = op.regions[0].blocks[0].operations[0].body.blocks[0].operations[0]
    exp.operation.attributes["x"] = ir.UnitAttr.get()
    exp.operands[0].set_type(ir.RankedTensorType.get([5], ir.F32Type.get()))


@pytest.fixture
def module():
    calls.clear()
    with make_context():
        yield ir.Module.parse(TEXT)


def test_options_are_read_by_their_types(module):
    text = "max-inputs=3 share=0.25 name=gpu fast sizes=1,2"
    run_pipeline(module, f"test-record{{{text}}}")
    options = Options(3, 0.25, "gpu", True, (1, 2))
    assert calls == [("builtin.module", options)]
    assert parse_options("test-record", Options, options_text(options)) == options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "max-input=3",
            "has no option 'max-input'; did you mean 'max-inputs'? It has: max-",
        ),
        ("zzz=3", "has no option 'zzz'; it has: max-inputs, share,"),
        ("max-inputs=x", "expected option 'max-inputs' of 'test-record' to be int"),
        ("fast=maybe", "to be bool, got 'maybe'"),
        ("sizes=a", "got 'a'"),
    ],
)
def test_wrong_options_are_explained(module, options, message):
    with pytest.raises(UnknownPass) as caught:
        run_pipeline(module, f"test-record{{{options}}}")
    assert message in str(caught.value)


def test_a_pass_without_options_takes_none(module):
    with pytest.raises(UnknownPass, match="has no options, got 'x=1'"):
        run_pipeline(module, "test-fail{x=1}")


def test_a_pass_runs_on_its_ops(module):
    run_pipeline(module, "test-count-functions,func.func(test-count-functions)")
    assert calls == ["f", "g", "f", "g"]


def test_a_pass_does_not_run_on_other_ops(module):
    with pytest.raises(UnknownPass, match=r"runs on builtin.module, not on func.func"):
        run_pipeline(module, "func.func(test-record)")


def test_names_are_unique():
    with pytest.raises(ValueError, match="'test-record' is registered already"):
        register_pass("test-record")(registry.run_pipeline)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("csee", "no pass is called 'csee'; did you mean cse?"),
        ("fusse", "did you mean fuse"),
        ("qqqqqq", "girih-opt --list-passes lists all"),
    ],
)
def test_unknown_passes_are_explained(module, name, message):
    with pytest.raises(UnknownPass) as caught:
        run_pipeline(module, f"test-record,{name}")
    assert message in str(caught.value)
    assert calls == []


def test_own_and_upstream_passes_mix(module):
    run_pipeline(module, "canonicalize,func.func(cse),test-record,symbol-dce")
    assert len(calls) == 1


def test_upstream_options_are_checked(module):
    with pytest.raises(UnknownPass, match="no such option y"):
        run_pipeline(module, "canonicalize{y=1}")


def test_a_failure_names_pass_op_and_location(module):
    with pytest.raises(PassError) as caught:
        run_pipeline(module, "canonicalize,test-fail")
    error = caught.value
    assert error.pass_name == "test-fail"
    assert '"graph.exp"' in error.op_text
    assert '"model.py":7:3' in str(error.location)
    assert isinstance(error.cause, KeyError)
    assert "pass 'test-fail' failed: KeyError: 'no rule'" in str(error)


ILLEGAL = """
func.func @f(%x: vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = arith.addf %x, %x : vector<2x4xf32> loc("model.py":9:1)
  return %0 : vector<2x4xf32>
}
"""


def test_an_upstream_failure_has_a_location():
    with make_context():
        module = ir.Module.parse(ILLEGAL)
    with pytest.raises(PassError) as caught:
        run_pipeline(module, "cse,convert-arith-to-spirv")
    assert "convert-arith-to-spirv" in caught.value.pass_name
    assert '"model.py":9:1' in str(caught.value.location)


def test_verification_finds_what_a_pass_broke(module):
    with pytest.raises(PassError, match="expected y to have type") as caught:
        run_pipeline(module, "test-break", verify=True)
    assert '"model.py":7:3' in str(caught.value.location)


class _Names:
    def __init__(self):
        self.seen = []

    def before(self, name, module):
        self.seen.append(f"before {name}")

    def after(self, name, module):
        self.seen.append(f"after {name}")


def test_observers_see_each_pass(module):
    names, timing = _Names(), observers.Timing()
    observer = observers.Observers(names, timing)
    run_pipeline(module, ["cse,canonicalize", "test-record"], observer=observer)
    passes = ["cse", "canonicalize", "test-record"]
    assert names.seen == [f"{when} {p}" for p in passes for when in ("before", "after")]
    assert [name for name, _ in timing.seconds] == passes


def test_the_ir_is_dumped_after_each_pass(module, tmp_path):
    dump = observers.DumpIR(tmp_path / "ir")
    run_pipeline(module, "cse,test-record", observer=dump)
    names = ["00-input.mlir", "01-cse.mlir", "02-test-record.mlir"]
    assert [file.name for file in dump.files] == names
    assert '"model.py":7:3' in dump.files[0].read_text()


def test_a_reproducer_replays_the_failure(module, tmp_path):
    path = tmp_path / "failure.mlir"
    with pytest.raises(PassError) as caught:
        run_pipeline(module, "canonicalize,test-fail,cse", reproducer_path=path)
    assert caught.value.reproducer == path
    loads, _, replayed = str(caught.value).rpartition(" --run-reproducer ")
    # Modules that other tests loaded, and that define rules, are named behind it.
    assert f"girih-opt --load={__file__}" in loads
    assert replayed == str(path)
    text = path.read_text()
    assert reproducer.pipeline_of(text) == "builtin.module(test-fail)"
    replayed = parse_module(text)
    with pytest.raises(PassError) as again:
        run_pipeline(replayed, reproducer.pipeline_of(text))
    assert str(again.value.location) == str(caught.value.location)


def test_other_files_are_no_reproducers():
    with pytest.raises(ValueError, match="expected a first line"):
        reproducer.pipeline_of("func.func @f() { return }")


@pytest.mark.parametrize("name", PASS_MODULES)
def test_every_pass_is_where_the_table_says(name):
    info = registry.find_pass(name)
    assert info.name == name
    assert info.summary.endswith(".")
    assert list(PASS_MODULES) == sorted(PASS_MODULES)


@pytest.mark.parametrize("name", pipelines.PIPELINES)
def test_named_pipelines_name_existing_passes(name):
    for step in registry.expand_pipeline(name):
        own = registry.is_own(step.name)
        assert own or registry.is_upstream_pass(step.name)


def test_named_pipelines_take_options():
    texts = pipelines.with_options("default", {"tile": "vector-bits=512"})
    steps = [step for text in texts for step in parse_pipeline(text)]
    assert [s.options for s in steps if s.name == "tile"] == ["vector-bits=512"]
    assert len(steps) == len(registry.expand_pipeline("default"))


def test_options_are_added_to_those_that_a_pipeline_gives():
    texts = pipelines.with_options("gpu", {"tile": "processors=3"})
    assert texts[:2] == ["tile{target=gpu processors=3}", "convert-tile-to-tt"]
