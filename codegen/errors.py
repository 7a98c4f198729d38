"""The error of this folder."""

from __future__ import annotations


class CodegenError(RuntimeError):
    """Machine code could not be made or loaded."""
