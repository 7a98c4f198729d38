"""Functions of a library of vector functions, which kernels call, on NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from girih.evaluation.state import UnknownOp

_LIBRARY = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fmod": np.fmod,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "pow": np.power,
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}


def function(name: str) -> Callable:
    """What a function such as ``Sleef_powf16_u10`` computes.

    Raises:
        UnknownOp: No such function is known.
    """
    found = re.fullmatch(r"Sleef_(\w+?)[fd]\d+_u\d+", name)
    if found is None or found[1] not in _LIBRARY:
        raise UnknownOp(name)
    return _LIBRARY[found[1]]
