"""The driver: from a captured graph to a callable. The one file that sees every stage.

::

    gm ── import_graph ──► graph ── "graph" ──► fusions ── "host" ──► launch program
                                                                  └── kernels
    kernels ── "cpu" ──► functions ── compile_module ──► addresses
    launch program + addresses ── build_program ──► a C object, called with tensors
"""

from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import torch

from girih import collector, exclusive
from girih.codegen.cpu.cache import ObjectCache, cache_key
from girih.codegen.cpu.compile import compile_module
from girih.codegen.cpu.link import Library, link
from girih.codegen.cpu.symbols import openmp_symbols, resolve
from girih.codegen.cpu.target import host_target
from girih.codegen.runtime.program import build_program
from girih.dialects import bindings, verifier
from girih.dialects.bindings import ir
from girih.errors import CompileError, UnsupportedError
from girih.frontend.importer import ImportedGraph, import_graph
from girih.log import logger
from girih.options import Options
from girih.passes.pipelines import with_options
from girih.passes.registry import (
    PassError,
    expand_pipeline,
    find_pass,
    is_own,
    run_pipeline,
)
from girih.reports import Report

_log = logger("compiler")
_numbers = itertools.count()
_libraries: WeakValueDictionary[str, Library] = WeakValueDictionary()
_libraries_lock = Lock()


# These are imported lazily elsewhere, for programs that never compile.
_FIRST_USED_IN_A_CALL = (
    "girih.frontend.capture.bytecode.families",
    "girih.frontend.capture.models.python",
    "girih.frontend.capture.rebuilding.families",
    "girih.frontend.capture.targets",
)
# The bindings import a dialect's module when they first meet one of its ops.
_UPSTREAM_DIALECTS = ("arith", "builtin", "cf", "math", "memref", "scf", "ub", "vector")


def preload() -> None:
    """Imports what a compilation uses, so that no call waits for an import."""
    for name in _FIRST_USED_IN_A_CALL:
        import_module(name)
    for dialect in _UPSTREAM_DIALECTS:
        getattr(bindings, dialect)
    for step in expand_pipeline("default"):
        if is_own(step.name):
            find_pass(step.name)


def reset() -> None:
    """Forgets the code that is loaded; what is in use stays alive with its users."""
    with _libraries_lock:
        _libraries.clear()


def compile_graph(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: Options,
    report: Report,
) -> Callable:
    """Compiles a captured graph.

    Args:
        gm: Torch-level calls, as capture or Dynamo make them.
        example_inputs: Tensors (real or fake) and integers, one per placeholder.
        options: Options of this compilation.
        report: Filled with what is done.

    Returns:
        A callable that takes the inputs and returns the outputs. Where the program
        is not supported, or girih fails and ``options`` allow it, the graph itself,
        which runs eager.

    Raises:
        CompileError: A stage failed, and falling back is switched off.
    """
    if reason := _why_eager(gm, example_inputs):
        return _run_eagerly(gm, report, reason)
    try:
        with exclusive.compilation(), collector.paused():
            compiled = _Compilation(gm, example_inputs, options, report).run()
    except UnsupportedError as error:
        return _run_eagerly(gm, report, error.summary())
    except Exception as error:
        bug = _as_compile_error(error, report)
        if not options.falls_back():
            raise bug from error
        warnings.warn(f"{bug}\n  this graph runs eager", stacklevel=2)
        return _run_eagerly(gm, report, str(bug))
    _log.info("%s", report)
    return compiled


