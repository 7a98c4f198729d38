"""A pass that fails: the message, the reproducer, and eager's result all the same."""

import re
import subprocess
import sys
import warnings
from dataclasses import replace

import pytest
import torch

import girih
from girih.passes import registry


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


@pytest.fixture
def broken_fuse(monkeypatch):
    """The pass ``fuse`` raises where it meets ``graph.exp``."""
    info = registry.find_pass("fuse")
    broken = replace(info, run=lambda module, options: visit(module))
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
