"""Every kernel of the benchmarks becomes code for NVIDIA's and AMD's GPUs.

The functions go through `girih.compile` at the sizes of the benchmark, on a device that
records kernels and runs nothing. Triton compiles them in a process of its own, which an
assertion of its compiler would end, where no program but its `ptxas` may be started.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import product

import pytest
import torch
from emulated_device import RecordingDevice, emulated_device
from extent import extent
from processes import run_python

import girih
from benchmarks.gpu.cases import CASES, GpuCase
from girih.codegen.gpu.compile import KernelText

pytest.importorskip("triton", reason="Triton compiles the kernels")

# What an A100, an H200 and an MI300X say of themselves.
FACTS = {
    "sm_80": {"multiprocessors": 108, "shared_bytes_per_block": 163 << 10},
    "sm_90": {"multiprocessors": 132, "shared_bytes_per_block": 227 << 10},
    "gfx942": {"multiprocessors": 304, "shared_bytes_per_block": 64 << 10},
}
# Each target, and each dtype on what is NVIDIA's; a case is on one of these.
SOME = [("sm_80", torch.float32), ("sm_90", torch.bfloat16), ("gfx942", torch.bfloat16)]
ALL = list(product(FACTS, (torch.float32, torch.bfloat16)))
# Products are library calls in part, which run: on this machine.
_MOST_COMPUTED = 512
_COMPILE = """
    import json, os, sys, time
    from pathlib import Path
    from girih.codegen.gpu.compile import KernelOptions, KernelText, compile_kernels
    from girih.codegen.gpu.target import parse_target

    def watch(event, arguments):
        if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"):
            assert Path(str(arguments[0])).name.startswith("ptxas"), arguments
            assert "triton" in str(arguments[0]), arguments

    sys.addaudithook(watch)
    kernels = [
        KernelText(item["name"], item["text"], KernelOptions(**item["options"]))
        for item in json.loads(Path(sys.argv[1]).read_text())
    ]
    for binary in compile_kernels(kernels, parse_target(sys.argv[2])):
        assert binary.data.startswith(b"\\x7fELF")
        assert binary.shared_bytes <= int(sys.argv[3]), binary.shared_bytes
        print(binary.name)
"""


def shrunk(case: GpuCase) -> GpuCase:
    if case.limit != "compute":
        return case
    sizes = {name: min(size, _MOST_COMPUTED) for name, size in case.sizes.items()}
    return replace(case, sizes=sizes)


def inputs_of(case: GpuCase) -> Iterator[torch.Tensor]:
    """Tensors whose memory is never touched, so that they cost nothing."""
    for spec in case.inputs:
        shape = [case.sizes[name] for name in spec.dims.split()]
        kinds = {"index": torch.int64, "int8": torch.int8}
        dtype = kinds.get(spec.kind.partition(":")[0], case.dtype)
        requires_grad = case.is_training and dtype.is_floating_point
        yield torch.empty(shape, dtype=dtype, requires_grad=requires_grad)


def record(case: GpuCase, device: RecordingDevice) -> list[KernelText]:
    """The kernels of a case and of its derivative."""
    device.kernels.clear()
    compiled = girih.compile(case.function, fullgraph=True, options={"fallback": False})
    with torch.set_grad_enabled(case.is_training):
        result = compiled(*inputs_of(case))
        if case.is_training:
            result.backward(result.detach())
    return list(device.kernels)


def cases_for(target: str, dtype: torch.dtype) -> list[GpuCase]:
    """All cases, or the part that is this target's turn."""
    return extent(CASES[SOME.index((target, dtype)) :: len(SOME)], long=CASES)


def kernels_for(target: str, dtype: torch.dtype, cases: list) -> list[KernelText]:
    """All different kernels, each under a name of its own case."""
    found = {}
    with emulated_device(RecordingDevice, target, **FACTS[target]) as device:
        for case in cases:
            girih.reset()
            for kernel in record(shrunk(replace(case, dtype=dtype)), device):
                found[kernel.text, kernel.options] = kernel
    return list(found.values())


@pytest.mark.parametrize(("target", "dtype"), extent(SOME, long=ALL))
def test_all_compile(target, dtype, tmp_path):
    cases = cases_for(target, dtype)
    kernels = kernels_for(target, dtype, cases)
    assert len(kernels) >= len(cases) - 2  # some are library calls alone
    path = tmp_path / "kernels.json"
    path.write_text(json.dumps([asdict(kernel) for kernel in kernels]))
    arguments = (str(path), target, str(FACTS[target]["shared_bytes_per_block"]))
    cache = str(tmp_path / "cache")
    printed = run_python(_COMPILE, *arguments, PATH="", TRITON_CACHE_DIR=cache)
    assert len(printed.splitlines()) == len(kernels)
