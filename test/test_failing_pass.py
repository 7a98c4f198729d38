"""A pass that fails: the message, the reproducer, and eager's result all the same."""

import re
import stat
import subprocess
import sys
import warnings
from dataclasses import replace

import pytest
import torch
from processes import run_python

import girih
from girih.compiler import reproducers
from girih.dialects import host
from girih.dialects.bindings import arith, ir, vector
from girih.passes import pipelines, registry
from girih.passes.stages import CompilerStage
from girih.passes.tile.emit import rules as emission_rules


class Mistake(Exception):
    """What the broken pass raises."""


def fail_on_exp(op):
    if op.name == "graph.exp":
        raise Mistake("exp is too hard")


def visit(module):
    """Calls ``fail_on_exp`` on every op, however deep."""
    for region in module.regions:
        for block in region:
            for inner in block:
                fail_on_exp(inner.operation)
                visit(inner.operation)


def run_visit(module, options):
    visit(module)


@pytest.fixture
def broken_fuse(monkeypatch):
    """The pass ``fuse`` raises where it meets ``graph.exp``."""
    info = registry.find_pass("fuse")
    monkeypatch.setattr(run_visit, "__module__", info.run.__module__)
    broken = replace(info, run=run_visit)
    monkeypatch.setitem(registry._REGISTERED, "fuse", broken)


def program(x):
    y = x + 1
    return torch.exp(y) * 2  # the failing line


LINE = program.__code__.co_firstlineno + 2


def warnings_of(function, *arguments):
    with warnings.catch_warnings(record=True) as caught, torch.no_grad():
        warnings.simplefilter("always")
        return function(*arguments), [str(w.message) for w in caught]


@pytest.fixture
def message(broken_fuse, tmp_path):
    """The warning about the failing pass."""
    compiled = girih.compile(program, options={"dump_dir": tmp_path})
    _, messages = warnings_of(compiled, torch.randn(5))
    (text,) = messages
    return text


def test_the_call_returns_eagers_result_with_one_warning(broken_fuse):
    compiled = girih.compile(program)
    x = torch.randn(5)
    result, messages = warnings_of(compiled, x)
    torch.testing.assert_close(result, program(x), rtol=0, atol=0)
    assert len(messages) == 1
    result, messages = warnings_of(compiled, x)
    assert not messages
    (report,) = girih.report(compiled).graphs
    assert "fuse" in report.fallback


def test_the_message_names_pass_op_and_line(message):
    assert "'fuse'" in message
    assert "graph.exp" in message
    assert "exp is too hard" in message
    assert re.search(rf"test_failing_pass\.py\W+{LINE}\b", message), message


def fused(x):
    y = x.sin()
    z = torch.exp(y)
    return z * 2 + 1


FIRST = fused.__code__.co_firstlineno + 1


def lines_in(text):
    """The lines of this file that an error names behind "at", without the excerpt."""
    (place,) = re.findall(r"^  at (.*)$", text, re.MULTILINE)
    return [int(n) - FIRST for n in re.findall(r"test_failing_pass\.py\W+(\d+)", place)]


@pytest.mark.parametrize(("op", "line"), [("sin", 0), ("exp", 1), ("mul", 2)])
def test_a_rule_that_fails_in_a_kernel_names_the_line_of_its_op(monkeypatch, op, line):
    def fail(*args):
        raise Mistake(f"{op} is too hard")

    monkeypatch.setitem(emission_rules.RULES, op, fail)
    options = {"fallback": False, "cache": False}
    with pytest.raises(girih.CompileError) as caught, torch.no_grad():
        girih.compile(fused, options=options)(torch.randn(5))
    assert f"  on graph.{op}\n" in str(caught.value)
    assert lines_in(str(caught.value)) == [line]


def fails_on(name):
    """A pass that raises at ops of this name, however deep."""

    def run(module, options):
        for region in module.regions:
            for block in region:
                for inner in block:
                    op = inner.operation
                    if op.name == name:
                        raise Mistake(name)
                    run(op, options)

    return run


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("after:fuse", "graph.fusion"),
        ("before:tile", "tile.kernel"),
        ("before:group-launches", "host.launch"),
        ("after:group-launches", "host.native"),
    ],
)
def test_what_is_fused_has_the_lines_of_all_ops(place, name):
    options = {"fallback": False, "cache": False, "passes": {place: fails_on(name)}}
    compiled = girih.compile(fused, options=options)
    with pytest.raises(girih.CompileError) as caught, torch.no_grad():
        compiled(torch.randn(5))
    assert sorted(set(lines_in(str(caught.value)))) == [0, 1, 2]


