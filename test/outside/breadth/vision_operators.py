"""Declares torchvision's compiled operators where its wheel has none for this torch.

The index that serves torch for the CPU need not serve torchvision for it; the wheel
for GPUs then finds no library to load, and importing it fails where it says what its
operators give for fake tensors. Declared, but without a kernel, they let it load: all
models run but those that call one of them.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.util import find_spec

import torch

ENOUGH = 20
"""More operators than torchvision asks for while it is imported."""


@cache
def import_torchvision() -> None:
    """Imports torchvision, which timm, transformers and diffusers import too."""
    if find_spec("torchvision") is None:
        return
    for _ in range(ENOUGH):
        try:
            import torchvision  # noqa: F401
        except RuntimeError as error:
            missing = re.search(r"torchvision::(\w+) does not exist", str(error))
            if not missing:
                raise
            _library().define(f"{missing[1]}(Tensor a, Tensor b, float c) -> Tensor")
            _forget_torchvision()
        else:
            return


@cache
def _library() -> torch.library.Library:
    return torch.library.Library("torchvision", "FRAGMENT")


def _forget_torchvision() -> None:
    """Drops what was half imported."""
    for name in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
