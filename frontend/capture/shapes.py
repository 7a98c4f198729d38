"""Symbolic sizes: evaluation with a ``ShapeEnv``, and the guards on sizes."""

from __future__ import annotations


def needs_symbols(sizes, arguments) -> bool:
    """Whether a capture may meet symbolic sizes."""
    return False


class SymbolicEvaluator:
    """Evaluates with fake tensors whose sizes may be symbols."""
