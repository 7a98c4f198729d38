"""Passes of users, in girih.compile and behind torch.compile."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import textwrap

import pytest
import torch
import users_own_passes
from emulated_device import emulated_device
from processes import COMPILERS, run_file_after_torch
from users_own_passes import breaks, count, erases, fails, inside, renames

import girih
from girih.dialects.bindings import ir
from girih.passes import stages
from girih.passes.places import names_of_places

FULL = {"fallback": False, "cache": False}
ON = {"cpu": contextlib.nullcontext, "gpu": emulated_device}


def program(x):
    return (x.exp() * 2).sum(1)


def sample():
    return torch.linspace(-1, 1, 20).reshape(4, 5)


def places(program_kind: str, target: str) -> list[str]:
    """All places of a program on a target that need no measurement."""
    found = stages.stages_of(program_kind, stages.TARGETS[target])
    return [
        f"{program_kind}:{when}:{stage.name}"
        for stage in found
        for when in ("before", "after")
        if (stage.takes_ir if when == "before" else stage.leaves_ir)
        and not stage.option
    ]


def run_with(passes, training=False, function=program, **options):
    """Runs a program with passes; gives report and results."""
    compiled = girih.compile(function, options=FULL | options | {"passes": passes})
    x = sample().requires_grad_(training)
    y = compiled(x)
    torch.testing.assert_close(y, function(x))
    if training:
        y.sum().backward()
        mine, x.grad = x.grad, None
        function(x).sum().backward()
        torch.testing.assert_close(mine, x.grad)
    return girih.report(compiled).graphs[0]


def moves_lines(module):
    """Gives each op another location."""

    def visit(op):
        op.location = ir.Location.file("elsewhere.py", 3, 1, context=op.context)
        return ir.WalkResult.ADVANCE

    module.walk(visit)


def test_other_locations_are_no_change():
    (ran,) = [r for r in run_with({"before:fuse": moves_lines}).ran if r.users_pass]
    assert ran.changed is False


@pytest.mark.parametrize("target", ON)
@pytest.mark.parametrize("kinds", [("inference",), ("joint", "forward", "backward")])
def test_a_pass_runs_at_every_place(target, kinds):
    given = {place: count for kind in kinds for place in places(kind, target)}
    with ON[target]():
        report = run_with(given, training=len(kinds) > 1)
    assert report.places_not_reached == []
    ran = [r for each in report.and_derived() for r in each.ran if r.users_pass]
    assert [r.stage for r in ran] == list(given)
    assert not any(r.changed for r in ran)


def test_a_pass_runs_in_the_derivative_of_a_derivative():
    given = {"derivative:before:gradients": count, "derivative:after:gradients": count}
    compiled = girih.compile(program, options=FULL | {"passes": given})
    x = sample().requires_grad_()
    (first,) = torch.autograd.grad(compiled(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, (x.exp() * 2).detach())
    assert girih.report(compiled).graphs[0].places_not_reached == []


@pytest.mark.parametrize("target", ON)
@pytest.mark.parametrize("kinds", [("inference",), ("joint", "forward", "backward")])
def test_what_is_listed_is_what_runs(target, kinds):
    """Everything that runs, runs from the list; only measurements are on demand."""
    with ON[target]():
        report = run_with({}, training=len(kinds) > 1)
    ran = [r for each in report.and_derived() for r in each.ran]
    for kind in kinds:
        listed = stages.stages_of(kind, stages.TARGETS[target])
        names = [stage.name for stage in listed if not stage.option]
        assert [r.stage for r in ran if r.program == kind] == names
    assert {r.program for r in ran} == set(kinds)


def double_is_sum(module):
    """x * 2 becomes x + x."""
    from girih.passes.graph_builder import GraphBuilder, function_bodies

    for body in function_bodies(module):
        for op in list(body.operations):
            if op.operation.name == "graph.mul":
                result = GraphBuilder(op).op("add", op.operands[0], op.operands[0])
                op.results[0].replace_all_uses_with(result)
                op.operation.erase()


def test_a_pass_that_rewrites_is_said_to_have_changed_the_ir():
    report = run_with({"after:decompose": [count, double_is_sum]}, function=doubled)
    named = {r.users_pass.rpartition(":")[2]: r.changed for r in report.ran}
    assert named["count"] is False and named["double_is_sum"] is True
    assert "double_is_sum at after:decompose (inference)" in str(report)


def doubled(x):
    return x * 2


def test_names_and_texts_are_passes():
    here = f"{users_own_passes.__name__}:count"
    given = {"before:fuse": ["canonicalize-graph", here, "cse"], "after:tile": here}
    report = run_with(given)
    names = [r.users_pass for r in report.ran if r.users_pass]
    assert names == ["canonicalize-graph", here, "cse", here]


def test_behind_torch_compile():
    torch._dynamo.reset()
    options = FULL | {"passes": {"before:fuse": count}}
    with torch.no_grad():
        compiled = torch.compile(program, backend="girih", options=options)
        torch.testing.assert_close(compiled(sample()), program(sample()))
    report = girih.report().graphs[-1]
    assert [r.stage for r in report.ran if r.users_pass] == ["before:fuse"]


def test_a_place_that_is_not_reached_is_said():
    report = run_with({"before:tune": count, "backward:before:fuse": count})
    assert report.places_not_reached == ["before:tune", "backward:before:fuse"]
    assert "no program has reached before:tune, backward:before:fuse" in str(report)


@pytest.mark.parametrize(
    "passes, error, says",
    [
        ({"before:fus": count}, ValueError, "did you mean 'fuse'"),
        ({"fuse": count}, ValueError, "such as 'before:fuse'"),
        ({"before:canonicalize-graph": count}, ValueError, "'simplify' and 'clean-up'"),
        (
            {"forwards:before:fuse": count},
            ValueError,
            "programs are inference, constants",
        ),
        ({"before:import": count}, ValueError, "there is after:import, but no before"),
        ({"after:llvm": count}, ValueError, "there is before:llvm, but no after:llvm"),
        ({"inference:before:gradients": count}, ValueError, "but derivative"),
        ({"before:fuse": "no-such"}, ValueError, "no pass is called 'no-such'"),
        ({"before:fuse": "no:such"}, ValueError, "No module named 'no'"),
        ({"before:fuse": "fuse{x=1}"}, ValueError, "has no option 'x'"),
        ({"before:fuse": 3}, TypeError, "must be functions, names or lists"),
        ({"before:fuse": lambda: None}, TypeError, "called with a module"),
        ({3: count}, TypeError, "must be a str"),
        (count, TypeError, "passes"),
    ],
)
def test_mistakes_are_said_at_once(passes, error, says):
    with pytest.raises(error, match=re.escape(says)):
        girih.compile(program, options={"passes": passes})


def test_every_place_is_named():
    for when in ("before", "after"):
        assert len(set(names_of_places(when))) == len(names_of_places(when))


# Failures ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function, says",
    [
        (fails, "failed: KeyError"),
        (breaks, "left invalid IR"),
        (erases, "is used"),
        (renames, "to keep the function @main"),
    ],
)
@pytest.mark.parametrize("is_inside", [False, True])
def test_a_failure_is_the_users_and_is_replayed(function, says, is_inside, tmp_path):
    """Also of a function that no module holds: it is written beside the module."""
    given = inside(function) if is_inside else function
    options = FULL | {"passes": {"before:fuse": given}, "dump_dir": str(tmp_path)}
    with torch.no_grad(), pytest.raises(girih.CompileError) as caught:
        girih.compile(program, options=options)(sample())
    text = str(caught.value)
    assert says in text and "at before:fuse" in text and "girih bug" not in text
    if function is renames:
        return  # as a pass of girih-opt it may do that
    command = re.search(r"replay: girih-opt (.*)", text)[1].split()
    again = girih_opt(*command)
    assert again.returncode == 1 and function.__name__ in again.stderr


def girih_opt(*arguments):
    """Runs girih-opt in a process of its own."""
    command = [sys.executable, "-m", "girih.tools.girih_opt", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_dump_is_replayed_with_its_passes(tmp_path):
    options = FULL | {"dump_dir": str(tmp_path)}
    report = run_with({"before:fuse": count}, **{"dump_dir": options["dump_dir"]})
    path = report.ir_paths["graph"]
    first = path.read_text().partition("\n")[0]
    assert (
        f"--load={users_own_passes.__file__}" in first
        and "users_own_passes:count,fuse" in first
    )
    done = girih_opt(
        f"--load={users_own_passes.__file__}", "--run-reproducer", str(path)
    )
    assert done.returncode == 0, done.stderr
    assert "graph.fusion" in done.stdout


@pytest.mark.parametrize(
    ("place", "level"), [("after:import", "imported"), ("before:llvm", "llvm")]
)
def test_the_line_of_a_dump_has_passes_at_both_ends(tmp_path, place, level):
    report = run_with({place: count}, dump_dir=str(tmp_path))
    lines = [path.read_text().partition("\n")[0] for path in report.ir_paths.values()]
    (line,) = [line for line in lines if "users_own_passes:count" in line]
    levels = [name for name, path in report.ir_paths.items()]
    behind = levels[lines.index(line) + 1]
    assert (levels[lines.index(line)] if place == "after:import" else behind) == level


def test_without_fullgraph_a_failing_pass_runs_eager_and_warns():
    options = {"passes": {"before:fuse": fails}}
    compiled = girih.compile(program, options=options)
    with torch.no_grad(), pytest.warns(UserWarning, match="KeyError"):
        torch.testing.assert_close(compiled(sample()), program(sample()))


# Keys -------------------------------------------------------------------------------

SCRIPT = """
import torch, girih
FACTOR = {factor}
@girih.plugin("mine").compiler_pass("mine", place="{place}")
def mine(module):
    return FACTOR{body}
