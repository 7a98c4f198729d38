"""What compiled code depends on besides what is compiled."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from girih.dialects.definition import OPS
from girih.dialects.rule_table import FOREIGN
from girih.passes.fingerprints import fingerprint

_PACKAGES = (
    "girih.codegen",
    "girih.compiler",
    "girih.dialects",
    "girih.packaging",  # writes the constants of programs
    "girih.passes",
)


@cache
def versions() -> str:
    """Versions of packages, and our own sources, for cache keys."""
    parts = []
    for package in ("torch-mlir", "torch"):
        try:
            parts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            parts.append(f"{package} ?")
    return ", ".join([*parts, *_sources()])


def added() -> str:
    """What plugins have added, as text that changes with what it does."""
    ops = OPS.values()
    classes = [c for c in ops if not c.__module__.startswith("girih.")]
    # What a rule reads may be another value than it was in the last compilation.
    parts = [f"{what} {fingerprint(rule)}" for what, rule in FOREIGN.items()]
    parts += [f"{cls.OPERATION_NAME} {fingerprint(cls)}" for cls in classes]
    return ", ".join(parts)


def _sources() -> list[str]:
    """The files that make code: as they were installed, or each for itself."""
    folders = {
        package: Path(import_module(package).__file__).parent for package in _PACKAGES
    }
    files = [
        (f"{package} {path.relative_to(folder)}", path.stat())
        for package, folder in folders.items()
        for pattern in ("*.py", "_*.so")  # those of C run programs
        for path in sorted(folder.rglob(pattern))
    ]
    latest = max(status.st_mtime for _, status in files)
    if (installed := _installed(latest)) is not None:
        return [installed]
    return [f"{name} {s.st_size} {s.st_mtime_ns}" for name, s in files]


_SECONDS_OF_INSTALLING = 60


def _installed(latest: float) -> str | None:
    """The digest of the files that a wheel has installed: equal on all machines.

    Args:
        latest: When one of them was last written, in seconds.

    Returns:
        None: they are no such files, or were changed afterwards.
    """
    try:
        found = distribution("girih")
        record = next((f for f in found.files or () if f.name == "RECORD"), None)
        if record is None:
            return None
        path = Path(found.locate_file(record))
        lines = path.read_text().splitlines()
        written = path.stat().st_mtime
    except (OSError, PackageNotFoundError):
        return None
    own = sorted(line for line in lines if line.startswith("girih/") and ".py," in line)
    if (
        not any(line.startswith("girih/passes/") for line in own)
        or latest > written + _SECONDS_OF_INSTALLING
    ):
        return None
    return hashlib.sha256("\n".join(own).encode()).hexdigest()
