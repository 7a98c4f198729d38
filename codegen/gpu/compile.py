"""Triton IR to code for a GPU, by Triton's own compiler.

Triton is told its target, so no GPU and no driver is needed; of its stages all run but
the last of CUDA, for which `ptxas` is started here: that is the one process, and it is
the one in Triton's package. Triton's disk cache is not used, ours is. Kernels compile
in threads: Triton's passes and LLVM release the GIL.

Measured 2026-11-20 with Triton 3.6 on two busy cores, vector add: 0.14 s to load
Triton, then 50 ms for a cubin (30 of them `ptxas`) and 75 ms for an hsaco.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from girih import config, private_folder
from girih.codegen.disk_cache import cache_key
from girih.codegen.errors import CodegenError
from girih.codegen.gpu.binary import Binary
from girih.codegen.gpu.cache import BinaryCache
from girih.codegen.gpu.target import Target

NULL_POINTERS = 2
"""Triton's functions take two more pointers, to scratch memory that ours don't use."""

_DISTRIBUTIONS = ("triton", "pytorch-triton", "triton-rocm", "pytorch-triton-rocm")

# Lines of PTX that name the file that Triton has read, gone by then: without them the
# same kernel is the same cubin.
_LINE_INFO = re.compile(
    r"^\s*\.(?:loc|file)\s.*\n|^\s*\.section\s+\.debug_\w+\s*\{[^}]*\}\n?", re.MULTILINE
)


# What LLVM says of vectors of integers, such as that nothing overflows. Where two
# numbers are made a vector though one of them is never used (its element may be
# poison), LLVM's backend for PTX computes with both in 64 bits, and lets one overflow
# into the other: of a product of 67 x 67 and 67 x 65, rows 64 to 66 were not stored
# (Triton 3.6).
_VECTOR_FLAGS = re.compile(
    r"(= (?:add|sub|mul|shl|lshr|ashr|udiv|sdiv|or|trunc|zext) )"
    r"(?:(?:nuw|nsw|exact|disjoint|nneg) )+(?=<\d+ x i)"
)


THREADS_OF_PROGRAM = 1024
"""What every GPU allows."""


@dataclass(frozen=True)
class KernelOptions:
    """What Triton is told besides the text.

    Attributes:
        num_warps: warps that run a program.
        num_stages: how many steps of a loop are in flight.
        max_registers: for each thread, None for as many as there are; CUDA only.
        contract: whether a multiplication and an addition may become one operation.
    """

    num_warps: int = 4
    num_stages: int = 2
    max_registers: int | None = None
    contract: bool = False


@dataclass(frozen=True)
class KernelText:
    """One kernel: its function's name, the module's text, and options."""

    name: str
    text: str
    options: KernelOptions = KernelOptions()


def compile_kernels(
    kernels: Sequence[KernelText],
    target: Target,
    *,
    cache_folder: Path | None = None,
    reproducer_folder: Path | None = None,
) -> list[Binary]:
    """Compile kernels at the same time, or find them on disk.

    Args:
        kernels: modules with one public `tt.func` each.
        target: what to compile for.
        cache_folder: where binaries are kept; None for nowhere.
        reproducer_folder: where the text of a kernel is left that Triton refuses.

    Raises:
        CodegenError: Triton is not installed, or refused a kernel.
    """
    disk = None if cache_folder is None else BinaryCache(cache_folder)
    keys = [_key(kernel, target) for kernel in kernels] if disk else []
    found = {i: disk.load(key) for i, key in enumerate(keys)} if disk else {}
    missing = [i for i in range(len(kernels)) if found.get(i) is None]
    made = _compile_all([kernels[i] for i in missing], target, reproducer_folder)
    for i, binary in zip(missing, made, strict=True):
        found[i] = binary
        if disk:
            disk.store(keys[i], binary)
    return [found[i] for i in range(len(kernels))]


def assembly(kernel: KernelText, target: Target) -> str:
    """The text from which a kernel's code is assembled: PTX, or AMD's assembly.

    Raises:
        CodegenError: Triton is not installed, or refused the kernel.
    """
    name = {"cuda": "ptx", "hip": "amdgcn"}[target.backend]
    return _guarded(lambda: _run_stages(kernel, target, name)[0], kernel, target, None)


def _compile_all(
    kernels: Sequence[KernelText], target: Target, reproducers: Path | None
) -> Iterable[Binary]:
    if len(kernels) < 2:
        return [_compile(kernel, target, reproducers) for kernel in kernels]
    threads = min(len(kernels), os.cpu_count() or 1)
    _backend(target)  # modules are loaded once, and not by many threads
    with ThreadPoolExecutor(threads, "girih-triton") as pool:
        return list(pool.map(lambda k: _compile(k, target, reproducers), kernels))


def _compile(kernel: KernelText, target: Target, reproducers: Path | None) -> Binary:
    def make() -> Binary:
        data, facts = _run_stages(kernel, target)
        return _binary(data, kernel, target, facts)

    return _guarded(make, kernel, target, reproducers)


def _guarded(
    make: Callable[[], Any],
    kernel: KernelText,
    target: Target,
    reproducers: Path | None,
) -> Any:
    """What a function makes of a kernel; errors say which kernel it was."""
    try:
        return make()
    except ImportError as error:
        raise CodegenError(
            "kernels for GPUs need Triton, which cannot be imported: "
            f"{error}; the extra girih[gpu] installs it"
        ) from error
    except Exception as error:  # whatever Triton raises
        path = _write_reproducer(kernel, target, reproducers)
        raise CodegenError(
            f"Triton did not compile the kernel {kernel.name} for {target.name}: "
            f"{error}\n  its text is in {path}"
        ) from error


def _run_stages(
    kernel: KernelText, target: Target, last: str | None = None
) -> tuple[Any, dict[str, Any]]:
    """What the last stage makes, or one of this name, and facts about the kernel."""
    from triton._C.libtriton import ir

    backend = _backend(target)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module: Any = _parsed(kernel.text, ir, context)
    options = _options(backend, kernel.options, target)
    facts: dict[str, Any] = dict(vars(options))  # as Triton starts with
    for name, stage in _stages(backend, options).items():
        if name == "cubin":
            module = _assembled(module, target, kernel)
        else:
            module = stage(module, facts)
        if name == "llir" and target.backend == "cuda":
            module = _VECTOR_FLAGS.sub(r"\1", module)
        if name == last:
            break
    return module, facts


def _parsed(text: str, ir: Any, context: Any) -> Any:
    """The module of a text; Triton reads files only."""
    with tempfile.NamedTemporaryFile("w", suffix=".ttir") as file:
        file.write(text)
        file.flush()
        module = ir.parse_mlir_module(file.name, context)
    module.context = context  # which lives as long as the module
    return module


def _options(backend: Any, options: KernelOptions, target: Target) -> Any:
    """Triton's own options of a kernel."""
    most_warps = THREADS_OF_PROGRAM // target.warp_size
    given = {
        "num_warps": min(options.num_warps, most_warps),
        "num_stages": options.num_stages,
        "enable_fp_fusion": options.contract,
    }
    if options.max_registers is not None and target.backend == "cuda":
        given["maxnreg"] = options.max_registers
    return backend.parse_options(given)


