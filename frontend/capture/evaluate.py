"""Running an operation on tensors without data, to learn what its result looks like.

Static shapes run on ``meta`` tensors: a few microseconds an operation, and nothing to
import. (``FakeTensorMode`` imports TorchDynamo, 1.2 s with torch 2.13, and costs 50 to
300 us an operation.) The device at run time is kept beside the meta tensor.
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

META = torch.device("meta")

# Methods that return the tensor itself where nothing is to be done, and never change it.
_NO_CHANGE = frozenset(
    """to contiguous float double half bfloat16 int long short char byte bool type
    type_as cpu cuda squeeze expand requires_grad_ coalesce resolve_conj
    resolve_neg""".split()
)


@cache
def _constructors() -> frozenset:
    """Functions that make tensors and take ``device``."""
    from torch.utils._device import _device_constructors

    return frozenset(_device_constructors())


def is_constructor(target: Any) -> bool:
    """Whether a function makes tensors out of nothing and takes ``device``."""
    return target in _constructors()


def is_unchanged(name: Any) -> bool:
    """Whether a method may return its tensor without having changed it."""
    return name in _NO_CHANGE


class StaticEvaluator:
    """Evaluates with ``meta`` tensors: all sizes are numbers."""

    def fake_of(self, tensor: torch.Tensor, dynamic: tuple = ()) -> torch.Tensor:
        """A tensor without data that looks like ``tensor``."""
        fake = torch.empty_strided(
            tensor.size(), tensor.stride(), dtype=tensor.dtype, device=META
        )
        if not tensor.requires_grad:
            return fake
        if tensor.is_leaf:
            return fake.requires_grad_()
        with torch.enable_grad():  # only a tensor that has a grad_fn is no leaf
            one = torch.ones((), dtype=tensor.dtype, device=META, requires_grad=True)
            return fake.mul_(one)

    def device_argument(self, device: torch.device) -> torch.device:
        """What stands for ``device`` in an evaluated call."""
        return META

    def run(self, kind: str, target: Any, args: list, kwargs: dict) -> Any:
        """Evaluates a call of a function or a method."""
        if kind == "call_function":
            replacement = _STAND_INS.get(target)
            return (replacement or target)(*args, **kwargs)
        if target in ("cpu", "cuda"):
            return args[0]
        return getattr(args[0], target)(*args[1:], **kwargs)

    def layout_of(self, given) -> tuple[list, list]:
        """Sizes and strides to guard; None where any value will do."""
        return list(given.real.size()), list(given.real.stride())

    def shape_check(self, inputs: list):
        """The check of relations between sizes, or None."""
        return None

    def example_inputs(self, inputs: list) -> list:
        """A fake tensor for each input."""
        from girih.frontend.fake import fake_like, make_fake_mode

        mode = make_fake_mode()
        fakes = []
        for given in inputs:
            fake = fake_like(mode, given.real)
            if given.real.requires_grad:
                fake.requires_grad_()
            fakes.append(fake)
        return fakes


def _attention(query, key, value, *args, **kwargs):
    """CPU's flash attention returns a transposed tensor; the meta kernel does not."""
    result = F.scaled_dot_product_attention(query, key, value, *args, **kwargs)
    if result.ndim != 4 or torch.is_grad_enabled() and result.requires_grad:
        return result
    return result.transpose(1, 2).contiguous().transpose(1, 2)


_STAND_INS = {F.scaled_dot_product_attention: _attention}


def devices_conflict(target: Any, devices: list[tuple[torch.device, int]]) -> bool:
    """Whether eager refuses tensors of these devices, given as (device, rank)."""
    if target in (operator.getitem, operator.setitem):
        return False
    kinds = {device for device, rank in devices if rank > 0 or device.type != "cpu"}
    return len(kinds) > 1