def _why_eager(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> str | None:
    """Why a graph is left to eager before it is looked at, or None."""
    tensors = [value for value in example_inputs if isinstance(value, torch.Tensor)]
    results = _example_results(gm)
    needs = [tensor.requires_grad for tensor in [*tensors, *results]]
    if any(needs) and (torch.is_grad_enabled() or _enables_grad(gm)):
        return "gradients are needed, and girih compiles inference only so far"
    devices = sorted({t.device.type for t in tensors} - {"cpu"})
    if devices:
        return f"girih compiles for the CPU only so far, got {', '.join(devices)}"
    return None


def _enables_grad(gm: torch.fx.GraphModule) -> bool:
    """Whether a graph that starts without grad mode switches it on."""
    nodes = gm.graph.find_nodes(op="call_function", target=torch._C._set_grad_enabled)
    return any(node.args[0] for node in nodes)


def _example_results(gm: torch.fx.GraphModule) -> list[torch.Tensor]:
    """The tensors that stand for the graph's results, where capture left them.

    Results may need gradients although no input does: ``ones(requires_grad=True)``.
    """
    results = []
    for node in gm.graph.find_nodes(op="output"):
        for result in node.all_input_nodes:
            value = result.meta.get("val", result.meta.get("example_value"))
            results.extend([value] if isinstance(value, torch.Tensor) else [])
    return results


def _run_eagerly(gm, report: Report, reason: str) -> Callable:
    report.fallback = reason
    _log.info("%s", report)
    return gm.forward


def _as_compile_error(error: Exception, report: Report) -> CompileError:
    if isinstance(error, CompileError):
        return error
    if isinstance(error, PassError):
        path = error.reproducer
        error.reproducer = None  # the text of CompileError names it
        return CompileError(
            f"pass {error.pass_name!r}", str(error), str(path) if path else None
        )
    stage = next(reversed(report.stage_seconds), "import")
    return CompileError(stage, f"{type(error).__name__}: {error}")


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


class _Compilation:
    """One compilation: the module as it goes through the stages."""

    def __init__(self, gm, example_inputs, options: Options, report: Report):
        self.gm = gm
        self.inputs = example_inputs
        self.options = options
        self.report = report
        self.target = host_target()
        self.number = next(_numbers)
        self.dumper = self._make_dumper()

    def run(self) -> Callable:
        """Runs all stages."""
        with self.report.stage("import"):
            imported = import_graph(self.gm, self.inputs)
        module = imported.module.operation
        with module.context, ir.Location.unknown():
            self._dump("graph", module)
            self._passes("graph", module)
            self._dump("fused", module)
            self._passes("host", module)
            self._dump("host", module)
            library = self._code(module)
            self.report.native_calls = len(_native_calls(module))
            with self.report.stage("program"):
                program = build_program(
                    imported.module,
                    {} if library is None else _addresses(library),
                    fallback=self._fallback(imported),
                    owner=library,
                )
        self._count(program)
        return _with_calling_convention(program, imported)

    def _passes(self, pipeline: str, module: ir.Operation) -> None:
        with self.report.stage(pipeline):
            if self.options.verify:
                verifier.verify(module)
            run_pipeline(
                module,
                self._pipeline(pipeline),
                verify=self.options.verify,
                observer=self.dumper if pipeline == "cpu" else None,
                reproducer_path=self._reproducer_path(pipeline),
            )

    def _pipeline(self, name: str) -> list[str]:
        bits = self.options.vector_bits or self.target.vector_bits
        grain = self.options.parallel_grain
        passes = {
            "fuse": f"max-inputs={self.options.max_fusion_inputs}",
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
        self._passes("cpu", kernels.operation)
        _erase_host_program(kernels.operation)
        self._dump("llvm", kernels.operation)
        with self.report.stage("llvm"):
            code, library = compile_module(kernels)
        self.report.cache = "compiled"
        if (folder := self.options.cache_folder()) is not None:
            ObjectCache(folder).store(key, code)
        return library

    # Calls --------------------------------------------------------------------

    def _fallback(self, imported: ImportedGraph) -> Callable:
        """Runs the graph eager on the arguments of the program.

        A kernel that meets an index out of range stops there: the eager run raises
        eager's own error.
        """
        forward, indices = self.gm.forward, imported.input_indices
        constants = list(self.inputs)
        for index in indices:
            constants[index] = None  # the caller's tensors are not kept alive

        def run(*arguments):
            values = list(constants)
            for position, value in zip(indices, arguments, strict=False):
                values[position] = value
            outputs = forward(*values)
            return outputs if imported.is_plain else _as_results(outputs, imported)

        return run

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
        return _AfterPass("tile", lambda module: self._dump("tile", module))

    def _dump(self, level: str, module: ir.Operation) -> None:
        folder = self.options.dump_folder()
        if folder is None:
            return
        folder = folder / f"{self.number:03}-{self.report.name}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{len(self.report.ir_paths) + 1}-{level}.mlir"
        path.write_text(f"{module}\n")
        self.report.ir_paths[level] = path


def _with_calling_convention(program, imported: ImportedGraph) -> Callable:
    """The program as a callable over the graph's own inputs and outputs."""
    if imported.is_plain and not imported.lifted:
        return program
    indices, lifted = imported.input_indices, tuple(imported.lifted)
    slots, tree = imported.outputs, imported.tree

    def call(*inputs):
        results = program(*[inputs[i] for i in indices], *lifted)
        outputs = [_output(slot, results, inputs) for slot in slots]
        if tree is None:
            return tuple(outputs)
        return torch.utils._pytree.tree_unflatten(outputs, tree)

    return call


def _as_results(outputs, imported: ImportedGraph) -> dict[int, Any]:
    """What the graph returned, under the numbers of the program's results."""
    if imported.tree is not None:
        outputs, _ = torch.utils._pytree.tree_flatten(outputs)
    pairs = zip(imported.outputs, outputs, strict=True)
    return {slot.value: output for slot, output in pairs if slot.kind == "result"}


def _output(slot, results, inputs):
    if slot.kind == "result":
        return results[slot.value]
    return inputs[slot.value] if slot.kind == "input" else slot.value


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
