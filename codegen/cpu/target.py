"""What the compiler must know of this machine's processor."""

from __future__ import annotations

import functools
import hashlib
import platform
from dataclasses import dataclass
from pathlib import Path

# The widest vectors that each feature gives, best first. Intel's and AMD's names are
# those of /proc/cpuinfo. The AVX-512 set is what LLVM needs for 512-bit vectors of
# bytes, words and masks (x86-64-v4).
_VECTOR_BITS = (
    ({"avx512f", "avx512bw", "avx512dq", "avx512vl"}, 512),
    ({"avx2", "fma"}, 256),
)
_BASELINE_BITS = 128

# Microarchitecture levels of the x86-64 psABI, by the names of /proc/cpuinfo: pni is
# SSE3 and abm has LZCNT.
_V2 = frozenset({"cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"})
_V3 = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
_V4 = _V3 | {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}
LEVELS = {"x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""Features that LLVM uses for a level, least first.

Source: https://gitlab.com/x86-psABIs/x86-64-ABI, section 3.1.1
"""


@dataclass(frozen=True)
class Target:
    """A processor.

    Attributes:
        name: its model, for messages.
        vector_bits: width of its widest vector registers.
        is_intel: whether MKL, made by Intel, uses all of it.
        fingerprint: changes whenever code for it might; part of cache keys.
        flags: its features, by the names of Linux.
        level: of `LEVELS`, where it stands for all processors of a level.
    """

    name: str
    vector_bits: int
    is_intel: bool
    fingerprint: str
    flags: frozenset[str] = frozenset()
    level: str | None = None


@functools.cache
def host_target() -> Target:
    """The processor that this process runs on, for which LLVM makes code too."""
    name, vendor, flags = _read_cpuinfo(Path("/proc/cpuinfo"))
    bits = next((b for need, b in _VECTOR_BITS if need <= flags), _BASELINE_BITS)
    identity = "\n".join((platform.machine(), name, *sorted(flags)))
    fingerprint = hashlib.sha256(identity.encode()).hexdigest()
    return Target(name, bits, vendor == "GenuineIntel", fingerprint, flags)


@functools.cache
def level_target(level: str) -> Target:
    """All processors of a level of `LEVELS`; libraries are those of this host."""
    flags = LEVELS[level]
    bits = next((b for need, b in _VECTOR_BITS if need <= flags), _BASELINE_BITS)
    fingerprint = hashlib.sha256(level.encode()).hexdigest()
    return Target(level, bits, host_target().is_intel, fingerprint, flags, level)


def level_of(target: Target) -> str | None:
    """The highest level whose features a processor has, or None."""
    if platform.machine() != "x86_64":
        return None
    return next((n for n in reversed(LEVELS) if LEVELS[n] <= target.flags), None)


def _read_cpuinfo(path: Path) -> tuple[str, str, frozenset[str]]:
    """Model, vendor and feature flags of the first processor; empty where unknown."""
    fields: dict[str, str] = {}
    try:
        with path.open() as lines:
            for line in lines:
                key, separator, value = line.partition(":")
                if not separator:
                    break  # the blank line after the first processor
                fields[key.strip()] = value.strip()
    except OSError:
        pass
    name = fields.get("model name") or platform.processor() or platform.machine()
    flags = fields.get("flags") or fields.get("Features") or ""
    version = f"{name} {fields.get('cpu family', '')}/{fields.get('model', '')}"
    return version, fields.get("vendor_id", ""), frozenset(flags.split())