def test_girih_opt_replays_the_reproducer(message):
    (path,) = re.findall(r"--run-reproducer (\S+\.mlir)", message)
    command = [sys.executable, "-m", "girih.tools.girih_opt", "--run-reproducer", path]
    done = subprocess.run(command, capture_output=True, text=True)
    # There the pass is not broken.
    assert done.returncode == 0, done.stderr
    assert "graph.fusion" in done.stdout


def test_fallback_false_raises(broken_fuse):
    compiled = girih.compile(program, options={"fallback": False})
    with pytest.raises(girih.CompileError, match="exp is too hard"), torch.no_grad():
        compiled(torch.randn(5))


def test_other_graphs_still_compile(broken_fuse):
    compiled = girih.compile(lambda x: torch.relu(x) + 1)
    result, messages = warnings_of(compiled, torch.ones(3))
    assert result.tolist() == [2, 2, 2] and not messages


def test_torch_compile_door_falls_back_too(broken_fuse):
    torch.compiler.reset()
    x = torch.randn(5)
    result, messages = warnings_of(torch.compile(program, backend="girih"), x)
    torch.testing.assert_close(result, program(x))
    assert len([text for text in messages if "girih bug" in text]) == 1


@pytest.fixture
def home(monkeypatch, tmp_path):
    """Where reproducers go."""
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path / "home"))
    return tmp_path / "home" / "girih" / "reproducers"


def test_a_reproducer_is_the_users_own(broken_fuse, home):
    compiled = girih.compile(program, options={"max_fusion_inputs": 32})
    _, (text,) = warnings_of(compiled, torch.randn(5))
    (path,) = home.iterdir()
    assert str(path) in text
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    first = path.read_text().split("\n")[0]
    assert first.count("fuse{max-inputs=32") == 1 and "decompose" not in first


def test_the_newest_reproducers_stay(broken_fuse, home, monkeypatch):
    monkeypatch.setattr(reproducers, "MOST", 3)
    for number in range(5):
        girih.reset()
        warnings_of(girih.compile(program), torch.randn(5 + number))
    assert len(list(home.iterdir())) == 3


def test_a_folder_that_all_may_write_costs_one_warning(broken_fuse, home):
    home.mkdir(parents=True)
    home.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="can't write what replays a failure"):
        girih.compile(program)(torch.randn(5))
    assert not list(home.iterdir())


def test_nothing_is_written_for_what_eager_refuses_too(home):
    with pytest.raises(NotImplementedError):
        girih.compile(lambda x: torch.softmax(x, 1))(torch.ones(3, 4).long())
    assert not home.exists()


def test_a_users_pass_is_called_theirs(monkeypatch):
    info = registry.find_pass("fuse")
    broken = replace(info, run=lambda module, options: visit(module))
    monkeypatch.setitem(registry._REGISTERED, "fuse", broken)
    compiled = girih.compile(program)
    _, (text,) = warnings_of(compiled, torch.randn(5))
    assert "girih bug" not in text
    assert f"the pass is defined in {__name__}" in text
    assert 'raise Mistake("exp is too hard")' in text


def ops_of(module):
    """The ops in the bodies of functions, and the launches in native calls."""
    for function in module.regions[0].blocks[0].operations:
        for block in function.operation.regions[0]:
            for op in list(block.operations):
                yield op.operation
                if op.operation.name == "host.native":
                    yield from (o.operation for o in op.regions[0].blocks[0].operations)


def puts_host_ops_into_graphs(module, options):
    for op in ops_of(module):
        if op.name == "graph.exp":
            place = {"ip": ir.InsertionPoint(op), "loc": op.location}
            host.build("workspace", [], {"bytes": 4}, **place)


def ends_fusions_without_yield(module, options):
    for op in ops_of(module):
        if op.name == "graph.fusion":
            list(op.regions[0].blocks[0].operations)[-1].operation.erase()


def ends_functions_without_return(module, options):
    list(ops_of(module))[-1].erase()


def moves_ops_behind_their_uses(module, options):
    op, *_, last = [op for op in ops_of(module) if op.name.startswith("graph.")]
    op.move_after(last)


def launches_what_is_not_there(module, options):
    for op in ops_of(module):
        if op.name == "host.launch":
            op.attributes["kernel"] = ir.FlatSymbolRefAttr.get("nowhere")


def runs_what_is_not_there(module, options):
    for op in ops_of(module):
        if op.name == "host.native":
            op.attributes["function"] = ir.FlatSymbolRefAttr.get("nowhere")


def calls_what_is_not_declared(module, options):
    parsed = ir.Module.parse(CALL)
    (call, _) = parsed.body.operations[1].regions[0].blocks[0].operations
    for op in list(ops_of(module)):
        if op.name == "llvm.return":
            call.operation.clone(ip=ir.InsertionPoint(op))


def calls_what_no_library_has(module, options):
    calls_what_is_not_declared(module, options)
    parsed = ir.Module.parse(CALL)
    ip = ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0])
    parsed.body.operations[0].operation.clone(ip=ip)


