"""One kernel through the whole GPU path, by hand: `python -m benchmarks.gpu_smoke`.

A vector addition in Triton IR is compiled, loaded and launched by a launch program; the
result is compared with eager. Then the host's time of a launch is measured, without and
with the program around it. Needs a CUDA device and Triton.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from girih.codegen.gpu import _driver
from girih.codegen.gpu.compile import KernelText, compile_kernels
from girih.codegen.gpu.launch import Grid, load_kernel
from girih.codegen.gpu.link import cuda_device_target, device_facts, driver
from girih.codegen.runtime.device import Device
from girih.codegen.runtime.program import build_program
from girih.dialects.bindings import ir
from girih.dialects.context import make_context
from girih.dialects.dims import ceildiv, symbol

BLOCK = 1024
KERNEL = f"""
module {{
  tt.func public @add_0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %out: !tt.ptr<f32>,
                        %n: i64) {{
    %block = arith.constant {BLOCK} : i64
    %program32 = tt.get_program_id x : i32
    %program = arith.extsi %program32 : i32 to i64
    %start = arith.muli %program, %block : i64
    %lanes32 = tt.make_range {{end = {BLOCK} : i32, start = 0 : i32}}
      : tensor<{BLOCK}xi32>
    %lanes = arith.extsi %lanes32 : tensor<{BLOCK}xi32> to tensor<{BLOCK}xi64>
    %starts = tt.splat %start : i64 -> tensor<{BLOCK}xi64>
    %i = arith.addi %starts, %lanes : tensor<{BLOCK}xi64>
    %limit = tt.splat %n : i64 -> tensor<{BLOCK}xi64>
    %inside = arith.cmpi slt, %i, %limit : tensor<{BLOCK}xi64>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<{BLOCK}x!tt.ptr<f32>>
    %xp = tt.addptr %xs, %i : tensor<{BLOCK}x!tt.ptr<f32>>, tensor<{BLOCK}xi64>
    %xv = tt.load %xp, %inside : tensor<{BLOCK}x!tt.ptr<f32>>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<{BLOCK}x!tt.ptr<f32>>
    %yp = tt.addptr %ys, %i : tensor<{BLOCK}x!tt.ptr<f32>>, tensor<{BLOCK}xi64>
    %yv = tt.load %yp, %inside : tensor<{BLOCK}x!tt.ptr<f32>>
    %sum = arith.addf %xv, %yv : tensor<{BLOCK}xf32>
    %os = tt.splat %out : !tt.ptr<f32> -> tensor<{BLOCK}x!tt.ptr<f32>>
    %op = tt.addptr %os, %i : tensor<{BLOCK}x!tt.ptr<f32>>, tensor<{BLOCK}xi64>
    tt.store %op, %sum, %inside : tensor<{BLOCK}x!tt.ptr<f32>>
    tt.return
  }}
}}
"""
BUFFER = '!tile.buffer<f32, ["s0"], [1]>'
HOST = f"""
func.func @main(%x: {BUFFER}, %y: {BUFFER}) -> ({BUFFER}) {{
  %0 = "host.alloc"() : () -> {BUFFER}
  "host.native"() ({{
    "host.launch"(%x, %y, %0) {{kernel = @add, outputs = 1 : i64, symbols = ["s0"]}}
      : ({BUFFER}, {BUFFER}, {BUFFER}) -> ()
  }}) : () -> ()
  "host.return"(%0) : ({BUFFER}) -> ()
}}
"""


def main() -> None:
    """Prints the device, whether the results agree, and times."""
    device = torch.device("cuda", torch.cuda.current_device())
    torch.cuda.init()
    print(torch.cuda.get_device_name(device), device_facts("cuda", device.index))
    grids = _load(device)
    kernel = grids[0].function
    print("kernel:", kernel.facts(), "occupancy", kernel.occupancy(grids[0].threads))
    program = _program(device, grids)
    _compare(program, device)
    _time_launches(program, grids, device)


def _load(device: torch.device) -> list:
    target = cuda_device_target(device.index)
    for _ in range(2):  # the first loads Triton
        start = time.perf_counter()
        (binary,) = compile_kernels([KernelText("add_0", KERNEL)], target)
        print(f"compiled for {target.name}: {time.perf_counter() - start:.3f} s")
    return load_kernel(
        [Grid(binary, ceildiv(symbol("n"), BLOCK), ("n",))], device.index
    )


def _program(device: torch.device, grids: list) -> Callable:
    with make_context(), ir.Location.unknown():
        return build_program(
            ir.Module.parse(HOST),
            {},
            device=Device(device, driver("cuda"), {"add": grids}),
        )


def _compare(program: Callable, device: torch.device) -> None:
    stream = torch.cuda.Stream(device)
    for count in (0, 1, BLOCK - 1, BLOCK, 1_000_003, 1 << 26):
        x, y = torch.randn(count, device=device), torch.randn(count, device=device)
        torch.testing.assert_close(program(x, y)[0], x + y, rtol=0, atol=0)
        stream.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(stream):
            result = program(x, y)[0]
        stream.synchronize()
        torch.testing.assert_close(result, x + y, rtol=0, atol=0)
    print("the results agree, on the default stream and on another one")


def _time_launches(program: Callable, grids: list, device: torch.device) -> None:
    x, y = torch.randn(16, device=device), torch.randn(16, device=device)
    out = torch.empty_like(x)
    entry = (grids[0].function, 4, grids[0].threads, (0, 1, 2, 3, -1, -1))
    table = driver("cuda").table(device.index, (entry,), 5)
    words = (x.data_ptr(), y.data_ptr(), out.data_ptr(), 16, 1)
    stream = torch.cuda.current_stream(device).cuda_stream
    print(f"launch   {_microseconds(lambda: _driver.launch(table, words, stream)):.2f}")
    print(f"program  {_microseconds(lambda: program(x, y)):.2f}")
    print(f"eager    {_microseconds(lambda: x + y):.2f} us of host time")


def _microseconds(call: Callable, calls: int = 200, rounds: int = 50) -> float:
    """The least mean host time of a round, its work small enough not to queue up."""
    best = float("inf")
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - start)
    torch.cuda.synchronize()
    return best / calls * 1e6


if __name__ == "__main__":
    main()
