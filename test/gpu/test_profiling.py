"""``girih.profile`` of programs on a device; see also test/girih/test_profiling.py."""

import pytest
import torch
from gpu_device import DEVICE, HAS_CUDA, normal

import girih

pytestmark = pytest.mark.skipif(not HAS_CUDA, reason="profiles need a CUDA device")


def program(x, weight):
    y = torch.softmax(x + 1, -1)
    return torch.bmm(y, weight).sum((1, 2)).relu()


@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_kernels_of_the_device_are_rows(mode):
    x, weight = normal(4, 64, 128), normal(4, 128, 256)
    compiled = girih.compile(program, mode=mode)
    profile = girih.profile(compiled, calls=5)(x, weight)
    assert profile.device == torch.device(DEVICE).type
    *rows, rest = profile.rows
    assert rest.name == "between kernels"
    kernels = [row for row in rows if row.kind == "kernel"]
    assert any("add" in row.operations for row in kernels)
    assert all(row.lines.startswith("test_profiling.py") for row in kernels)
    assert all(row.seconds > 0 and row.graph.startswith("graph0") for row in kernels)
