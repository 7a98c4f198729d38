"""The versions that compiled code depends on, for what travels between machines."""

from __future__ import annotations

import platform
from importlib import metadata

import girih

_PACKAGES = ("torch", "torch-mlir", "llvmlite", "triton")


def versions() -> dict[str, str]:
    """What code depends on that another machine may have otherwise."""
    found = {"girih": girih.__version__, "Python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def told(versions_: dict[str, str], others: dict[str, str]) -> str:
    """Those of some versions that others have otherwise, as text."""
    differing = [f"{k} {v}" for k, v in versions_.items() if others.get(k) != v]
    return ", ".join(differing) or "fewer packages"
