"""Programs for a GPU: kernels become Triton IR, compiled by Triton, loaded by us.

::

    kernels ── "gpu" ──► tt ── program_texts ──► compile_kernels ──► load_kernel
      ──► build_program(device=)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

import torch

from girih.codegen.errors import CodegenError
from girih.codegen.gpu.binary import Binary
from girih.codegen.gpu.compile import KernelOptions, KernelText, compile_kernels
from girih.codegen.gpu.launch import Grid, load_kernel
from girih.codegen.gpu.link import cuda_device_target, device_facts, driver
from girih.codegen.gpu.target import Target, parse_target
from girih.codegen.runtime._runtime import Program
from girih.codegen.runtime.device import Device, GridKernel
from girih.codegen.runtime.program import build_program
from girih.compiler.float8 import saturates_float8
from girih.compiler.gpu_products import (
    ProductPlanner,
    allows_tf32,
    product_library,
)
from girih.compiler.target import graph_options
from girih.dialects import dims, tile
from girih.dialects.bindings import ir
from girih.options import Options
from girih.passes import stages
from girih.reports import Report


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

    def binary(self, kernel: KernelText) -> Binary:
        """What stands for the code of a kernel in a file."""

    def load(self, kernel: KernelText, binary: Binary | None) -> Any:
        """The function of a kernel, for launch tables."""


# An H100 has more (227 KB), but with an A100's the sizes of its blocks were measured
# (H200, 2026-11-20).
_MOST_SHARED = 163 << 10

# Freed and taken again by the allocator in some 2 us; to fill it takes four times that.
_CUT_BYTES = 32 << 20

_CONCAT_OPERANDS = 16

# Queries, keys, values, and one more.
_ALIKE = 4

emulator: Emulator | None = None
"""Where set, programs of CPU tensors are made for this device."""


def why_unavailable() -> str | None:
    """Why no code can be made for GPUs here, or None."""
    if find_spec("triton") is None:
        return "kernels for GPUs need Triton: install girih[gpu]"
    return None


@dataclass(frozen=True)
class CompiledGrid:
    """A function of Triton IR: its text, its binary, and how it is launched."""

    text: KernelText
    binary: Binary | None
    launch: ir.DictAttr


class GpuTarget:
    """A GPU; see `compiler.target.Target`.

    Attributes:
        facts: What the device has, as `codegen.gpu.link.device_facts` says it.
    """

    stages = stages.GPU
    level = "tt"
    takes_launches = False
    keeps_programs = False

    def __init__(self, device: torch.device):
        self.device = device
        self.backend = "hip" if torch.version.hip else "cuda"
        if emulator is not None:
            self.architecture, self.facts = emulator.target, emulator.facts
            self.products = "cublaslt" if emulator.products else "aten"
        else:
            self.products = product_library()
            self.architecture = _device_target(self.backend, device.index)
            self.facts = device_facts(self.backend, device.index)

    def pass_options(self, options: Options) -> dict[str, Any]:
        """Options of passes, each an object of the pass's own class."""
        # Imported late: programs for the CPU do without these passes.
        from girih.passes.convert_graph_to_host import ConvertGraphToHostOptions
        from girih.passes.convert_tile_to_tt.driver import ConvertTileToTtOptions
        from girih.passes.fuse_contractions.choice import ContractionOptions
        from girih.passes.group_launches import GroupOptions
        from girih.passes.launch_products import LaunchProductsOptions
        from girih.passes.recognize_attention import RecognizeAttentionOptions
        from girih.passes.tile.options import TileOptions
        from girih.passes.write_out_scatters import ScatterOptions

        pads, rounds = self.products == "cublaslt", allows_tf32()
        shared = min(self.facts["shared_bytes_per_block"], _MOST_SHARED)
        processors = self.facts["multiprocessors"]
        return {
            **graph_options(options, "gpu"),
            "recognize-attention": RecognizeAttentionOptions("gpu", allow_tf32=rounds),
            "convert-graph-to-host": ConvertGraphToHostOptions(
                pad_products=pads,
                reuse_buffers=True,
                concat_operands=_CONCAT_OPERANDS,
            ),
            "fuse-contractions": ContractionOptions(
                products="small", most_alike=_ALIKE
            ),
            "group-launches": GroupOptions(cut_bytes=_CUT_BYTES),
            "launch-products": LaunchProductsOptions(library=self.products),
            "tile": TileOptions(
                "gpu",
                processors=processors,
                shared_bytes=shared,
                saturates_float8=saturates_float8(),
                casts_float8=self.architecture.casts_float8,
            ),
            "write-out-scatters": ScatterOptions(
                target="gpu",
                deterministic=torch.are_deterministic_algorithms_enabled(),
                updates_bfloat16=self.architecture.updates_bfloat16,
            ),
            "convert-tile-to-tt": ConvertTileToTtOptions(
                library=self.architecture.backend, allow_tf32=rounds
            ),
        }

    def key(self, module: ir.Module, passes: str) -> str:
        """Nothing is kept here: Triton's binaries are, by their text."""
        return ""

    def find(self, key: str, options: Options, report: Report) -> None:
        """Nothing is kept."""

    def compile(self, kernels: ir.Module, options: Options) -> list[CompiledGrid]:
        """Has Triton compile each grid."""
        launches = dict(_launches(kernels))
        texts = list(_texts(kernels, launches))
        binaries = self._binaries(options, texts)
        return [
            CompiledGrid(text, binary, launches[text.name])
            for text, binary in zip(texts, binaries, strict=True)
        ]

    def compile_ahead(self, modules: Sequence[ir.Module], options: Options) -> None:
        """Compiles the lowered kernels of modules at once, into the disk cache.

        What cannot be compiled is left out: who needs it meets the error again.
        """
        texts = [text for m in modules for text in _texts(m, dict(_launches(m)))]

        def compiled(text: KernelText) -> None:
            with suppress(CodegenError):
                self._binaries(options, [text])

        for text in texts[:1]:  # Triton is loaded once, and not by many threads
            compiled(text)
        with ThreadPoolExecutor(os.cpu_count(), "girih-tuning") as pool:
            list(pool.map(compiled, texts[1:]))

    def load(
        self, module: ir.Module, code: list[CompiledGrid]
    ) -> dict[str, list[GridKernel]]:
        """Loads the grids of each kernel onto the device."""
        return {
            name: self._loaded(
                [grid for grid in code if _kernel_of(grid.text.name) == name],
                tuple(op.launch_symbols),
            )
            for name, op in tile.kernels(module).items()
        }

    def keep(
        self, key: str, options: Options, code: dict[str, list[GridKernel]]
    ) -> dict[str, list[GridKernel]]:
        """Nothing is kept."""
        return code

    def link(
        self,
        module: ir.Module,
        code: dict[str, list[GridKernel]] | None,
        fallback: Callable | None,
        name: str,
    ) -> Program:
        """Makes the program, which launches the loaded kernels."""
        source = driver(self.backend) if emulator is None else emulator.driver
        device = Device(self.device, source, code or {}, self._planner())
        return build_program(module, {}, fallback=fallback, device=device, name=name)

    def _planner(self) -> ProductPlanner:
        if emulator is not None:
            return ProductPlanner(self.device, emulator.products)
        return ProductPlanner(self.device)

    def _binaries(
        self, options: Options, texts: list[KernelText]
    ) -> list[Binary | None]:
        if emulator is not None:
            return [None] * len(texts)
        return compile_kernels(
            texts,
            self.architecture,
            cache_folder=options.cache_folder(),
            reproducer_folder=options.dump_folder(),
        )

    def _loaded(
        self, grids: list[CompiledGrid], symbols: tuple[str, ...]
    ) -> list[GridKernel]:
        if emulator is not None:
            return [_emulated(grid.text, grid.launch, symbols) for grid in grids]
        found = [
            Grid(
                grid.binary,
                dims.parse(grid.launch["grid"].value),
                symbols,
                grid.launch["workspace_bytes"].value,
            )
            for grid in grids
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
