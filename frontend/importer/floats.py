"""Calls with floats that vary, where ATen takes Python floats.

ATen gets another float in place of each number, one that stands nowhere else. Where the
calls that arrive in the recorder have it among their arguments, the recorder takes the
number itself. ATen may compute with numbers on the way, or round them. So each call is
made twice before, without the recorder and with different floats, and only what arrives
unchanged is taken so. What computes with its numbers is written out here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from girih.frontend.fake.floats import Place, name_of, replaced, symbolic

# Factors that make of a number one that no program has. They differ in any dtype, and
# bring numbers closer to zero, where an operation is the same (``Kept.holds``).
_FACTORS = (0.9431793157, 0.8867420191)
# In place of zero.
_TINY = 1.2857931e-181

_NARROW = (torch.float16, torch.bfloat16)
# Attention that takes its scale at run time is a call of ATen; ``random_`` takes
# integers.
_NEVER_PASSED = ("random_", "scaled_dot_product_attention")
_ALPHA = 1.7580993408473766  # of SELU, as ATen has it


def call(recorder, target: Any, run: Callable, args: tuple, kwargs: dict) -> Any:
    """Calls an operation; numbers that vary arrive in the recorder as they are.

    Args:
        recorder: The mode that is on.
        target: The operation: a function, or the name of a method.
        run: What is called.
        args: Its arguments.
        kwargs: Likewise.
    """
    found = symbolic(target, args, kwargs)
    if not found or torch._C._functorch.peek_interpreter_stack() is not None:
        return run(*args, **kwargs)
    name = name_of(target)
    if name not in _NEVER_PASSED and _passes_on(recorder, run, args, kwargs, found):
        with _standing_in(recorder, found, _FACTORS[0]) as numbers:
            args, kwargs = replaced(args, kwargs, numbers)
            return run(*args, **kwargs)
    written_out = _WRITTEN_OUT.get(name)
    if written_out is None:
        return run(*args, **kwargs)  # which makes constants of the numbers
    return written_out(recorder, run, *args, **kwargs)


@contextmanager
def _standing_in(recorder, found: dict[Place, torch.SymFloat], factor: float):
    before = recorder.floats
    numbers = _floats(found, factor)
    recorder.floats = {numbers[place]: value for place, value in found.items()}
    try:
        yield numbers
    finally:
        recorder.floats = before


def _floats(found: dict[Place, torch.SymFloat], factor: float) -> dict[Place, float]:
    """A float for each number; the same number twice has two."""
    numbers: dict[Place, float] = {}
    for place, value in found.items():
        number = float(value.node.hint) * factor or _TINY * factor
        while number in numbers.values():
            number = math.nextafter(number, 0.0)
        numbers[place] = number
    return numbers


def _number_in(value: Any) -> Any:
    """What a tensor holds that was made of a number."""
    if not isinstance(value, torch.Tensor) or isinstance(value, FakeTensor):
        return None
    with _disable_current_modes():
        return value.item() if value.numel() == 1 else None


class _Seen(TorchDispatchMode):
    """Notes the floats that calls are given."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        leaves = pytree.tree_leaves((args, kwargs))
        numbers = [x for x in leaves if type(x) in (bool, int, float)]
        self.calls.append((func, numbers, [*map(_number_in, leaves)]))
        return func(*args, **kwargs)


def _passes_on(recorder, run, args: tuple, kwargs: dict, found: dict) -> bool:
    """Whether all floats either arrive unchanged or do not depend on the numbers."""
    seen, given = [], []
    for factor in _FACTORS:
        numbers = _floats(found, factor)
        given.append({value: n for n, value in enumerate(numbers.values())})
        arguments = _copies(recorder, replaced(args, kwargs, numbers))
        mode = _Seen()
        with _disable_current_modes(), recorder.fake_mode, mode:
            run(*arguments[0], **arguments[1])
        seen.append(mode.calls)
    first, second = seen
    return len(first) == len(second) and all(
        one[0] is other[0]
        and _are_alike(one[1], other[1], given)
        and one[2] == other[2]
        for one, other in zip(first, second, strict=True)
    )


def _are_alike(one: list, other: list, given: list[dict]) -> bool:
    return len(one) == len(other) and all(
        (a in given[0] or b in given[1])
        and given[0].get(a) == given[1].get(b)
        or a == b
        for a, b in zip(one, other, strict=True)
    )


def _copies(recorder, arguments: Any) -> Any:
    """The arguments with fake tensors that only look like those of the program."""

    def copied(tensor: torch.Tensor) -> torch.Tensor:
        with _disable_current_modes(), recorder.fake_mode:
            made = torch.empty_strided(
                tuple(tensor.shape),
                tuple(tensor.stride()),
                dtype=tensor.dtype,
                device=tensor.device,
            )
        return made

    return pytree.tree_map_only(torch.Tensor, copied, arguments)


# What computes with its numbers ------------------------------------------------------


