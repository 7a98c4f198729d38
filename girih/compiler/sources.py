"""What compiled code depends on besides what is compiled."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from girih.dialects.definition import OPS
from girih.dialects.rule_table import FOREIGN
from girih.passes.fingerprints import fingerprint


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
    rules = tuple(FOREIGN.items())
    ops = OPS.values()
    classes = tuple(c for c in ops if c.__module__.partition(".")[0] != "girih")
    return _fingerprints(rules, classes)


@lru_cache(maxsize=8)
def _fingerprints(rules: tuple, classes: tuple) -> str:
    parts = [f"{what} {fingerprint(rule)}" for what, rule in rules]
    parts += [f"{cls.OPERATION_NAME} {fingerprint(cls)}" for cls in classes]
    return ", ".join(parts)


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
