"""Generated kernels on a CUDA device: `python -m benchmarks.gpu_kernels`.

Each function goes through the importer, the passes, Triton's compiler and a launch
program. Its results are compared with eager (float64 where that tells), and its time
with eager's and with that of a device copy of as many bytes. Needs a CUDA device and
Triton; `girih.compile` itself does not use this path yet.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F

from girih.codegen.gpu.compile import KernelOptions, KernelText, compile_kernels
from girih.codegen.gpu.launch import Grid, load_kernel
from girih.codegen.gpu.link import cuda_device_target, device_facts, driver
from girih.codegen.runtime.device import Device
from girih.codegen.runtime.program import build_program
from girih.dialects import dims, tt
from girih.dialects.bindings import ir
from girih.frontend.importer import import_graph
from girih.passes.registry import run_pipeline

Make = Callable[[Callable], tuple]


CASES: dict[str, tuple[Callable, Make]] = {
    "silu(a) * b": (
        lambda a, b: F.silu(a) * b,
        lambda r: (r(8192, 14336), r(8192, 14336)),
    ),
    "bias + gelu + residual": (
        lambda x, b, y: F.gelu(x + b) + y,
        lambda r: (r(16384, 4096), r(4096), r(16384, 4096)),
    ),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (4096,), w, b),
        lambda r: (r(16384, 4096), r(4096), r(4096)),
    ),
    "softmax": (lambda x: F.softmax(x, -1), lambda r: (r(8192, 8192),)),
    "long softmax": (lambda x: F.softmax(x, -1), lambda r: (r(512, 131072),)),
    "sum over rows": (lambda x: x.sum(-1), lambda r: (r(16384, 4096),)),
    "sum over columns": (lambda x: x.sum(0), lambda r: (r(65536, 2048),)),
    "sum of all": (lambda x: x.sum(), lambda r: (r(8192, 8192),)),
    "transpose and add": (
        lambda x, y: x.t() + y,
        lambda r: (r(8192, 8192), r(8192, 8192)),
    ),
    "odd sizes": (
        lambda x, y: F.softmax(x * y, 1).sum(-1),
        lambda r: (r(997, 31, 1013), r(31, 1)),
    ),
}


def main() -> int:
    """Compares and times; the exit code tells whether all results agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CASES))
    parser.add_argument("--output", type=Path, help="write JSON here")
    parsed = parser.parse_args()
    device = torch.device("cuda", torch.cuda.current_device())
    print(torch.cuda.get_device_name(device), device_facts("cuda", device.index))
    rows = []
    for dtype in (torch.float32, torch.bfloat16):
        for name in parsed.names:
            rows.append(_row(name, dtype, device))
            print(json.dumps(rows[-1]), flush=True)
    if parsed.output:
        parsed.output.write_text(json.dumps(rows, indent=1))
    return int(not all(row.get("agrees") for row in rows))


def _row(name: str, dtype: torch.dtype, device: torch.device) -> dict:
    function, make = CASES[name]
    torch.manual_seed(0)
    inputs = make(lambda *shape: torch.randn(*shape, device=device, dtype=dtype))
    row: dict = {"case": name, "dtype": str(dtype).removeprefix("torch.")}
    try:
        start = time.perf_counter()
        program, schedules = compile_on(device, function, inputs)
        row["compile_s"] = round(time.perf_counter() - start, 3)
        row["schedules"] = schedules
        result = program(*inputs)[0]
        row["agrees"], row["error"] = _agreement(function, inputs, result)
        times = [_microseconds(f, inputs) for f in (function, program)]
        copied = _copy_microseconds(inputs, result)
        row |= {"eager_us": times[0], "girih_us": times[1], "copy_us": copied}
        row["of_copy"] = round(copied / times[1], 3)
    except Exception as error:  # one case must not hide the others
        row["failure"] = f"{type(error).__name__}: {error}"[:800]
    return row


def compile_on(
    device: torch.device, function: Callable, inputs: Sequence[torch.Tensor]
) -> tuple[Callable, list[str]]:
    """The program of a function for these inputs, and the schedules of its kernels."""
    imported = import_graph(torch.fx.symbolic_trace(function), inputs)
    module = imported.module
    facts = device_facts("cuda", device.index)
    count = getattr(facts, "processors", 132)
    with module.context, ir.Location.unknown():
        run_pipeline(module.operation, ["graph", "host"])
        kernels = ir.Module.create()
        for op in module.body.operations:
            if op.operation.name == "tile.kernel":
                op.operation.clone(ip=ir.InsertionPoint(kernels.body))
        run_pipeline(kernels.operation, [f"tile{{target=gpu processors={count}}}"])
        schedules = [
            str(op.attributes["schedule"].value) for op in kernels.body.operations
        ]
        run_pipeline(kernels.operation, ["convert-tile-to-tt{aligned=true}"])
        grids = _load(kernels, device)
        program = build_program(
            module, {}, device=Device(device, driver("cuda"), grids)
        )
    return program, schedules


def _load(kernels: ir.Module, device: torch.device) -> dict[str, list]:
    """The loaded grids of each kernel of a module of Triton IR."""
    texts = tt.program_texts(kernels)
    launches = {
        op.sym_name: op.attributes["girih.launch"]
        for op in kernels.body.operations
        if op.operation.name == "tt.func"
    }
    programs = [
        KernelText(
            name,
            text,
            KernelOptions(
                num_warps=launches[name]["num_warps"].value,
                num_stages=launches[name]["num_stages"].value,
            ),
        )
        for name, text in texts.items()
    ]
    binaries = compile_kernels(programs, cuda_device_target(device.index))
    found: dict[str, list[Grid]] = {}
    for program, binary in zip(programs, binaries, strict=True):
        launch = launches[program.name]
        grid = Grid(
            binary,
            dims.parse(launch["grid"].value),
            (),
            launch["workspace_bytes"].value if "workspace_bytes" in launch else 0,
        )
        found.setdefault(program.name.rpartition("_")[0], []).append(grid)
    return {name: load_kernel(own, device.index) for name, own in found.items()}


def _agreement(function, inputs, result) -> tuple[bool, float]:
    """Whether a result is as near to float64's as eager's is, and how far it is."""
    exact = function(*[x.double() for x in inputs])
    scale = exact.abs().max().item() or 1.0
    own = (result.double() - exact).abs().max().item() / scale
    eager = (function(*inputs).double() - exact).abs().max().item() / scale
    return own <= 2 * eager + 1e-6, own


def _microseconds(function: Callable, inputs: Sequence[torch.Tensor]) -> float:
    """The median time of a call, by events of the device."""
    for _ in range(5):
        function(*inputs)
    times = []
    for _ in range(30):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function(*inputs)
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return round(sorted(times)[len(times) // 2], 1)


def _copy_microseconds(inputs: Sequence[torch.Tensor], result: torch.Tensor) -> float:
    """The time of a copy that reads and writes as many bytes in all."""
    count = sum(t.numel() * t.element_size() for t in (*inputs, result)) // 2
    source = torch.empty(count, dtype=torch.uint8, device=result.device)
    target = torch.empty_like(source)
    return _microseconds(lambda: target.copy_(source), ())


if __name__ == "__main__":
    sys.exit(main())