def _stages(backend: Any, options: Any) -> dict[str, Any]:
    """What turns Triton IR into code, by the name of what each makes."""
    from triton.backends.compiler import Language

    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, Language.TRITON)
    return stages


def _binary(
    data: bytes, kernel: KernelText, target: Target, facts: dict[str, Any]
) -> Binary:
    for scratch in ("global_scratch_size", "profile_scratch_size"):
        if facts.get(scratch):
            raise CodegenError(f"the kernel needs {scratch}, which is not supported")
    if facts["name"] != kernel.name:
        raise CodegenError(
            f"expected Triton to compile the function {kernel.name}, got "
            f"{facts['name']}"
        )
    warps = facts.get("num_warps") or kernel.options.num_warps
    return Binary(
        data=data,
        name=kernel.name,
        target=target.name,
        threads=warps * target.warp_size,
        shared_bytes=facts["shared"],
        null_pointers=NULL_POINTERS,
    )


@cache
def _backend(target: Target) -> Any:
    from triton.backends.compiler import GPUTarget

    if target.backend == "cuda":
        from triton.backends.nvidia.compiler import CUDABackend as Backend
    else:
        from triton.backends.amd.compiler import HIPBackend as Backend
    return Backend(GPUTarget(target.backend, target.architecture, target.warp_size))


def _assembled(ptx: str, target: Target, kernel: KernelText) -> bytes:
    """The cubin of PTX."""
    from triton.backends.nvidia.compiler import get_ptxas, sm_arch_from_capability

    number = int(target.architecture)
    arguments = [f"--gpu-name={sm_arch_from_capability(number)}"]
    if not kernel.options.contract:
        arguments.append("--fmad=false")
    with tempfile.TemporaryDirectory(prefix="girih-") as folder:
        source, result = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(_LINE_INFO.sub("", ptx))
        run = subprocess.run(
            [get_ptxas(number).path, *arguments, str(source), "-o", str(result)],
            capture_output=True,
            text=True,
        )
        if run.returncode != 0:
            raise CodegenError(f"ptxas failed ({run.returncode}): {run.stderr}")
        return result.read_bytes()


# Keys and reproducers


def _key(kernel: KernelText, target: Target) -> str:
    return cache_key(
        kernel.name,
        kernel.text,
        repr(sorted(asdict(kernel.options).items())),
        target.fingerprint,
        triton_version(),
        _VECTOR_FLAGS.pattern,
    )


@cache
def triton_version() -> str:
    """The version of Triton, which is not loaded for it where pip knows it."""
    for name in _DISTRIBUTIONS:
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    try:
        import triton
    except ImportError:
        return "none"
    return triton.__version__


def _write_reproducer(
    kernel: KernelText, target: Target, folder: Path | None
) -> Path | str:
    """A file with the kernel, headed by what it was compiled with."""
    digest = hashlib.sha256(kernel.text.encode()).hexdigest()[:12]
    name = f"{kernel.name}-{target.name}-{digest}.ttir"
    text = f"// {target.name}, {kernel.options}\n{kernel.text}\n"
    own = config.reproducer_dir() if folder is None else None
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            private_folder.replace_text(folder / name, text)
        elif own is not None:
            with private_folder.opened(own) as opened:
                private_folder.write(opened, name, text.encode())
    except OSError as error:
        return f"no file ({error})"
    found = folder or own
    return "no file (there is no home folder)" if found is None else found / name
