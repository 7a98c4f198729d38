"""Logs: by environment variables and by ``girih.set_logs``."""

import pytest
import torch
from processes import run_python

import girih
from girih import log

PROGRAM = """
import sys; sys.stderr = sys.stdout
import torch, girih
x = torch.ones(3, requires_grad=True)
girih.compile(lambda x: (x.sin() * 2).sum())(x).backward()
"""


@pytest.fixture(autouse=True)
def _off_afterwards():
    yield
    girih.set_logs()


def test_help_is_a_text():
    """The program goes on."""
    program = "import sys; sys.stderr = sys.stdout; import girih; girih.compile"
    printed = run_python(f"{program}; print('on')", GIRIH_LOGS="help")
    assert "Traceback" not in printed and printed.endswith("on\n")
    for name in log.NAMES:
        assert f"  {name} " in printed


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("aot_graphs", ["graph0, derivatives:", "graph.sin", "graph.cos"]),
        ("fusion", ["graph0, fused:", "graph0.backward, fused:", "graph.fusion"]),
        ("schedule", ["graph0, tile:", "tile."]),
        ("output_code", ["graph0, host:", "host."]),
        ("kernel_code", ["graph0, llvm:", "graph0.backward, llvm:", "llvm.func"]),
    ],
)
def test_levels_of_ir_are_logs(name, texts):
    """Also where the kernels are in a cache."""
    for _ in range(2):
        printed = run_python(PROGRAM, GIRIH_LOGS=name)
        assert [text for text in texts if text not in printed] == []
        assert printed.count(f"[girih.{name}]") == printed.count("[girih.")


def test_torchs_variable_counts_for_known_names():
    printed = run_python(PROGRAM, TORCH_LOGS="+guards,recompiles_verbose,+dynamo")
    assert "[girih.guards]" in printed
    assert "[girih.fusion]" not in printed


def test_logs_are_switched(capsys):
    girih.set_logs(guards=True)
    girih.compile(lambda x: x + 1)(torch.ones(3))
    assert "[girih.guards]" in capsys.readouterr().err
    girih.set_logs(all=True, guards=False)
    girih.compile(lambda x: x + 2)(torch.ones(3))
    printed = capsys.readouterr().err
    assert "[girih.fusion]" in printed and "[girih.guards]" not in printed
    girih.set_logs()
    girih.compile(lambda x: x + 3)(torch.ones(3))
    assert capsys.readouterr().err == ""


def test_mistakes():
    with pytest.raises(ValueError, match="'guard'.*did you mean 'guards'"):
        girih.set_logs(guard=True)
    with pytest.raises(TypeError, match="guards must be True or False, got 'yes'"):
        girih.set_logs(guards="yes")
