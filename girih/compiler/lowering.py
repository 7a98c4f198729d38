"""From a ``graph`` module to a program: passes, kernels, object code.

::

    graph ── "graph" ──► fusions ── "host" ──► launch program
                                        └── kernels ── "cpu" ──► compile_module
    launch program + addresses ── build_program ──► a C object, called with tensors
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import torch

from girih.codegen.cpu.cache import ObjectCache, cache_key
from girih.codegen.cpu.compile import compile_module
from girih.codegen.cpu.link import Library, link
from girih.codegen.cpu.symbols import openmp_symbols, resolve
from girih.codegen.cpu.target import Target, host_target
from girih.codegen.runtime.program import build_program
from girih.dialects import verifier
from girih.dialects.bindings import ir
from girih.options import Options
from girih.passes.pipelines import with_options
from girih.passes.registry import run_pipeline
from girih.reports import Report

_numbers = itertools.count()
_libraries: WeakValueDictionary[str, Library] = WeakValueDictionary()
_libraries_lock = Lock()


def forget_libraries() -> None:
    """Forgets the code that is loaded; what is in use stays alive with its users."""
    with _libraries_lock:
        _libraries.clear()


class _AfterPass:
    """An observer that calls a function after one pass."""

    def __init__(self, name: str, then: Callable[[ir.Operation], None]):
        self._name, self._then = name, then

    def before(self, name: str, module: ir.Operation) -> None:
        """Nothing is done before a pass."""

    def after(self, name: str, module: ir.Operation) -> None:
        """Calls the function if this is the pass."""
        if name == self._name:
            self._then(module)


class Lowering:
    """The lowering of one module.

    Args:
        options: Options of the compilation.
        report: Filled with what is done.
    """

    def __init__(self, options: Options, report: Report):
        self.options = options
        self.report = report
        self.target = host_target()
        self.number = next(_numbers)
        self.dumper = self._make_dumper()

    def program(
        self, module: ir.Module, pipeline: str, fallback: Callable | None
    ) -> Any:
        """Compiles the function ``@main``.

        Args:
            module: A module of ``graph``; it is changed.
            pipeline: What leads to fusions: "graph", or "fusions" where derivatives
                have been taken.
            fallback: Called with the same inputs where a check of a kernel fails.

        Returns:
            A callable from the function's arguments to its results.
        """
        operation = module.operation
        with module.context, ir.Location.unknown():
            self.dump("graph", operation)
            self.run(pipeline, operation)
            self.dump("fused", operation)
            self.run("host", operation)
            self.dump("host", operation)
            library = self._code(operation)
            self.report.native_calls = len(_native_calls(operation))
            with self.report.stage("program"):
                program = build_program(
                    module,
                    {} if library is None else _addresses(library),
                    fallback=fallback,
                    owner=library,
                )
        self._count(program)
        return program

    def run(self, pipeline: str, module: ir.Operation) -> None:
        """Runs a named pipeline, with the options of the compilation."""
        self.run_texts(pipeline, self._pipeline(pipeline), module)

    def run_texts(self, stage: str, texts: list[str], module: ir.Operation) -> None:
        """Runs passes that are given as text, as a stage of this name."""
        with self.report.stage(stage):
            if self.options.verify:
                verifier.verify(module)
            run_pipeline(
                module,
                texts,
                verify=self.options.verify,
                observer=self.dumper if stage == "cpu" else None,
                reproducer_path=self._reproducer_path(stage),
            )

    def _pipeline(self, name: str) -> list[str]:
        bits = self.options.vector_bits or self.target.vector_bits
        grain = self.options.parallel_grain
        passes = {
            "fuse": f"max-inputs={self.options.max_fusion_inputs}",
            "select-products": f"library={_product_library(self.target)}",
            "partition": f"memory-budget={self.options.memory_budget}",
            "tile": f"vector-bits={bits} parallel-grain={grain}",
            "convert-tile-to-cpu": f"vector-bits={bits} parallel-threshold={grain}",
            "expand-math": f"vector-bits={bits}",
        }
        return with_options(name, passes)

    def _reproducer_path(self, pipeline: str) -> Path:
        folder = self.options.dump_folder()
        if folder is None:
            folder = Path(tempfile.gettempdir()) / "girih-reproducers"
        name = f"{os.getpid()}-{self.number:03}-{pipeline}.mlir"
        return folder / name

    # Code ---------------------------------------------------------------------

    def _code(self, module: ir.Operation) -> Library | None:
        """The compiled kernels: from memory, from disk, or compiled now."""
        kernels = _kernel_text(module)
        if not kernels:
            return None
        key = cache_key(
            kernels,
            ",".join(self._pipeline("cpu")),
            self.target.fingerprint,
            _versions(),
        )
        with _libraries_lock:
            library = _libraries.get(key)
        self.report.cache = "memory"
        if library is None or self.dumper is not None:
            library = self._load(key) or self._compile(key, module)
            with _libraries_lock:
                _libraries[key] = library
        return library

    def _load(self, key: str) -> Library | None:
        folder = self.options.cache_folder()
        if folder is None or self.dumper is not None:
            return None
        with self.report.stage("link"):
            code = ObjectCache(folder).load(key)
            if code is None:
                return None
            self.report.cache = "disk"
            addresses = openmp_symbols() | resolve(code.imports, {})
            return link(code.data, code.exports, addresses)

    def _compile(self, key: str, module: ir.Operation) -> Library:
        kernels = _cloned(module)
        self.run("cpu", kernels.operation)
        _erase_host_program(kernels.operation)
        self.dump("llvm", kernels.operation)
        with self.report.stage("llvm"):
            code, library = compile_module(kernels)
        self.report.cache = "compiled"
        if (folder := self.options.cache_folder()) is not None:
            ObjectCache(folder).store(key, code)
        return library

    def _count(self, program) -> None:
        report = self.report
        report.kernels = program.kernels
        report.launches = program.launches
        report.externs = program.externs
        report.workspace_bytes = program.workspace_bytes

    # Dumps --------------------------------------------------------------------

    def _make_dumper(self) -> _AfterPass | None:
        if self.options.dump_folder() is None:
            return None
        return _AfterPass("tile", lambda module: self.dump("tile", module))

    def dump(self, level: str, module: ir.Operation) -> None:
        """Writes a level of IR to the dump folder, if there is one."""
        folder = self.options.dump_folder()
        if folder is None:
            return
        folder = folder / f"{self.number:03}-{self.report.name}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{len(self.report.ir_paths) + 1}-{level}.mlir"
        path.write_text(f"{module}\n")
        self.report.ir_paths[level] = path


def _addresses(library: Library) -> dict[str, int]:
    return {name: library.address(name) for name in library.names}


def _kernel_text(module: ir.Operation) -> str:
    """Text of all that becomes object code: kernels, and which run together."""
    ops = module.regions[0].blocks[0].operations
    kernels = [op for op in ops if op.operation.name == "tile.kernel"]
    return "\n".join(map(str, [*kernels, *_native_calls(module)]))


def _native_calls(module: ir.Operation) -> list[ir.OpView]:
    """The runs of launches of the host program, in order."""
    calls = []
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name == "func.func":
            body = op.operation.regions[0].blocks[0]
            calls.extend(o for o in body if o.operation.name == "host.native")
    return calls


def _cloned(module: ir.Operation) -> ir.Module:
    clone = ir.Module.create(module.location)
    for op in module.regions[0].blocks[0].operations:
        op.operation.clone(ip=ir.InsertionPoint(clone.body))
    return clone


def _erase_host_program(module: ir.Operation) -> None:
    for op in list(module.regions[0].blocks[0].operations):
        if op.operation.name == "func.func":
            op.operation.erase()


@cache
def _product_library(target: Target) -> str:
    """What multiplies matrices: MKL uses half of AVX-512 where it is not Intel's."""
    is_wasted = target.vector_bits == 512 and not target.is_intel
    return "onednn" if is_wasted and torch.backends.mkldnn.is_available() else "aten"


@cache
def _versions() -> str:
    """What compiled code depends on besides the kernels: versions, and our sources."""
    parts = []
    for package in ("torch-mlir", "torch"):
        try:
            parts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            parts.append(f"{package} ?")
    return ", ".join([*parts, *_sources()])


def _sources() -> list[str]:
    """The files that make code, each with its size and time of change."""
    listed = []
    for package in ("girih.codegen", "girih.dialects", "girih.passes"):
        folder = Path(import_module(package).__file__).parent
        for path in sorted(folder.rglob("*.py")):
            status = path.stat()
            name = path.relative_to(folder)
            listed.append(f"{package} {name} {status.st_size} {status.st_mtime_ns}")
    return listed
