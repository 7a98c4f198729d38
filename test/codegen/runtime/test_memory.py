"""Buffers die after their last use: a program takes no more memory than eager."""

import sys

import pytest
from processes import run_python

MEASURE = """
import re, sys
import torch, girih

def function(x):
    for _ in range(4):
        x = torch.cumsum(torch.cumsum(x * 0.5, 1) + 1, 1)
    return x

def peak():
    # getrusage would count what the process was before exec, too.
    status = open("/proc/self/status").read()
    return int(re.search(r"VmHWM:\\s*(\\d+)", status)[1]) / 1024

with torch.no_grad():
    run = girih.compile(function, dynamic=True) if sys.argv[1] == "girih" else function
    run(torch.randn(64, 64)), run(torch.randn(128, 64))
    x = torch.randn(2048, 4096)
    before = peak()
    run(x)
    print(peak() - before)
"""


def peak_of(backend):
    """Mebibytes that calls over 32 MiB each add to the process's largest size."""
    return float(run_python(MEASURE, backend))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_peak_memory_is_not_above_eagers():
    assert peak_of("girih") < peak_of("eager") + 16
