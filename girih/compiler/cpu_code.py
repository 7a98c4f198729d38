"""Programs for the processor: kernels become object code, linked into the process.

::

    kernels ── "cpu" ──► compile_module ──► Library ──► link_program(addresses)
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import torch

from girih import config, processors
from girih.codegen.cpu.cache import ObjectCache, cache_key
from girih.codegen.cpu.compile import compile_module
from girih.codegen.cpu.fma import write_out_fma
from girih.codegen.cpu.link import Library, link
from girih.codegen.cpu.object_code import ObjectCode
from girih.codegen.cpu.symbols import own_symbols, resolve
from girih.codegen.cpu.target import Target as Processor
from girih.codegen.disk_cache import note_use
from girih.codegen.runtime._runtime import Program
from girih.codegen.runtime.program import Linked, link_program
from girih.compiler.float8 import saturates_float8
from girih.compiler.modules import kernel_text
from girih.compiler.sources import added, versions
from girih.compiler.target import graph_options
from girih.dialects.bindings import ir
from girih.errors import unsupported
from girih.options import Options
from girih.passes import stages
from girih.passes.convert_graph_to_host import ConvertGraphToHostOptions
from girih.passes.convert_tile_to_cpu.driver import ConvertTileToCpuOptions
from girih.passes.expand_math.driver import ExpandMathOptions
from girih.passes.fuse_contractions.choice import ContractionOptions
from girih.passes.group_launches import GroupOptions
from girih.passes.panels import PanelOptions
from girih.passes.plan_memory import PlanMemoryOptions
from girih.passes.select_products import ProductOptions
from girih.passes.tile.options import TileOptions
from girih.reports import Report

_libraries: WeakValueDictionary[str, Library] = WeakValueDictionary()
_libraries_lock = Lock()

_CUT_BYTES = 1 << 16
"""Memory that is worth another native call: filling it costs ten times as much."""


def forget_libraries() -> None:
    """Forgets the code that is loaded; what is in use stays alive with its users."""
    with _libraries_lock:
        _libraries.clear()


class CpuTarget:
    """The processor that runs Python; see `compiler.target.Target`.

    Attributes:
        linked: The last program that `link` made, with its parts.
    """

    stages = stages.CPU
    level = "llvm"
    takes_launches = True
    keeps_programs = True
    linked: Linked | None = None

    def __init__(
        self, device: torch.device, processor: Processor | None = None
    ) -> None:
        self.device = device
        self.processor = processor or _processor()

    def pass_options(self, options: Options) -> dict[str, Any]:
        """Options of passes, each an object of the pass's own class."""
        # LLVM may use instructions for wider vectors that the processor does not have.
        widest = self.processor.vector_bits
        bits = min(options.vector_bits or widest, widest)
        grain = options.parallel_grain
        memory = PlanMemoryOptions()
        if not config.shares_workspace():
            memory = PlanMemoryOptions(workspace_bytes=0)
        return {
            **graph_options(options, "cpu"),
            "convert-graph-to-host": ConvertGraphToHostOptions(
                reuse_buffers=True, concat_operands=4, concat_row=128
            ),
            "fuse-contractions": ContractionOptions(
                products="bounded", computes_left=False
            ),
            "group-launches": GroupOptions(cut_bytes=_CUT_BYTES),
            "pack-convolutions": PanelOptions(vector_bits=bits),
            "pack-products": PanelOptions(vector_bits=bits),
            "plan-memory": memory,
            "select-products": ProductOptions(library=_product_library(self.processor)),
            "tile": TileOptions(
                vector_bits=bits,
                parallel_grain=grain,
                saturates_float8=saturates_float8(),
            ),
            "convert-tile-to-cpu": ConvertTileToCpuOptions(
                vector_bits=bits, parallel_threshold=grain
            ),
            "expand-math": ExpandMathOptions(vector_bits=bits),
        }

    def key(self, module: ir.Module, passes: str) -> str:
        """What a library is kept under: all that it depends on."""
        fingerprint = self.processor.fingerprint
        return cache_key(kernel_text(module), passes, fingerprint, versions(), added())

    def find(self, key: str, options: Options, report: Report) -> Library | None:
        """The compiled kernels, from memory or from disk."""
        with _libraries_lock:
            library = _libraries.get(key)
        folder = options.cache_folder()
        if library is not None:
            report.cache = "memory"
            if folder is not None:
                note_use(folder, key)
            return library
        if folder is None:
            return None
        with report.stage("link"):
            code = ObjectCache(folder).load(key)
            if code is None:
                return None
            addresses = own_symbols() | resolve(code.imports, {})
            library = link(code.data, code.exports, addresses)
        report.cache = "disk"
        return _remembered(key, library)

    def compile(
        self, kernels: ir.Module, options: Options
    ) -> tuple[ObjectCode, Library]:
        """Makes object code, linked into the process."""
        if self.processor.level is not None:
            mark_processor(kernels, self.processor.level)
        if platform.machine() == "x86_64" and "fma" not in self.processor.flags:
            write_out_fma(kernels)
        return compile_module(kernels, seconds=options.codegen_seconds)

    def load(
        self, module: ir.Module, code: tuple[ObjectCode, Library]
    ) -> tuple[ObjectCode, Library]:
        """Linked code is loaded already."""
        return code

    def keep(
        self, key: str, options: Options, code: tuple[ObjectCode, Library]
    ) -> Library:
        """Keeps object code on disk, and its library in memory; nothing without key."""
        data, library = code
        if not key:
            return library
        if (folder := options.cache_folder()) is not None:
            ObjectCache(folder).store(key, data)
        return _remembered(key, library)

    def link(
        self,
        module: ir.Module,
        code: Library | None,
        fallback: Callable | None,
        name: str,
    ) -> Program:
        """Makes the program, which calls the library's functions."""
        names = () if code is None else code.names
        self.linked = link_program(
            module,
            {name: code.address(name) for name in names},
            fallback=fallback,
            owner=code,
            name=name,
        )
        return self.linked.program


def _processor() -> Processor:
    try:
        return processors.processor()
    except ValueError as error:
        unsupported(
            kind="a level of processors in GIRIH_CPU",
            context=str(error),
            explanation="girih makes code for a level that this processor has.",
            hints=("Unset GIRIH_CPU, or name another level.",),
        )


def mark_processor(kernels: ir.Module, name: str) -> None:
    """Has LLVM make code for a processor; it would take the one that it runs on."""
    with kernels.context:
        # Without any feature, LLVM would add those of the processor that it runs on.
        features = ir.Attribute.parse('#llvm.target_features<["+cx8"]>')
        for op in kernels.body.operations:
            if op.operation.name == "llvm.func" and op.operation.regions[0].blocks:
                op.attributes["target_cpu"] = ir.StringAttr.get(name)
                op.attributes["target_features"] = features


def _remembered(key: str, library: Library) -> Library:
    with _libraries_lock:
        _libraries[key] = library
    return library


@cache
def _product_library(target: Processor) -> str:
    """What multiplies matrices: MKL uses half of AVX-512 where it is not Intel's."""
    is_wasted = target.vector_bits == 512 and not target.is_intel
    return "onednn" if is_wasted and torch.backends.mkldnn.is_available() else "aten"
