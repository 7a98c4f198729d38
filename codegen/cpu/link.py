"""Object code linked into this process.

`loader_core.c` reads the object, resolves its symbols and maps it: 0.1 ms for a kernel,
and some pages of memory (2026-11-20). LLVM's own linkers need 50 ms to start when the
object comes from the disk cache, and keep 1.4 MB for each library.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from girih.codegen.cpu import _loader
from girih.codegen.cpu.errors import CodegenError


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
    try:
        owner, addresses = _loader.load(data, dict(symbols))
    except (ValueError, OSError) as error:
        raise CodegenError(f"linking failed: {error}") from error
    if missing := sorted(set(exports) - set(addresses)):
        raise CodegenError(f"linking failed: {', '.join(missing)} not in the object")
    return Library({name: addresses[name] for name in exports}, owner)
