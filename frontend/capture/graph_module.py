"""The ``GraphModule`` that a capture hands to the backend."""

from __future__ import annotations

from torch.fx._lazy_graph_module import _LazyGraphModule

from girih.frontend.capture.leftovers import forget_with


class _ForwardOnDemand:
    """Writes the module's Python code when ``forward`` is first looked up.

    Afterwards ``forward`` is the generated function itself, so that a backend which
    returns ``gm.forward`` pays nothing for the laziness.
    """

    def __get__(self, module, cls):
        if module is None:
            return self
        module.real_recompile()
        forget_with(module.forward.__func__)
        return module.forward


_ON_DEMAND = _ForwardOnDemand()


class CapturedGraph(_LazyGraphModule):
    """A graph module whose code is written only if somebody wants it."""

    forward = _ON_DEMAND

    @classmethod
    def _needs_recompile(cls) -> bool:
        return cls.forward is _ON_DEMAND

    @classmethod
    def recompile(cls) -> None:
        """Marks the code as to be written."""
        cls.forward = _ON_DEMAND
