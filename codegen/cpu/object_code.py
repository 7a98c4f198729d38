"""Object code as it travels between compiler, cache and linker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ObjectCode:
    """Relocatable code of one module.

    Attributes:
        data: the object file's bytes (ELF on Linux).
        exports: functions that callers may look up.
        imports: functions that the module declares; the OpenMP entry points that
            LLVM adds on its own are not listed.
    """

    data: bytes
    exports: tuple[str, ...]
    imports: tuple[str, ...]
