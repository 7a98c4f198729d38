"""What compiled code depends on besides what is compiled."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


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
