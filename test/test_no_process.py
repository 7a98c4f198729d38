"""Compiling and running starts no process, and needs no tool on the PATH."""

import pytest
from processes import run_after_torch

AUDIT = """
import sys
import torch

FORBIDDEN = ("subprocess.Popen", "os.posix_spawn", "os.spawn", "os.exec", "os.fork",
             "os.forkpty", "os.system", "pty.spawn")

def refuse(event, args):
    if event in FORBIDDEN:
        raise RuntimeError(f"{event} called with {args}")

sys.addaudithook(refuse)
import girih
"""
PROGRAM = """
import torch
import girih

def program(x, w):
    return torch.softmax(torch.relu(x @ w) + 1, -1), (x * 2).sum(0)

x, w = torch.randn(33, 17), torch.randn(17, 40)
with torch.no_grad():
    compiled = COMPILE
    for actual, expected in zip(compiled(x, w), program(x, w)):
        torch.testing.assert_close(actual, expected)
"""
CHECK_REPORT = """
report = girih.report(REPORTED)
assert report.kernels > 0, report
"""


def run_program(compile_, reported, cache, audit=""):
    code = (
        "import os; os.environ['PATH'] = ''\n"
        + audit
        + PROGRAM.replace("COMPILE", compile_)
    )
    code += CHECK_REPORT.replace("REPORTED", reported)
    run_after_torch(code, GIRIH_CACHE_DIR=str(cache))


def test_the_audit_hook_catches_processes():
    with pytest.raises(AssertionError, match="called with"):
        run_after_torch(AUDIT + "import os; os.system('true')")


@pytest.mark.parametrize("dynamic", [False, True])
def test_girih_compile_starts_no_process(tmp_path, dynamic):
    compile_ = f"girih.compile(program, dynamic={dynamic})"
    run_program(compile_, "compiled", tmp_path, audit=AUDIT)


def test_torch_compile_door_needs_no_tool(tmp_path):
    run_program("torch.compile(program, backend='girih')", "None", tmp_path)
