"""Programs for a GPU: kernels become Triton IR, compiled by Triton, loaded by us.

::

    kernels ── "gpu" ──► tt ── program_texts ──► compile_kernels ──► load_kernel
      ──► build_program(device=)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

import torch

from girih.codegen.errors import CodegenError
from girih.codegen.gpu.binary import Binary
from girih.codegen.gpu.compile import KernelOptions, KernelText, compile_kernels
from girih.codegen.gpu.launch import Grid, load_kernel
from girih.codegen.gpu.link import cuda_device_target, device_facts, driver
from girih.codegen.gpu.target import Target, parse_target
from girih.codegen.runtime.device import Device, GridKernel
from girih.codegen.runtime.program import build_program
from girih.compiler.gpu_products import (
    ProductPlanner,
    allows_tf32,
    product_library,
)
from girih.compiler.modules import cloned, erase_host_program
from girih.dialects import dims, tile
from girih.dialects.bindings import ir
from girih.options import Options
from girih.passes import stages

if TYPE_CHECKING:
    from collections.abc import Callable

    from girih.compiler.lowering import Lowering


class Emulator(Protocol):
    """A device that is played on the processor: tests set `emulator` to one.

    Attributes:
        target: What code is made for.
        facts: What the device has, as `codegen.gpu.link.device_facts` says it.
        driver: Makes launch tables.
        products: The library that multiplies matrices, None for ATen.
    """

    target: Target
    facts: dict[str, int]
    driver: Any
    products: str | None

    def load(self, kernel: KernelText, binary: Binary | None) -> Any:
        """The function of a kernel, for launch tables."""


# An H100 has more (227 KB), but with an A100's the sizes of its blocks were measured
# (H200, 2026-11-20).
_MOST_SHARED = 163 << 10

# Freed and taken again by the allocator in some 2 us; to fill it takes four times that.
_CUT_BYTES = 32 << 20

_CONCAT_OPERANDS = 16

emulator: Emulator | None = None
"""Where set, programs of CPU tensors are made for this device."""


def why_unavailable() -> str | None:
    """Why no code can be made for GPUs here, or None."""
    if find_spec("triton") is None:
        return "kernels for GPUs need Triton: install girih[gpu]"
    return None


class GpuCode:
    """Makes programs for a GPU.

    Attributes:
        launch_pipeline: What leads from fusions to a launch program.
        kernel_pipeline: What leads from kernels to what is compiled.
    """

    launch_pipeline = "device"
    kernel_pipeline = "gpu"

    def __init__(self, device: torch.device):
        self.device = device
        self.backend = "hip" if torch.version.hip else "cuda"
        if emulator is not None:
            self.target, self.facts = emulator.target, emulator.facts
            self.products = "cublaslt" if emulator.products else "aten"
        else:
            self.products = product_library()
            self.target = _device_target(self.backend, device.index)
            self.facts = device_facts(self.backend, device.index)

    def pass_options(self, options: Options) -> dict[str, str]:
        """Options of passes, as text."""
        pads = str(self.products == "cublaslt").lower()
        rounds = str(allows_tf32()).lower()
        return {
            "partition": "target=gpu",
            "recognize-attention": f"target=gpu allow-tf32={rounds}",
            "convert-graph-to-host": f"pad-products={pads} reuse-buffers=true"
            f" concat-operands={_CONCAT_OPERANDS}",
            "fuse-contractions": "products=small",
            "group-launches": f"cut-bytes={_CUT_BYTES}",
            "launch-products": f"library={self.products}",
            "tile": f"processors={self.facts['multiprocessors']}"
            f" shared-bytes={min(self.facts['shared_bytes_per_block'], _MOST_SHARED)}",
            "convert-tile-to-tt": f"library={self.target.backend} allow-tf32={rounds}",
        }

    def program(
        self, lowering: Lowering, module: ir.Module, fallback: Callable | None
    ) -> Any:
        """The program of a module with a launch program and unscheduled kernels."""
        kernels = self._kernels(lowering, module)
        source = driver(self.backend) if emulator is None else emulator.driver
        with lowering.act(stages.PROGRAM):
            return build_program(
                module,
                {},
                fallback=fallback,
                device=Device(self.device, source, kernels, self._planner()),
            )

    def compile_ahead(self, lowering: Lowering, modules: Sequence[ir.Module]) -> None:
        """Compiles the kernels of several modules at once, into the disk cache.

        What cannot be compiled is left out: who needs it meets the error again.
        """
        texts = []
        for module in modules:
            kernels = cloned(module, only="tile.kernel")
            lowering.run(self.kernel_pipeline, kernels.operation)
            lowering.run_users("before", stages.TRITON, kernels.operation)
            texts += _texts(kernels, dict(_launches(kernels)))

        def compiled(text: KernelText) -> None:
            with suppress(CodegenError):
                self._binaries(lowering.options, [text])

        for text in texts[:1]:  # Triton is loaded once, and not by many threads
            compiled(text)
        with ThreadPoolExecutor(os.cpu_count(), "girih-tuning") as pool:
            list(pool.map(compiled, texts[1:]))

    def _planner(self) -> ProductPlanner:
        if emulator is not None:
            return ProductPlanner(self.device, emulator.products)
        return ProductPlanner(self.device)

    def _kernels(
        self, lowering: Lowering, module: ir.Module
    ) -> dict[str, list[GridKernel]]:
        """The loaded grids of each kernel."""
        symbols = {name: op.launch_symbols for name, op in tile.kernels(module).items()}
        if not symbols:
            return {}
        # What is dumped is what the dump in front of it becomes.
        kernels = cloned(module, only=None if lowering.dumps else "tile.kernel")
        lowering.run(self.kernel_pipeline, kernels.operation)
        lowering.dump("tt", kernels.operation)
        lowering.run_users("before", stages.TRITON, kernels.operation)
        erase_host_program(kernels)
        launches = dict(_launches(kernels))
        texts = list(_texts(kernels, launches))
        with lowering.act(stages.TRITON):
            binaries = self._binaries(lowering.options, texts)
        with lowering.act(stages.LOAD):
            return {
                name: self._load(
                    [
                        (text, binary, launches[text.name])
                        for text, binary in zip(texts, binaries, strict=True)
                        if _kernel_of(text.name) == name
                    ],
                    tuple(own),
                )
                for name, own in symbols.items()
            }

    def _binaries(
        self, options: Options, texts: list[KernelText]
    ) -> list[Binary | None]:
        if emulator is not None:
            return [None] * len(texts)
        return compile_kernels(
            texts,
            self.target,
            cache_folder=options.cache_folder(),
            reproducer_folder=options.dump_folder(),
        )

    def _load(
        self, grids: list[tuple[KernelText, Binary, dict]], symbols: tuple[str, ...]
    ) -> list[GridKernel]:
        if emulator is not None:
            return [_emulated(text, launch, symbols) for text, _, launch in grids]
        found = [
            Grid(
                binary,
                dims.parse(launch["grid"].value),
                symbols,
                launch["workspace_bytes"].value,
            )
            for _, binary, launch in grids
        ]
        return load_kernel(found, self.device.index)


def _emulated(
    text: KernelText, launch: ir.DictAttr, symbols: tuple[str, ...]
) -> GridKernel:
    return GridKernel(
        function=emulator.load(text, None),
        grid=dims.parse(launch["grid"].value),
        symbols=symbols,
        threads=text.options.num_warps * emulator.target.warp_size,
        workspace_bytes=launch["workspace_bytes"].value,
    )


def _launches(kernels: ir.Module) -> Iterator[tuple[str, ir.DictAttr]]:
    """How each function of a module is launched."""
    for op in kernels.body.operations:
        if op.operation.name == "tt.func" and "girih.launch" in op.attributes:
            yield op.sym_name, op.attributes["girih.launch"]


def _texts(
    kernels: ir.Module, launches: dict[str, ir.DictAttr]
) -> Iterator[KernelText]:
    """Each function of a module, as Triton takes it."""
    from girih.dialects import tt  # registers a dialect that the CPU does without

    for name, text in tt.program_texts(kernels).items():
        launch = launches[name]
        warps, stages = launch["num_warps"].value, launch["num_stages"].value
        yield KernelText(name, text, KernelOptions(warps, stages))


def _kernel_of(function: str) -> str:
    """The kernel that a function is a grid of: `convert-tile-to-tt` numbers them."""
    return function.rpartition("_")[0]


@cache
def _device_target(backend: str, device: int) -> Target:
    if backend == "cuda":
        return cuda_device_target(device)
    name = torch.cuda.get_device_properties(device).gcnArchName
    return parse_target(name.partition(":")[0])
