"""Eager's arithmetic, changed: noted draws, float64, and noise in the last place.

Modes of torch, which see each ATen call of a run, those of its backward pass too.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}
"""The dtype in which a value is computed for reference."""


def widened(elements: torch.Tensor) -> torch.Tensor:
    """The elements in float64, where they are narrower floats."""
    return elements.to(WIDE.get(elements.dtype, elements.dtype), copy=True)


class Draws(TorchDispatchMode):
    """Notes what each operation that draws random numbers gives.

    Attributes:
        given: the results of these operations, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Any] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.given.append(_pytree.tree_map_only(torch.Tensor, _copied, result))
        return result


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone()


class InDouble(TorchDispatchMode):
    """Computes in float64 whatever the program asks for; what is drawn was noted.

    Args:
        draws: of a run of the same program.
    """

    def __init__(self, draws: Draws):
        super().__init__()
        self._given = iter(draws.given)
        self._default_dtype = torch.get_default_dtype()

    def __enter__(self):
        torch.set_default_dtype(torch.float64)
        return super().__enter__()

    def __exit__(self, *error):
        torch.set_default_dtype(self._default_dtype)
        return super().__exit__(*error)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        args, kwargs = _pytree.tree_map(_wide_dtype, (args, kwargs or {}))
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **kwargs)
        given = _pytree.tree_map_only(torch.Tensor, widened, next(self._given))
        if not func._schema.is_mutable:
            return given
        return args[0].copy_(given)


def _wide_dtype(value: Any) -> Any:
    return WIDE.get(value, value) if isinstance(value, torch.dtype) else value


class Noise(TorchDispatchMode):
    """Moves each float that an operation makes by about a unit in its last place.

    What an operation only hands on, or draws, stays as it is. Normalised values move by
    a unit of what the mean is subtracted from.
    """

    def __init__(self) -> None:
        super().__init__()
        self._generators: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if torch.Tag.nondeterministic_seeded in func.tags or _hands_on(func):
            return result
        if func._schema.name.removeprefix("aten::") in _NORMALISES:
            self._move_normalised(args, *result[:3])
        return _pytree.tree_map_only(torch.Tensor, self.moved, result)

    def _move_normalised(self, args: tuple, made, mean, scale) -> None:
        """Adds what is left where ``x * scale`` and ``mean * scale`` cancel."""
        if not made.numel() or not scale.numel():
            return
        weights = [x for x in args[1:3] if isinstance(x, torch.Tensor)][:1]
        size = args[0].detach().abs().max() * scale.detach().abs().max()
        for weight in weights:
            size = size * weight.detach().abs().max()
        made.add_((self.moved(torch.ones_like(made)) - 1) * size)

    def copied(self, elements: torch.Tensor) -> torch.Tensor:
        """The elements in other memory, moved."""
        return self.moved(elements.clone())

    def moved(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor itself, its floats moved."""
        if not tensor.is_floating_point() or tensor.layout != torch.strided:
            return tensor
        generator = self._generators.setdefault(
            tensor.device, torch.Generator(tensor.device).manual_seed(1)
        )
        wide = {"dtype": torch.float64, "device": tensor.device}
        step = torch.empty(tensor.shape, **wide).bernoulli_(0.5, generator=generator)
        step.mul_(2).sub_(1).mul_(torch.finfo(tensor.dtype).eps)
        tensor.copy_(tensor.double().mul_(step.add_(1)))
        return tensor


def _hands_on(func: Any) -> bool:
    """Whether an operation computes nothing: views, copies, what chooses elements."""
    return (
        func.is_view
        or torch.Tag.pointwise not in func.tags
        and func._schema.name.removeprefix("aten::") in _COPIES
    )


_NORMALISES = frozenset(
    ("native_group_norm", "native_layer_norm", "native_batch_norm", "cudnn_batch_norm")
)
_COPIES = frozenset(
    """clone copy_ _to_copy cat stack index gather amax amin max min median kthvalue
    sort topk cummax cummin""".split()
)