def _dropout(is_feature: bool, is_alpha: bool, is_in_place: bool) -> Callable:
    """Dropout, of elements or channels, as ATen's ``_dropout_impl`` computes it.

    Source: aten/src/ATen/native/Dropout.cpp (2.13)
    """

    def call_it(recorder, run, input, p, train):
        noise = _noise(recorder, input, 1.0 - p, is_feature)
        multiply = torch.Tensor.mul_ if is_in_place else torch.mul
        if not is_alpha:
            return multiply(input, noise.div_(1.0 - p))
        a = 1.0 / torch.sym_sqrt((_ALPHA * _ALPHA * p + 1.0) * (1.0 - p))
        shift = noise.add(-1).mul_(_ALPHA * a).add_(_ALPHA * a * p)
        return multiply(input, noise.mul_(a)).add_(shift)

    return call_it


def _noise(recorder, input: torch.Tensor, share, is_feature: bool) -> torch.Tensor:
    """Ones with the probability ``share``, else zeros."""
    if is_feature:
        if input.dim() < 2:
            text = "Feature dropout requires at least 2 dimensions in the input"
            raise RuntimeError(text)
        ones = [1] * (input.dim() - 2)
        noise = input.new_empty([input.size(0), input.size(1), *ones])
    else:
        noise = torch.empty_like(input)
    with _standing_in(recorder, {1: share}, _FACTORS[0]) as numbers:
        return noise.bernoulli_(numbers[1])


def _cross_entropy(
    recorder,
    run,
    self,
    target,
    weight=None,
    reduction=1,
    ignore_index=-100,
    label_smoothing=0.0,
):
    """Cross entropy; labels are smoothed by a number.

    Source: aten/src/ATen/native/LossNLL.cpp (2.13)
    """
    dim = 0 if self.dim() == 1 else 1
    count = self.size(dim)
    if self.size() == target.size():
        smooth = target * (1 - label_smoothing) + label_smoothing / count
        return run(self, smooth, weight, reduction, ignore_index, 0.0)
    logarithm = torch.log_softmax(self, dim)
    loss = torch._C._nn.nll_loss_nd(logarithm, target, weight, reduction, ignore_index)
    if weight is None:
        smooth = -logarithm.sum(dim)
    else:
        shape = [weight.size(0) if n == dim else 1 for n in range(self.dim())]
        smooth = -(logarithm * weight.view(shape)).sum(dim)
    ignored = target == ignore_index
    smooth = smooth.masked_fill(ignored, 0.0)
    if reduction == 1:
        smooth = smooth.sum() / _total(weight, target, ignored)
    elif reduction == 2:
        smooth = smooth.sum()
    return loss * (1 - label_smoothing) + smooth * (label_smoothing / count)


def _total(weight, target: torch.Tensor, ignored: torch.Tensor) -> torch.Tensor:
    """The weights of all labels that are not ignored."""
    if weight is None:
        return ignored.logical_not().sum()
    labels = target.masked_fill(ignored, 0).flatten()
    return weight.gather(0, labels).masked_fill(ignored.flatten(), 0).sum()


def _rms_norm(recorder, run, input, normalized_shape, weight=None, eps=None):
    """Normalised by the root of the mean square; ATen rounds eps to float32.

    Source: aten/src/ATen/native/layer_norm.cpp (2.13)
    """
    dims = [n - len(normalized_shape) for n in range(len(normalized_shape))]
    wide = input.float() if input.dtype in _NARROW else input
    square = wide.pow(2).mean(dims, keepdim=True)
    y = wide * torch.rsqrt(square.add_(eps))
    y = y if weight is None else y * weight
    return y.to(input.dtype)


def _attention(recorder, run, query, key, *args, scale, **kwargs):
    """Attention; ATen multiplies queries and keys by the root of the scale.

    In 16 bits these products would be rounded, and the scale stays a constant.
    """
    if query.dtype in _NARROW:
        return run(query, key, *args, scale=scale, **kwargs)
    root = torch.sym_sqrt(scale)
    return run(query * root, key * root, *args, scale=1.0, **kwargs)


def _random(recorder, run, self, *bounds, generator=None, **named):
    """Integers between bounds: ATen draws those of ``randint_like`` by ``random_``.

    Source: aten/src/ATen/native/TensorFactories.cpp (2.13)
    """
    bounds = (*bounds, *(named[key] for key in ("from", "to") if key in named))
    return self.copy_(torch.randint_like(self, *bounds))


def _all_dropouts() -> Iterator[tuple[str, Callable]]:
    for is_feature, is_alpha, name in (
        (False, False, "dropout"),
        (False, True, "alpha_dropout"),
        (True, False, "feature_dropout"),
        (True, True, "feature_alpha_dropout"),
    ):
        for suffix in ("", "_"):
            yield name + suffix, _dropout(is_feature, is_alpha, bool(suffix))


_WRITTEN_OUT: dict[str, Callable] = {
    **dict(_all_dropouts()),
    "cross_entropy_loss": _cross_entropy,
    "random_": _random,
    "rms_norm": _rms_norm,
    "scaled_dot_product_attention": _attention,
}