def f(x): return (x.exp() * 3).sum(1)
c = girih.compile(f, options={{"fallback": False}})
with torch.no_grad():
    c(torch.ones(4, 5))
print(girih.report(c).graphs[0].cache)
"""


@pytest.mark.parametrize("place", ["after:tile", "before:llvm", "before:cse"])
def test_an_edited_pass_of_a_plugin_compiles_anew(place, tmp_path):
    """With one that was not edited kernels come from the cache, in another process."""

    def cache(factor=1, body=""):
        path = tmp_path / "script.py"
        path.write_text(SCRIPT.format(factor=factor, body=body, place=place))
        variables = {"GIRIH_CACHE_DIR": str(tmp_path / "cache"), "GIRIH_NO_CACHE": ""}
        status, printed = run_file_after_torch(path, loaded=COMPILERS, **variables)
        assert status == 0, printed
        return printed.strip()

    assert cache() == "compiled"
    assert cache() == "disk"
    assert cache(factor=2) == "compiled"
    assert cache(factor=2, body=" + 1") == "compiled"
    assert cache() == "disk"


def test_a_cell_may_run_twice():
    """A function that is defined again is another pass."""
    seen = []
    for number in (1, 2):
        names = {"seen": seen, "number": number}
        exec(textwrap.dedent("def cell(module): seen.append(number)"), names)
        names["cell"].__module__ = "__main__"
        with torch.no_grad():
            run_with({"after:tile": names["cell"]})
    assert seen == [1, 2]


# Ops of users -----------------------------------------------------------------------

OP = """
import sys
import torch, girih
from girih.dialects.attributes import FLOAT
from girih.dialects.fields import attribute
from girih.dialects.graph.elementwise_classes import FloatUnary
from girih.passes.graph_builder import GraphBuilder, function_bodies
from girih.passes.tile.emit.rules import emits

