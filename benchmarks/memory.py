"""Peak memory of a function, as the operating system counts it."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"
# mallopt's parameters.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_LARGE_BLOCK = 2**16


def return_freed_memory() -> None:
    """Lets the process hand back what it frees, so that its size is what it uses.

    Source: https://man7.org/linux/man-pages/man3/mallopt.3.html
    """
    libc = ctypes.CDLL(None)
    libc.mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
    libc.mallopt(_TRIM_THRESHOLD, 0)
    libc.mallopt(_TOP_PAD, 0)


def peak_of(function: Callable[[], object]) -> int:
    """Bytes by which the process grows, at most, while the function runs.

    Source: https://docs.kernel.org/filesystems/proc.html, clear_refs and status.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    _CLEAR.write_text(_RESET_PEAK)
    before = _resident("VmRSS")
    function()
    return _resident("VmHWM") - before


def _resident(name: str) -> int:
    for line in _STATUS.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) * 2**10
    raise OSError(f"{_STATUS} has no line {name}")
