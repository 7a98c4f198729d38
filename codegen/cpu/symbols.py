"""Addresses of the functions that compiled kernels call.

Three sources, in this order: addresses that the caller gives; the OpenMP adapter
(`openmp_core.c`) and conversions of halves (`half_core.c`); shared libraries already in
the process: libm and libc, then PyTorch's `libtorch_cpu`, which exports the vector
functions of Sleef.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from girih.codegen.cpu import _half, _openmp
from girih.codegen.cpu.errors import UnknownSymbols


def own_symbols() -> dict[str, int]:
    """Functions that LLVM calls on its own: `__kmpc_*`, and conversions of halves.

    Import torch first, it brings the OpenMP runtime.
    """
    return _openmp.symbols() | _half.symbols()


def resolve(names: Iterable[str], given: Mapping[str, int]) -> dict[str, int]:
    """Addresses for all names.

    Raises:
        UnknownSymbols: some names are found nowhere; the message lists them.
    """
    found = {name: given.get(name) or _lookup(name) for name in names}
    if missing := sorted(name for name, address in found.items() if not address):
        raise UnknownSymbols(missing)
    return found


def has_sleef() -> bool:
    """Whether the vector functions of Sleef can be called in this process."""
    return _lookup("Sleef_expd2_u10") != 0


def _lookup(name: str) -> int:
    """The address of an exported function of this process, or 0."""
    return _lookup_in("torch" in sys.modules, name)


@functools.cache
def _lookup_in(with_torch: bool, name: str) -> int:
    for library in _libraries(with_torch):
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    return 0


@functools.cache
def _libraries(with_torch: bool) -> tuple[ctypes.CDLL, ...]:
    """The process itself, then libtorch_cpu where torch is imported."""
    process = ctypes.CDLL(None)
    if not with_torch:
        return (process,)
    folder = Path(sys.modules["torch"].__file__).parent / "lib"
    path = folder / "libtorch_cpu.so"
    return (process, ctypes.CDLL(str(path))) if path.exists() else (process,)
