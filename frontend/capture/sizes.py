"""Which sizes of the inputs are symbolic.

With ``dynamic=None`` sizes are static at first; one that differed between calls
becomes symbolic when the function is captured again.
"""

from __future__ import annotations

import torch

from girih.frontend.capture.source import Source


class Sizes:
    """What one compiled function knows about the sizes of its inputs.

    Args:
        dynamic: As for ``girih.compile``.
    """

    def __init__(self, dynamic: bool | None):
        self.dynamic = dynamic
        self._seen: dict[str, tuple[int, ...]] = {}
        self._varying: dict[str, set[int]] = {}

    def observe(self, tensor: torch.Tensor, source: Source) -> None:
        """Notes the sizes of an input of a capture that succeeded."""
        if self.dynamic is not None:
            return
        key, shape = str(source), tuple(tensor.shape)
        seen = self._seen.get(key)
        if seen is not None and len(seen) == len(shape):
            different = {i for i, size in enumerate(shape) if size != seen[i]}
            self._varying.setdefault(key, set()).update(different)
        self._seen[key] = shape

    def dynamic_dims(self, tensor: torch.Tensor, source: Source) -> tuple[int, ...]:
        """The dims of an input that get a symbolic size; 0 and 1 never do."""
        marked = getattr(tensor, "_dynamo_dynamic_indices", set())
        if self.dynamic is False:
            return ()
        if self.dynamic:
            dims = set(range(tensor.ndim))
        else:
            self.observe(tensor, source)
            dims = self._varying.get(str(source), set()) | set(marked)
        dims = dims - set(getattr(tensor, "_dynamo_static_indices", set()))
        return tuple(dim for dim in sorted(dims) if tensor.shape[dim] > 1)
