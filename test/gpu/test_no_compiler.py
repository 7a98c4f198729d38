"""Compiling for a GPU starts Triton's own assembler, and nothing else."""

import pytest
from gpu_device import HAS_CUDA
from processes import run_python

pytestmark = pytest.mark.skipif(not HAS_CUDA, reason="runs on a CUDA device")

PROGRAM = """
import os, sys
from pathlib import Path
import torch

FORBIDDEN = ("os.posix_spawn", "os.spawn", "os.exec", "os.fork", "os.forkpty",
             "os.system", "pty.spawn")
started = []

def watch(event, args):
    if event == "subprocess.Popen":
        started.append(str(args[0]))
    elif event in FORBIDDEN:
        raise RuntimeError(f"{event} called with {args}")

x = torch.randn(64, 64, device="cuda")
sys.addaudithook(watch)
import girih

def program(x):
    return torch.softmax(torch.relu(x @ x) + 1, -1), (x * 2).sum(0)

run = girih.compile(program, options={"fallback": False})
for actual, expected in zip(run(x), program(x)):
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
leaf = x.clone().requires_grad_()
run(leaf)[0].square().sum().backward()
import triton
home = Path(triton.__file__).parent
for tool in started:
    assert Path(tool).is_relative_to(home) and Path(tool).name.startswith("ptxas"), tool
assert started or sys.argv[1:] == ["warm"], "nothing was assembled"
assert not (started and sys.argv[1:] == ["warm"]), "the cache was not used"
"""


def test_only_tritons_assembler_is_started(tmp_path):
    folders = {
        "GIRIH_CACHE_DIR": str(tmp_path / "girih"),
        "TRITON_CACHE_DIR": str(tmp_path / "triton"),
    }
    run_python(PROGRAM, PATH="/nonexistent", CC="", **folders)
    run_python(PROGRAM, "warm", PATH="/nonexistent", CC="", **folders)
