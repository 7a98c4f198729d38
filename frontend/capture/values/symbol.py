"""Numbers of the traced program that are known only when the graph runs."""

from __future__ import annotations

from typing import Any

import torch

from girih.frontend.capture.values.base import Value


class SymbolValue(Value):
    """An int, float or bool that is known only when the graph runs: a size.

    Attributes:
        node: Its node in the graph.
        fake: The ``SymInt``, ``SymFloat`` or ``SymBool``.
    """

    def __init__(self, node, fake, source=None):
        self.node = node
        self.fake = fake
        self.source = source

    def python_type(self) -> type:
        """``int``, ``float`` or ``bool``."""
        kinds = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
        return kinds[type(self.fake)]

    def as_python(self) -> Any:
        """Not known; ``specialize`` fixes it."""
        return super().as_python()

    def specialize(self) -> int | float | bool:
        """The value at this call; the choice becomes a guard on the sizes."""
        return self.python_type()(self.fake)

    def truth(self, tracer) -> bool:
        """Fixes whether it is zero, which becomes a guard on the sizes."""
        return bool(self.fake)

    def get_attr(self, tracer, name):
        """Methods of ints and floats, on the value fixed for this entry."""
        return tracer.constant(self.specialize()).get_attr(tracer, name)
