"""Programs for the processor: kernels become object code, linked into the process.

::

    kernels ── "cpu" ──► compile_module ──► Library ──► build_program(addresses)
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import torch

from girih import config
from girih.codegen.cpu.cache import ObjectCache, cache_key
from girih.codegen.cpu.compile import compile_module
from girih.codegen.cpu.link import Library, link
from girih.codegen.cpu.symbols import openmp_symbols, resolve
from girih.codegen.cpu.target import Target, host_target
from girih.codegen.runtime.program import build_program
from girih.compiler.modules import cloned, erase_host_program, kernel_text
from girih.compiler.sources import versions
from girih.dialects.bindings import ir
from girih.options import Options
from girih.passes import stages

if TYPE_CHECKING:
    from collections.abc import Callable

    from girih.compiler.lowering import Lowering

_libraries: WeakValueDictionary[str, Library] = WeakValueDictionary()
_libraries_lock = Lock()

_CUT_BYTES = 1 << 16
"""Memory that is worth another native call: filling it costs ten times as much."""


def forget_libraries() -> None:
    """Forgets the code that is loaded; what is in use stays alive with its users."""
    with _libraries_lock:
        _libraries.clear()


class CpuCode:
    """Makes programs for the processor that runs Python.

    Attributes:
        launch_pipeline: What leads from fusions to a launch program.
        kernel_pipeline: What leads from kernels to what is compiled.
    """

    launch_pipeline = "host"
    kernel_pipeline = "cpu"

    def __init__(self) -> None:
        self.target = host_target()

    def pass_options(self, options: Options) -> dict[str, str]:
        """Options of passes, as text."""
        bits = options.vector_bits or self.target.vector_bits
        grain = options.parallel_grain
        return {
            "convert-graph-to-host": "reuse-buffers=true",
            "group-launches": f"cut-bytes={_CUT_BYTES}",
            "plan-memory": "" if config.shares_workspace() else "workspace-bytes=0",
            "select-products": f"library={_product_library(self.target)}",
            "tile": f"vector-bits={bits} parallel-grain={grain}",
            "convert-tile-to-cpu": f"vector-bits={bits} parallel-threshold={grain}",
            "expand-math": f"vector-bits={bits}",
        }

    def program(
        self, lowering: Lowering, module: ir.Module, fallback: Callable | None
    ) -> Any:
        """The program of a module with a launch program and unscheduled kernels."""
        library = self._library(lowering, module)
        names = {} if library is None else library.names
        with lowering.act(stages.PROGRAM):
            return build_program(
                module,
                {name: library.address(name) for name in names},
                fallback=fallback,
                owner=library,
            )

    def _library(self, lowering: Lowering, module: ir.Module) -> Library | None:
        """The compiled kernels: from memory, from disk, or compiled now."""
        kernels = kernel_text(module)
        if not kernels:
            return None
        passes = lowering.kernel_key()
        key = cache_key(kernels, passes, self.target.fingerprint, versions())
        with _libraries_lock:
            library = _libraries.get(key)
        lowering.report.cache = "memory"
        if library is None or lowering.dumps:
            library = self._load(lowering, key) or self._compile(lowering, key, module)
            with _libraries_lock:
                _libraries[key] = library
        return library

    def _load(self, lowering: Lowering, key: str) -> Library | None:
        folder = lowering.options.cache_folder()
        if folder is None or lowering.dumps:
            return None
        with lowering.report.stage("link"):
            code = ObjectCache(folder).load(key)
            if code is None:
                return None
            lowering.report.cache = "disk"
            addresses = openmp_symbols() | resolve(code.imports, {})
            return link(code.data, code.exports, addresses)

    def _compile(self, lowering: Lowering, key: str, module: ir.Module) -> Library:
        kernels = cloned(module)
        lowering.run(self.kernel_pipeline, kernels.operation)
        lowering.dump("llvm", kernels.operation)
        with lowering.act(stages.LLVM, kernels.operation):
            erase_host_program(kernels)
            seconds = lowering.options.codegen_seconds
            code, library = compile_module(kernels, seconds=seconds)
        lowering.report.cache = "compiled"
        if (folder := lowering.options.cache_folder()) is not None:
            ObjectCache(folder).store(key, code)
        return library


@cache
def _product_library(target: Target) -> str:
    """What multiplies matrices: MKL uses half of AVX-512 where it is not Intel's."""
    is_wasted = target.vector_bits == 512 and not target.is_intel
    return "onednn" if is_wasted and torch.backends.mkldnn.is_available() else "aten"
