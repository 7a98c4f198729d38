"""Object code linked into this process.

A freshly compiled kernel is already loaded by the engine that compiled it; this is
the way of objects that come from the disk cache or from a package. llvmlite's LLJIT
is imported on first use: 26 ms warm, and 0.5 ms for each link (2026-11-20).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from girih.codegen.cpu.errors import CodegenError

_library_numbers = itertools.count()


class Library:
    """Loaded code; it is unloaded when the last reference to this object goes."""

    def __init__(self, addresses: Mapping[str, int], owner: Any) -> None:
        """Args: addresses: of exported functions; owner: keeps the code loaded."""
        self._addresses = dict(addresses)
        self._owner = owner

    def address(self, name: str) -> int:
        """The address of an exported function.

        Raises:
            KeyError: the library exports no such function.
        """
        return self._addresses[name]

    @property
    def names(self) -> tuple[str, ...]:
        """The exported functions."""
        return tuple(self._addresses)


def link(data: bytes, exports: Iterable[str], symbols: Mapping[str, int]) -> Library:
    """Link an object file into the process.

    Args:
        data: the object file.
        exports: functions whose addresses are wanted.
        symbols: addresses of the functions it calls; libc and libm need not be given.

    Raises:
        CodegenError: not an object for this machine, or a symbol is missing.
    """
    from llvmlite import binding

    exports = tuple(exports)
    builder = binding.JITLibraryBuilder().add_object_img(data).add_current_process()
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    for name in exports:
        builder.export_symbol(name)
    try:
        tracker = builder.link(_jit(), f"girih{next(_library_numbers)}")
    except RuntimeError as error:
        raise CodegenError(f"linking failed: {error}") from error
    return Library({name: tracker[name] for name in exports}, owner=tracker)


@functools.cache
def _jit() -> Any:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.create_lljit_compiler()