def casts_vectors_to_numbers(module, options):
    """What upstream's canonicalize crashes on."""
    ints = ir.Type.parse("vector<4xi64>")
    pending = [module]
    while pending:
        for region in pending.pop().regions:
            for block in region:
                for op in list(block.operations):
                    pending.append(op.operation)
                    if op.operation.name == "arith.minsi":
                        place = {"ip": ir.InsertionPoint(op), "loc": op.location}
                        whole = arith.IndexCastOp(ints.element_type, op.lhs, **place)
                        many = vector.BroadcastOp(ints, whole, **place)
                        one = arith.IndexCastOp(op.lhs.type, many, **place)
                        op.operands[0] = one.result


CALL = """
llvm.func @nowhere()
llvm.func @caller() { llvm.call @nowhere() : () -> () llvm.return }
"""
BREAKING = {
    puts_host_ops_into_graphs: ("graph", 5, "'host.workspace' expected IR of level"),
    ends_fusions_without_yield: ("graph", 18, "'graph.fusion' expected"),
    ends_functions_without_return: ("graph", 3, "to end in func.return, got 'graph."),
    moves_ops_behind_their_uses: ("graph", 3, "does not dominate this use"),
    launches_what_is_not_there: (
        "host",
        5,
        "a tile.kernel of the module, got @nowhere",
    ),
    runs_what_is_not_there: ("host", 7, "'host.native' expected function to name"),
    calls_what_is_not_declared: ("cpu", 3, "'nowhere' does not reference a symbol"),
    casts_vectors_to_numbers: ("cpu", 3, "op requires the same shape for all operands"),
}


def with_pass(monkeypatch, function, pipeline, place):
    """Puts a user's pass into a pipeline; gives a program's error."""
    name = function.__name__.replace("_", "-")
    info = registry.PassInfo(name, function, None, "builtin.module", "")
    monkeypatch.setitem(registry._REGISTERED, name, info)
    steps = list(pipelines.PIPELINES[pipeline])
    steps.insert(place, CompilerStage(name, "mine", name))
    monkeypatch.setitem(pipelines.PIPELINES, pipeline, tuple(steps))
    compiled = girih.compile(two_kernels, options={"fallback": False, "cache": False})
    with torch.no_grad(), pytest.raises(girih.CompileError) as caught:
        compiled(torch.randn(5, 5))
    return name, str(caught.value)


def two_kernels(x):
    y = torch.linalg.inv(x.exp() * 2)
    return (y.sum(0) - y).sum(1), y.sin()


@pytest.mark.parametrize("function", BREAKING)
def test_ir_that_a_pass_breaks_is_found(monkeypatch, function):
    """Whichever pass stumbles over it, the error is of the pass that left it."""
    pipeline, place, says = BREAKING[function]
    name, error = with_pass(monkeypatch, function, pipeline, place)
    assert f"pass '{name}' left invalid IR" in error and says in error
    assert "girih bug" not in error
    line = two_kernels.__code__.co_firstlineno
    users = rf"test_failing_pass\.py\W+({line + 1}|{line + 2})\b"
    # What a pass has parsed stands where its text does.
    assert re.search(rf'{users}|"-":3:', error), error


def test_a_function_that_no_library_has(monkeypatch):
    _, error = with_pass(monkeypatch, calls_what_no_library_has, "cpu", 3)
    assert (
        "no loaded library exports nowhere. This function is called by kernel" in error
    )
    assert "test_failing_pass.py:" in error


def test_a_pipeline_with_a_pass_that_does_not_exist(monkeypatch):
    steps = (
        CompilerStage("no-such-pass", "", "no-such-pass"),
        *pipelines.PIPELINES["graph"],
    )
    monkeypatch.setitem(pipelines.PIPELINES, "graph", steps)
    _, (text,) = warnings_of(girih.compile(program), torch.randn(5))
    assert "girih bug" not in text
    assert "the pipeline 'derivatives'" in text or "the pipeline 'graph'" in text
    assert "can't be run: no pass is called 'no-such-pass'" in text


CELLS = {
    "pass": """
from girih.passes.registry import register_pass
@register_pass("twice")
def run(module, options):
    pass
""",
    "op": """
from girih.dialects.definition import Op
class TwiceOp(Op, name="twice"):
    DIALECT = "cells"
""",
    "rule": """
from girih.frontend.importer.registry import imports
@imports("cells::twice")
def rule(b, x):
    return x
""",
}


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_may_run_twice(cell):
    run_python(
        f"""
        cell = {CELLS[cell]!r}
        for _ in range(2):
            exec(cell, {{"__name__": "__main__"}})
        try:
            exec(cell, {{"__name__": "girih.passes"}})
        except ValueError:
            pass
        else:
            raise AssertionError("another module may not")
        """
    )