class ScaleByOp(FloatUnary, name="scale_by"):
    '''y = factor * x.'''
    factor = attribute(FLOAT, default=1.0)

def use(module):
    for body in function_bodies(module):
        for op in [op for op in body.operations if op.operation.name == "graph.mul"]:
            number = op.operands[1].owner.attributes["value"].value
            made = GraphBuilder(op).op("scale_by", op.operands[0], factor=number)
            op.results[0].replace_all_uses_with(made)
            op.operation.erase()

def f(x):
    y = x.exp()
    return y * 2 + y * 3 + (y * 2).sum(1, keepdim=True)

x = torch.randn(4, 5)
options = {"passes": {"before:fuse": use}, "fallback": False}
try:
    girih.compile(f, options=options)(x)
except girih.CompileError as error:
    assert "no emission rule of graph.scale_by" in str(error), error
    assert "emits('scale_by') adds one" in str(error), error
else:
    raise SystemExit("there is no rule")

@emits("scale_by")
def emit(b, node, values):
    factor = b.constant(node.attribute("factor"), node.element.register_name)
    return b.same("arith.mulf", values[0], factor)

compiled = girih.compile(f, options=options)
torch.testing.assert_close(compiled(x), f(x))
(ran,) = [ran for ran in girih.report(compiled).graphs[0].ran if ran.users_pass]
assert ran.changed
"""


def test_ops_that_differ_in_an_attribute_are_two(tmp_path):
    """A kernel computed both with the first one's attribute."""
    path = tmp_path / "own.py"
    path.write_text(OP)
    status, printed = run_file_after_torch(path)
    assert status == 0, printed


_LEVELS = {
    "graph": "before:fuse",
    "fused": "before:select-products",
    "host": "before:tile",
    "tile": "before:expand-math",
    "llvm": "before:llvm",
}


def module_of(path):
    """A pass that puts the IR of a file in the place of a module."""
    from girih.plugins import ir, parse_module

    text = path.read_text()

    def put(module):
        block = module.regions[0].blocks[0]
        for op in list(block.operations):
            op.erase()
        parsed = parse_module(text)
        for op in parsed.body.operations:
            op.operation.clone(ip=ir.InsertionPoint(block))

    return put


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("level", _LEVELS)
def test_an_edited_dump_runs_in_the_place_of_the_module(level, training, tmp_path):
    """Results have no attributes here, which MLIR prints as if there were no list."""
    compiled = girih.compile(program, options=FULL | {"dump_dir": tmp_path})
    y = compiled(sample().requires_grad_(training))
    if training:
        y.sum().backward()
    paths = girih.report(compiled).ir_paths
    kinds = {"graph0": "forward", "graph0.backward": "backward"}
    kinds = kinds if training else {"graph0": "inference"}
    graphs = {"forward": "forward-graph", "backward": "graph"}
    passes = {
        f"{kind}:{_LEVELS[level]}": module_of(paths[f"{name}/{dumped}"])
        for name, kind in kinds.items()
        if (dumped := level if level != "graph" else graphs.get(kind))
    }
    passes = passes or {"before:decompose": module_of(paths["graph0/graph"])}
    assert not run_with(passes, training).places_not_reached
