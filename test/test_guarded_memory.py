"""The allocator behind ``make test-memory``, and the short form of that net."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from guarded import build, environment

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or sys.platform != "linux",
    reason="the allocator is a C file, made for Linux's loader",
)

ALLOCATE = """
    import ctypes
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]

    def allocate(size):
        block = ctypes.c_void_p()
        assert libc.posix_memalign(ctypes.byref(block), alignment, size) == 0
        return block.value

    def floats(address, count):
        return (ctypes.c_float * count).from_address(address)
"""

ACCESSES = {
    "write": "floats(allocate(400), 101)[100] = 1",
    "read": "floats(allocate(400), 101)[100]",
    "far": "floats(allocate(400), 1001)[1000] = 1",
    "before": "floats(allocate(1 << 14) - (1 << 12), 1)[0] = 1",
    "freed": "block = allocate(400); libc.free(block); floats(block, 1)[0]",
    "twice": "block = allocate(400); libc.free(block); libc.free(block)",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("guarded") / "guarded_memory.so")


def run_guarded(library: Path, code: str, **variables: str):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**environment(library), **variables},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("access", ACCESSES)
def test_finds_a_wrong_access(library, access):
    code = f"alignment = 8\n{textwrap.dedent(ALLOCATE)}\n{ACCESSES[access]}"
    done = run_guarded(library, code)
    assert done.returncode < 0, "the process was to end by a signal"
    assert "guarded memory:" in done.stderr


def test_finds_a_write_between_a_block_and_its_page(library):
    """Alignment leaves 48 bytes behind these 400: they are looked at in the end."""
    code = f"alignment = 64\n{textwrap.dedent(ALLOCATE)}\nblock = allocate(400)\n"
    variables = {"GUARDED_MEMORY_ALIGNMENT": "64"}
    done = run_guarded(
        library, f"{code}floats(block, 101)[100] = 1\nlibc.free(block)", **variables
    )
    assert done.returncode < 0
    assert "something wrote behind the end" in done.stderr


def test_right_accesses_are_left_alone(library):
    code = textwrap.dedent(ALLOCATE) + textwrap.dedent("""
        import math
        for size in (1, 4, 400, 4096, 1 << 20):
            block = allocate(4 * size)
            values = floats(block, size)
            assert math.isnan(values[0]) and math.isnan(values[-1])
            values[0] = values[-1] = 1
            libc.free(block)
    """)
    done = run_guarded(library, f"alignment = 64\n{code}")
    assert done.returncode == 0, done.stderr


PROGRAMS = """
    import torch
    import torch.nn.functional as F
    from torch import nn
    import girih

    torch.manual_seed(0)

    def views(x):
        y = x.transpose(0, 1).flip(0)
        return torch.cat([y[1:], y[:1] * 2]).softmax(-1).sum(0), x.roll(1, 1)[:, ::2]

    def indexed(x):
        rows = x[torch.arange(x.shape[0] - 1, -1, -1)]
        scanned = F.pad(rows, (1, 2)).cumsum(1)
        return scanned.argmax(1), F.layer_norm(rows, (x.shape[1],))

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 7, 3, stride=2, padding=1, bias=False)
            self.norm = nn.BatchNorm2d(7)
            self.out = nn.Linear(7, 5)

        def forward(self, x):
            images = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
            tokens = images.flatten(2).permute(0, 2, 1)
            return self.out(F.gelu(tokens)).log_softmax(-1)

    SHAPES = {False: [(7, 31)], True: [(3, 5), (17, 129)]}
    for dynamic, shapes in SHAPES.items():
        first, second = (girih.compile(f, dynamic=dynamic) for f in (views, indexed))
        for shape in shapes:
            for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.uint8):
                x = (torch.rand(shape) * 9).to(dtype)
                if dtype.is_floating_point:
                    first(x), second(x)
                girih.compile(lambda x: (x + 1).T * 2, dynamic=dynamic)(x)
        network = girih.compile(Network(), dynamic=dynamic)
        for size in (9, 15)[: len(shapes)]:
            network(torch.randn(2, 3, size, size)).sum().backward()
    print(girih.counters()["graphs"])
"""


def test_programs_stay_within_their_tensors(library):
    done = run_guarded(library, PROGRAMS, GIRIH_FALLBACK="0", GIRIH_NO_CACHE="1")
    assert done.returncode == 0, done.stderr[-4000:]
    # What it takes is counted, as a clock says nothing on a busy machine.
    assert 20 <= int(done.stdout) <= 40
