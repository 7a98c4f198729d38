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
from girih.passes import pipelines, registry


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
    compiled = girih.compile(program)
    _, (text,) = warnings_of(compiled, torch.randn(5))
    (path,) = home.iterdir()
    assert str(path) in text
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    first = path.read_text().split("\n")[0]
    assert first.count("fuse{max-inputs=64}") == 1 and "decompose" not in first


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


def test_a_pipeline_with_a_pass_that_does_not_exist(monkeypatch):
    steps = (pipelines.PipelineStep("no-such-pass", ""), *pipelines.PIPELINES["graph"])
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
